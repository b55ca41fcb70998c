"""Compact arithmetic gives the same integers as the definition."""

import numpy as np
import pytest

from unmask.numerics.arithmetic import Precision, divide, exp, multiply, relu, total
from unmask.numerics.compact import Compact


def pairs(precision, *, every):
    """All pairs of numbers, or the extreme ones and many others."""
    numbers = np.array(precision.numbers())
    if not every:
        some = np.random.default_rng(precision.p).choice(numbers, 300)
        numbers = np.unique(np.concatenate([numbers[:40], numbers[-40:], some, np.arange(-40, 41)]))
    return numbers[:, None], numbers[None, :]


@pytest.mark.parametrize("p", range(1, 9))
def test_products_are_rounded_alike(p):
    precision, compact = Precision(p), Compact(Precision(p))
    x, y = pairs(precision, every=p <= 4)
    expected = multiply(x, y, precision)
    assert np.array_equal(compact.multiply(x.astype(compact.narrow), y.astype(compact.narrow)), expected)


@pytest.mark.parametrize("p", range(1, 9))
def test_quotients_are_rounded_alike(p):
    precision, compact = Precision(p), Compact(Precision(p))
    x, y = (np.abs(a) for a in pairs(precision, every=p <= 4))
    x, y = np.broadcast_arrays(x, np.maximum(y, 1))
    assert np.array_equal(compact.divide(x, y.astype(compact.wide)), divide(x, y, precision))


@pytest.mark.parametrize("p", range(1, 9))
def test_sums_of_two_and_exponentials_are_alike(p):
    precision, compact = Precision(p), Compact(Precision(p))
    x, y = pairs(precision, every=p <= 3)
    small = compact.add(x.astype(compact.narrow), y.astype(compact.narrow))
    assert small.dtype == compact.narrow
    assert np.array_equal(small, np.clip(x + y, -precision.bound, precision.bound))
    assert np.array_equal(compact.positive(small.copy()), relu(small))
    assert np.array_equal(compact.exps[x + precision.bound], exp(x, precision))


@pytest.mark.parametrize("p", range(1, 9))
@pytest.mark.parametrize("count", [1, 2, 3, 5, 8, 17, 64, 129])
def test_long_sums_clip_after_every_addition(p, count):
    precision, compact = Precision(p), Compact(Precision(p))
    rng = np.random.default_rng([p, count])
    most = precision.bound
    for largest in (1, min(most, max(1, 2 * most // count)), most):
        terms = rng.integers(-largest, largest + 1, (50, count))
        terms[0], terms[1] = np.abs(terms[0]), -np.abs(terms[1])
        terms[2:20] = np.sort(terms[2:20], axis=1)  # down to -B, then back
        terms[20:30] = -np.sort(-terms[20:30], axis=1)
        expected = total(terms, precision)
        small = terms.astype(compact.narrow)
        assert np.array_equal(compact.total(small, 1), expected)
        assert np.array_equal(compact.total(np.ascontiguousarray(small.T), 0), expected)


def test_a_sum_that_clips_and_comes_back_is_not_the_plain_sum():
    compact = Compact(Precision(2))
    terms = np.array([[15, 15, -15, -15], [15, 1, -1, -15], [-15, -15, 15, 0]], dtype=np.int8)
    assert compact.total(terms, 1).tolist() == [-15, -1, 0]
