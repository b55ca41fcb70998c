"""AT MOST: a head that sees the keys whose number is at most the query's; LATEST: which of two came last among them.

Statement:    AT MOST(limit, number) scores B on the keys whose number is at most the query's limit, -B on all others.
              LATEST(plus, minus) then brings B if the last row that it sees with one of two flags has `plus`, -B if it
              has `minus`, 0 if no row has one; where every flag stands in two rows, one behind the other.
Columns:      (B·one ¦ one); per bit, the lowest first, twice (B·[limit bit] ¦ 2·[no number bit]), and twice
              (-B·[no limit bit] ¦ 2·[number bit]): a bit that differs adds ±2B, whatever lower bits have added.
              Values B·plus - B·minus.
Bounds:       one head, four columns per bit and one. Least p: 1.
Exactness:    exp(B) = B, and Z = B + … + B = B: every row that is seen has the weight 1, however many there are. Sums
              clip after every row, so a flag adds ±2B in its two rows, and leads to ±B from anywhere.
Deviations:   the paper has no such gadget: a flip-flop in one head, by saturation alone. HIDE needs its two columns.
"""

from unmask.programs.language.builders import Columns, HeadBuilder
from unmask.programs.language.coefficients import ONE, B


def at_most(head: HeadBuilder, limit: Columns, number: Columns) -> None:
    """AT MOST(limit, number): codes of equally many signed bits, the highest first."""
    see_all(head)
    none_above(head, limit, number)


def see_all(head: HeadBuilder) -> None:
    """Score B on every key."""
    head.column([(head.one, B)], [(head.one, ONE)])


def none_above(head: HeadBuilder, limit: Columns, number: Columns, *, copies: int = 2) -> None:
    """Score -B on the keys whose number is above the limit, B on those below it; as before where they are equal."""
    one = head.one
    for a, b in zip(reversed(limit), reversed(number), strict=True):
        below = [(one, B), (a, B)], [(one, ONE), (b, -ONE)]
        above = [(one, -B), (a, B)], [(one, ONE), (b, ONE)]
        head.bit(*[below] * copies, *[above] * copies, rising=True)


def latest(head: HeadBuilder, plus: Columns, minus: Columns, target: Columns) -> None:
    """LATEST(plus, minus), in a head whose scores are B and -B."""
    head.copy(plus, target, B)
    head.copy(minus, target, -B)
