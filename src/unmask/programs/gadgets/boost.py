"""BOOST: queries that see something whatever their scores are, so that they never divide by zero.

Statement:    BOOST(flag) makes every score of the flagged queries B, before FOCUS and HIDE take keys away.
Columns:      (B·flag ¦ one), twice.
Bounds:       two columns. Least p: 1.
Exactness:    exact: -B + B + B = B; queries that are not flagged keep their scores.
Deviations:   the paper has no such gadget: without it a row whose keys are all hidden divides by zero.
"""

from unmask.programs.language.builders import Columns, HeadBuilder
from unmask.programs.language.coefficients import ONE, B


def boost(head: HeadBuilder, flag: Columns, *, copies: int = 2, on: Columns | None = None) -> None:
    """BOOST(flag): flagged queries score B on every key, or on those that `on` flags; -B needs two copies."""
    for _ in range(copies):
        head.column([(flag, B)], [(head.one if on is None else on, ONE)])
