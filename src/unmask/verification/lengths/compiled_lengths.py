"""Comparison of the family with the models that `compile` writes, at some lengths.

The statement is about the models that `compile` writes. The proof is about the family. This module compares the two,
entry by entry, at some lengths: short ones, the neighbours of powers of two, and a few that a hash of the statement
selects. It does not detect a fault of the compiler that occurs only at another length.

At longer lengths it compares only the formulas of positions and sizes: the values of `Expression.evaluate`, which the
compiler uses, with the values of the syntax trees, which the proof is about.
"""

import hashlib
import operator
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from functools import partial
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
from unmask.verification.lengths.expected_weights import compare_with_family, values_at
from unmask.verification.lengths.obligations import LEAST_SOLVER_LENGTH, Ledger, ObligationFailed
from unmask.weights.size_limits import LARGEST_ACTIVATION
from unmask.weights.storage import load, save

ALWAYS_COMPARED = (2, 3, 4, 8, 9, 31, 37, 100, 128, 1000)
"""Lengths that are compared even if the weights are large."""
COMPARED_IF_SMALL = (5, 7, 63, 64, 65, 127, 129, 255, 256, 257, 511, 512, 513)
HASHED_INTERVALS = ((101, 250), (101, 600), (251, 600), (601, 2000))
"""A hash of the statement selects one length of each interval."""
MOST_SLOTS = 1 << 14
"""Longer models are compared only if `--check-length` names them."""
LEAST_COMPARED = len(ALWAYS_COMPARED) + len(HASHED_INTERVALS)
MOST_ENTRIES = 1 << 23
"""The weights of all compared lengths together, beside positions: larger families are compared at fewer lengths."""

LONG_LENGTHS = tuple(sorted({(1 << k) + d for k in range(3, 37) for d in ((-1, 0, 1) if k % 6 == 0 else (1,))}))
"""Lengths at which formulas are compared, although no model of such a length is compiled."""
MOST_ROWS = 1 << 39


def hashed_lengths(statement: str) -> tuple[int, ...]:
    """Return one length of each interval of `HASHED_INTERVALS`; they depend on the statement alone."""
    lengths = []
    for i, (first, last) in enumerate(HASHED_INTERVALS):
        digest = hashlib.sha256(f"{i} {statement}".encode()).digest()
        lengths.append(first + int.from_bytes(digest[:8], "big") % (last - first + 1))
    return tuple(lengths)


