"""HIDE: a head, of another model, that does not see the flagged keys (lem:ignore-positions).

Statement:    HIDE(flag) makes exp(score) 0 on the flagged keys and leaves it as it is on all others.
Columns:      (-B·one ¦ flag), twice.
Bounds:       two columns. Least p: 1.
Exactness:    exact for every score before: B - B - B = -B. After EQ, whose scores are at most 0, one column is enough.
Deviations:   none from lem:ignore-positions, which has the column twice; the footnote of lem:unmask-conversion-fp
              subtracts B once, which a large score survives. Queries that may lose all their keys need BOOST.
"""

from unmask.programs.language.builders import Columns, HeadBuilder
from unmask.programs.language.coefficients import ONE, B


def hide(head: HeadBuilder, flag: Columns, *, copies: int = 2, of: Columns | None = None) -> None:
    """HIDE(flag): flagged keys are invisible, to all queries or to those that `of` flags."""
    for _ in range(copies):
        head.column([(head.one if of is None else of, -B)], [(flag, ONE)])


def hide_later(head: HeadBuilder, before: Columns, position: Columns) -> None:
    """Causal attention in an unmasked transformer: keys whose position is beyond the query's are invisible.

    Per position c twice (-B·[c > own position] ¦ [c = own position]): `before` is the thermometer code of the query,
    `position` the one-hot code of the key. It takes two columns per position, so its width is not logarithmic.
    """
    for _ in range(2):
        for flag, place in zip(before, position, strict=True):
            head.column([(flag, -B)], [(place, ONE)])
