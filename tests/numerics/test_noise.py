"""Thresholds of the Gumbel noise, proved with interval arithmetic of mpmath (the library uses `decimal`)."""

from itertools import pairwise

import mpmath
import numpy as np
import pytest

from unmask.numerics.arithmetic import Precision
from unmask.numerics.noise import DRAWS, gumbel_noise, noise_counts, noise_thresholds

ALL = range(1, 9)


def interval_noise(r, precision):
    """The rounded and clipped -ln(-ln((r + 1/2) / 2^53)), decided by both ends of an interval."""
    mpmath.iv.prec = mpmath.mp.prec = 200
    u = mpmath.iv.mpf(2 * r + 1) / 2**54
    units = -mpmath.iv.log(-mpmath.iv.log(u)) * precision.one
    ends = {int(mpmath.nint(mpmath.mpf(end))) for end in (units.a, units.b)}
    assert len(ends) == 1, f"r = {r} is not decided"
    return max(-precision.bound, min(precision.bound, ends.pop()))


def noise(r, precision):
    return int(gumbel_noise(np.array([r << 11], dtype=np.uint64), precision)[0])


def edges(precision):
    """Draws on both sides of every threshold, and the two extreme ones."""
    _, thresholds = noise_thresholds(precision)
    beside = {r for t in thresholds.tolist() for r in (t - 1, t)}
    return sorted(r for r in beside | {0, DRAWS - 1} if 0 <= r < DRAWS)


@pytest.mark.parametrize("p", ALL)
def test_both_sides_of_the_thresholds_are_correctly_rounded(p):
    """The noise grows with r, so the draws beside the thresholds decide all of them. p > 4: every 37th."""
    precision = Precision(p)
    for r in edges(precision) if p <= 4 else edges(precision)[::37]:
        assert noise(r, precision) == interval_noise(r, precision)


@pytest.mark.parametrize("p", ALL)
def test_noise_grows_with_the_draw(p):
    precision = Precision(p)
    _, thresholds = noise_thresholds(precision)
    assert all(a <= b for a, b in pairwise(thresholds.tolist()))
    raw = np.sort(np.random.Philox(key=[p, 0]).random_raw(2000))
    assert (np.diff(gumbel_noise(raw, precision)) >= 0).all()
    assert noise(0, precision) < 0 < noise(DRAWS - 1, precision) <= precision.bound


@pytest.mark.parametrize("p", ALL)
def test_counts_are_a_law(p):
    precision = Precision(p)
    counts = noise_counts(precision)
    assert sum(counts.values()) == DRAWS
    assert min(counts.values()) > 0
    assert set(counts) <= set(precision.numbers())


@pytest.mark.parametrize("p", ALL)
def test_counts_are_those_of_the_draws(p):
    """At the first and last draw of every value."""
    precision = Precision(p)
    start = 0
    for value, count in sorted(noise_counts(precision).items()):
        assert noise(start, precision) == noise(start + count - 1, precision) == value
        start += count


def test_the_low_11_bits_of_a_word_do_not_matter():
    precision = Precision(3)
    raw = np.random.Philox(key=[1, 0]).random_raw(500)
    assert np.array_equal(gumbel_noise(raw, precision), gumbel_noise(raw | np.uint64(2047), precision))
    assert not np.array_equal(gumbel_noise(raw, precision), gumbel_noise(raw << np.uint64(20), precision))