def lengths_to_compare(
    problem: Problem, family: ModelFamily, statement: str
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return (lengths at which models are compared, lengths that are omitted because the models are large).

    Models of lengths below the family's least are proved one by one.
    """
    least, padding = family.least, family.design.padding
    compared, omitted = [], []
    for first in dict.fromkeys((*ALWAYS_COMPARED, *hashed_lengths(statement), *COMPARED_IF_SMALL)):
        # if no word has this length, the next one is compared
        for length in (first, first + 1) if first > 100 else (first,):
            if length < least:
                continue
            if padding.at(length) > MOST_SLOTS:
                omitted.append(length)
                break
            if problem.has_length(length):
                compared.append(length)
                break
    compared = list(dict.fromkeys(compared))
    count = max(LEAST_COMPARED, MOST_ENTRIES // _entry_count(family))
    return tuple(sorted(compared[:count])), tuple(sorted({*omitted, *compared[count:]}))


def _entry_count(family: ModelFamily) -> int:
    """Return the number of entries in the weights of one length, without positions."""
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
    """Settle for every length that the model, compiled, saved and loaded, is the family's.

    The lengths are added to `compared`.
    """
    for length in lengths:
        if length < family.least:
            continue  # such a model is not the family's; it is proved by itself
        prove = partial(_compare_compiled, compiler, family, precision, length)
        ledger.settle(f"N = {length}: `compile` writes the family's weights", "comparison", prove)
        compared.append(length)


def _compare_compiled(compiler: Compiler, family: ModelFamily, precision: Precision, length: int) -> str:
    """Compare the compiled model of one length with the family."""
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
    return f"{compare_with_family(family, model):,} entries"


def check_formulas(family: ModelFamily, ledger: Ledger) -> None:
    """Settle that at long lengths the formulas of the family have the values of their syntax trees."""
    formulas = list({id(formula): formula for formula in _formulas_in(family.design)}.values())

    def prove() -> str:
        longest = 0
        for length in LONG_LENGTHS:
            if length < family.least:
                continue
            rows = length + family.design.padding.at(length)
            if not length <= rows < MOST_ROWS:
                break  # beyond the positions that are computed with 64 bits
            listed = {0, 1, 2, length - 2, length - 1, length, length + 1, (length + rows) // 2, rows - 2, rows - 1}
            n = np.array(sorted(row for row in listed if 0 <= row < rows), dtype=np.int64)
            for formula in formulas:
                with np.errstate(all="ignore"):
                    computed, expected = formula.at_positions(length, n), values_at(formula, n, length)
                if (computed != expected).any():
                    row = int(n[np.argmax(computed != expected)])
                    raise ObligationFailed(
                        f"at N = {length}, n = {row} the formula {formula} is not computed as it is written"
                    )
            longest = length
        return f"{len(formulas)} formulas, lengths beside powers of two up to N = {longest:,}"

    ledger.settle("instance: formulas are evaluated in the order in which they are written", "comparison", prove)


def _formulas_in(value: Any) -> Iterator[Expression]:
    """Yield every formula in an object, directly or in one of its parts."""
    visited: set[int] = set()
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if id(part) in visited or isinstance(part, str | bytes | int | np.ndarray):
            continue
        visited.add(id(part))
        if isinstance(part, Expression):
            yield part
        elif isinstance(part, Mapping):
            waiting += [*part, *part.values()]
        elif isinstance(part, list | tuple | set | frozenset):
            waiting += part
        elif is_dataclass(part):
            waiting += [getattr(part, field.name) for field in fields(part) if hasattr(part, field.name)]


# Compiler × a traced length → does the code that makes a model from a family use N except in formulas?
#
#     formulas      `Expression.at_positions` may use the value of N: positions and sizes are functions of N
#     comparisons   with a constant are allowed if every N from the family's least to the limit has the same outcome
#     other uses    (N == 37, a table look-up, arithmetic, text, …) leave the obligation open
#
# The compiler runs once. At all other lengths its Python code takes the same path, as far as the path depends on N
# itself. The trace does not cover the use of values of formulas (rows, steps, slots, numbers of bits) and the
# operations of NumPy on arrays of positions.


BEYOND_LEAST = 8
"""The compiler is run at the family's least length plus this number."""


@dataclass
class LengthUses:
    """The recorded uses of a length, except for its value in formulas."""

    least: int
    last: int
    compared: int = 0
    recorded: list[tuple[str, tuple[int, ...]]] = field(default_factory=list)
    """(the use and its place in the code, lengths at which it may matter)."""

    def compare(self, name: str, holds: Callable[[int, int], bool], number: int) -> None:
        """Record a comparison of N with a number."""
        self.compared += 1
        edges = (self.least, number - 1, number, number + 1, self.last)
        inside = [n for n in edges if self.least <= n <= self.last]
        outcomes = {n: holds(n, number) for n in inside}
        if len(set(outcomes.values())) > 1:
            self.record(f"N {name} {number}", tuple(n for n in (number, number + 1, number - 1) if n in inside))

    def record(self, use: str, lengths: tuple[int, ...] = ()) -> None:
        """Record a use of N by the innermost function outside this module."""
        frame = sys._getframe(2)
        while frame.f_back is not None and frame.f_code.co_filename == __file__:
            frame = frame.f_back
        file = frame.f_code.co_filename.replace("\\", "/").rpartition("/unmask/")[2]
        self.recorded.append(
            (f"{use}, in {frame.f_code.co_name} ({file.rpartition('/')[2]}:{frame.f_lineno})", lengths)
        )


class TracedLength(int):
    """An integer that records how it is used."""

    uses: LengthUses

    def __new__(cls, value: int, uses: LengthUses) -> "TracedLength":
        length = super().__new__(cls, value)
        length.uses = uses
        return length

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
    def record_use(self: TracedLength, *arguments: Any) -> Any:
        self.uses.record(f"N.{name}")
        return getattr(int, name)(int.__index__(self), *arguments)

    return record_use


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
    """Settle that models of the family depend on N through formulas alone; with a compiler, also the compiled ones."""
    least = max(family.least, LEAST_SOLVER_LENGTH)  # the model of N = 0 is proved by itself
    bare = ModelFamily(family.kind, family.least, family.design, family.characters, {})
    _settle_uses("`ModelFamily.model_at` uses N in formulas alone", bare.model_at, least, precision, ledger)
    if compiler is not None:

        def compile_at(length: int, precision: Precision) -> Any:
            return compiler.compile(family.kind, length, precision)

        _settle_uses("`compile` uses N in formulas alone", compile_at, least, precision, ledger)


def _settle_uses(
    name: str, make: Callable[[int, Precision], Any], least: int, precision: Precision, ledger: Ledger
) -> None:
    def prove() -> str:
        uses = LengthUses(least, LARGEST_ACTIVATION)
        make(TracedLength(least + BEYOND_LEAST, uses), precision)
        if uses.recorded:
            use, lengths = uses.recorded[0]
            raise ObligationFailed(f"the code also uses N in this way: {use}", lengths)
        return f"{uses.compared} comparisons, each with one outcome for N = {least} to {LARGEST_ACTIVATION:,}"

    ledger.settle(f"instance: {name}", "tracing", prove)
