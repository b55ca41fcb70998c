"""Slots and their reads: the parts of a system of recurrences.

    cell = Slots("cell", (i.range(N), j.range(i, N)), values=BOOLEAN)
    cell.rule((cell[i + 1, j - 1], letter(i), letter(j)), lambda inside, a, b: inside and a == b, where=i < j)
    cell.rule((), lambda: True)                                             # everywhere else

A slot takes the first of its rules whose condition holds. A rule is a function of the values of its reads. It must
be defined for all values that they may have, and return one of the values of the group.
"""

import dis
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import combinations, islice
from types import CodeType
from typing import Any, Generic, Literal, TypeVar

from unmask.errors import ProblemError, TooLarge, shown_value
from unmask.expressions import Expression, Range, as_expression
from unmask.recurrences.rule_functions import line_of_caller

Value = Hashable
Context = TypeVar("Context")
Result = TypeVar("Result")
Rule = Callable[..., Any]
BOOLEAN: tuple[bool, bool] = (False, True)

MOST_VALUES = 1 << 14
MOST_ITEMS = 18  # the largest number of items with subsets

_NOTHING = object()
_VALUES = "the values of {} are a collection that is the same for every N, such as [0, 1, 2]"


class Read:
    """An argument of a rule: the value of a letter or a slot, or a result over a range."""

    @property
    def parts(self) -> "tuple[Read, ...]":
        """The reads inside this read."""
        return ()

    def or_else(self, value: Value) -> "Read":  # noqa: ARG002
        """Set the value for a letter or slot that does not exist; without it, a read out of range is an error."""
        hint = "; put it before .map(…)" if isinstance(self, Mapped) else ""
        raise ProblemError(f"or_else belongs to a letter or a slot that may not exist, not to {self}{hint}")

    def map(self, function: Callable[[Any], Value]) -> "Read":
        """Apply a function to the value."""
        return Mapped(self, _require_function(function), line_of_caller())


@dataclass(frozen=True, eq=False)
class Letter(Read):
    """The letter of the word at a position, as a string; see `letter`."""

    at: Expression
    default: Any = _NOTHING

    def or_else(self, value: Value) -> "Letter":
        return replace(self, default=_checked_default(self, value))

    def __str__(self) -> str:
        return f"letter({self.at})"


@dataclass(frozen=True, eq=False)
class Slot(Read):
    """The value of a slot: `cell[i, j]`."""

    group: "Slots"
    indices: tuple[Expression, ...]
    default: Any = _NOTHING

    def or_else(self, value: Value) -> "Slot":
        return replace(self, default=_checked_default(self, value))

    def __str__(self) -> str:
        return f"{self.group.name}[{', '.join(map(str, self.indices))}]"


@dataclass(frozen=True, eq=False)
class Number(Read):
    """The value of an index expression, one of a few numbers; see `number`."""

    expression: Expression
    among: tuple[int, ...]

    def __str__(self) -> str:
        return f"number({self.expression})"


@dataclass(frozen=True, eq=False)
class Choice(Read):
    """One of two reads, by a condition in the indices; see `pick`."""

    condition: Expression
    then: Read
    otherwise: Read

    @property
    def parts(self) -> tuple[Read, ...]:
        return (self.then, self.otherwise)

    def __str__(self) -> str:
        return f"(if {self.condition} then {self.then} else {self.otherwise})"


@dataclass(frozen=True, eq=False)
class Mapped(Read):
    """A function of a read."""

    read: Read
    function: Callable[[Any], Value]
    line: str = ""

    @property
    def parts(self) -> tuple[Read, ...]:
        return (self.read,)

    def __str__(self) -> str:
        return f"{self.read}.map(…)"


@dataclass(frozen=True, eq=False)
class Each(Read):
    """The members of a set that is read: the function of `some`, `every` or `collect` is called for each of them."""

    read: Read

    @property
    def parts(self) -> tuple[Read, ...]:
        return (self.read,)

    def __str__(self) -> str:
        return f"each({self.read})"


