"""Compiler × a length whose every use is recorded → does the code between a family and its model look at N?

    formulas      `Expression.compute` of the formula N may take its value: positions and sizes are functions of N
    comparisons   with a constant, if the outcome is the same for every N from the family's least to the limit
    other uses    (N == 37, a table look-up, arithmetic, text, …) leave the obligation open

The compiler runs once. All other lengths take the same path through its Python code, as far as the path depends on N
itself. Not recorded: what code does with values of formulas (rows, steps, slots, numbers of bits), and what NumPy does
with arrays of positions.
"""

import operator
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from unmask.numerics.precision import Precision
from unmask.programs.compilers.compiler import Compiler
from unmask.programs.compilers.family import Family
from unmask.programs.language.positions import N
from unmask.verification.families.obligations.arithmetic import LEAST_ASKED
from unmask.verification.families.obligations.ledger import Ledger, Open
from unmask.weights.limits import LARGEST_ACTIVATION

BEYOND_LEAST = 8
"""The compiler is run at the family's least length plus this number."""


@dataclass
class Uses:
    """What was done with a length, other than taking its value for a formula."""

    least: int
    last: int
    compared: int = 0
    found: list[tuple[str, tuple[int, ...]]] = field(default_factory=list)
    """(what and where, lengths at which it may matter)."""

    def compare(self, name: str, holds: Callable[[int, int], bool], number: int) -> None:
        """Record a comparison of N with a number."""
        self.compared += 1
        edges = (self.least, number - 1, number, number + 1, self.last)
        inside = [n for n in edges if self.least <= n <= self.last]
        outcomes = {n: holds(n, number) for n in inside}
        if len(set(outcomes.values())) > 1:
            self.record(f"N {name} {number}", tuple(n for n in (number, number + 1, number - 1) if n in inside))

    def record(self, what: str, lengths: tuple[int, ...] = ()) -> None:
        frame = sys._getframe(2)
        while frame.f_back is not None and frame.f_code.co_filename == __file__:
            frame = frame.f_back
        place = frame.f_code.co_filename.replace("\\", "/").rpartition("/unmask/")[2]
        self.found.append((f"{what}, in {frame.f_code.co_name} ({place.rpartition('/')[2]}:{frame.f_lineno})", lengths))


class TracedLength(int):
    """An integer that records what is done with it."""

    uses: Uses

    def __new__(cls, value: int, uses: Uses) -> "TracedLength":
        made = super().__new__(cls, value)
        made.uses = uses
        return made

    def __int__(self) -> int:
        if sys._getframe(1).f_code is not getattr(N.compute, "__code__", None):
            self.uses.record("int(N)")
        return int.__index__(self)

    def __bool__(self) -> bool:
        self.uses.compare("!=", operator.ne, 0)
        return int.__index__(self) != 0

    def __hash__(self) -> int:
        self.uses.record("a look-up of N in a table")
        return hash(int.__index__(self))


def _comparison(name: str, sign: str) -> Callable[[TracedLength, Any], Any]:
    holds = getattr(operator, name)

    def compare(self: TracedLength, other: Any) -> Any:
        if not isinstance(other, int) or isinstance(other, TracedLength):
            return getattr(int, f"__{name}__")(self, other)
        self.uses.compare(sign, holds, int.__index__(other))
        return holds(int.__index__(self), int.__index__(other))

    return compare


def _recorded(name: str) -> Callable[..., Any]:
    def used(self: TracedLength, *others: Any) -> Any:
        self.uses.record(f"N.{name}")
        return getattr(int, name)(int.__index__(self), *others)

    return used


for _name, _sign in {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}.items():
    setattr(TracedLength, f"__{_name}__", _comparison(_name, _sign))
for _name in (
    *(f"__{side}{name}__" for side in ("", "r") for name in (
        "add", "sub", "mul", "floordiv", "truediv", "mod", "divmod", "pow", "lshift", "rshift", "and", "or", "xor",
    )),
    "__neg__", "__abs__", "__invert__", "__float__", "__index__", "__str__", "__repr__", "__format__", "bit_length",
    "bit_count", "to_bytes",
):  # fmt: skip
    setattr(TracedLength, _name, _recorded(_name))


def require_formulas_alone(compiler: Compiler | None, family: Family, precision: Precision, ledger: Ledger) -> None:
    """Settle that a model of the family depends on N through formulas alone; with a compiler, its `compile` too."""
    least = max(family.least, LEAST_ASKED)  # the model of N = 0 is proved by itself
    bare = Family(family.kind, family.least, family.design, family.characters, {})
    _settle("`Family.model_at` uses N in formulas alone", bare.model_at, least, precision, ledger)
    if compiler is not None:

        def compile_at(length: int, precision: Precision) -> Any:
            return compiler.compile(family.kind, length, precision)

        _settle("`compile` uses N in formulas alone", compile_at, least, precision, ledger)


def _settle(name: str, make: Callable[[int, Precision], Any], least: int, precision: Precision, ledger: Ledger) -> None:
    def show() -> str:
        uses = Uses(least, LARGEST_ACTIVATION)
        make(TracedLength(least + BEYOND_LEAST, uses), precision)
        if uses.found:
            what, lengths = uses.found[0]
            raise Open(f"the code also uses N in this way: {what}", lengths)
        return f"{uses.compared} comparisons, each with one outcome for N = {least} to {LARGEST_ACTIVATION:,}"

    ledger.settle(f"instance: {name}", "tracing", show)
