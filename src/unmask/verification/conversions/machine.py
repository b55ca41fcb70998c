"""Execution of a program for every N on rows that hold numbers and names, layer by layer.

own heads       write the value map of the row that they read; a proof shows which row that is
source layers   Cell(s, l, ·) → Cell(s, l + 1, ·) in a row that hosts a row of the source, ANYTHING in others;
                a proof shows with `guarded` that such a row sees the source's rows and no others
MLPs            unit by unit, on numbers

`ConversionClaim` runs the construction of a theorem on an unknown source and provides these machines.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

import numpy as np

from unmask.expressions import Expression
from unmask.numerics.arithmetic import Precision, add, exp, multiply
from unmask.programs.declarations import Flag, SignedBits, TableRows
from unmask.programs.program import Program
from unmask.theorems.theorem import ConversionSource, Theorem
from unmask.verification.conversions.unknown_source import (
    ANYTHING,
    BEGIN,
    SLOTS,
    STEPS,
    Cell,
    HeadWires,
    Logit,
    MlpWires,
    Number,
    Place,
    SourceHead,
    SourceLayer,
    SourceShape,
    Sums,
    Value,
    Values,
    Wires,
    is_number,
    is_zero,
    reversed_edges,
    source_layers,
    unknown_source,
    wires,
)
from unmask.verification.lengths.obligations import AnyRow, Arithmetic, Euclid, Ledger, ObligationFailed, Term

MOST_FLAGS = 16
Flags = tuple[tuple[str, int], ...]
"""What the flags of a row may be: register → 0 or 1."""


@dataclass(frozen=True, eq=False)
class RowState:
    """A row of the program; `symbol` is that of the source's row that it hosts, None if it hosts none."""

    columns: tuple[Value, ...]
    symbol: int | None

    def __getitem__(self, column: int) -> Value:
        return self.columns[column]

    @property
    def values(self) -> Values:
        return dict(enumerate(self.columns))

    def holds(self, columns: Sequence[int], values: Sequence[Value]) -> bool:
        return all(_same(self.columns[c], v) for c, v in zip(columns, values, strict=True))

    def hosting(self, symbol: int | None) -> "RowState":
        """The same row as the host of another symbol."""
        return replace(self, symbol=symbol)

    def changed(self, values: dict[int, Value]) -> "RowState":
        return replace(self, columns=tuple(values.get(c, v) for c, v in enumerate(self.columns)))


def _unseen(columns: Collection[int], only: Collection[int] | None) -> Values:
    return {} if only is None else {c: ANYTHING for c in columns if c not in only}


def _same(a: Value, b: Value) -> bool:
    return bool(np.array_equal(a, b)) if is_number(a) and is_number(b) else type(a) is type(b) and a == b


@dataclass(frozen=True, eq=False)
class Step:
    """One layer of the program: its heads, those that are not the source's, and the source's layers in it."""

    heads: tuple[HeadWires, ...]
    own: tuple[int, ...]
    given: tuple[SourceLayer, ...]
    mlp: MlpWires