@dataclass(frozen=True, eq=False)
class Over(Read):
    """The result over a range of an index; see `some`, `every`, `collect`."""

    kind: Literal["some", "every", "collect"]
    range: Range
    reads: tuple[Read, ...]
    function: Rule
    where: Expression | None = None
    line: str = ""

    @property
    def parts(self) -> tuple[Read, ...]:
        return self.reads

    def __str__(self) -> str:
        return f"{self.kind}({self.range})"


class ReadVisitor(Generic[Context, Result]):
    """A function of a read and a context, with one method for every kind of read: `letter` for `Letter`, and so on."""

    def visit(self, read: Read, context: Context) -> Result:
        return getattr(self, type(read).__name__.lower())(read, context)


def read_parts(reads: "Sequence[Read]") -> Iterator[Read]:
    """The reads and all reads inside them."""
    for read in reads:
        yield read
        yield from read_parts(read.parts)


def letter(at: Expression | int) -> Letter:
    """The letter at a position, counted from 0."""
    return Letter(as_expression(at))


def number(expression: Expression, among: Iterable[int] = (0, 1)) -> Number:
    """The value of an index expression, which must be one of a few numbers: for rules that depend on the position."""
    return Number(as_expression(expression), tuple(among))


def pick(condition: Expression, then: Read, otherwise: Read) -> Choice:
    """One of two reads, by a condition in the indices: `pick(i < N, letter(i), node[i - N])`."""
    return Choice(as_expression(condition), *as_reads((then, otherwise)))


def each(read: Read) -> Each:
    """Inside `some`, `every` and `collect`: every member of the set that is read, one at a time."""
    return Each(*as_reads(read))


def some(over: Range, reads: "Reads", function: Rule, *, where: Expression | None = None) -> Over:
    """True if the function is true for some value of the index; False over an empty range."""
    return _over("some", over, reads, function, where, line_of_caller())


def every(over: Range, reads: "Reads", function: Rule, *, where: Expression | None = None) -> Over:
    """True if the function is true for every value of the index; True over an empty range."""
    return _over("every", over, reads, function, where, line_of_caller())


def collect(over: Range, reads: "Reads", function: Rule, *, where: Expression | None = None) -> Over:
    """The union, a frozenset, of the collections that the function returns for every value of the index."""
    return _over("collect", over, reads, function, where, line_of_caller())


Reads = Read | Sequence[Read]


def as_reads(reads: Reads) -> tuple[Read, ...]:
    """Return the reads of a rule as a tuple; raise if one of them is not a read."""
    many = isinstance(reads, Iterable) and not isinstance(reads, str)
    listed: tuple[Any, ...] = tuple(reads) if many else (reads,)
    for read in listed:
        if not isinstance(read, Read):
            raise ProblemError(
                f"a rule reads letters and slots, such as letter(i) or cell[i, j], not {shown_value(read)}"
                f"{_instead_of_read(read)}"
            )
    return listed


def _instead_of_read(value: object) -> str:
    """Return a hint for an error message: what to write instead of a value that is not a read."""
    if isinstance(value, bool):
        return (
            '; to compare what is read, compare in the function: rule(letter(i), lambda x: x == "a"), '
            "and write conditions on indices as where=i < 2"
        )
    if isinstance(value, Expression):
        return f"; to read the value of a formula, write number({value}, among=[0, 1]) with all values that it has"
    if isinstance(value, Slots):
        return f"; name a slot of {value}: {value}[{', '.join(over.name for over in value.ranges) or '()'}]"
    return ""


def _checked_default(read: Read, value: Value) -> Value:
    """Check and return the value of `or_else`, a constant that is used where nothing can be read."""
    if isinstance(value, Read | Expression):
        raise ProblemError(
            f"{read}.or_else(…) takes a constant, such as 0, but {value} is read or computed; to read it instead, "
            f"write pick(condition, {read}, {value if isinstance(value, Read) else f'number({value})'}), "
            "where the condition says for which indices the first one exists"
        )
    return _require_hashable(value, f"{read}.or_else(…)")


def subsets(items: Iterable[Value]) -> tuple[frozenset, ...]:
    """All subsets of some items, smaller ones first: the values of a group of slots whose values are sets."""
    listed = tuple(dict.fromkeys(items))
    if len(listed) > MOST_ITEMS:
        raise TooLarge(
            f"{len(listed):,} items have too many subsets (at most {MOST_ITEMS} items); use one slot for each item"
        )
    return tuple(frozenset(chosen) for size in range(len(listed) + 1) for chosen in combinations(listed, size))


