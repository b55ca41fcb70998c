"""Program: a transformer over named registers, before its weights are numbers.

    registers   names for the columns of the residual stream; the first is `one`, which is 1 in every row
    positions   per register: a declared expression in (n, N), as bits, a flag or a one-hot code
    embedding   symbol → registers
    layers      heads (columns of query and key, value map) and an MLP (hidden units), made by gadgets
    readout     registers → logits
    frame       attention, the looped layers, the columns that receive noise

A weight is a multiple of a named number (`Coefficient`), or an integer of F_p taken from another model:

    ONE   1            B          the largest number of F_p       ULP       2^-p
    HALF  [B/2]        NEXT_TO_B  B - 2^-p                        TOP       2^(p-1)
    ONE_HALF  1/2      ABOVE_FAINTEST  B + s, where s is the least score whose exponential is not 0

Edges between columns are added in bulk, as arrays. `assemble` turns a program into weights for one precision.

A program may be for every N at once. Then `rows_in_length` is its number of rows, as an expression in N, and a code has
one column that represents all its bits. `instance.program_at` returns the program of one N.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from unmask.errors import ProblemError
from unmask.expressions import Expression, constant, n
from unmask.numerics.arithmetic import Precision, exp_table
from unmask.programs.declarations import Declaration, Flag, SignedBits, TableBits, TableFlag
from unmask.weights.transformer import Attention, Noise


def faintest_score(precision: Precision) -> int:
    """The least score whose exponential is not 0; this exponential is 2^-p."""
    return int(np.flatnonzero(exp_table(precision))[0]) - precision.bound


_UNITS: dict[str, Callable[[Precision], int]] = {
    "1": lambda precision: precision.one,
    "B": lambda precision: precision.bound,
    "B-2^-p": lambda precision: precision.bound - 1,
    "[B/2]": lambda precision: precision.half_bound,
    "2^-p": lambda precision: 1,  # noqa: ARG005
    "2^(p-1)": lambda precision: precision.one * precision.one // 2,
    "1/2": lambda precision: precision.one // 2,
    "B+s": lambda precision: precision.bound + faintest_score(precision),
}


@dataclass(frozen=True)
class Coefficient:
    """A multiple of a named number."""

    unit: str
    times: int = 1

    def __neg__(self) -> "Coefficient":
        return Coefficient(self.unit, -self.times)

    def integer(self, precision: Precision) -> int:
        """Return the integer that represents the coefficient in F_p."""
        value = self.times * _UNITS[self.unit](precision)
        if abs(value) > precision.bound:
            raise ProblemError(f"the coefficient {self} does not fit F_{precision.p}; use a larger precision")
        return value

    def __str__(self) -> str:
        return {1: self.unit, -1: f"-{self.unit}"}.get(self.times, f"{self.times}·{self.unit}")


def integers(weight: Coefficient | np.ndarray, precision: Precision) -> np.ndarray | int:
    """Return the integer that represents a coefficient in F_p; arrays of integers are returned unchanged."""
    return weight.integer(precision) if isinstance(weight, Coefficient) else weight


ONE = Coefficient("1")
B = Coefficient("B")
NEXT_TO_B = Coefficient("B-2^-p")
HALF = Coefficient("[B/2]")
ULP = Coefficient("2^-p")
TOP = Coefficient("2^(p-1)")
ONE_HALF = Coefficient("1/2")
ABOVE_FAINTEST = Coefficient("B+s")  # s is `faintest_score`


def whole(k: int) -> Coefficient:
    """The number k."""
    return Coefficient("1", k)


SPECIAL_NAMES = {
    "mask": ("m", "M", "<mask>"),
    "pad": ("□", "_", "<pad>"),
    "reject": ("0", "⊥", "<reject>"),
    "accept": ("1", "⊤", "<accept>"),
    "begin": ("^", "⊢", "<begin>"),
}


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Symbols by token id: the letters, then the symbols that may be written, then the special symbols by role."""

    symbols: tuple[str, ...]
    letters: int
    special: dict[str, int]

    def __getitem__(self, role: str) -> int:
        return self.special[role]

    @property
    def input_symbols(self) -> tuple[str, ...]:
        return self.symbols[: self.letters]

    def name(self, role: str) -> str | None:
        """The symbol of a role; None if the vocabulary has no such symbol."""
        return self.symbols[self.special[role]] if role in self.special else None

    def fields(self) -> dict[str, Any]:
        """The symbols of a model, by the names of its fields."""
        roles = {role: self.name(role) for role in ("mask", "pad", "begin", "accept", "reject")}
        return {"vocabulary": self.symbols, "input_symbols": self.input_symbols, **roles}

    @cached_property
    def all_tokens(self) -> np.ndarray:
        return np.arange(len(self.symbols))

    @cached_property
    def verdicts(self) -> np.ndarray:
        """Return the tokens (reject, accept), indexed by truth value."""
        return np.array([self["reject"], self["accept"]])


