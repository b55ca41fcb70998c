"""Transformer → circuit of AND, OR and NOT whose depth does not grow with N (behind cor:mdms-with-constant-steps).

Statement:    a transformer of L layers over F_p is a circuit of depth at most c·L + c', where c and c' depend on p
              alone: not on the rows, the width, the heads or the hidden units. Its size is polynomial in these.
Construction: every number is one-hot (one_hot.py), functions of one or two numbers are tables, every sum that the
              definition of a layer has is the cascade of saturating_sum.py. Constants are folded on the way.
Depth:        counts AND and OR; a NOT is free, as everywhere in this library.
Division:     `undefined` holds if and only if some row attends to nothing, Z = 0, in a layer that is computed: where
              the reference engine raises `AttendsToNothing`. The other outputs then mean nothing.
"""

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np

from unmask.errors import TooLarge, UnmaskError
from unmask.numerics import arithmetic
from unmask.numerics.arithmetic import Precision, exp_table
from unmask.problems.circuits.circuit import FALSE, TRUE, Circuit, CircuitBuilder, trimmed
from unmask.verification.circuits.one_hot import OneHotWires, argmax, binary, unary
from unmask.verification.circuits.saturating_sum import saturating_sum, sum_depth
from unmask.weights.matrices import Matrix
from unmask.weights.transformer import Head, Mlp, Transformer

MOST_GATES = 4_000_000

OneHotRow = list[OneHotWires]
"""The columns of the residual stream, or of anything else, at one position."""

Sum = Callable[[CircuitBuilder, Sequence[OneHotWires], Precision], OneHotWires]


def constant_depth_circuit(
    transformer: Transformer,
    *,
    rows: int | None = None,
    read: tuple[int, int] | None = None,
    total: Sum = saturating_sum,
) -> Circuit:
    """The pass of a transformer over its first `rows` positions: bits of the tokens → what the rows `read` decode to.

    Inputs `x3.1`: bit 1 of the token in row 3. Outputs: `undefined`, then `row 3 is 5`, one-hot over the symbols.
    """
    rows = len(transformer.positions) if rows is None else rows
    if not 1 <= rows <= len(transformer.positions):
        raise UnmaskError(f"the transformer has {len(transformer.positions)} positions, not {rows}")
    first, last = (0, rows) if read is None else read
    symbols = transformer.embed.shape[0]
    builder = CircuitBuilder(input_names(rows, symbols))
    wired = WiredTransformer(builder, transformer, total=total)
    residual = wired.embed(token_wires(builder, rows, range(symbols)))
    residual = wired.layers(residual, 0, len(transformer.layers))
    outputs: dict[str, int] = {}
    for row in range(first, last):
        winner = argmax(builder, wired.logits(residual[row]))
        outputs |= {f"row {row} is {s}": winner.get(s, FALSE) for s in range(transformer.out.shape[0])}
    outputs = {"undefined": wired.undefined} | outputs
    return trimmed(builder.circuit(list(outputs.values()), list(outputs)))


def layer_depth(precision: Precision) -> int:
    """What no layer exceeds.

    Seven sums, one after the other (queries and keys, scores, Z, head, heads, and two in the MLP), each with the table
    of its terms before it, and the tables of exp, of e/Z, of H + heads, of both biases, and of the last addition.
    """
    terms = {"queries": 1, "scores": 2, "Z": 0, "head": 2, "heads": 0, "w1": 1, "w2": 1}
    return sum(sum_depth(precision) + table for table in terms.values()) + 1 + 2 + 2 + 1 + 1 + 2


def pass_depth(precision: Precision, layers: int) -> int:
    """What no forward pass exceeds, from one-hot tokens to the decoded symbol: embedding, layers, logits, argmax."""
    return 1 + layers * layer_depth(precision) + 1 + sum_depth(precision) + 3


