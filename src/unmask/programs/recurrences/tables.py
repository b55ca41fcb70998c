"""Rule → conjunctions: a table over variables, as cubes that exclude each other.

    result[v1, …, vk]  =  r   on the cube  v_a = x_a ∧ v_b = x_b ∧ …

A cube leaves out every variable on which the rest of the table does not depend. An entry of -1 never occurs.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

import numpy as np

from unmask.errors import TooLarge
from unmask.programs.recurrences.features import Column, Variable

MOST_ENTRIES = 1 << 18
NEVER = -1


@dataclass(frozen=True)
class Cube:
    """All of `literals` hold, each with the columns that hold if it does not; then the result is `result`."""

    literals: tuple[Column, ...]
    others: tuple[tuple[Column, ...], ...]
    result: int


def check_entries(counts: Sequence[int], what: str) -> None:
    """Refuse a table that is too large."""
    entries = prod(counts)
    if entries > MOST_ENTRIES:
        raise TooLarge(
            f"the rule of {what} is a table of {_product(counts)} = {entries:,} entries, "
            f"more than {MOST_ENTRIES:,}; let it read fewer values at once, with an intermediate group of slots"
        )


def _product(counts: Sequence[int]) -> str:
    """3 × 2 × 2, or 2^40."""
    same = len(set(counts)) == 1 and len(counts) > 4
    return f"{counts[0]}^{len(counts)}" if same else " × ".join(map(str, counts))


def cubes(variables: Sequence[Variable], results: np.ndarray) -> Iterator[Cube]:
    """Exclusive cubes that cover the table."""
    yield from _cubes(tuple(variables), results, (), ())


def _cubes(
    variables: tuple[Variable, ...],
    results: np.ndarray,
    literals: tuple[Column, ...],
    others: tuple[tuple[Column, ...], ...],
) -> Iterator[Cube]:
    occurring = results[results != NEVER]
    if not occurring.size:
        return
    if (occurring == occurring.flat[0]).all():
        yield Cube(literals, others, int(occurring.flat[0]))
        return
    axis = _decisive(results)
    choices = variables[axis].choices
    for value, column in enumerate(choices):
        rest = tuple(other for other in choices if other != column)
        yield from _cubes(
            variables[:axis] + variables[axis + 1 :],
            np.take(results, value, axis=axis),
            (*literals, column),
            (*others, rest),
        )


def _decisive(results: np.ndarray) -> int:
    """A variable on which the table depends; the one that leaves the fewest different results."""
    best, least = -1, None
    for axis in range(results.ndim):
        parts = np.moveaxis(results, axis, 0).reshape(results.shape[axis], -1)
        known = parts != NEVER
        low = np.where(known, parts, np.iinfo(np.int64).max).min(axis=0)
        high = np.where(known, parts, np.iinfo(np.int64).min).max(axis=0)
        if not (known.any(axis=0) & (low != high)).any():
            continue
        mixed = sum(np.unique(part[part != NEVER]).size for part in parts)
        if least is None or mixed < least:
            best, least = axis, mixed
    return best if best >= 0 else next(axis for axis, size in enumerate(results.shape) if size > 1)


def all_given(values: Sequence[Sequence[Any]]) -> Iterator[tuple[tuple[int, ...], tuple[Any, ...]]]:
    """(numbers, values) of every combination."""
    for numbers in product(*(range(len(listed)) for listed in values)):
        yield numbers, tuple(listed[k] for listed, k in zip(values, numbers, strict=True))