class ProgramMachine:
    """`streams`: transformer of the source → the register that holds its stream."""

    def __init__(
        self,
        program: Program,
        precision: Precision,
        source: ConversionSource,
        shape: SourceShape,
        streams: dict[str, str],
    ) -> None:
        self.program, self.precision, self._source = program, precision, source
        self.shapes = {name: its for name, its in shape.transformers if name in streams}
        self.streams = {name: self.columns(register) for name, register in streams.items()}
        self.sums = Sums(
            precision,
            {name: len(its.layers) for name, its in self.shapes.items()},
            {name: its.width for name, its in self.shapes.items()},
        )
        self._embedding = wires(program.embedding, precision)
        self._readout = wires(reversed_edges(program.readout), precision)
        self.steps = [self._step(number) for number in range(len(program.layers))]
        self._require_untouched()

    def columns(self, register: str) -> tuple[int, ...]:
        if register not in self.program.registers:
            raise ObligationFailed(f"unknown register {register}")
        return tuple(self.program.columns(register).tolist())

    def cells(self, transformer: str, layer: int) -> list[Value]:
        return [Cell(transformer, layer, c) for c in range(self.shapes[transformer].width)]

    def _step(self, number: int) -> Step:
        layer = self.program.layers[number]
        heads = tuple(HeadWires(head, self.precision) for head in layer.heads)
        mlp = MlpWires.of(layer.mlp, self.precision)
        given, own = source_layers(heads, mlp, self.streams, self.shapes)
        return Step(heads, tuple(own), tuple(given), mlp)

    def _require_untouched(self) -> None:
        """Codes are what they are declared to be: nothing writes to them."""
        codes = {c for name in self.program.codes for c in self.columns(name)}
        written = set(self._embedding)
        for step in self.steps:
            written |= {c for head in step.heads for c in head.value} | step.mlp.columns
        if codes & written:
            raise ObligationFailed("something is written to a code")

    # Rows before the first layer ---------------------------------------------------------------------------------

    def flags(self, arithmetic: Arithmetic, row: AnyRow, where: Sequence[Term]) -> list[Flags]:
        """All that the declared flags may be in rows with these properties."""
        declared = {name: d.expression for name, d in self.program.positions.items() if type(d) is Flag}
        terms = [arithmetic.z3.If(arithmetic.at(expression, row) != 0, 1, 0) for expression in declared.values()]
        combinations = arithmetic.values(terms, [*row.facts, *where], MOST_FLAGS)
        if not combinations:
            raise ObligationFailed("there is no such row")
        return [tuple(zip(declared, values, strict=True)) for values in combinations]

    def start(self, token: int, flags: Flags, symbol: int | None, hosts: Sequence[str] = ()) -> RowState:
        """H⁰ of a token; the tables of the transformers in `hosts` are at the place of the hosted row."""
        values: list[Value] = []
        for name, labels in self.program.registers.items():
            declared = self.program.positions.get(name)
            for k in range(len(labels)):
                values.append(self._placed(name, declared, k, dict(flags), hosts))
        one = self.precision.one
        for column, terms in self._embedding.items():
            embedded = [(weight, one) for source, weight in terms if source == token]
            values[column] = self.sums.product([*embedded, (one, values[column])], symbol)
        return RowState(tuple(values), symbol)

    def _placed(self, name: str, declared: object, column: int, flags: dict[str, int], hosts: Sequence[str]) -> Value:
        if declared is None:
            return 0
        if type(declared) is Flag:
            return self.precision.one * flags[name]
        if type(declared) is TableRows:
            for transformer, given in self._source.transformers.items():
                if declared.table is given.positions:
                    return Place(transformer, column) if transformer in hosts else ANYTHING
        if type(declared) is SignedBits and name in self.program.codes:
            return ANYTHING
        raise ObligationFailed(
            f"the register {name} is declared by {type(declared).__name__}, which the proof does not support"
        )

    def table(self, register: str, transformer: str) -> TableRows:
        """The declaration of a register that holds rows of a transformer's table."""
        declared = self.program.positions.get(register)
        if type(declared) is not TableRows or declared.table is not self._source.transformers[transformer].positions:
            raise ObligationFailed(f"the register {register} does not hold the positions of the {transformer}")
        return declared

    # Layers ------------------------------------------------------------------------------------------------------

    def after(
        self,
        number: int,
        row: RowState,
        read: Sequence[RowState] = (),
        *,
        hosted: bool = True,
        only: Collection[int] | None = None,
    ) -> RowState:
        """The row after a layer; `read` are the rows that its own heads read, in order.

        `hosted`: the heads of the source see in this row what they see in the row of the source that it hosts. `only`:
        what is written to other columns is not looked at.
        """
        return self.computed(number, self.attended(number, row, read, hosted=hosted, only=only), only=only)

    def attended(
        self,
        number: int,
        row: RowState,
        read: Sequence[RowState],
        *,
        hosted: bool = True,
        only: Collection[int] | None = None,
    ) -> RowState:
        """After the heads; the stream of a layer of the source is that after its MLP."""
        step = self.steps[number]
        if len(read) != len(step.own):
            raise ObligationFailed(f"layer {number} has {len(step.own)} heads of its own, not {len(read)}")
        targets = {c for i in step.own for c in step.heads[i].value}
        heads = []
        for i, other in zip(step.own, read, strict=True):
            value = {c: terms for c, terms in step.heads[i].value.items() if only is None or c in only}
            heads.append(self.sums.times(other.values, value, other.symbol))
        changed = self.sums.residual(row.values, heads) | _unseen(targets, only)
        for given in step.given:
            before = self.cells(given.transformer, given.number)
            runs = hosted and row.symbol is not None and row.holds(given.stream, before)
            after = self.cells(given.transformer, given.number + 1) if runs else [ANYTHING] * len(given.stream)
            changed |= dict(zip(given.stream, after, strict=True))
        return row.changed(changed)

    def computed(self, number: int, row: RowState, *, only: Collection[int] | None = None) -> RowState:
        """After the MLP, but for the streams of the source."""
        step = self.steps[number]
        theirs = {c for given in step.given for c in given.stream}
        written = step.mlp.columns - theirs
        unseen = _unseen(written, only)
        mlp = step.mlp.writing(written - unseen.keys())
        return row.changed(self.sums.mlp(row.values, mlp) | unseen)

    def guarded(self, given: SourceLayer, queries: Sequence[RowState], keys: Sequence[RowState]) -> list[np.ndarray]:
        """For heads of the source's layer, queries and keys: the exponential after the guard, for every score before.

        Once for what differs: rows whose guards hold the same have the same scores.
        """
        found = []
        for head in given.heads:
            asked = {self._guard(head, head.wires.query, row) for row in queries}
            shown = {self._guard(head, head.wires.key, row) for row in keys}
            for query, key in product(asked, shown):
                scores = np.array(self.precision.numbers())
                for q, k in zip(query, key, strict=True):
                    scores = add(scores, multiply(q, k, self.precision), self.precision)
                found.append(exp(scores, self.precision))
        return found

    def _guard(self, head: SourceHead, side: Wires, row: RowState) -> tuple[int, ...]:
        """The columns of one side of a guard."""
        values = []
        for column in range(head.columns, head.wires.width):
            value = self.sums.product([(w, row[c]) for c, w in side.get(column, [])], None)
            if not is_number(value) or np.ndim(value):
                raise ObligationFailed("a guard reads what is not known")
            values.append(int(value))
        return tuple(values)

    @cached_property
    def exponentials(self) -> np.ndarray:
        """Of every score."""
        return exp(np.array(self.precision.numbers()), self.precision)

    def numbers(self, logit: tuple[Value, list[Number]]) -> np.ndarray:
        """All numbers that a logit may be: a name that it starts with is every number."""
        start, added = logit
        if not is_number(start) and not isinstance(start, Logit):
            raise ObligationFailed("a logit starts with what is not known")
        values = np.atleast_1d(start) if is_number(start) else np.array(self.precision.numbers())
        for term in added:
            values = add(values, term, self.precision)
        return np.unique(values)

    def logits(self, row: RowState) -> list[tuple[Value, list[Number]]]:
        """Of every output: what it starts with, and the numbers that are then added to it, in order."""
        found = []
        for output in range(self.program.outputs):
            terms = [(weight, row[column]) for column, weight in self._readout.get(output, [])]
            terms = [(weight, value) for weight, value in terms if not is_zero(value)]
            names = [k for k, (weight, value) in enumerate(terms) if not (is_number(weight) and is_number(value))]
            last = names[-1] + 1 if names else len(terms)
            added = [multiply(w, v, self.precision) for w, v in terms[last:]]
            found.append((self.sums.product(terms[:last], row.symbol), added))
        return found


