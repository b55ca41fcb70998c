"""Index expressions: where a slot reads, in terms of its own indices and the length N of the word.

    e ::= N | index | constant | e + e | e - e | e·e | e div e | e mod e | 2^e | [e <= e] | if e then e else e
        | table(e) | 2^⌊log2 e⌋ | ⌈log2 e⌉

An expression keeps its tree, so that a compiler can write the same formula over positions. `evaluate` takes numbers, or
arrays of numbers, for the indices. With numbers it is exact, and refuses what 64 bits might not hold; arrays, which say
the same of all slots at once, may go astray in branches that a slot does not take.

>>> i, j = indices("i j")
>>> str(2 * i + j - 1), (2 * i + j - 1).evaluate({"N": 4, "i": 3, "j": 1})
('2·i + j - 1', 6)
"""

import dis
import operator
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import CodeType
from typing import Any

import numpy as np

from unmask.errors import ProblemError, shortened, shown_value

Number = Any
"""An int, or an array of them: expressions are evaluated for one slot or for all slots of a group at once."""

Values = Mapping[str, Number]
"""N and the indices, by name."""

BITS = 62
LARGEST = (1 << BITS) - 1
"""An expression is at most so large in every slot that asks for it: arrays of numbers have 64 bits."""
MOST = 40
"""Bits of a number of which the power of two below it, or the logarithm, is asked for."""

_ARITHMETIC: dict[str, tuple[int, Callable[[Any, Any], Any]]] = {
    "+": (0, operator.add),
    "-": (0, operator.sub),
    "·": (1, operator.mul),
    "div": (1, lambda a, b: _divided(operator.floordiv, a, b)),
    "mod": (1, lambda a, b: _divided(operator.mod, a, b)),
}
_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "<=": operator.le,
    "<": operator.lt,
    ">=": operator.ge,
    ">": operator.gt,
    "=": operator.eq,
    "≠": operator.ne,
}


@dataclass(frozen=True, eq=False)
class Expression:
    """A formula in N and indices; made by Python's operators, `equals`, `choose`, `both`, `either` and `table`.

    A condition is an expression that is 0 or 1. It has no truth value of its own, because its indices have none.
    """

    operator: str
    operands: "tuple[Expression, ...]" = ()
    name: str = ""  # of an index
    value: int = 0  # of a constant
    entries: tuple[int, ...] = ()  # of a table

    def evaluate(self, values: Values) -> Number:
        """The number for these indices; KeyError for an index that has none."""
        if self.operator == "constant":
            return self.value
        if self.operator == "index":
            return values[self.name]
        if self.operator == "if":
            return _chosen(*self.operands, values)
        found = self._computed([operand.evaluate(values) for operand in self.operands])
        if not isinstance(found, np.ndarray) and abs(found) > LARGEST:
            raise _too_large(self)
        return found

    def _computed(self, parts: list[Number]) -> Number:
        """The number, from those of the operands."""
        if self.operator == "2^":
            return _power(parts[0], self)
        if self.operator in ("power of two below", "log2 above"):
            if not isinstance(parts[0], np.ndarray) and parts[0] >= 1 << MOST:
                raise _too_large(self.operands[0], MOST)
            return (_power_below if self.operator == "power of two below" else _log2_above)(parts[0])
        if self.operator == "table":
            return _entry(self.entries, parts[0])
        if self.operator in _COMPARISONS:
            return np.asarray(_COMPARISONS[self.operator](*parts)).astype(np.int64)[()]
        return _ARITHMETIC[self.operator][1](*parts)

    @property
    def names(self) -> frozenset[str]:
        """The indices that occur, N among them."""
        return frozenset({self.name} if self.name else {}).union(*(operand.names for operand in self.operands))

    def __str__(self) -> str:
        if self.operator in ("constant", "index"):
            return self.name or str(self.value)
        if self.operator == "if":
            return "(if {} then {} else {})".format(*self.operands)
        if self.operator in ("2^", "table", "power of two below", "log2 above"):
            return f"{self.operator.replace(' ', '_')}({self.operands[0]})"
        left, right = self.operands
        if self.operator in _COMPARISONS:
            return f"[{left} {self.operator} {right}]"
        rank = _ARITHMETIC[self.operator][0]
        gap = "" if self.operator == "·" else " "
        return f"{_wrapped(left, rank)}{gap}{self.operator}{gap}{_wrapped(right, rank + 1)}"

    def __repr__(self) -> str:
        return str(self)

    def __bool__(self) -> bool:
        raise ProblemError(
            f"the condition {self} depends on indices, so Python cannot decide it; "
            "write both(…, …) for `and` or a chain of comparisons, either(…, …) for `or`, ~(…) for `not`, "
            "choose(…, …, …) for `if`"
        )

    def __eq__(self, other: object) -> bool:
        if isinstance(other, int | str) and self.names:
            raise ProblemError(
                f"Python's == compares objects, so {self} == {other!r} and {self} != {other!r} say nothing about an "
                f"index; write i.equals({other}) or i.differs({other}) in a condition"
            )
        return self is other

    __hash__ = object.__hash__

    def __index__(self) -> int:
        raise ProblemError(
            f"{self} has no value before the length of the word is known, so Python cannot count to it; "
            "write i.range(…) for indices, and use values that do not depend on N"
        )

    def __add__(self, other: "Expression | int") -> "Expression":
        return _binary(self, "+", other)

    def __radd__(self, other: int) -> "Expression":
        return _binary(other, "+", self)

    def __sub__(self, other: "Expression | int") -> "Expression":
        return _binary(self, "-", other)

    def __rsub__(self, other: int) -> "Expression":
        return _binary(other, "-", self)

    def __mul__(self, other: "Expression | int") -> "Expression":
        return _binary(other, "·", self) if isinstance(other, int) else _binary(self, "·", other)

    __rmul__ = __mul__

    def __neg__(self) -> "Expression":
        return _binary(0, "-", self)

    def __floordiv__(self, other: "Expression | int") -> "Expression":
        return _binary(self, "div", other)

    def __rfloordiv__(self, other: int) -> "Expression":
        return _binary(other, "div", self)

    def __truediv__(self, other: "Expression | int") -> "Expression":
        raise ProblemError(f"an index expression is a whole number: write ({self}) // {other} in place of /")

    def __mod__(self, other: "Expression | int") -> "Expression":
        return _binary(self, "mod", other)

    def __rmod__(self, other: int) -> "Expression":
        return _binary(other, "mod", self)

    def __pow__(self, exponent: "Expression | int") -> "Expression":
        raise ProblemError(f"({self})**{exponent} is not supported; write a product, such as i * i (2**i is supported)")

    def __rpow__(self, base: int) -> "Expression":
        if base != 2:
            raise ProblemError(f"{base}**({self}) is not supported; only the base 2 may have an index in its exponent")
        return Expression("2^", (self,))

    def __le__(self, other: "Expression | int") -> "Expression":
        return _binary(self, "<=", other)

    def __lt__(self, other: "Expression | int") -> "Expression":
        return _binary(self, "<", other)

    def __ge__(self, other: "Expression | int") -> "Expression":
        return _binary(self, ">=", other)

    def __gt__(self, other: "Expression | int") -> "Expression":
        return _binary(self, ">", other)

    def __and__(self, other: "Expression") -> "Expression":
        return both(self, lifted(other))

    def __or__(self, other: "Expression") -> "Expression":
        return either(self, lifted(other))

    def __invert__(self) -> "Expression":
        return choose(self, 0, 1)

    def equals(self, other: "Expression | int") -> "Expression":
        """[self = other]."""
        return _binary(self, "=", other)

    def differs(self, other: "Expression | int") -> "Expression":
        """[self ≠ other]."""
        return _binary(self, "≠", other)


