"""Transformers and models → circuits of AND, OR and NOT of a depth that does not grow with N.

Behind cor:mdms-with-constant-steps.

Statement:    a transformer of L layers over F_p is a circuit of depth at most c·L + c', where c and c' depend on p
              alone: not on the rows, the width, the heads or the hidden units. Its size is polynomial in these.
Construction: every number is one-hot, functions of one or two numbers are tables, every sum in the definition of a
              layer is a cascade (`one_hot`). Constants are folded.
Depth:        counts AND and OR; a NOT is free, as everywhere in this library. The loops of the models:

    kind            one step                                                             depth of T steps at most
    mdm, smdm       planner and predictor side by side, then a choice per slot           T·(pass + 2)
    topk, k = null  one pass, then a choice per slot by its largest logit                T·(pass + 3)
    plt             one loop of the layers [l1, l2)                                      T·loop + pass
    cot, pcot       one pass over what is written so far                                 T·pass

`pass` is `pass_depth`, a constant for fixed p and number of layers. A topk with a fixed k is refused: no circuit of
constant depth counts up to a k that grows.

Division:     `undefined` is true if and only if some row attends to nothing, Z = 0, in a layer that is computed: where
              the reference engine raises `AttendsToNothing`. The other outputs then have no meaning.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache

import numpy as np

from unmask.errors import TooLarge, UnmaskError
from unmask.numerics import arithmetic
from unmask.numerics.arithmetic import Precision, exp_table
from unmask.problems.circuits.circuit import FALSE, TRUE, Circuit, CircuitBuilder, trimmed
from unmask.reasoners.loops import Moment, canvases
from unmask.verification.circuits.one_hot import (
    OneHotWires,
    argmax_wires,
    at_least_wire,
    binary_table,
    choose_wires,
    constant_wires,
    saturating_sum,
    sum_depth,
    unary_table,
)
from unmask.verification.transformer_layer import NumberDomain
from unmask.verification.word_encoding import WordEncoding
from unmask.weights.matrices import Matrix
from unmask.weights.model import Model
from unmask.weights.transformer import Head, Transformer

MOST_GATES = 4_000_000

OneHotRow = list[OneHotWires]
"""The columns of the residual stream, or of anything else, at one position."""

SumCircuit = Callable[[CircuitBuilder, Sequence[OneHotWires], Precision], OneHotWires]


def constant_depth_circuit(
    transformer: Transformer,
    *,
    rows: int | None = None,
    read: tuple[int, int] | None = None,
    total: SumCircuit = saturating_sum,
) -> Circuit:
    """Return the circuit of a forward pass over the first `rows` positions, with the symbols of the rows `read`.

    Inputs `x3.1`: bit 1 of the token in row 3. Outputs: `undefined`, then `row 3 is 5`, one-hot over the symbols.
    """
    rows = len(transformer.positions) if rows is None else rows
    if not 1 <= rows <= len(transformer.positions):
        raise UnmaskError(f"the transformer has {len(transformer.positions)} positions, not {rows}")
    first, last = (0, rows) if read is None else read
    symbols = transformer.embed.shape[0]
    builder, tokens = token_inputs(rows, range(symbols))
    wired = WiredTransformer(builder, transformer, total=total)
    residual = wired.embed(tokens)
    residual = wired.layers(residual, 0, len(transformer.layers))
    outputs: dict[str, int] = {}
    for row in range(first, last):
        winner = argmax_wires(builder, wired.logits(residual[row]))
        outputs |= {f"row {row} is {s}": winner.get(s, FALSE) for s in range(transformer.out.shape[0])}
    outputs = {"undefined": wired.undefined} | outputs
    return trimmed(builder.circuit(list(outputs.values()), list(outputs)))


def layer_depth(precision: Precision) -> int:
    """Return an upper bound on the depth of a layer.

    There are seven sums, one after the other (queries and keys, scores, Z, head, heads, and two in the MLP), each after
    the table of its terms, and the tables of exp, of e/Z, of H + heads, of both biases, and of the last addition.
    """
    terms = {"queries": 1, "scores": 2, "Z": 0, "head": 2, "heads": 0, "w1": 1, "w2": 1}
    return sum(sum_depth(precision) + table for table in terms.values()) + 1 + 2 + 2 + 1 + 1 + 2


def pass_depth(precision: Precision, layers: int) -> int:
    """Return an upper bound on the depth of a forward pass, from one-hot tokens to the decoded symbol.

    Embedding, layers, logits, argmax.
    """
    return 1 + layers * layer_depth(precision) + 1 + sum_depth(precision) + 3


class WiredTransformer(NumberDomain[OneHotRow, Iterable[OneHotWires], Matrix, np.ndarray]):
    """A transformer over one-hot wires; `undefined` is true if Z = 0 somewhere.

    The corollary counts the depth of its sums (`total`, `times`) and tables (all others).
    """

    def __init__(
        self, builder: CircuitBuilder, transformer: Transformer, *, total: SumCircuit = saturating_sum
    ) -> None:
        self.builder, self.transformer, self.precision = builder, transformer, transformer.precision
        self._sum, self._without_key = total, [FALSE]
        precision, self._out = transformer.precision, transformer.out.transposed()
        self._clipped_sum = cache(lambda a, b: int(arithmetic.add(a, b, precision)))
        self._rounded_product = cache(lambda a, b: int(arithmetic.multiply(a, b, precision)))
        self._rounded_quotient = cache(lambda a, b: int(arithmetic.divide(a, b, precision)) if b else 0)
        self._columns: dict[int, list[tuple[int, list[int], list[int]]]] = {}

    @property
    def undefined(self) -> int:
        """The literal "some row of the layers computed so far attends to nothing"."""
        return self.builder.or_(*self._without_key)

    def embed(self, tokens: Sequence[OneHotWires]) -> list[OneHotRow]:
        """H⁰ = clip(embed + pos)."""
        embed = self.transformer.embed.dense().tolist()
        positions = self.transformer.positions.tolist()
        return [
            [
                unary_table(
                    self.builder, lambda t, c=c, position=position: self._clipped_sum(embed[t][c], position[c]), token
                )
                for c in range(self.transformer.width)
            ]
            for token, position in zip(tokens, positions, strict=False)
        ]

    def layers(self, residual: list[OneHotRow], first: int, last: int) -> list[OneHotRow]:
        """Return the residual stream after the layers [first, last)."""
        for layer in self.transformer.layers[first:last]:
            heads = [self._attend(residual, head) for head in layer.heads]
            residual = [
                self.mlp(self.residual(row, [head[i] for head in heads]), layer.mlp) for i, row in enumerate(residual)
            ]
        return residual

    def logits(self, row: OneHotRow) -> OneHotRow:
        """Return out·h."""
        return self.times(row, self._out)

    def _attend(self, residual: list[OneHotRow], head: Head) -> list[OneHotRow]:
        Q, K, V = ([self.times(row, w) for row in residual] for w in (head.wq, head.wk, head.wv))
        written = np.unique(head.wv.column).tolist()
        exponential = exp_table(self.precision).tolist()
        result = []
        for i, query in enumerate(Q):
            visible = range(i + 1 if self.transformer.attention == "causal" else len(K))
            exps = []
            for j in visible:
                score = self._total([self._product(q, k) for q, k in zip(query, K[j], strict=True)])
                exps.append(unary_table(self.builder, lambda a: exponential[a + self.precision.bound], score))
            Z = self._total(exps)
            self._without_key.append(Z.get(0, FALSE))
            weights = [self._quotient(e, Z) for e in exps]
            row: OneHotRow = [{0: TRUE} for _ in range(self.transformer.width)]
            for c in written:
                row[c] = self._total([self._product(weights[j], V[j][c]) for j in visible])
            result.append(row)
            self._check_size()
        return result

    def total(self, parts: Sequence[Iterable[OneHotWires]]) -> Iterator[OneHotWires]:
        """Yield the columns one by one, so that the gates of a column are created next to those of its addition."""
        return (self._total(column) for column in zip(*parts, strict=True))

    def add(self, left: Iterable[OneHotWires], right: Iterable[OneHotWires]) -> OneHotRow:
        return [binary_table(self.builder, self._clipped_sum, x, y) for x, y in zip(left, right, strict=True)]

    def times(self, row: Iterable[OneHotWires], weights: Matrix) -> OneHotRow:
        row, result = list(row), [constant_wires(0) for _ in range(weights.shape[1])]
        if id(weights) not in self._columns:
            self._columns[id(weights)] = [(c, ks.tolist(), ws.tolist()) for c, ks, ws in weights.transposed().rows()]
        for column, ks, ws in self._columns[id(weights)]:
            weighted = zip(ks, ws, strict=True)
            result[column] = self._total(
                [unary_table(self.builder, lambda a, w=w: self._rounded_product(a, w), row[k]) for k, w in weighted]
            )
        return result

    def rectified(self, part: Iterable[OneHotWires], biases: np.ndarray) -> OneHotRow:
        self._check_size()
        return [
            unary_table(self.builder, lambda a, b=b: max(0, self._clipped_sum(a, b)), x)
            for x, b in zip(part, biases.tolist(), strict=True)
        ]

    def _total(self, terms: Sequence[OneHotWires]) -> OneHotWires:
        return self._sum(self.builder, terms, self.precision)

    def _product(self, x: OneHotWires, y: OneHotWires) -> OneHotWires:
        return binary_table(self.builder, self._rounded_product, x, y)

    def _quotient(self, x: OneHotWires, Z: OneHotWires) -> OneHotWires:
        """Return x/Z, rounded; 0 if Z = 0, which `undefined` reports."""
        return binary_table(self.builder, self._rounded_quotient, x, Z)

    def _check_size(self) -> None:
        if len(self.builder.gates) > MOST_GATES:
            raise TooLarge(
                f"the circuit would have more than {MOST_GATES:,} gates; use fewer rows or a smaller precision"
            )


def token_inputs(rows: int, tokens: Sequence[int]) -> tuple[CircuitBuilder, list[OneHotWires]]:
    """Return a builder whose inputs are the bits of a word, and its tokens, one-hot: letter k is tokens[k]."""
    encoding = WordEncoding(len(tokens), rows)
    builder = CircuitBuilder(encoding.names())
    return builder, [dict(zip(tokens, literals, strict=True)) for literals in encoding.literals(builder)]


def token_bits(tokens: np.ndarray, symbols: Sequence[int]) -> np.ndarray:
    """Return the input bits [batch, inputs] for tokens [batch, rows] from `symbols`: for `token_inputs`."""
    order = {token: letter for letter, token in enumerate(symbols)}
    letters = np.vectorize(order.__getitem__, otypes=[np.int64])(tokens).reshape(tokens.shape)
    return WordEncoding(len(symbols), tokens.shape[1]).bits(letters)


SlotWires = list[OneHotWires]


class WireMedium:
    """The medium of a run over wires; the inputs of `builder` are the bits of the input symbols."""

    def __init__(self, model: Model, total: SumCircuit) -> None:
        if model.kind == "topk" and model.k is not None:
            raise UnmaskError(
                f"a topk that chooses k = {model.k} slots has to count, which is impossible in constant depth; "
                "convert it to mdm first, or use one whose k is null"
            )
        tokens = [model.token[s] for s in model.input_symbols]
        self._model = model
        self.builder, word = token_inputs(model.length, tokens)
        begin = [] if model.begin is None else [constant_wires(model.token[model.begin])]
        self._input: SlotWires = begin + word
        self._transformers = {
            name: WiredTransformer(self.builder, transformer, total=total)
            for name, transformer in model.transformers.items()
        }
        self._edits = [FALSE]

    @property
    def model(self) -> Model:
        return self._model

    @property
    def undefined(self) -> int:
        """The literal "the run so far has ended in an error"."""
        return self.builder.or_(*self._edits, *(wired.undefined for wired in self._transformers.values()))

    def copies(self, symbol: str | None, count: int) -> SlotWires:
        return [] if symbol is None else [constant_wires(self._model.token[symbol])] * count

    def read(
        self,
        step: int,  # noqa: ARG002
        name: str,
        tokens: SlotWires,
        last: int,
        *,
        requested: list[int] | None = None,  # noqa: ARG002
    ) -> list[OneHotRow]:
        wired = self._transformers[name]
        residual = wired.layers(wired.embed(self._input + tokens), 0, len(wired.transformer.layers))
        return [wired.logits(row) for row in residual[len(residual) - last :]]

    def decode(self, logits: Sequence[OneHotRow], *, without: int | None = None) -> SlotWires:
        return [argmax_wires(self.builder, row, without=without) for row in logits]

    def chosen_slots(self, decisions: Sequence[OneHotRow]) -> list[int]:
        return [decision.get(1, FALSE) for decision in self.decode(decisions)]

    def require_masked(self, step: int, choice: list[int], canvas: SlotWires) -> list[int]:  # noqa: ARG002
        mask = self._model.token[self._model.mask or ""]
        edits = (self.builder.and_(u, y.get(mask, FALSE) ^ 1) for u, y in zip(choice, canvas, strict=True))
        self._edits.append(self.builder.or_(*edits))
        return choice

    def surest(self, logits: Sequence[OneHotRow], k: int, *, without: int) -> list[int]:  # noqa: ARG002
        raise AssertionError("a model that counts is refused before its loop begins")

    def above_least(self, logits: Sequence[OneHotRow], *, without: int) -> list[int]:
        least = 1 - self._model.precision.bound
        return [
            self.builder.or_(*(at_least_wire(self.builder, x, least) for s, x in enumerate(row) if s != without))
            for row in logits
        ]

    def overwrite(self, canvas: SlotWires, choice: list[int], symbols: SlotWires) -> SlotWires:
        return [choose_wires(self.builder, u, x, y) for u, x, y in zip(choice, symbols, canvas, strict=True)]

    def joined(self, left: SlotWires, right: SlotWires) -> SlotWires:
        return left + right

    def as_tokens(self, symbols: SlotWires) -> SlotWires:
        return symbols

    def embed(self, tokens: SlotWires) -> list[OneHotRow]:
        return self._transformers["model"].embed(self._input + tokens)

    def noisy(self, step: int, residual: list[OneHotRow]) -> list[OneHotRow]:  # noqa: ARG002
        return residual

    def layers(self, moment: Moment, residual: list[OneHotRow], first: int, last: int) -> list[OneHotRow]:  # noqa: ARG002
        return self._transformers["model"].layers(residual, first, last)

    def last_rows(self, residual: list[OneHotRow], count: int) -> list[OneHotRow]:
        return [self._transformers["model"].logits(row) for row in residual[-count:]]


def constant_depth_model(model: Model, *, slots: bool = False, total: SumCircuit = saturating_sum) -> Circuit:
    """Return the circuit of a model without noise, with the outputs `undefined`, `rejected` and `accepted`.

    Its inputs are the bits of the input symbols (`WordEncoding`). `undefined` is true if and only if the run ends in an
    error: a row attends to nothing, or the planner of an smdm chooses a written slot. With `slots`, the final slots
    come first: `slot 2 is a`.
    """
    wires = WireMedium(model, total)
    *_, final_canvas = canvases(wires)
    outputs: dict[str, int] = {}
    if slots:
        slot_symbols = ((i, symbol, slot) for i, slot in enumerate(final_canvas) for symbol in model.vocabulary)
        outputs = {f"slot {i} is {symbol}": slot.get(model.token[symbol], FALSE) for i, symbol, slot in slot_symbols}
    outputs["undefined"] = wires.undefined
    outputs["rejected"], outputs["accepted"] = (
        _holds_symbol(wires, final_canvas[-1], s) for s in (model.reject, model.accept)
    )
    return trimmed(wires.builder.circuit(list(outputs.values()), list(outputs)))


def model_depth(model: Model) -> int:
    """Return an upper bound on the depth of the circuit; it depends only on T, p and the layers."""
    layers = max(len(transformer.layers) for transformer in model.transformers.values())
    tokens, answer = 2, 1
    if model.kind == "plt":
        first, last = model.transformers["model"].loop or (0, 0)
        layers = first + model.steps * (last - first) + layers - last
        return tokens + pass_depth(model.precision, layers) + answer
    return tokens + model.steps * (pass_depth(model.precision, layers) + 3) + answer


def _holds_symbol(wires: WireMedium, slot: OneHotWires, symbol: str) -> int:
    """Return the literal "the slot holds the symbol, or an alias of it"."""
    model = wires.model
    matching = (t for t in slot if model.aliases.get(model.vocabulary[t], model.vocabulary[t]) == symbol)
    return wires.builder.or_(*(slot[t] for t in matching))