@dataclass(frozen=True, eq=False)
class Case:
    """A rule, its condition, and its line in the program."""

    reads: tuple[Read, ...]
    rule: Rule
    where: Expression | None = None
    line: str = ""


@dataclass(eq=False)
class Slots:
    """A group of slots: its name, the ranges of its indices (a later range may depend on earlier indices), its values.

    `rule` defines the value of a slot. In a system with steps, where slots are rewritten in every step, `start` defines
    the value before the first step. `show` gives the symbols under which values appear in a model, in runs and in the
    viewer: a function of a value, such as `str`, or a dictionary {value: symbol}.
    """

    name: str
    ranges: tuple[Range, ...]
    values: tuple[Any, ...]
    shown: dict[Any, str] = field(default_factory=dict, init=False)
    rules: list[Case] = field(default_factory=list, init=False)
    starts: list[Case] = field(default_factory=list, init=False)

    def __init__(
        self,
        name: str,
        ranges: Range | Sequence[Range],
        values: Iterable[Value],
        *,
        show: "Mapping[Any, str] | Callable[[Any], str] | None" = None,
    ) -> None:
        if not isinstance(name, str) or not name:
            raise ProblemError(f"a group of slots needs a name, and {name!r} is not a string; give a string")
        self.name = name
        self.ranges = _as_ranges(ranges, name)
        if not isinstance(values, Iterable):
            raise ProblemError(f"{_VALUES.format(name)}, not {values}")
        self.values = tuple(islice(values, MOST_VALUES + 1))
        if len(self.values) > MOST_VALUES:
            raise TooLarge(f"{name} has more than {MOST_VALUES:,} values; split them among several groups of slots")
        self.rules, self.starts = [], []
        for value in self.values:
            if isinstance(_require_hashable(value, name), Expression):
                raise ProblemError(f"{_VALUES.format(name)}, and {value} is a formula; store a number as its digits")
        if not self.values or len(set(self.values)) < len(self.values):
            raise ProblemError(f"the values of {name} must be distinct, and at least one, not {list(self.values)!r}")
        self.shown = _symbols_of_values(name, self.values, show)

    def __getitem__(self, at: Expression | int | tuple[Expression | int, ...]) -> Slot:
        indices = at if isinstance(at, tuple) else (at,)
        if len(indices) != len(self.ranges):
            raise ProblemError(
                f"{self.name} has {len(self.ranges)} indices, but {len(indices)} are given; give one value "
                "for each index"
            )
        return Slot(self, tuple(map(as_expression, indices)))

    def rule(self, reads: Reads, rule: Rule, *, where: Expression | None = None) -> None:
        """Add a rule for the value of a slot; the first rule whose condition holds counts."""
        self.rules.append(_case(reads, rule, where, line_of_caller()))

    def start(self, reads: Reads, rule: Rule, *, where: Expression | None = None) -> None:
        """Add a rule for the value of a slot before the first step; it may read only letters."""
        self.starts.append(_case(reads, rule, where, line_of_caller()))

    def __str__(self) -> str:
        return self.name


def _case(reads: Reads, rule: Rule, where: Expression | None, line: str) -> Case:
    return Case(as_reads(reads), _require_function(rule), _condition(where), line)


def _over(
    kind: Literal["some", "every", "collect"],
    over: Range,
    reads: Reads,
    function: Rule,
    where: Expression | None,
    line: str,
) -> Over:
    if not isinstance(over, Range):
        raise ProblemError(f"{kind}(…) needs a range such as k.range(N); {over} is not a range")
    return Over(kind, over, as_reads(reads), _require_function(function), _condition(where), line)


def _condition(where: Expression | None) -> Expression | None:
    """A condition as an expression. In Python, `~(i == 0)` is the number -1, which would hold everywhere."""
    if where is None:
        return None
    condition = as_expression(where)
    return as_expression(False) if condition.operator == "constant" and condition.value < 0 else condition


