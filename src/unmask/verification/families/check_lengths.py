"""Problem × kind × lengths: does `compile` write the family's weights at these lengths?

The statement is about what `compile` writes. The proof is about the family. The two are compared here, entry by entry,
at some lengths: short ones, the neighbours of powers of two, and a few that a hash of the statement selects. A fault of
the compiler at one other length is not seen by this comparison.

Beyond these lengths the formulas of positions and sizes are compared: what `Expression.compute` gives, which the
compiler uses, with the value of the tree, which the proof is about.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from unmask.errors import ProblemError, TooLarge
from unmask.numerics.precision import Precision
from unmask.problems.problem import Problem
from unmask.programs.compilers.compiler import Compiler
from unmask.programs.compilers.family import Family, number_at
from unmask.programs.language.positions import Expression
from unmask.verification.families.bridge import compare, values_at
from unmask.verification.families.obligations.ledger import Ledger, Open
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


def lengths_to_compare(problem: Problem, family: Family, statement: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """(lengths at which models are compared, lengths that are left out because the models are large).

    At lengths below the family's least there is no family; those models are proved one by one.
    """
    least, padding = family.least, family.design.padding
    small, large = [], []
    for first in dict.fromkeys((*FIRST, *hashed_lengths(statement), *THEN)):
        for length in (first, first + 1) if first > 100 else (first,):  # words of even length alone: the next one
            if length < least:
                continue
            if number_at(padding, length) > MOST_SLOTS:
                large.append(length)
                break
            if problem.has_length(length):
                small.append(length)
                break
    small = list(dict.fromkeys(small))
    most = max(LEAST_COMPARED, MOST_ENTRIES // _entries(family))
    return tuple(sorted(small[:most])), tuple(sorted({*large, *small[most:]}))


def _entries(family: Family) -> int:
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
    family: Family,
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
                    raise Open(f"`compile` rejects this length: {error}") from error
                except ProblemError as error:
                    raise Open(f"`compile` rejects this length: {error}", (length,)) from error
                model = load(folder)
            if model.length != length or model.precision != precision:
                raise Open("the model has another length or precision", (length,))
            return f"{compare(family, model):,} entries"

        ledger.settle(f"N = {length}: `compile` writes the family's weights", "comparison", show)
        compared.append(length)


def check_formulas(family: Family, ledger: Ledger) -> None:
    """Settle that at long lengths the formulas of the family have the values of their trees."""
    formulas = list({id(formula): formula for formula in _formulas_in(family.design)}.values())

    def show() -> str:
        longest = 0
        for length in LONG_LENGTHS:
            if length < family.least:
                continue
            rows = length + number_at(family.design.padding, length)
            if not length <= rows < MOST_ROWS:
                break  # beyond the positions that are computed with 64 bits
            near = {0, 1, 2, length - 2, length - 1, length, length + 1, (length + rows) // 2, rows - 2, rows - 1}
            where = np.array(sorted(n for n in near if 0 <= n < rows), dtype=np.int64)
            for formula in formulas:
                with np.errstate(all="ignore"):
                    computed, wanted = formula.evaluate(length, where), values_at(formula, where, length)
                if (computed != wanted).any():
                    row = int(where[np.argmax(computed != wanted)])
                    raise Open(f"at N = {length}, n = {row} the formula {formula} is not computed as it is written")
            longest = length
        return f"{len(formulas)} formulas, lengths beside powers of two up to N = {longest:,}"

    ledger.settle("instance: formulas are computed as they are written", "comparison", show)


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
