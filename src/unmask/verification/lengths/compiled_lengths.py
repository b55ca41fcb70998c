"""Problem × kind × lengths: does `compile` write the family's weights at these lengths?

The statement is about what `compile` writes. The proof is about the family. The two are compared here, entry by entry,
at some lengths: short ones, the neighbours of powers of two, and a few that a hash of the statement selects. A fault of
the compiler at one other length is not seen by this comparison.

Beyond these lengths the formulas of positions and sizes are compared: what `Expression.evaluate` gives, which the
compiler uses, with the value of the tree, which the proof is about.
"""

import hashlib
import operator
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from unmask.compilers.compiler import Compiler
from unmask.compilers.model_families import ModelFamily
from unmask.errors import ProblemError, TooLarge
from unmask.expressions import Expression
from unmask.numerics.arithmetic import Precision
from unmask.problems.problem import Problem
from unmask.verification.lengths.expected_weights import compare, values_at
from unmask.verification.lengths.obligations import LEAST_ASKED, Ledger, ObligationFailed
from unmask.weights.size_limits import LARGEST_ACTIVATION
from unmask.weights.storage import load, save

FIRST = (2, 3, 4, 8, 9, 31, 37, 100, 128, 1000)
"""Compared even if the weights are large."""
THEN = (5, 7, 63, 64, 65, 127, 129, 255, 256, 257, 511, 512, 513)
HASHED = ((101, 250), (101, 600), (251, 600), (601, 2000))
"""A hash of the statement selects one length of each interval."""
MOST_SLOTS = 1 << 14
"""Longer models are compared only if `--check-length` names them."""
LEAST_COMPARED = len(FIRST) + len(HASHED)
MOST_ENTRIES = 1 << 23
"""The weights of all compared lengths together, beside positions: larger families are compared at fewer lengths."""

LONG_LENGTHS = tuple(sorted({(1 << k) + d for k in range(3, 37) for d in ((-1, 0, 1) if k % 6 == 0 else (1,))}))
"""Lengths at which formulas are compared, although no model of such a length is compiled."""
MOST_ROWS = 1 << 39


def hashed_lengths(statement: str) -> tuple[int, ...]:
    """Lengths that depend on the statement: the same in every run, and spread over the intervals of `HASHED`."""
    found = []
    for number, (first, last) in enumerate(HASHED):
        digest = hashlib.sha256(f"{number} {statement}".encode()).digest()
        found.append(first + int.from_bytes(digest[:8], "big") % (last - first + 1))
    return tuple(found)


