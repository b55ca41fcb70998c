"""Whole-number expressions in N, a position n and indices: one syntax tree, one `fold`.

    e ::= constant | variable | e + e | e - e | e·e | e div e | e mod e | pos(e) | 2^e | [e <= e] | if e then e else e
        | table(e) | power_of_two_below(e) | log2_above(e) | machine(e, …)

A system of recurrences states by expressions in N and its indices where a slot reads. A program states by expressions
in N and n the number that belongs to position n of a word of length N. Numbers, printed formulas, SMT terms, JSON and
bounds are computed by `fold`: each of them is a function of a node and of the results for its operands.

`evaluate` takes numbers, or arrays of numbers, for the variables. With numbers it is exact and raises an error beyond
62 bits. With arrays, an entry may overflow in a branch that it does not take.

>>> i, j = indices("i j")
>>> str(2 * i + j - 1), (2 * i + j - 1).evaluate({"N": 4, "i": 3, "j": 1})
('2·i + j - 1', 6)
>>> slot = n - N
>>> str((2 * slot + 1) % N), (2 * slot + 1).at_positions(4, range(4, 7)).tolist()
('(2·(n - N) + 1) mod N', [1, 3, 5])
"""

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from unmask.errors import ProblemError, shortened, shown_value

Number = Any
"""An int for one slot or position, or an array for many: an expression can be evaluated for both."""

Values = Mapping[str, Number]
"""The values of variables, by name."""

Result = TypeVar("Result")

BITS = 62
LARGEST_INTEGER = (1 << BITS) - 1
"""The largest absolute value that an expression may have when it is evaluated. Arrays of numbers have 64 bits."""
LOGARITHM_BITS = 40
"""The largest number of bits of an operand of `power_of_two_below` and `log2_above`."""

SUMS = ("+", "-")
PRODUCTS = ("·", "div", "mod")
COMPARISONS = ("<=", "<", ">=", ">", "=", "≠")


@dataclass(frozen=True, eq=False)
class Expression:
    """A node, which is made by Python's operators, `equals`, `choose`, `both`, `either`, `table` and functions below.

    A condition is an expression that is 0 or 1. It has no truth value in Python, because its variables have no value.
    """

    operator: str
    operands: "tuple[Expression, ...]" = ()
    name: str = ""  # of a variable
    value: int = 0  # of a constant
    entries: tuple[int, ...] = ()  # of a table
    machine: Callable[..., int] | None = None  # that computes the number from those of the operands

    def evaluate(self, values: Values) -> Number:
        """Return the number for these values of the variables; raise KeyError for a variable without a value."""
        return self._evaluator(values)

    def at_positions(self, length: int, positions: Sequence[int] | np.ndarray) -> np.ndarray:
        """Return the values of an expression in n and N at these positions of a word of this length."""
        row = np.asarray(positions, dtype=np.int64)
        return np.broadcast_to(np.asarray(self.evaluate({"n": row, "N": int(length)}), dtype=np.int64), row.shape)

    def at(self, length: int) -> int:
        """Return the value of an expression in N alone."""
        return int(self.at_positions(length, [0])[0])

    @cached_property
    def _evaluator(self) -> "Evaluator":
        return fold(self, _evaluator)

    @property
    def names(self) -> frozenset[str]:
        """The names of the variables, including N."""
        return fold(self, lambda node, parts: frozenset({node.name} if node.name else {}).union(*parts))

    def is_constant(self, value: int) -> bool:
        """Return True if this is the constant `value`."""
        return self.operator == "constant" and self.value == value

    def is_variable(self, name: str) -> bool:
        """Return True if this is the variable `name`."""
        return self.operator == "variable" and self.name == name

    def __str__(self) -> str:
        return fold(self, _printed)[0]

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
        return _binary(self, "·", other) if isinstance(other, Expression) else _binary(other, "·", self)

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
        return both(self, as_expression(other))

    def __or__(self, other: "Expression") -> "Expression":
        return either(self, as_expression(other))

    def __invert__(self) -> "Expression":
        return choose(self, 0, 1)

    def equals(self, other: "Expression | int") -> "Expression":
        """[self = other]."""
        return _binary(self, "=", other)

    def differs(self, other: "Expression | int") -> "Expression":
        """[self ≠ other]."""
        return _binary(self, "≠", other)

    def positive_part(self) -> "Expression":
        """max(self, 0)."""
        return Expression("pos", (self,))


@dataclass(frozen=True, eq=False)
class Range:
    """An index and its values: first, first + 1, …, last - 1, as in Python's `range`."""

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
        super().__init__("variable", name=name)

    def range(self, first: "Expression | int", last: "Expression | int | None" = None) -> Range:
        """`i.range(N)` is 0 … N - 1, `j.range(i, N)` is i … N - 1."""
        if last is None:
            first, last = 0, first
        return Range(self, as_expression(first), as_expression(last))


def variable(name: str) -> Expression:
    """Return the variable of this name."""
    return Expression("variable", name=name)


N = variable("N")
"""The length of the word."""
n = variable("n")
"""A position, counted from 0: the variable of the formulas that a program declares."""