def vocabulary_of(
    symbols: Sequence[str], letters: int, roles: Sequence[str], *, preferred: Mapping[str, str] | None = None
) -> Vocabulary:
    """Return the symbols, then one symbol for each role. A preferred name is tried first, then `SPECIAL_NAMES`."""
    named = list(symbols)
    special = {}
    for role in roles:
        special[role] = len(named)
        preference = [preferred[role]] if preferred and role in preferred else []
        named.append(free_name([*preference, *SPECIAL_NAMES[role]], named))
    return Vocabulary(tuple(named), letters, special)


def free_name(choices: Sequence[str], used: Sequence[str]) -> str:
    """Return the first name that is not used; if all are used, the last one with a number."""
    free = [name for name in choices if name not in used]
    numbered = (f"{choices[-1]}{i}" for i in range(len(used) + 1))
    return free[0] if free else next(name for name in numbered if name not in used)


Columns = np.ndarray
Weight = Coefficient | np.ndarray
"""A coefficient by name, or integers of F_p from the weights of another model."""

Form = Sequence[tuple[Columns, Weight]]
"""Σ weight·column: one column of a query or a key."""


@dataclass(frozen=True, eq=False)
class Edges:
    """Entries of one matrix: from[i] → to[i], all with one coefficient or each with its own integer."""

    source: np.ndarray
    target: np.ndarray
    weight: Weight

    @classmethod
    def between(cls, source: np.ndarray | Sequence[int] | int, target: np.ndarray, weight: Weight) -> "Edges":
        """Return edges between columns; a single column is repeated, as in NumPy's broadcasting."""
        return cls(*np.broadcast_arrays(np.atleast_1d(source), np.atleast_1d(target)), weight)

    @property
    def weights(self) -> list:
        """The weight of each entry."""
        entries = np.broadcast(self.source, self.target).size
        return list(self.weight) if isinstance(self.weight, np.ndarray) else [self.weight] * entries


@dataclass
class HeadBuilder:
    """One attention head: the columns of its queries and keys, in the order of summation, and its value map."""

    one: Columns
    """The column of the program that is 1 in every row."""
    query: list[Edges] = field(default_factory=list)
    key: list[Edges] = field(default_factory=list)
    value: list[Edges] = field(default_factory=list)
    width: int = 0
    blocks: list[tuple[int, int]] = field(default_factory=list)
    """The columns [first, last) for one bit of a code; a program for every N has one block for all bits of a code."""
    rising: list[tuple[int, int]] = field(default_factory=list)
    """The blocks that are repeated from the lowest bit on; other blocks are repeated from the highest bit on."""

    def bit(self, *columns: tuple[Form, Form], rising: bool = False) -> None:
        """Append the columns (query, key) of one bit."""
        first = self.width
        for query, key in columns:
            self.column(query, key)
        self.blocks.append((first, self.width))
        if rising:
            self.rising.append((first, self.width))

    def column(self, query: Form, key: Form) -> None:
        """Append one column: the product of the query form and the key form is added to the score."""
        for side, form in ((self.query, query), (self.key, key)):
            for columns, weight in form:
                columns = np.atleast_1d(columns)
                side.append(Edges(columns, np.full(columns.shape, self.width), weight))
        self.width += 1

    def copy(self, source: Columns, target: Columns, weight: Weight = ONE) -> None:
        """target += weight · source of the attended row."""
        self.value.append(Edges.between(source, target, weight))


@dataclass
class MlpBuilder:
    """ReLU(ReLU(x·W1 + b1)·W2 + b2), unit by unit."""

    inputs: list[Edges] = field(default_factory=list)
    biases: list[tuple[np.ndarray, Weight]] = field(default_factory=list)
    outputs: list[Edges] = field(default_factory=list)
    offsets: list[tuple[np.ndarray, Weight]] = field(default_factory=list)
    size: int = 0

    def units(self, count: int, *, bias: Weight | None = None) -> np.ndarray:
        """Add hidden units and return their numbers."""
        units = np.arange(self.size, self.size + count)
        self.size += count
        if bias is not None:
            self.biases.append((units, bias))
        return units

    def read(self, units: np.ndarray, columns: Columns, weight: Weight = ONE) -> None:
        """units[i] reads weight · columns[i]."""
        self.inputs.append(Edges.between(columns, units, weight))

    def write(self, units: np.ndarray, columns: Columns, weight: Weight = ONE) -> None:
        """columns[i] += weight · units[i], inside the outer ReLU."""
        self.outputs.append(Edges.between(units, columns, weight))

    def offset(self, columns: Columns, weight: Weight) -> None:
        """Set the output bias of these columns."""
        self.offsets.append((np.atleast_1d(columns), weight))


