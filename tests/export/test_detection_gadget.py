"""Is the detection head of an export right in F_p too? For every p and any number of rows.

The head scores a row c higher where its value is 1. With c the least number whose exponential is B: a visible 1 has the
exponential B, so Z = B, its weight is 1, and the average is at least 1; without one it is 0. Where the rows are chosen
by EQ (and HIDE), what they leave is exactly 0 or -B for any number of bits, and c is added last; -B + c must still have
the exponential 0. That holds for p >= 2, with [B/2] for c from p = 3 on; for p = 1 the score must come first, and FOCUS
with three copies choose the rows. So the gadget could replace `lem:detection`, at the price of a head per value.
"""

import numpy as np
import pytest

from unmask.numerics.arithmetic import Precision, add, divide, exp, multiply, total

P = range(1, 9)


def least_that_saturates(precision):
    numbers = np.arange(precision.bound + 1)
    return int(numbers[exp(numbers, precision) == precision.bound][0])


def average(scores, values, precision):
    """Return the output of the head: SUM of [exp/Z]·value."""
    powers = exp(np.asarray(scores), precision)
    Z = total(powers, precision)
    return int(total(multiply(divide(powers, Z, precision), np.asarray(values), precision), precision))


@pytest.mark.parametrize("p", P)
def test_the_value_column_after_eq(p):
    """The four kinds of rows, as integers: the base of the argument for any number of rows."""
    precision = Precision(p)
    c, bound, one = least_that_saturates(precision), precision.bound, precision.one
    seen_one, seen_zero = add(0, c, precision), 0
    hidden_one, hidden_zero = add(-bound, c, precision), -bound
    powers = [int(exp(np.array(score), precision)) for score in (seen_one, seen_zero, hidden_one, hidden_zero)]
    assert powers[:2] == [bound, one]
    assert powers[3] == 0
    assert (powers[2] == 0) == (p >= 2)
    # [B/2] in place of c, as in `real_transformer.detection_by_score`
    half = int(exp(np.array(add(-bound, precision.half_bound, precision)), precision))
    assert (half == 0) == (p >= 3)


@pytest.mark.parametrize("p", P)
def test_any_number_of_rows(p):
    """Z saturates with the first visible 1, whatever precedes or follows it; so the weight of a 1 is 1."""
    precision = Precision(p)
    c, one = least_that_saturates(precision), precision.one
    rng = np.random.default_rng(p)
    for rows in (1, 2, 3, 2**p, min(4**p, 999)):
        for ones in (0, 1, 2, rows):
            values = np.zeros(rows, dtype=np.int64)
            values[rng.permutation(rows)[: min(ones, rows)]] = one
            result = average(np.where(values > 0, c, 0), values, precision)
            assert result == min(precision.bound, one * int((values > 0).sum()))


@pytest.mark.parametrize(("p", "copies"), [(1, 3), (2, 2), (3, 2)])
def test_the_value_column_before_focus(p, copies):
    """FOCUS keeps the exponential of a row that agrees, and makes the others 0."""
    precision = Precision(p)
    c, half, one = least_that_saturates(precision), precision.half_bound, precision.one
    for start, power in ((c, precision.bound), (0, one)):
        for agrees in (True, False):
            score = start
            for _ in range(copies):
                score = add(score, half if agrees else -half, precision)
                score = add(score, -half, precision)
            assert int(exp(np.array(score), precision)) == (power if agrees else 0)