def indices(names: str) -> tuple[Index, ...]:
    """`i, j = indices("i j")`."""
    return tuple(Index(name) for name in names.split())


def constant(value: int) -> Expression:
    """Return a number as an expression."""
    return Expression("constant", value=int(value))


def as_expression(value: Expression | int) -> Expression:
    """Return an expression unchanged, and a number as a constant."""
    if isinstance(value, Expression):
        return value
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        hint = "to compare, write i.equals(0), for Python's == compares the objects"
        if isinstance(value, str):
            hint = "write the formula itself, without quotes"
        elif not isinstance(value, bool):
            hint = "an index is a formula, not the value of a slot; to search for a position, read over a range"
        value_text = shown_value(value, repr if isinstance(value, str) else str)
        raise ProblemError(f"an index expression is made of whole numbers, N and indices, not of {value_text}; {hint}")
    if abs(int(value)) > LARGEST_INTEGER:
        raise ProblemError(
            f"{shown_value(int(value))} needs more than {BITS} bits, and positions are computed with 64 bits; "
            "use a smaller number"
        )
    return constant(int(value))


def choose(condition: Expression, then: Expression | int, otherwise: Expression | int) -> Expression:
    """Return the expression "if condition then … else …"."""
    return Expression("if", (as_expression(condition), as_expression(then), as_expression(otherwise)))


def both(*conditions: Expression) -> Expression:
    """1 if all the conditions hold, else 0."""
    *rest, last = conditions
    for condition in reversed(rest):
        last = choose(condition, last, 0)
    return last


def either(*conditions: Expression) -> Expression:
    """1 if at least one of the conditions holds, else 0."""
    *rest, last = conditions
    for condition in reversed(rest):
        last = choose(condition, 1, last)
    return last


def minimum(left: Expression | int, right: Expression | int) -> Expression:
    """Return the smaller of two expressions."""
    return choose(as_expression(left) <= right, left, right)


def maximum(left: Expression | int, right: Expression | int) -> Expression:
    """Return the larger of two expressions."""
    return choose(as_expression(left) >= right, left, right)


def power_of_two_below(expression: Expression | int) -> Expression:
    """The largest power of two that is at most the number; 1 for numbers below 1."""
    return Expression("power of two below", (as_expression(expression),))


def log2_above(expression: Expression | int) -> Expression:
    """⌈log2 x⌉; 0 for numbers below 1."""
    return Expression("log2 above", (as_expression(expression),))


def table(entries: Sequence[int]) -> Callable[[Expression | int], Expression]:
    """Return a table of numbers, for values without a formula: `source = table([3, 1, 2])`, then `source(i)`."""
    listed = tuple(int(entry) for entry in entries)
    return lambda index: Expression("table", (as_expression(index),), entries=listed)


def computed_by(machine: Callable[..., int], *operands: Expression | int) -> Expression:
    """Return an expression whose value the function computes from the values of the operands, position by position."""
    return Expression("machine", tuple(map(as_expression, operands)), machine=machine)


def _binary(left: Expression | int, sign: str, right: Expression | int) -> Expression:
    return Expression(sign, (as_expression(left), as_expression(right)))


# ---- fold


def fold(expression: Expression, of: Callable[[Expression, list[Result]], Result]) -> Result:
    """Return `of(node, results of its operands)` at the root; every node is visited once, operands first."""
    return fold_parts((expression,), of)[id(expression)]


def fold_parts(
    expressions: Iterable[Expression], of: Callable[[Expression, list[Result]], Result]
) -> dict[int, Result]:
    """Return the results of `fold` for expressions and all their parts, by the id of the node."""
    results: dict[int, Result] = {}
    waiting = list(expressions)
    while waiting:
        node = waiting[-1]
        missing = [operand for operand in node.operands if id(operand) not in results]
        if missing:
            waiting += missing
            continue
        waiting.pop()
        if id(node) not in results:
            results[id(node)] = of(node, [results[id(operand)] for operand in node.operands])
    return results


def substituted(expression: Expression, replacements: Mapping[str, Expression]) -> Expression:
    """Return the expression with other expressions in place of some variables."""

    def rebuilt(node: Expression, parts: list[Expression]) -> Expression:
        if node.operator == "variable":
            return replacements.get(node.name, node)
        return replace(node, operands=tuple(parts)) if parts else node

    return fold(expression, rebuilt)


# ---- printing: fold to (text, precedence of its outermost operator)


def _printed(node: Expression, parts: list[tuple[str, int]]) -> tuple[str, int]:
    sign = node.operator
    if sign in ("constant", "variable"):
        return node.name or str(node.value), 2
    if sign == "if":
        return "(if {} then {} else {})".format(*(text for text, _ in parts)), 2
    if sign in COMPARISONS:
        return f"[{parts[0][0]} {sign} {parts[1][0]}]", 2
    if sign in SUMS or sign in PRODUCTS:
        rank, gap = int(sign in PRODUCTS), "" if sign == "·" else " "
        left, right = (
            f"({text})" if binds < least else text for (text, binds), least in zip(parts, (rank, rank + 1), strict=True)
        )
        return f"{left}{gap}{sign}{gap}{right}", rank
    called = str(node.machine) if sign == "machine" else sign.replace(" ", "_")
    return f"{called}({', '.join(text for text, _ in parts)})", 2