@dataclass
class LayerBuilder:
    """Heads in the order in which they are summed, then an MLP."""

    one: Columns
    heads: list[HeadBuilder] = field(default_factory=list)
    mlp: MlpBuilder = field(default_factory=MlpBuilder)

    def head(self) -> HeadBuilder:
        self.heads.append(HeadBuilder(self.one))
        return self.heads[-1]


@dataclass
class Program:
    """A transformer under construction, with a row of `embed` per symbol and `outputs` logits, for `length` letters."""

    symbols: tuple[str, ...]
    outputs: int
    length: int
    rows: int
    attention: Attention = "unmasked"
    loop: tuple[int, int] | None = None
    noise: Noise | None = None
    rows_in_length: Expression | None = None
    """For a program for every N: the number of rows, as an expression in N."""
    one: Columns = field(init=False)
    registers: dict[str, tuple[str, ...]] = field(init=False, default_factory=dict)
    positions: dict[str, Declaration] = field(init=False, default_factory=dict)
    codes: dict[str, Expression] = field(init=False, default_factory=dict)
    """For a program for every N: the number of values of a code, by its register."""
    embedding: list[Edges] = field(init=False, default_factory=list)
    layers: list[LayerBuilder] = field(init=False, default_factory=list)
    readout: list[Edges] = field(init=False, default_factory=list)
    width: int = field(init=False, default=0)
    _first_column: dict[str, int] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.one = self.flag("one", constant(1))

    def register(
        self, name: str, labels: int | Sequence[str] = ("",), declaration: Declaration | None = None
    ) -> Columns:
        """Add a register after the others and return its columns."""
        assert name not in self.registers, f"the register {name} exists already"
        labels = tuple(str(i) for i in range(labels)) if isinstance(labels, int) else tuple(labels)
        self.registers[name] = labels
        self._first_column[name] = self.width
        self.width += len(labels)
        if declaration is not None:
            self.positions[name] = declaration
        return self.columns(name)

    def flag(self, name: str, where: Expression | np.ndarray, copies: int | None = None) -> Columns:
        """Add a register that is 1 in the rows that a formula or a table names; `copies` equal columns if given."""
        declaration = Flag(where) if isinstance(where, Expression) else TableFlag(where, n)
        return self.register(name, ("",) if copies is None else copies, declaration)

    def code(
        self,
        name: str,
        number: Expression | np.ndarray,
        bits: int | None = None,
        *,
        only: Expression | None = None,
        capacity: Expression | None = None,
    ) -> Columns:
        """Add a register with the signed bits of a number, which is a formula or a table of all rows.

        It has `bits` columns, or as many as the numbers below `capacity` need, which is by default the number of rows.
        In rows where `only` is 0 the code is 0.
        """
        if isinstance(number, Expression):
            declaration: Declaration = SignedBits(number, only)
        else:
            assert only is None, "`only` needs a formula"
            declaration = TableBits(number, n)
        if bits is None and self.rows_in_length is not None:
            self.codes[name] = self.rows_in_length if capacity is None else capacity
            return self.register(name, ("every bit",), declaration)
        assert capacity is None, "a program of one length has codes for its rows"
        return self.register(name, bits_for(self.rows) if bits is None else bits, declaration)

    def columns(self, name: str) -> Columns:
        first = self._first_column[name]
        return np.arange(first, first + len(self.registers[name]))

    def layer(self) -> LayerBuilder:
        self.layers.append(LayerBuilder(self.one))
        return self.layers[-1]

    def embed(self, symbols: np.ndarray | Sequence[int] | int, columns: Columns, weight: Weight = ONE) -> None:
        """Let the embedding of symbols[i] have this weight in columns[i]."""
        self.embedding.append(Edges.between(symbols, columns, weight))

    def read_out(self, outputs: np.ndarray | Sequence[int] | int, columns: Columns, weight: Weight = ONE) -> None:
        """Add weight · columns[i] to the logit of outputs[i]."""
        self.readout.append(Edges.between(outputs, columns, weight))


def program_in_length(
    symbols: tuple[str, ...], outputs: int, rows: Expression, attention: Attention = "unmasked"
) -> Program:
    """Return an empty program in N, whose number of rows is an expression in N; `program_at` instantiates it."""
    return Program(symbols, outputs, 0, 0, attention, rows_in_length=rows)


def bits_for(count: int) -> int:
    """The number of bits of the codes 0 … count - 1; at least 1."""
    return max(1, (count - 1).bit_length())