@dataclass
class SourceArithmetic(Arithmetic):
    """N >= 0 and the sizes of a source: begin is 0 or 1, T >= 1, P >= 1."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.begin, self.steps, self.slots = (self.z3.Int(name) for name in (BEGIN, STEPS, SLOTS))
        self.facts = [self.least <= self.N, self.begin >= 0, self.begin <= 1, self.steps >= 1, self.slots >= 1]

    def term_of(self, expression: Expression, variables: Mapping[str, Term], euclid: Sequence[Euclid] = ()) -> Term:
        sizes = {BEGIN: self.begin, STEPS: self.steps, SLOTS: self.slots}
        return super().term_of(expression, {**sizes, **variables}, euclid)


@dataclass(frozen=True, eq=False)
class ConversionClaim:
    """The programs that a theorem's construction makes of every source of a shape."""

    theorem: Theorem
    shape: SourceShape
    precision: Precision
    ledger: Ledger

    @cached_property
    def arithmetic(self) -> SourceArithmetic:
        return SourceArithmetic(self.ledger, 0)

    @cached_property
    def source(self) -> ConversionSource:
        return unknown_source(self.shape)

    @cached_property
    def programs(self) -> dict[str, Program]:
        assert self.theorem.programs is not None
        try:
            return self.theorem.programs(self.source)
        except (TypeError, ValueError, KeyError) as found:
            raise ObligationFailed(f"the construction looks at what a source does not show: {found}") from found

    def program(self, name: str) -> Program:
        if name not in self.programs or self.programs[name].every is None:
            raise ObligationFailed(f"the conversion has no program of every N called {name}")
        return self.programs[name]

    def machine(self, name: str, streams: dict[str, str]) -> ProgramMachine:
        made: list[ProgramMachine] = []

        def show() -> str:
            program = self.program(name)
            if program.loop is not None or program.noise is not None:
                raise ObligationFailed("the program has a loop or noise")
            made.append(ProgramMachine(program, self.precision, self.source, self.shape, streams))
            layers = sum(len(step.given) for step in made[0].steps)
            return f"{layers} layers of the source"

        self.ledger.settle(
            f"{name}: layers of the source are complete and in order, and nothing else writes to their streams",
            "comparison of every entry",
            show,
        )
        return made[0]

    def require_rows(self, name: str, rows: Term) -> None:
        every = self.program(name).every
        assert every is not None
        arithmetic = self.arithmetic
        arithmetic.require(f"{name}: the number of rows", arithmetic.at(every, arithmetic.row()) == rows)