def _require_function(function: Rule) -> Rule:
    if not callable(function):
        raise ProblemError(
            f"a rule must be a function of the values that are read, and {shown_value(function)} is not a function; "
            "write lambda x: … with a parameter for each read"
        )
    used = _index_used_by(function)
    if used is not None:
        name, expression = used
        name_and_formula = name if name == str(expression) else f"{name} = {expression}"
        raise ProblemError(
            f"the function of a rule uses {name_and_formula}, which has no value there: "
            "a rule receives only what it reads; "
            f"add number({name}, among=[…]) to the reads and a parameter for it, or write a separate rule with "
            f"where={name}.equals(…)"
        )
    return function


def _index_used_by(function: Callable[..., Any]) -> tuple[str, Expression] | None:
    """Return the first variable in the code of a function whose value is an expression, and that expression."""
    code = getattr(function, "__code__", None)
    variables = dict(getattr(function, "__globals__", {}))
    for name, cell in zip(getattr(code, "co_freevars", ()), getattr(function, "__closure__", None) or (), strict=False):
        with suppress(ValueError):  # a variable without a value so far
            variables[name] = cell.cell_contents
    waiting = [code] if code is not None else []
    while waiting:
        block = waiting.pop()
        for instruction in dis.get_instructions(block):
            if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_FROM_DICT_OR_DEREF"):
                value = variables.get(instruction.argval)
                if isinstance(value, Expression):
                    return instruction.argval, value
        waiting += [constant for constant in block.co_consts if isinstance(constant, CodeType)]
    return None


def _symbols_of_values(
    group: str, values: tuple[Any, ...], show: "Mapping[Any, str] | Callable[[Any], str] | None"
) -> dict:
    """Return the symbol of every value that `show` names; raise if a symbol is not usable."""
    if show is None:
        return {}
    if isinstance(show, Mapping):
        unknown = next((value for value in show if value not in values), _NOTHING)
        if unknown is not _NOTHING:
            raise ProblemError(
                f"show of {group} names {shown_value(unknown)}, which is not among its values; remove it"
            )
        named = dict(show)
    elif callable(show):
        named = {value: show(value) for value in values}
    else:
        raise ProblemError(
            f"show of {group} must be a function of a value, such as str, or a dictionary {{value: symbol}}, "
            f"not {shown_value(show)}"
        )
    for value, symbol in named.items():
        if not isinstance(symbol, str) or not symbol or any(c.isspace() for c in symbol):
            raise ProblemError(
                f"show of {group} gives {shown_value(symbol)} for {shown_value(value)}; "
                "a symbol is a string without blanks"
            )
    if len(set(named.values())) < len(named):
        raise ProblemError(f"show of {group} gives the same symbol for two values; give each value its own symbol")
    return named


def _as_ranges(ranges: Range | Sequence[Range], name: str) -> tuple[Range, ...]:
    if isinstance(ranges, range):
        steps = "" if ranges.step == 1 else " (the step is always 1; multiply in the rules)"
        bounds = f"{ranges.start}, {ranges.stop}" if ranges.start else str(ranges.stop)
        raise ProblemError(
            f"the slots of {name} need an index, and Python's {ranges!r} has no index; "
            f'write (i,) = indices("i") and Slots({name!r}, i.range({bounds}), …){steps}'
        )
    listed = tuple(ranges) if isinstance(ranges, Sequence) else (ranges,)
    for over in listed:
        if not isinstance(over, Range):
            raise ProblemError(
                f"the slots of {name} need ranges such as i.range(N), and {over} is not a range; "
                "for a single slot, write ()"
            )
    return listed


def _require_hashable(value: Any, of: str) -> Value:
    """Return the value if it is hashable, so that it can be looked up in a table; else raise."""
    try:
        hash(value)
    except Exception:  # a TypeError, or any other error of `__hash__`
        raise ProblemError(
            f"the value {shown_value(value)} of {of} can change, so it cannot be looked up; use a tuple or a frozenset"
        ) from None
    return value


def has_default(read: Letter | Slot) -> bool:
    """Return whether a read has a value for a letter or slot that does not exist."""
    return read.default is not _NOTHING
