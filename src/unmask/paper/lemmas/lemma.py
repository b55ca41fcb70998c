"""Lemma: a statement about a gadget of every width, a function that decides it, and wrong variants of the gadget."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

from unmask.numerics.arithmetic import Precision, add, multiply, relu
from unmask.programs.assembly import assemble
from unmask.programs.program import Program
from unmask.weights.matrices import Matrix
from unmask.weights.transformer import Layer


@dataclass(frozen=True)
class Replayed:
    """The result of the reference engine for a counterexample, and whether it confirms the counterexample."""

    text: str
    confirmed: bool


@dataclass(frozen=True)
class LemmaOutcome:
    """The result of deciding a lemma at one precision: the numbers of states and cases, and a counterexample if any.

    `replayed` is the run of the counterexample by the reference engine.
    """

    states: int
    cases: int
    counterexample: str | None = None
    replayed: Replayed | None = None

    @property
    def holds(self) -> bool:
        return self.counterexample is None


PREFERRED_PRECISION = 2
"""The precision of compiled models; its counterexample is shown if there is one."""

Decide = Callable[[Precision], LemmaOutcome]


@dataclass(frozen=True)
class Variant:
    """A gadget that looks correct but is wrong at some precision."""

    name: str
    decide: Decide


@dataclass(frozen=True)
class Lemma:
    """A statement for every width. `least` is the least p at which it holds, `most` the largest p that is decided."""

    name: str
    statement: str
    code: str
    decide: Decide
    variants: tuple[Variant, ...] = ()
    least: int = 1
    most: int = 4


class LemmaRefuted(AssertionError):
    """Raised if a lemma does not hold where it is claimed, or if a variant is not refuted."""


@dataclass(frozen=True)
class VariantRefutation:
    """The precisions at which a wrong variant fails, and a shortest counterexample at one of them, p."""

    variant: str
    fails: tuple[int, ...]
    p: int
    counterexample: str
    replayed: str


@dataclass(frozen=True)
class LemmaEvidence:
    """The precisions at which a lemma holds for every width, the total numbers of states and cases, and refutations."""

    name: str
    statement: str
    code: str
    holds: tuple[int, ...]
    least: int
    states: int
    cases: int
    refutations: tuple[VariantRefutation, ...]

    @property
    def method(self) -> str:
        """Return the text of `Evidence.method` of an item."""
        return (
            f"{self.name}: proved for every width, by closure, at p = {', '.join(map(str, self.holds))} "
            f"({self.states:,} states); {len(self.refutations)} wrong variants refuted"
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "statement": self.statement,
            "code": self.code,
            "holds": list(self.holds),
            "least": self.least,
            "states": self.states,
            "cases": self.cases,
            "refuted": [vars(refutation) for refutation in self.refutations],
        }


def evidence(lemma: Lemma, *, most: int | None = None) -> LemmaEvidence:
    """Decide a lemma and its variants for p = 1 … most (by default up to `lemma.most`) and return the evidence.

    Raise `LemmaRefuted` if the lemma does not hold exactly from `lemma.least` on, or if a variant is not refuted.
    """
    outcomes = {p: lemma.decide(Precision(p)) for p in range(1, _last(lemma, most) + 1)}
    holds = tuple(p for p, outcome in outcomes.items() if outcome.holds)
    if holds != tuple(p for p in outcomes if p >= lemma.least):
        p, outcome = next((p, o) for p, o in outcomes.items() if o.holds != (p >= lemma.least))
        result = outcome.counterexample or "it holds"
        raise LemmaRefuted(f"{lemma.name} should hold from p = {lemma.least} on; at p = {p}: {result}")
    return LemmaEvidence(
        lemma.name,
        lemma.statement,
        lemma.code,
        holds,
        lemma.least,
        sum(outcome.states for outcome in outcomes.values()),
        sum(outcome.cases for outcome in outcomes.values()),
        tuple(refutation(lemma, variant, most=most) for variant in lemma.variants),
    )


def refutation(lemma: Lemma, variant: Variant, *, most: int | None = None) -> VariantRefutation:
    """Refute a wrong variant; raise `LemmaRefuted` unless the reference engine confirms every counterexample."""
    outcomes = {p: variant.decide(Precision(p)) for p in range(1, _last(lemma, most) + 1)}
    fails = tuple(p for p, outcome in outcomes.items() if not outcome.holds)
    if not fails:
        raise LemmaRefuted(f"{lemma.name}, {variant.name}: no counterexample at p = 1 … {_last(lemma, most)}")
    for p in fails:
        replayed = outcomes[p].replayed
        if replayed is None or not replayed.confirmed:
            raise LemmaRefuted(f"{lemma.name}, {variant.name}, p = {p}: the reference engine does not confirm it")
    p = PREFERRED_PRECISION if PREFERRED_PRECISION in fails else fails[0]
    outcome = outcomes[p]
    assert outcome.counterexample is not None
    assert outcome.replayed is not None
    return VariantRefutation(variant.name, fails, p, outcome.counterexample, outcome.replayed.text)


@cache
def _last(lemma: Lemma, most: int | None) -> int:
    return lemma.most if most is None else min(most, lemma.most)


# Assembled weights → the term that a column of a head, a hidden unit or an output column adds, by names of registers.
#
#     column c of a head     adds [⟨x, Wq_c⟩ · ⟨y, Wk_c⟩] to the score of query row x and key row y
#     hidden unit h          is ReLU(⟨x, W1_h⟩ + b1_h)
#     output column t        adds ReLU(⟨hidden, W2_t⟩ + b2_t) to column t of the row
#
# All integers are those of the assembled matrices, all operations those of `numerics`. The proof for any width uses the
# block of the gadget: `repeated` reads the block off the weights of width 1. It checks for several other widths that
# their weights consist of this block, once per index in each pass, and nothing else. For all further widths this is
# read off the gadget's code, a loop over the indices whose body does not depend on the width.


Read = tuple[str, int, int]
"""(register, index within it, weight)."""
Contents = Mapping[str, int | np.ndarray]
"""The contents of the registers of one index; a register that is not named has 0."""

WIDTHS = (1, 2, 3, 5, 8)


class NotRepeated(AssertionError):
    """Raised if the weights of some width are not the block of width 1, once per index."""


@dataclass(frozen=True)
class Column:
    """One column of a head: the reads of its query form and of its key form, in the order of summation."""

    query: tuple[Read, ...]
    key: tuple[Read, ...]

    def term(self, query: Contents, key: Contents, precision: Precision):
        """Return the term that the column adds to the score."""
        return multiply(form(self.query, query, precision), form(self.key, key, precision), precision)


@dataclass(frozen=True)
class Unit:
    """One hidden unit: its reads, in the order of summation, its bias, and its writes."""

    reads: tuple[Read, ...]
    bias: int
    writes: tuple[Read, ...]

    def value(self, contents: Contents, precision: Precision):
        return relu(add(form(self.reads, contents, precision), self.bias, precision))


def form(reads: Sequence[Read], contents: Contents, precision: Precision):
    """Return SUM [weight · content], for reads of one index."""
    result = 0
    for register, _, weight in reads:
        result = add(result, multiply(contents.get(register, 0), weight, precision), precision)
    return result


def layer_of(program: Program, precision: Precision) -> Layer:
    """Return the weights of the first layer."""
    return assemble(program, precision).layers[0]


def columns_of(program: Program, precision: Precision) -> tuple[Column, ...]:
    """Return the columns of the first head of the first layer."""
    head, names = layer_of(program, precision).heads[0], column_names(program)
    queries, keys = _by_column(head.wq, names), _by_column(head.wk, names)
    return tuple(Column(q, k) for q, k in zip(queries, keys, strict=True))


def units_of(program: Program, precision: Precision, layer: int = 0) -> tuple[Unit, ...]:
    """Return the hidden units of a layer's MLP, in order."""
    mlp, names = assemble(program, precision).layers[layer].mlp, column_names(program)
    reads, writes = _by_column(mlp.w1, names), _by_row(mlp.w2, names)
    return tuple(Unit(read, int(bias), write) for read, bias, write in zip(reads, mlp.b1.tolist(), writes, strict=True))