def lengths_to_compare(
    problem: Problem, family: ModelFamily, statement: str
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """(lengths at which models are compared, lengths that are left out because the models are large).

    Models of lengths below the family's least are proved one by one.
    """
    least, padding = family.least, family.design.padding
    small, large = [], []
    for first in dict.fromkeys((*FIRST, *hashed_lengths(statement), *THEN)):
        for length in (first, first + 1) if first > 100 else (first,):  # words of even length alone: the next one
            if length < least:
                continue
            if padding.at(length) > MOST_SLOTS:
                large.append(length)
                break
            if problem.has_length(length):
                small.append(length)
                break
    small = list(dict.fromkeys(small))
    most = max(LEAST_COMPARED, MOST_ENTRIES // _entries(family))
    return tuple(sorted(small[:most])), tuple(sorted({*large, *small[most:]}))


def _entries(family: ModelFamily) -> int:
    """How many entries the weights of one length have, without positions."""
    total = 0
    for program in family.design.programs.values():
        edges = [*program.embedding, *program.readout]
        for layer in program.layers:
            edges += [*layer.mlp.inputs, *layer.mlp.outputs, *(e for head in layer.heads for e in head.value)]
        total += sum(e.source.size for e in edges)
    return max(1, total)


def check_lengths(
    compiler: Compiler,
    family: ModelFamily,
    precision: Precision,
    lengths: Iterable[int],
    ledger: Ledger,
    compared: list[int],
) -> None:
    """Settle one obligation for every length: the model is compiled, written, read again, and compared.

    Lengths at which the two are the same are added to `compared`.
    """
    for length in lengths:
        if length < family.least:
            continue  # these models are not the family's; each is proved by itself

        def show(length: int = length) -> str:
            with TemporaryDirectory(prefix="unmask-") as scratch:
                folder = Path(scratch) / "model"
                try:
                    save(compiler.compile(family.kind, length, precision), folder)
                except TooLarge as error:
                    raise ObligationFailed(f"`compile` rejects this length: {error}") from error
                except ProblemError as error:
                    raise ObligationFailed(f"`compile` rejects this length: {error}", (length,)) from error
                model = load(folder)
            if model.length != length or model.precision != precision:
                raise ObligationFailed("the model has another length or precision", (length,))
            return f"{compare(family, model):,} entries"

        ledger.settle(f"N = {length}: `compile` writes the family's weights", "comparison", show)
        compared.append(length)


def check_formulas(family: ModelFamily, ledger: Ledger) -> None:
    """Settle that at long lengths the formulas of the family have the values of their trees."""
    formulas = list({id(formula): formula for formula in _formulas_in(family.design)}.values())

    def show() -> str:
        longest = 0
        for length in LONG_LENGTHS:
            if length < family.least:
                continue
            rows = length + family.design.padding.at(length)
            if not length <= rows < MOST_ROWS:
                break  # beyond the positions that are computed with 64 bits
            near = {0, 1, 2, length - 2, length - 1, length, length + 1, (length + rows) // 2, rows - 2, rows - 1}
            where = np.array(sorted(n for n in near if 0 <= n < rows), dtype=np.int64)
            for formula in formulas:
                with np.errstate(all="ignore"):
                    computed, wanted = formula.at_positions(length, where), values_at(formula, where, length)
                if (computed != wanted).any():
                    row = int(where[np.argmax(computed != wanted)])
                    raise ObligationFailed(
                        f"at N = {length}, n = {row} the formula {formula} is not computed as it is written"
                    )
            longest = length
        return f"{len(formulas)} formulas, lengths beside powers of two up to N = {longest:,}"

    ledger.settle("instance: formulas are evaluated in the order in which they are written", "comparison", show)


def _formulas_in(value: Any) -> Iterator[Expression]:
    """Every formula that an object holds, directly or in its parts."""
    seen: set[int] = set()
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if id(part) in seen or isinstance(part, str | bytes | int | np.ndarray):
            continue
        seen.add(id(part))
        if isinstance(part, Expression):
            yield part
        elif isinstance(part, Mapping):
            waiting += [*part, *part.values()]
        elif isinstance(part, list | tuple | set | frozenset):
            waiting += part
        elif is_dataclass(part):
            waiting += [getattr(part, field.name) for field in fields(part) if hasattr(part, field.name)]


# Compiler × a length whose every use is recorded → does the code between a family and its model look at N?
#
#     formulas      `Expression.at_positions` may take the value of N: positions and sizes are functions of N
#     comparisons   with a constant, if the outcome is the same for every N from the family's least to the limit
#     other uses    (N == 37, a table look-up, arithmetic, text, …) leave the obligation open
#
# The compiler runs once. All other lengths take the same path through its Python code, as far as the path depends on N
# itself. Not recorded: what code does with values of formulas (rows, steps, slots, numbers of bits), and what NumPy
# does with arrays of positions.


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
        if sys._getframe(1).f_code is not Expression.at_positions.__code__:
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


def require_formulas_alone(
    compiler: Compiler | None, family: ModelFamily, precision: Precision, ledger: Ledger
) -> None:
    """Settle that a model of the family depends on N through formulas alone; with a compiler, its `compile` too."""
    least = max(family.least, LEAST_ASKED)  # the model of N = 0 is proved by itself
    bare = ModelFamily(family.kind, family.least, family.design, family.characters, {})
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
            raise ObligationFailed(f"the code also uses N in this way: {what}", lengths)
        return f"{uses.compared} comparisons, each with one outcome for N = {least} to {LARGEST_ACTIVATION:,}"

    ledger.settle(f"instance: {name}", "tracing", show)
