"""F_p in torch: integers that mean a/2^p, |a| <= 4^p - 1; the same on any device, for any weights.

Every product is rounded by itself, ties toward zero, and every sum clips at ±B after each addition, left to right.
"""

import math

import torch
from torch import Tensor

TERMS_AT_ONCE = 1 << 24


class ZeroAttention(ArithmeticError):
    """Z = 0: every exponential of a row underflows, so that exp/Z does not exist. This occurs only in F_p."""


class Sparse:
    """The nonzero entries of a matrix, in groups of columns of similar size: (columns, rows [c, n], values [c, n]).

    Entries must be sorted by column, then row: a sum adds them in this order.
    """

    def __init__(self, row: Tensor, column: Tensor, value: Tensor, width: int) -> None:
        self.width, self.groups, size = width, [], 1
        count = torch.bincount(column, minlength=width)
        start = count.cumsum(0) - count
        while size < 2 * int(count.max() if len(row) else 0):
            columns = ((count <= size) & (2 * count > size)).nonzero().flatten()
            offset = torch.arange(size, device=row.device)
            exists = offset < count[columns, None]
            entry = torch.where(exists, start[columns, None] + offset, 0)
            if len(columns):
                self.groups.append((columns, row[entry], value[entry] * exists))
            size *= 2


class Numbers:
    """F_p. `kind` is int32 up to p = 7; for p = 8 a product has 33 bits."""

    def __init__(self, p: int) -> None:
        self.p, self.one, self.bound = p, 1 << p, (1 << 2 * p) - 1
        self.kind = torch.int32 if p < 8 else torch.int64
        values = range(-self.bound, self.bound + 1)
        self.exp = torch.tensor(
            [min(self.bound, round(math.exp(a / self.one) * self.one)) for a in values], dtype=self.kind
        )

    def matrix(self, dense: Tensor) -> "Sparse":
        column, row = dense.T.nonzero(as_tuple=True)
        return Sparse(row, column, dense[row, column].to(self.kind), dense.shape[1])

    def clip(self, x: Tensor) -> Tensor:
        return x.clamp(-self.bound, self.bound)

    def add(self, x: Tensor, y: Tensor) -> Tensor:
        return self.clip(x + y)

    def multiply(self, x: Tensor, y: Tensor) -> Tensor:
        """[xy]: to the nearest, ties toward zero."""
        n = x * y
        return self.clip((n + (self.one // 2 - 1) + (n < 0).to(self.kind)) >> self.p)

    def total(self, c: Tensor) -> Tensor:
        """The clipped sum along the last axis, as a tree: x ↦ min(hi, max(lo, x + c)) is closed under composition."""
        low, high = torch.full_like(c, -self.bound), torch.full_like(c, self.bound)
        while c.shape[-1] > 1:
            if c.shape[-1] % 2:  # the identity of clipped sums
                c = torch.nn.functional.pad(c, (0, 1))
                low = torch.nn.functional.pad(low, (0, 1), value=-self.bound)
                high = torch.nn.functional.pad(high, (0, 1), value=self.bound)
            then, floor, ceiling = c[..., 1::2], low[..., 1::2], high[..., 1::2]
            low = (low[..., ::2] + then).maximum(floor).minimum(ceiling)
            high = (high[..., ::2] + then).maximum(floor).minimum(ceiling)
            c = (c[..., ::2] + then).clamp(-2 * self.bound, 2 * self.bound)  # beyond that all c are alike
        return c.maximum(low).minimum(high)[..., 0] if c.shape[-1] else c.sum(-1, dtype=self.kind)

    def times(self, x: Tensor, matrix: Sparse) -> Tensor:
        flat = x.flatten(0, -2)
        result = flat.new_zeros((len(flat), matrix.width))
        for columns, rows, values in matrix.groups:
            block = max(1, TERMS_AT_ONCE // rows.numel())
            for i in range(0, len(flat), block):
                result[i : i + block, columns] = self.total(self.multiply(flat[i : i + block, rows], values))
        return result.reshape(*x.shape[:-1], matrix.width)

    def weights(self, Q: Tensor, K: Tensor, visible: Tensor) -> Tensor:
        block = max(1, TERMS_AT_ONCE // max(1, K.numel()))
        blocks = (Q[:, i : i + block, None] for i in range(0, Q.shape[1], block))
        scores = torch.cat([self.total(self.multiply(block_queries, K[:, None])) for block_queries in blocks], dim=1)
        powers = torch.where(visible, self.exp.to(Q.device)[scores + self.bound], 0)
        Z = powers.sum(-1, keepdim=True).clamp(max=self.bound).to(self.kind)
        if not Z.all():
            word, row, _ = (Z == 0).nonzero()[0].tolist()
            raise ZeroAttention(word, row)
        return self.clip((2 * self.one * powers + Z - 1) // (2 * Z))

    def mixed(self, weights: Tensor, V: Tensor) -> Tensor:
        written = V.flatten(0, -2).any(0).nonzero().flatten()
        values = V[..., written].mT[:, None]
        block = max(1, TERMS_AT_ONCE // max(1, values.numel()))
        blocks = (weights[:, i : i + block, None] for i in range(0, weights.shape[1], block))
        result = V.new_zeros((*weights.shape[:-1], V.shape[-1]))
        if len(written):
            result[..., written] = torch.cat(
                [self.total(self.multiply(block_weights, values)) for block_weights in blocks], dim=1
            )
        return result
