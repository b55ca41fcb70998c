"""Problem × kind × lengths: does `compile` write the family's weights at these lengths?

The statement is about what `compile` writes. The proof is about the family. The two are compared here, entry by entry,
at some lengths: short ones, the neighbours of powers of two, and a few that a hash of the statement selects. A fault of
the compiler at one other length is not seen by this comparison.
"""

import hashlib
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

from unmask.errors import ProblemError, TooLarge
from unmask.numerics.precision import Precision
from unmask.problems.problem import Problem
from unmask.programs.compilers.compiler import Compiler
from unmask.programs.compilers.family import Family, number_at
from unmask.verification.families.bridge import compare
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