@dataclass(frozen=True, eq=False)
class Range:
    """An index and the values it takes: first, first + 1, …, last - 1, as in Python's `range`."""

    index: Expression
    first: Expression
    last: Expression

    @property
    def name(self) -> str:
        return self.index.name

    def __str__(self) -> str:
        return f"{self.name} in {self.first} … {self.last} - 1"


class Index(Expression):
    """A variable of a group of slots, or of a read over a range."""

    def __init__(self, name: str) -> None:
        if not name.isidentifier() or name == "N":
            raise ProblemError(f"an index needs a name like i, j or row, and not {name!r}")
        super().__init__("index", name=name)

    def range(self, first: "Expression | int", last: "Expression | int | None" = None) -> Range:
        """`i.range(N)` is 0 … N - 1, `j.range(i, N)` is i … N - 1."""
        return Range(self, lifted(0), lifted(first)) if last is None else Range(self, lifted(first), lifted(last))


N = Expression("index", name="N")
"""The length of the word."""


def indices(names: str) -> tuple[Index, ...]:
    """`i, j = indices("i j")`."""
    return tuple(Index(name) for name in names.split())


def constant(value: int) -> Expression:
    return Expression("constant", value=int(value))


def index_used_by(function: Callable[..., Any]) -> tuple[str, Expression] | None:
    """The first variable in the code of a function that is an index expression, and its value."""
    code = getattr(function, "__code__", None)
    known = dict(getattr(function, "__globals__", {}))
    for name, cell in zip(getattr(code, "co_freevars", ()), getattr(function, "__closure__", None) or (), strict=False):
        with suppress(ValueError):  # a variable that has no value yet
            known[name] = cell.cell_contents
    waiting = [code] if code is not None else []
    while waiting:
        part = waiting.pop()
        for instruction in dis.get_instructions(part):
            if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_FROM_DICT_OR_DEREF"):
                value = known.get(instruction.argval)
                if isinstance(value, Expression):
                    return instruction.argval, value
        waiting += [constant for constant in part.co_consts if isinstance(constant, CodeType)]
    return None


