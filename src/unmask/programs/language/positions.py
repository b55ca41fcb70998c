"""Positional expressions: what a position n of an input of length N says of itself.

    e ::= n | N | constant | e + e | e - e | e·e | e mod e | e div e | pos(e) | [e <= e] | if e then e else e

A constant may be built from N alone; where it is not known yet, it has a name (`unknown`) until `known` gives it. An
expression keeps its tree (`operator`, `operands`), so that `language.uniformity` can tell what it takes to compute it.
`evaluate` gives the whole table at once, `str` the formula.

>>> slot = n - N
>>> str((2 * slot + 1) % N), (2 * slot + 1).evaluate(4, range(4, 7)).tolist()
('(2·(n - N) + 1) mod N', [1, 3, 5])
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

Found = TypeVar("Found")

Compute = Callable[[int, np.ndarray], Any]
"""(N, positions) → values."""


@dataclass(frozen=True)
class Expression:
    """A formula in n and N with its meaning; made by the operators below, never by hand."""

    formula: str
    rank: int  # how tightly the outermost operator binds: 0 sums, 1 products, 2 atoms
    compute: Compute
    operator: str | None = None  # None: computed in some other way than by the operators below
    operands: "tuple[Expression, ...]" = ()
    value: int | None = None  # of a constant

    def evaluate(self, length: int, positions: Sequence[int] | np.ndarray) -> np.ndarray:
        """The values at the given positions of an input of the given length."""
        where = np.asarray(positions, dtype=np.int64)
        return np.broadcast_to(np.asarray(self.compute(length, where), dtype=np.int64), where.shape)

    def at(self, length: int) -> int:
        """The value of an expression in N alone."""
        return int(self.evaluate(length, [0])[0])

    def __str__(self) -> str:
        return self.formula

    def __repr__(self) -> str:
        return self.formula

    def __add__(self, other: "Expression | int") -> "Expression":
        return _binary(self, "+", other, np.add, 0)

    def __radd__(self, other: int) -> "Expression":
        return constant(other) + self

    def __sub__(self, other: "Expression | int") -> "Expression":
        return _binary(self, "-", other, np.subtract, 0)

    def __rsub__(self, other: int) -> "Expression":
        return constant(other) - self

    def __mul__(self, factor: "Expression | int") -> "Expression":
        return _binary(_lift(factor), "·", self, np.multiply, 1)

    __rmul__ = __mul__

    def __mod__(self, other: "Expression | int") -> "Expression":
        return _binary(self, "mod", other, np.mod, 1)

    def __floordiv__(self, other: "Expression | int") -> "Expression":
        return _binary(self, "div", other, np.floor_divide, 1)

    def __le__(self, other: "Expression | int") -> "Expression":
        return _comparison(self, "<=", other, np.less_equal)

    def __lt__(self, other: "Expression | int") -> "Expression":
        return _comparison(self, "<", other, np.less)

    def __ge__(self, other: "Expression | int") -> "Expression":
        return _comparison(self, ">=", other, np.greater_equal)

    def __gt__(self, other: "Expression | int") -> "Expression":
        return _comparison(self, ">", other, np.greater)

    def equals(self, other: "Expression | int") -> "Expression":
        """[self = other]."""
        return _comparison(self, "=", other, np.equal)

    def positive_part(self) -> "Expression":
        """max(self, 0)."""
        return Expression(
            f"pos({self})", 2, lambda length, where: np.maximum(self.compute(length, where), 0), "pos", (self,)
        )


def constant(value: int) -> Expression:
    return Expression(str(value), 2, lambda length, where: np.int64(value), "constant", (), int(value))  # noqa: ARG005


n = Expression("n", 2, lambda length, where: where, "n")  # noqa: ARG005
N = Expression("N", 2, lambda length, where: np.int64(length), "N")  # noqa: ARG005


def unknown(name: str) -> Expression:
    """A number of which there is but the name: a size of a source, where a construction is about every source."""

    def compute(length: int, where: np.ndarray) -> Any:  # noqa: ARG001
        raise ValueError(f"the size {name} is not known; give it with `known`")

    return Expression(name, 2, compute, "unknown")


def known(expression: Expression, sizes: dict[str, int]) -> Expression:
    """The same formula with numbers in the place of names."""

    def made(node: Expression, parts: list[Expression]) -> Expression:
        if node.operator == "unknown":
            return constant(sizes[node.formula])
        return REBUILT[node.operator](*parts) if parts else node

    return by_parts((expression,), made)[id(expression)]


def choose(condition: Expression, then: Expression | int, otherwise: Expression | int) -> Expression:
    """if condition then … else …."""
    yes, no = _lift(then), _lift(otherwise)

    def compute(length: int, where: np.ndarray) -> np.ndarray:
        return np.where(condition.compute(length, where) != 0, yes.compute(length, where), no.compute(length, where))

    return Expression(f"(if {condition} then {yes} else {no})", 2, compute, "if", (condition, yes, no))


def both(left: Expression, right: Expression) -> Expression:
    """[left and right]."""
    return choose(left, right, 0)


def power_of_two_below(x: Expression, *, most: int = 40) -> Expression:
    """The largest power of two that is at most x, for 1 <= x < 2^most: 1 + Σ_k 2^(k-1)·[2^k <= x]."""

    def compute(length: int, where: np.ndarray) -> Any:
        value = x.compute(length, where)
        return 1 + sum((1 << (k - 1)) * np.greater_equal(value, 1 << k) for k in range(1, most))

    return Expression(f"(1 + Σ_k 2^(k-1)·[2^k <= {x}])", 2, compute, "power of two below", (x,))


def log2_above(x: Expression, *, most: int = 40) -> Expression:
    """⌈log2 x⌉, for 1 <= x <= 2^most: Σ_k [2^k < x]."""

    def compute(length: int, where: np.ndarray) -> Any:
        value = x.compute(length, where)
        return sum((np.greater(value, 1 << k).astype(np.int64) for k in range(most)), np.int64(0))

    return Expression(f"(Σ_k [2^k < {x}])", 2, compute, "log2 above", (x,))


def by_parts(formulas: Iterable[Expression], of: Callable[[Expression, list[Found]], Found]) -> dict[int, Found]:
    """What `of` makes of a part and of what its operands gave, for formulas and all their parts; by id, each once."""
    known: dict[int, Found] = {}
    waiting = list(formulas)
    while waiting:
        node = waiting[-1]
        missing = [operand for operand in node.operands if id(operand) not in known]
        if missing:
            waiting += missing
            continue
        waiting.pop()
        if id(node) not in known:
            known[id(node)] = of(node, [known[id(operand)] for operand in node.operands])
    return known


def _lift(value: Expression | int) -> Expression:
    return value if isinstance(value, Expression) else constant(value)


def _wrapped(operand: Expression, rank: int) -> str:
    return f"({operand})" if operand.rank < rank else str(operand)


def _binary(left: Expression, sign: str, right: Expression | int, operation, rank: int) -> Expression:
    right = _lift(right)
    gap = "" if sign == "·" else " "
    formula = f"{_wrapped(left, rank)}{gap}{sign}{gap}{_wrapped(right, rank + 1)}"
    return Expression(
        formula,
        rank,
        lambda length, where: operation(left.compute(length, where), right.compute(length, where)),
        sign,
        (left, right),
    )


def _comparison(left: Expression, sign: str, right: Expression | int, operation) -> Expression:
    right = _lift(right)

    def compute(length: int, where: np.ndarray) -> np.ndarray:
        return operation(left.compute(length, where), right.compute(length, where)).astype(np.int64)

    return Expression(f"[{left} {sign} {right}]", 2, compute, sign, (left, right))


REBUILT: dict[str | None, Callable[..., Expression]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "·": lambda a, b: b * a,
    "mod": lambda a, b: a % b,
    "div": lambda a, b: a // b,
    "<=": lambda a, b: a <= b,
    "<": lambda a, b: a < b,
    ">=": lambda a, b: a >= b,
    ">": lambda a, b: a > b,
    "=": lambda a, b: a.equals(b),
    "pos": lambda a: a.positive_part(),
    "if": choose,
    "power of two below": power_of_two_below,
    "log2 above": log2_above,
}
