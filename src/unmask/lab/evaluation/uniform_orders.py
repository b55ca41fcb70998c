"""What uniform unmasking costs a one-layer predictor, exactly (thm:perfect-approximation-limitation).

    P(every slot is written after both of its factors) = Π over slots v of 1 / h(v),   h(v) = slots in the tree below v
    right = P + (1 - P) / |G|

One slot at a time in a uniform order: a slot that is written too early holds a guess, and in a group one guess makes
the root uniform. h is the hook length of the tree.
"""

from fractions import Fraction

import numpy as np

from unmask.lab.tasks.tree import Tree


def right_order(length: int) -> Fraction:
    """The share of orders in which no slot comes before its factors."""
    tree = Tree(length)
    below = np.ones(tree.padding, dtype=np.int64)
    chance = Fraction(1)
    for slot, factors in enumerate(tree.factors):
        below[slot] += sum(below[row - length] for row in factors if row >= length)
        chance /= int(below[slot])
    return chance


def expected_right(length: int, elements: int) -> Fraction:
    """The share of right answers of a predictor that is right whenever both factors are written, over a group."""
    chance = right_order(length)
    return chance + (1 - chance) / elements