def lifted(value: Expression | int) -> Expression:
    """A number as an expression."""
    if isinstance(value, Expression):
        return value
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        hint = "to compare, write i.equals(0), for Python's == compares the objects"
        if isinstance(value, str):
            hint = "write the formula itself, without quotes"
        elif not isinstance(value, bool):
            hint = "an index is a formula, not the value of a slot; to search for a position, read over a range"
        shown = shown_value(value, repr if isinstance(value, str) else str)
        raise ProblemError(f"an index expression is made of whole numbers, N and indices, not of {shown}; {hint}")
    if abs(int(value)) > LARGEST:
        raise ProblemError(
            f"{shown_value(int(value))} needs more than {BITS} bits, and positions are computed with 64 bits; "
            "use a smaller number"
        )
    return constant(int(value))


def choose(condition: Expression, then: Expression | int, otherwise: Expression | int) -> Expression:
    """if condition then … else …."""
    return Expression("if", (lifted(condition), lifted(then), lifted(otherwise)))


def both(*conditions: Expression) -> Expression:
    """[all of them hold]."""
    *rest, last = conditions
    for condition in reversed(rest):
        last = choose(condition, last, 0)
    return last


def either(*conditions: Expression) -> Expression:
    """[one of them holds]."""
    *rest, last = conditions
    for condition in reversed(rest):
        last = choose(condition, 1, last)
    return last


def minimum(left: Expression | int, right: Expression | int) -> Expression:
    return choose(lifted(left) <= right, left, right)


def maximum(left: Expression | int, right: Expression | int) -> Expression:
    return choose(lifted(left) >= right, left, right)


def power_of_two_below(expression: Expression | int) -> Expression:
    """The largest power of two that is at most the number, 1 for what is below 1."""
    return Expression("power of two below", (lifted(expression),))


def log2_above(expression: Expression | int) -> Expression:
    """⌈log2 x⌉, 0 for what is below 1."""
    return Expression("log2 above", (lifted(expression),))


def table(entries: Sequence[int]) -> Callable[[Expression | int], Expression]:
    """Numbers by place, where there is no formula: `source = table([3, 1, 2])`, then `source(i)`."""
    listed = tuple(int(entry) for entry in entries)
    return lambda place: Expression("table", (lifted(place),), entries=listed)


def _divided(operation: Callable[[Any, Any], Any], a: Number, b: Number) -> Number:
    """x div 0 and x mod 0 are 0, so that a branch that is not taken may divide."""
    if isinstance(b, np.ndarray):
        return np.where(b == 0, 0, operation(a, np.where(b == 0, 1, b)))
    return operation(a, b) if b != 0 else a * 0


def _binary(left: Expression | int, sign: str, right: Expression | int) -> Expression:
    return Expression(sign, (lifted(left), lifted(right)))


def _wrapped(operand: Expression, rank: int) -> str:
    inner = _ARITHMETIC.get(operand.operator)
    return f"({operand})" if inner is not None and inner[0] < rank else str(operand)


def _chosen(condition: Expression, then: Expression, otherwise: Expression, values: Values) -> Number:
    """Of one slot, the branch that is taken alone."""
    holds = condition.evaluate(values)
    if isinstance(holds, np.ndarray):
        return np.where(holds != 0, then.evaluate(values), otherwise.evaluate(values))
    return (then if holds else otherwise).evaluate(values)


def _power(exponent: Number, of: Expression) -> Number:
    if isinstance(exponent, np.ndarray):
        return 1 << np.maximum(exponent, 0)
    if exponent > LARGEST.bit_length():
        raise _too_large(of)
    return 1 << max(exponent, 0)


def _too_large(of: Expression, bits: int = BITS) -> ProblemError:
    return ProblemError(
        f"{shortened(str(of))} is beyond {bits} bits, and the positions of a model are computed with 64; "
        "keep it small where it is asked for, as in choose(i < 40, 2**i, 0)"
    )


def _power_below(x: Number) -> Number:
    if isinstance(x, np.ndarray):
        return 1 + sum((1 << (k - 1)) * (x >= 1 << k) for k in range(1, MOST))
    return 1 << (max(int(x), 1).bit_length() - 1)


def _log2_above(x: Number) -> Number:
    if isinstance(x, np.ndarray):
        return sum((x > 1 << k).astype(np.int64) for k in range(MOST))
    return (max(int(x), 1) - 1).bit_length()


def _entry(entries: tuple[int, ...], place: Number) -> Number:
    """0 beyond the table, so that a branch that is not taken may look there."""
    if isinstance(place, np.ndarray):
        listed = np.array([*entries, 0], dtype=np.int64)
        return listed[np.where((place < 0) | (place >= len(entries)), len(entries), place)]
    return entries[place] if 0 <= place < len(entries) else 0