def offsets_of(program: Program, precision: Precision, layer: int = 0) -> dict[tuple[str, int], int]:
    """Return the output bias of every column of a layer's MLP."""
    return dict(zip(column_names(program), assemble(program, precision).layers[layer].mlp.b2.tolist(), strict=True))


def offset_of(program: Program, precision: Precision, register: str, index: int = 0, layer: int = 0) -> int:
    """Return the output bias of one column."""
    return offsets_of(program, precision, layer)[register, index]


def writers(units: Sequence[Unit], register: str, index: int = 0) -> list[tuple[Unit, int]]:
    """Return (unit, weight) for every unit that writes to a column, in the order of summation."""
    return [(u, weight) for u in units for name, i, weight in u.writes if (name, i) == (register, index)]


def column_names(program: Program) -> list[tuple[str, int]]:
    """Return (register, index) for every column of the residual stream."""
    return [(name, i) for name, labels in program.registers.items() for i in range(len(labels))]


def copies_exactly(program: Program, precision: Precision, source: str, target: str) -> bool:
    """Return whether the first head's value map is target_i = 1 · source_i for every i, and nothing else."""
    wv = layer_of(program, precision).heads[0].wv
    expected = zip(program.columns(source).tolist(), program.columns(target).tolist(), strict=True)
    return sorted(zip(wv.row.tolist(), wv.column.tolist(), wv.value.tolist(), strict=True)) == sorted(
        (a, b, precision.one) for a, b in expected
    )


