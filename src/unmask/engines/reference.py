"""The reference engine: the definition of a forward pass, equation by equation.

    H⁰     = clip(embed[token] + pos)
    Q, K, V = H·Wq, H·Wk, H·Wv
    e_ij   = exp(⟨Q_i, K_j⟩), 0 where row i may not see row j          causal: i sees j <= i
    Z_i    = SUM_j e_ij                                                 0 is an error
    head   = SUM_j [e_ij / Z_i]·V_j                                     no maximum is subtracted
    G      = (SUM over heads) + H
    H'     = G + ReLU(ReLU(G·W1 + b1)·W2 + b2)

Every sum runs left to right in index order and clips after each addition; every product is rounded separately.

Its layer is deliberately independent, because the fast engine, the provers and the checker are compared with it. It
shares with them F_p (`numerics`) and the weights, and with the fast engine also the interface (`engine`, `footprint`).
"""

from dataclasses import dataclass

import numpy as np

from unmask.engines.engine import Footprint, Watch, forward
from unmask.engines.footprint import dense_footprint
from unmask.errors import AttendsToNothing, TooLarge
from unmask.limits import check
from unmask.numerics.arithmetic import add, divide, exp, product, relu, total, weighted
from unmask.numerics.array_types import Int
from unmask.weights.matrices import Matrix
from unmask.weights.transformer import Head, Mlp, Transformer

LARGEST_SCORES = 1 << 28
LARGEST_HIDDEN = 1 << 24


class ReferenceEngine:
    """The definition as code: slow and readable."""

    name = "reference"

    def footprint(self, transformer: Transformer, batch: int, *, watched: bool = False) -> Footprint:
        return dense_footprint(transformer, batch, terms=LARGEST_HIDDEN, watched=watched)

    def session(self, transformer: Transformer, *, name: str = "model") -> "ReferenceSession":
        return ReferenceSession(transformer, name)


@dataclass(frozen=True)
class ReferenceSession:
    """Keeps nothing between calls."""

    transformer: Transformer
    name: str = "model"

    def read(
        self, tokens: Int[np.ndarray, "batch seq"], rows: tuple[int, int], *, watch: Watch | None = None
    ) -> Int[np.ndarray, "batch rows outputs"]:
        return self.logits(forward(self, self.transformer, tokens, watch=watch)[:, rows[0] : rows[1]])

    def embed(
        self, tokens: Int[np.ndarray, "batch seq"], *, watch: Watch | None = None
    ) -> Int[np.ndarray, "batch seq width"]:
        positions = self.transformer.positions[: tokens.shape[1]].astype(np.int64)
        residual = add(self.transformer.embed.take(tokens), positions, self.transformer.precision)
        if watch:
            watch("embed", residual)
        return residual

    def layers(
        self,
        residual: Int[np.ndarray, "batch seq width"],
        first: int,
        last: int,
        *,
        watch: Watch | None = None,
    ) -> Int[np.ndarray, "batch seq width"]:
        precision = self.transformer.precision
        for i in range(first, last):
            layer = self.transformer.layers[i]
            heads = np.zeros_like(residual)
            for j, head in enumerate(layer.heads):
                heads = add(heads, self._attend(residual, head, (i, j), watch), precision)
            attended = add(heads, residual, precision)
            residual = add(attended, self._mlp(attended, layer.mlp), precision)
            if watch:
                watch(f"layers.{i}.residual", residual)
        return residual

    def logits(self, residual: Int[np.ndarray, "batch rows width"]) -> Int[np.ndarray, "batch rows outputs"]:
        return self._times(residual, self.transformer.out.transposed())

    def _attend(self, H: np.ndarray, head: Head, where: tuple[int, int], watch: Watch | None) -> np.ndarray:
        precision = self.transformer.precision
        batch, rows, _ = H.shape
        check()
        if batch * rows * rows > LARGEST_SCORES:
            raise TooLarge(
                f"the reference engine would hold {batch} × {rows} × {rows} attention scores; "
                "use the fast engine, or fewer or shorter words"
            )
        Q, (K, V) = self._times(H, head.wq), self.keys_and_values(H, head, where)
        scores = product(Q, np.swapaxes(K, -1, -2), precision)
        visible = np.tri(rows, dtype=bool) if self.transformer.attention == "causal" else np.ones((rows, rows), bool)
        exps = np.where(visible, exp(scores, precision), 0)
        Z = total(exps, precision)
        if not Z.all():
            word, row = (int(k) for k in np.argwhere(Z == 0)[0])
            raise AttendsToNothing(layer=where[0], head=where[1], row=row, word=word, transformer=self.name)
        weights = divide(exps, Z[..., None], precision)
        if watch:
            watch(f"layers.{where[0]}.heads.{where[1]}.weights", weights)
        # columns that Wv never writes are 0 in every V_j, hence in the head
        written = np.unique(head.wv.column)
        result = np.zeros_like(H)
        result[..., written] = product(weights, V[..., written], precision)
        return result

    def keys_and_values(
        self,
        H: np.ndarray,
        head: Head,
        where: tuple[int, int],  # noqa: ARG002
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return K and V of one head; `where` is its layer and number. A run with a cache overrides this."""
        return self._times(H, head.wk), self._times(H, head.wv)

    def _mlp(self, G: np.ndarray, mlp: Mlp) -> np.ndarray:
        precision = self.transformer.precision
        # rows do not depend on each other: compute as many at a time as the hidden units allow
        rows = max(1, LARGEST_HIDDEN // max(1, mlp.w1.shape[1]))
        flat = G.reshape(-1, G.shape[-1])
        result = np.zeros_like(flat)
        for first in range(0, len(flat), rows):
            hidden = relu(add(self._times(flat[first : first + rows], mlp.w1), mlp.b1, precision))
            result[first : first + rows] = relu(add(self._times(hidden, mlp.w2), mlp.b2, precision))
        return result.reshape(G.shape)

    def _times(self, x: np.ndarray, matrix: Matrix) -> np.ndarray:
        return weighted(x, matrix.rows(), matrix.shape[1], self.transformer.precision)