# ---- numbers: fold to a function of the values of the variables

Evaluator = Callable[[Values], Number]


def _evaluator(node: Expression, parts: list[Evaluator]) -> Evaluator:
    if node.operator == "constant":
        return lambda _: node.value
    if node.operator == "variable":
        return lambda values: values[node.name]
    if node.operator == "if":
        condition, then, otherwise = parts

        def chosen(values: Values) -> Number:
            """Evaluate `if … then … else …`; for one slot, only the branch that is taken is evaluated."""
            holds = condition(values)
            if isinstance(holds, np.ndarray):
                return np.where(holds != 0, then(values), otherwise(values))
            return (then if holds else otherwise)(values)

        return chosen
    compute = _OPERATIONS[node.operator]

    def computed(values: Values) -> Number:
        value = compute(node, *[operand(values) for operand in parts])
        if not isinstance(value, np.ndarray) and abs(value) > LARGEST_INTEGER:
            raise _too_large(node)
        return value

    return computed


def _compared(holds: Callable[[Any, Any], Any], a: Number, b: Number) -> Number:
    value = holds(a, b)
    return value.astype(np.int64) if isinstance(value, np.ndarray) else int(value)


def _divided(operation: Callable[[Any, Any], Any], a: Number, b: Number) -> Number:
    """Divide; x div 0 and x mod 0 are 0, so that a branch that is not taken may divide by 0."""
    if isinstance(b, np.ndarray):
        return np.where(b == 0, 0, operation(a, np.where(b == 0, 1, b)))
    return operation(a, b) if b != 0 else a * 0


def _power(of: Expression, exponent: Number) -> Number:
    if isinstance(exponent, np.ndarray):
        return 1 << np.maximum(exponent, 0)
    if exponent > LARGEST_INTEGER.bit_length():
        raise _too_large(of)
    return 1 << max(exponent, 0)


def _power_below(of: Expression, x: Number) -> Number:
    if isinstance(x, np.ndarray):
        return 1 + sum((1 << (k - 1)) * (x >= 1 << k) for k in range(1, LOGARITHM_BITS))
    return 1 << (_logarithm_operand(of, x).bit_length() - 1)


def _log2_above(of: Expression, x: Number) -> Number:
    if isinstance(x, np.ndarray):
        return sum((x > 1 << k).astype(np.int64) for k in range(LOGARITHM_BITS))
    return (_logarithm_operand(of, x) - 1).bit_length()


def _logarithm_operand(of: Expression, x: Number) -> int:
    if x >= 1 << LOGARITHM_BITS:
        raise _too_large(of.operands[0], LOGARITHM_BITS)
    return max(int(x), 1)


def _entry(of: Expression, index: Number) -> Number:
    """Return an entry of a table; 0 outside the table, so that a branch that is not taken may read there."""
    entries = of.entries
    if isinstance(index, np.ndarray):
        listed = np.array([*entries, 0], dtype=np.int64)
        return listed[np.where((index < 0) | (index >= len(entries)), len(entries), index)]
    return entries[index] if 0 <= index < len(entries) else 0


def _computed(of: Expression, *operands: Number) -> Number:
    assert of.machine is not None
    if not any(isinstance(operand, np.ndarray) for operand in operands):
        return of.machine(*map(int, operands))
    listed = np.broadcast_arrays(*operands)
    values = [of.machine(*each) for each in zip(*(column.ravel().tolist() for column in listed), strict=True)]
    return np.array(values, dtype=np.int64).reshape(listed[0].shape)


def _too_large(of: Expression, bits: int = BITS) -> ProblemError:
    return ProblemError(
        f"{shortened(str(of))} is beyond {bits} bits, and the positions of a model are computed with 64; "
        "keep it small where it is asked for, as in choose(i < 40, 2**i, 0)"
    )


_OPERATIONS: dict[str, Callable[..., Number]] = {
    "+": lambda _, a, b: a + b,
    "-": lambda _, a, b: a - b,
    "·": lambda _, a, b: a * b,
    "div": lambda _, a, b: _divided(operator.floordiv, a, b),
    "mod": lambda _, a, b: _divided(operator.mod, a, b),
    "<=": lambda _, a, b: _compared(operator.le, a, b),
    "<": lambda _, a, b: _compared(operator.lt, a, b),
    ">=": lambda _, a, b: _compared(operator.ge, a, b),
    ">": lambda _, a, b: _compared(operator.gt, a, b),
    "=": lambda _, a, b: _compared(operator.eq, a, b),
    "≠": lambda _, a, b: _compared(operator.ne, a, b),
    "pos": lambda _, a: np.maximum(a, 0) if isinstance(a, np.ndarray) else max(a, 0),
    "2^": _power,
    "table": _entry,
    "machine": _computed,
    "power of two below": _power_below,
    "log2 above": _log2_above,
}