@dataclass(frozen=True)
class Pieces:
    """The columns of a head in three pieces. The piece `block` occurs once per index, in each of `passes` passes."""

    before: tuple[Column, ...]
    block: tuple[Column, ...]
    passes: int
    after: tuple[Column, ...]


def repeated(
    emit: Callable[[int], tuple[Program, Sequence[int]]],
    precision: Precision,
    *,
    passes: int,
    indexed: frozenset[str],
    widths: Sequence[int] = WIDTHS,
) -> Pieces:
    """Return the pieces of a head that `emit` writes for any width; check them for several widths.

    `emit` returns the program, and the numbers of columns at which the three pieces of its head end.
    """
    before, body, after = _cut(emit, 1, precision)
    if len(body) % passes:
        raise NotRepeated(f"{len(body)} columns of width 1 are not {passes} passes of one block")
    block = body[: len(body) // passes]
    for width in widths:
        expected = [at_index(column, i, indexed) for _ in range(passes) for i in range(width) for column in block]
        if _cut(emit, width, precision) != (before, tuple(expected), after):
            raise NotRepeated(f"the columns of width {width} are not {passes} times the block of width 1 per index")
    return Pieces(before, block, passes, after)


def at_index(column: Column, index: int, indexed: frozenset[str]) -> Column:
    """Return the same column of another index."""

    def moved(reads: tuple[Read, ...]) -> tuple[Read, ...]:
        return tuple((name, index if name in indexed else i, weight) for name, i, weight in reads)

    return Column(moved(column.query), moved(column.key))


def _cut(emit, width: int, precision: Precision) -> tuple[tuple[Column, ...], ...]:
    program, ends = emit(width)
    columns = columns_of(program, precision)
    return tuple(columns[a:b] for a, b in pairwise((0, *ends)))


def _by_column(matrix: Matrix, names: list[tuple[str, int]]) -> list[tuple[Read, ...]]:
    """Return the reads of every column, in the order of the rows."""
    reads: list[list[Read]] = [[] for _ in range(matrix.shape[1])]
    for row, columns, values in matrix.rows():
        for column, value in zip(columns.tolist(), values.tolist(), strict=True):
            reads[column].append((*names[row], value))
    return [tuple(r) for r in reads]


def _by_row(matrix: Matrix, names: list[tuple[str, int]]) -> list[tuple[Read, ...]]:
    """Return the writes of every row."""
    writes: list[list[Read]] = [[] for _ in range(matrix.shape[0])]
    for row, columns, values in matrix.rows():
        writes[row] = [(*names[c], v) for c, v in zip(columns.tolist(), values.tolist(), strict=True)]
    return [tuple(w) for w in writes]
