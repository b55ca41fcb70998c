"""Execution of a program for every N on rows that hold numbers and names, layer by layer.

own heads       write the value map of the row that they read; a proof shows which row that is
source layers   Cell(s, l, ·) → Cell(s, l + 1, ·) in a row that hosts a row of the source, ANYTHING in others;
                a proof shows with `exponentials_after_guard` that such a row sees the source's rows and no others
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
    CellValue,
    ColumnTerms,
    ColumnValues,
    FieldNumber,
    HeadWires,
    Logit,
    MlpWires,
    PositionCell,
    SourceHead,
    SourceLayer,
    SourceShape,
    UnknownSums,
    column_terms,
    is_known_zero,
    is_number,
    reversed_edges,
    source_layers,
    unknown_source,
)
from unmask.verification.lengths.obligations import AnyRow, Arithmetic, Euclid, Ledger, ObligationFailed, Term

MOST_FLAGS = 16
FlagValues = tuple[tuple[str, int], ...]
"""Possible values of the flags of a row: (register, 0 or 1)."""


@dataclass(frozen=True, eq=False)
class RowState:
    """The columns of a row of the program. If it hosts a row of the source, `symbol` is the symbol of that row."""

    columns: tuple[CellValue, ...]
    symbol: int | None

    def __getitem__(self, column: int) -> CellValue:
        return self.columns[column]

    @property
    def values(self) -> ColumnValues:
        return dict(enumerate(self.columns))

    def holds(self, columns: Sequence[int], values: Sequence[CellValue]) -> bool:
        return all(_equal_values(self.columns[c], v) for c, v in zip(columns, values, strict=True))

    def with_host(self, symbol: int | None) -> "RowState":
        """Return the row as the host of a row with another symbol."""
        return replace(self, symbol=symbol)

    def with_values(self, values: dict[int, CellValue]) -> "RowState":
        return replace(self, columns=tuple(values.get(c, v) for c, v in enumerate(self.columns)))


def _not_computed(columns: Collection[int], only: Collection[int] | None) -> ColumnValues:
    return {} if only is None else {c: ANYTHING for c in columns if c not in only}


def _equal_values(a: CellValue, b: CellValue) -> bool:
    return bool(np.array_equal(a, b)) if is_number(a) and is_number(b) else type(a) is type(b) and a == b


@dataclass(frozen=True, eq=False)
class ProgramLayer:
    """One layer of the program: its heads, the numbers of those that are not the source's, and the source's layers."""

    heads: tuple[HeadWires, ...]
    other_heads: tuple[int, ...]
    source_layers: tuple[SourceLayer, ...]
    mlp: MlpWires


class ProgramMachine:
    """Executes a program; `streams` maps transformers of the source to the registers that hold their streams."""

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
        self.sums = UnknownSums(
            precision,
            {name: len(its.layers) for name, its in self.shapes.items()},
            {name: its.width for name, its in self.shapes.items()},
        )
        self._embedding = column_terms(program.embedding, precision)
        self._readout = column_terms(reversed_edges(program.readout), precision)
        self.layers = [self._layer(number) for number in range(len(program.layers))]
        self._require_codes_unwritten()

    def columns(self, register: str) -> tuple[int, ...]:
        if register not in self.program.registers:
            raise ObligationFailed(f"unknown register {register}")
        return tuple(self.program.columns(register).tolist())

    def cells(self, transformer: str, layer: int) -> list[CellValue]:
        return [Cell(transformer, layer, c) for c in range(self.shapes[transformer].width)]

    def _layer(self, number: int) -> ProgramLayer:
        layer = self.program.layers[number]
        heads = tuple(HeadWires(head, self.precision) for head in layer.heads)
        mlp = MlpWires.of(layer.mlp, self.precision)
        layers, other_heads = source_layers(heads, mlp, self.streams, self.shapes)
        return ProgramLayer(heads, tuple(other_heads), tuple(layers), mlp)

    def _require_codes_unwritten(self) -> None:
        """Require that nothing writes to codes, so that they keep their declared values."""
        codes = {c for name in self.program.codes for c in self.columns(name)}
        written = set(self._embedding)
        for layer in self.layers:
            written |= {c for head in layer.heads for c in head.value} | layer.mlp.columns
        if codes & written:
            raise ObligationFailed("something is written to a code")

    # Rows before the first layer ---------------------------------------------------------------------------------

    def flags(self, arithmetic: Arithmetic, row: AnyRow, where: Sequence[Term]) -> list[FlagValues]:
        """Return all possible values of the declared flags in rows with these properties."""
        declarations = {name: d.expression for name, d in self.program.positions.items() if type(d) is Flag}
        terms = [arithmetic.z3.If(arithmetic.at(expression, row) != 0, 1, 0) for expression in declarations.values()]
        combinations = arithmetic.values(terms, [*row.facts, *where], MOST_FLAGS)
        if not combinations:
            raise ObligationFailed("there is no such row")
        return [tuple(zip(declarations, values, strict=True)) for values in combinations]

    def start(self, token: int, flags: FlagValues, symbol: int | None, hosts: Sequence[str] = ()) -> RowState:
        """Return H⁰ of a token; tables of the transformers in `hosts` have the positions of the hosted row."""
        values: list[CellValue] = []
        for name, labels in self.program.registers.items():
            declaration = self.program.positions.get(name)
            for k in range(len(labels)):
                values.append(self._positional_value(name, declaration, k, dict(flags), hosts))
        one = self.precision.one
        for column, terms in self._embedding.items():
            embedded = [(weight, one) for source, weight in terms if source == token]
            values[column] = self.sums.weighted_sum([*embedded, (one, values[column])], symbol)
        return RowState(tuple(values), symbol)

    def _positional_value(
        self, name: str, declaration: object, column: int, flags: dict[str, int], hosts: Sequence[str]
    ) -> CellValue:
        if declaration is None:
            return 0
        if type(declaration) is Flag:
            return self.precision.one * flags[name]
        if type(declaration) is TableRows:
            for transformer, source_transformer in self._source.transformers.items():
                if declaration.table is source_transformer.positions:
                    return PositionCell(transformer, column) if transformer in hosts else ANYTHING
        if type(declaration) is SignedBits and name in self.program.codes:
            return ANYTHING
        raise ObligationFailed(
            f"the register {name} is declared by {type(declaration).__name__}, which the proof does not support"
        )

    def table(self, register: str, transformer: str) -> TableRows:
        """Return the declaration of a register that holds rows of a transformer's table of positions."""
        declaration, positions = self.program.positions.get(register), self._source.transformers[transformer].positions
        if type(declaration) is not TableRows or declaration.table is not positions:
            raise ObligationFailed(f"the register {register} does not hold the positions of the {transformer}")
        return declaration

    # Layers ------------------------------------------------------------------------------------------------------

    def after_layer(
        self,
        number: int,
        row: RowState,
        read_rows: Sequence[RowState] = (),
        *,
        hosted: bool = True,
        only: Collection[int] | None = None,
    ) -> RowState:
        """Return the row after a layer; `read_rows` are the rows that the heads read that are not the source's.

        `hosted`: the source's heads compute in this row what they compute in the source's row that it hosts. `only`:
        what is written to other columns is not computed.
        """
        return self.after_mlp(number, self.after_heads(number, row, read_rows, hosted=hosted, only=only), only=only)

    def after_heads(
        self,
        number: int,
        row: RowState,
        read_rows: Sequence[RowState],
        *,
        hosted: bool = True,
        only: Collection[int] | None = None,
    ) -> RowState:
        """Return the row after the heads; the stream of a layer of the source is already that after its MLP."""
        layer = self.layers[number]
        if len(read_rows) != len(layer.other_heads):
            count = len(layer.other_heads)
            raise ObligationFailed(f"layer {number} has {count} heads of its own, not {len(read_rows)}")
        targets = {c for i in layer.other_heads for c in layer.heads[i].value}
        heads = []
        for i, read_row in zip(layer.other_heads, read_rows, strict=True):
            value = {c: terms for c, terms in layer.heads[i].value.items() if only is None or c in only}
            heads.append(self.sums.times(read_row.values, value, read_row.symbol))
        new_values = self.sums.residual(row.values, heads) | _not_computed(targets, only)
        for source_layer in layer.source_layers:
            transformer, stream = source_layer.transformer, source_layer.stream
            before = self.cells(transformer, source_layer.number)
            runs = hosted and row.symbol is not None and row.holds(stream, before)
            after = self.cells(transformer, source_layer.number + 1) if runs else [ANYTHING] * len(stream)
            new_values |= dict(zip(stream, after, strict=True))
        return row.with_values(new_values)

    def after_mlp(self, number: int, row: RowState, *, only: Collection[int] | None = None) -> RowState:
        """Return the row after the MLP, which does not change the streams of the source here."""
        layer = self.layers[number]
        source_columns = {c for source_layer in layer.source_layers for c in source_layer.stream}
        written = layer.mlp.columns - source_columns
        unseen = _not_computed(written, only)
        mlp = layer.mlp.writing(written - unseen.keys())
        return row.with_values(self.sums.mlp(row.values, mlp) | unseen)

    def exponentials_after_guard(
        self, source_layer: SourceLayer, queries: Sequence[RowState], keys: Sequence[RowState]
    ) -> list[np.ndarray]:
        """Return the exponentials of all scores after the guard is added, for each head, query and key.

        Each array has one entry per score before the guard. Rows with equal guards are examined once.
        """
        exponentials = []
        for head in source_layer.heads:
            query_guards = {self._guard_columns(head, head.wires.query, row) for row in queries}
            key_guards = {self._guard_columns(head, head.wires.key, row) for row in keys}
            for query, key in product(query_guards, key_guards):
                scores = np.array(self.precision.numbers())
                for q, k in zip(query, key, strict=True):
                    scores = add(scores, multiply(q, k, self.precision), self.precision)
                exponentials.append(exp(scores, self.precision))
        return exponentials

    def _guard_columns(self, head: SourceHead, side: ColumnTerms, row: RowState) -> tuple[int, ...]:
        """Return the columns of the guard in a query or a key."""
        values = []
        for column in range(head.guard_start, head.wires.width):
            value = self.sums.weighted_sum([(w, row[c]) for c, w in side.get(column, [])], None)
            if not is_number(value) or np.ndim(value):
                raise ObligationFailed("a guard reads what is not known")
            values.append(int(value))
        return tuple(values)

    @cached_property
    def exponentials(self) -> np.ndarray:
        """The exponentials of all scores."""
        return exp(np.array(self.precision.numbers()), self.precision)

    def numbers(self, logit: tuple[CellValue, list[FieldNumber]]) -> np.ndarray:
        """Return all possible values of a logit: a name at its start may be any number."""
        start, added = logit
        if not is_number(start) and not isinstance(start, Logit):
            raise ObligationFailed("a logit starts with what is not known")
        values = np.atleast_1d(start) if is_number(start) else np.array(self.precision.numbers())
        for term in added:
            values = add(values, term, self.precision)
        return np.unique(values)

    def logits(self, row: RowState) -> list[tuple[CellValue, list[FieldNumber]]]:
        """Return, for every output, the value at its start and the numbers that are added to it, in order."""
        logits = []
        for output in range(self.program.outputs):
            terms = [(weight, row[column]) for column, weight in self._readout.get(output, [])]
            terms = [(weight, value) for weight, value in terms if not is_known_zero(value)]
            names = [k for k, (weight, value) in enumerate(terms) if not (is_number(weight) and is_number(value))]
            last = names[-1] + 1 if names else len(terms)
            added = [multiply(w, v, self.precision) for w, v in terms[last:]]
            logits.append((self.sums.weighted_sum(terms[:last], row.symbol), added))
        return logits


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
    """The statement to prove: the programs that a theorem's construction makes of every source of a shape."""

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
        except (TypeError, ValueError, KeyError) as error:
            raise ObligationFailed(f"the construction looks at what a source does not show: {error}") from error

    def program(self, name: str) -> Program:
        if name not in self.programs or self.programs[name].rows_in_length is None:
            raise ObligationFailed(f"the conversion has no program of every N called {name}")
        return self.programs[name]

    def machine(self, name: str, streams: dict[str, str]) -> ProgramMachine:
        def prove() -> tuple[ProgramMachine, str]:
            program = self.program(name)
            if program.loop is not None or program.noise is not None:
                raise ObligationFailed("the program has a loop or noise")
            machine = ProgramMachine(program, self.precision, self.source, self.shape, streams)
            layers = sum(len(layer.source_layers) for layer in machine.layers)
            return machine, f"{layers} layers of the source"

        return self.ledger.compute(
            f"{name}: layers of the source are complete and in order, and nothing else writes to their streams",
            "comparison of every entry",
            prove,
        )

    def require_rows(self, name: str, rows: Term) -> None:
        row_count = self.program(name).rows_in_length
        assert row_count is not None
        arithmetic = self.arithmetic
        arithmetic.require(f"{name}: the number of rows", arithmetic.at(row_count, arithmetic.row()) == rows)
