"""FOCUS: a head, of another model, that keeps its weights on the keys of one code (lem:focus-on-marked-positions).

Statement:    FOCUS(a, b) leaves exp(score) as it is on the keys whose code b is the query's code a, and makes it 0 on
              all others.
Columns:      EQ with [B/2] for B: per bit ([B/2]·a_i ¦ b_i), ([B/2]·one ¦ -one), all of it twice.
Bounds:       four columns per bit (p = 1: six). Least p: 2; three copies do for p = 1.
Exactness:    exp is exact for every score before; the score itself may be cut at 2^(p-1), where exp is B already.
Deviations:   a mismatch ends at up to -B + 2^(1-p), not at -B, which is enough from p = 2 on; with one copy a large
              score survives. Queries that may lose all their keys need BOOST.
"""

from unmask.programs.gadgets.equal import match, scaled
from unmask.programs.language.builders import Columns, HeadBuilder
from unmask.programs.language.coefficients import HALF


def focus(
    head: HeadBuilder,
    a: Columns,
    b: Columns,
    *,
    copies: int = 2,
    asks: Columns | None = None,
    cares: Columns | None = None,
) -> None:
    """FOCUS(a, b); queries without `asks` see every key, keys without `cares` are seen by every query (see `match`)."""
    for _ in range(copies):
        match(head, scaled(a, HALF), b, HALF, asks=asks, cares=cares)


def focus_copies(p: int) -> int:
    """How often FOCUS repeats its columns: 3 times for p = 1, else twice."""
    return 3 if p == 1 else 2
