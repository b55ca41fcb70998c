"""Samples → an affine function that goes through all of them, exactly: f = c₁·x₁ + … + c_k·x_k with whole numbers c.

It is a guess about all that was not sampled; whoever uses it proves it, or checks it where it is used.
"""

from collections.abc import Sequence
from fractions import Fraction


def affine_fit(columns: Sequence[Sequence[int]], values: Sequence[int]) -> list[int] | None:
    """The coefficients, 0 for a column that depends on earlier ones; None if there are none that are whole."""
    rows = [[Fraction(x) for x in (*row, value)] for *row, value in zip(*columns, values, strict=True)]
    pivots: list[int] = []
    for column in range(len(columns)):
        done = len(pivots)
        pivot = next((r for r in range(done, len(rows)) if rows[r][column]), None)
        if pivot is None:
            continue
        rows[done], rows[pivot] = rows[pivot], rows[done]
        rows[done] = [x / rows[done][column] for x in rows[done]]
        for r, other in enumerate(rows):
            if r != done and other[column]:
                rows[r] = [x - other[column] * y for x, y in zip(other, rows[done], strict=True)]
        pivots.append(column)
    if any(row[-1] for row in rows[len(pivots) :]):
        return None
    found = [Fraction(0)] * len(columns)
    for row, column in zip(rows, pivots, strict=False):
        found[column] = row[-1]
    return [int(c) for c in found] if all(c.denominator == 1 for c in found) else None