class WiredTransformer:
    """The equations of the reference engine over wires; `undefined` collects where Z = 0."""

    def __init__(self, builder: CircuitBuilder, transformer: Transformer, *, total: Sum = saturating_sum) -> None:
        self.builder, self.transformer, self.precision = builder, transformer, transformer.precision
        self._sum, self._without_key = total, [FALSE]
        precision, self._out = transformer.precision, transformer.out.transposed()
        self._clipped_sum = cache(lambda a, b: int(arithmetic.add(a, b, precision)))
        self._rounded_product = cache(lambda a, b: int(arithmetic.multiply(a, b, precision)))
        self._rounded_quotient = cache(lambda a, b: int(arithmetic.divide(a, b, precision)) if b else 0)
        self._columns: dict[int, list[tuple[int, list[int], list[int]]]] = {}

    @property
    def undefined(self) -> int:
        """[some row of the layers computed so far attends to nothing]."""
        return self.builder.or_(*self._without_key)

    def embed(self, tokens: Sequence[OneHotWires]) -> list[OneHotRow]:
        """H⁰ = clip(embed + pos)."""
        embed = self.transformer.embed.dense().tolist()
        places = self.transformer.positions.tolist()
        return [
            [
                unary(self.builder, lambda t, c=c, at=at: self._clipped_sum(embed[t][c], at[c]), token)
                for c in range(self.transformer.width)
            ]
            for token, at in zip(tokens, places, strict=False)
        ]

    def layers(self, residual: list[OneHotRow], first: int, last: int) -> list[OneHotRow]:
        """The residual stream after the layers [first, last)."""
        for layer in self.transformer.layers[first:last]:
            heads = [self._attend(residual, head) for head in layer.heads]
            residual = [
                self._mlp(
                    [self._add(self._total([head[i][c] for head in heads]), x) for c, x in enumerate(row)], layer.mlp
                )
                for i, row in enumerate(residual)
            ]
        return residual

    def logits(self, row: OneHotRow) -> OneHotRow:
        """out·h."""
        return self._times(row, self._out)

    def _attend(self, residual: list[OneHotRow], head: Head) -> list[OneHotRow]:
        Q, K, V = ([self._times(row, w) for row in residual] for w in (head.wq, head.wk, head.wv))
        written = np.unique(head.wv.column).tolist()
        exponential = exp_table(self.precision).tolist()
        result = []
        for i, query in enumerate(Q):
            visible = range(i + 1 if self.transformer.attention == "causal" else len(K))
            exps = []
            for j in visible:
                score = self._total([self._product(q, k) for q, k in zip(query, K[j], strict=True)])
                exps.append(unary(self.builder, lambda a: exponential[a + self.precision.bound], score))
            Z = self._total(exps)
            self._without_key.append(Z.get(0, FALSE))
            weights = [self._quotient(e, Z) for e in exps]
            row: OneHotRow = [{0: TRUE} for _ in range(self.transformer.width)]
            for c in written:
                row[c] = self._total([self._product(weights[j], V[j][c]) for j in visible])
            result.append(row)
            self._check_size()
        return result

    def _mlp(self, G: OneHotRow, mlp: Mlp) -> OneHotRow:
        """G + ReLU(ReLU(G·W1 + b1)·W2 + b2)."""
        hidden = self._biased(self._times(G, mlp.w1), mlp.b1)
        self._check_size()
        return [self._add(g, x) for g, x in zip(G, self._biased(self._times(hidden, mlp.w2), mlp.b2), strict=True)]

    def _times(self, row: OneHotRow, matrix: Matrix) -> OneHotRow:
        """SUM_k [x_k·W_kc], in order of k."""
        result: OneHotRow = [{0: TRUE} for _ in range(matrix.shape[1])]
        if id(matrix) not in self._columns:
            self._columns[id(matrix)] = [(c, ks.tolist(), ws.tolist()) for c, ks, ws in matrix.transposed().rows()]
        for column, ks, ws in self._columns[id(matrix)]:
            weighted = zip(ks, ws, strict=True)
            result[column] = self._total(
                [unary(self.builder, lambda a, w=w: self._rounded_product(a, w), row[k]) for k, w in weighted]
            )
        return result

    def _biased(self, row: OneHotRow, biases: np.ndarray) -> OneHotRow:
        """ReLU(x + b)."""
        return [
            unary(self.builder, lambda a, b=b: max(0, self._clipped_sum(a, b)), x)
            for x, b in zip(row, biases.tolist(), strict=True)
        ]

    def _total(self, terms: Sequence[OneHotWires]) -> OneHotWires:
        return self._sum(self.builder, terms, self.precision)

    def _add(self, x: OneHotWires, y: OneHotWires) -> OneHotWires:
        return binary(self.builder, self._clipped_sum, x, y)

    def _product(self, x: OneHotWires, y: OneHotWires) -> OneHotWires:
        return binary(self.builder, self._rounded_product, x, y)

    def _quotient(self, x: OneHotWires, Z: OneHotWires) -> OneHotWires:
        """[x/Z]; 0 where Z = 0, which `undefined` reports."""
        return binary(self.builder, self._rounded_quotient, x, Z)

    def _check_size(self) -> None:
        if len(self.builder.gates) > MOST_GATES:
            raise TooLarge(
                f"the circuit would have more than {MOST_GATES:,} gates; use fewer rows or a smaller precision"
            )


def bits_per_symbol(symbols: int) -> int:
    return (symbols - 1).bit_length()


def input_names(rows: int, symbols: int) -> list[str]:
    """`x3` where one bit says which of two symbols stands in place 3, `x3.0`, `x3.1`, … where it takes more."""
    bits = bits_per_symbol(symbols)
    return [f"x{i}" if bits == 1 else f"x{i}.{b}" for i in range(rows) for b in range(bits)]


def token_wires(builder: CircuitBuilder, rows: int, tokens: Sequence[int]) -> list[OneHotWires]:
    """The tokens of the inputs that `input_names` names, one-hot: place i holds tokens[code], the code binary, its
    lowest bit first; a code beyond the last token stands for the last token."""
    bits = bits_per_symbol(len(tokens))
    result = []
    for i in range(rows):
        wires = [builder.input(bits * i + b) for b in range(bits)]
        codes = [builder.and_(*(w ^ (not code >> b & 1) for b, w in enumerate(wires))) for code in range(1 << bits)]
        first, last = codes[: len(tokens) - 1], codes[len(tokens) - 1 :]
        result.append(dict(zip(tokens, [*first, builder.or_(*last)], strict=True)))
    return result


def token_bits(tokens: np.ndarray, symbols: Sequence[int]) -> np.ndarray:
    """Input bits [batch, inputs] for tokens [batch, rows] from among `symbols`: the other way round."""
    order = {token: code for code, token in enumerate(symbols)}
    codes = np.vectorize(order.__getitem__, otypes=[np.int64])(tokens).reshape(tokens.shape)
    return (codes[..., None] >> np.arange(bits_per_symbol(len(symbols))) & 1).reshape(len(tokens), -1).astype(bool)
