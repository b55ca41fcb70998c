from fractions import Fraction

import pytest

from unmask.reasoners.masking import forward_mask, linear, polynomial
from unmask.reasoners.tape import Tape

WORD = list("abcabc")


@pytest.mark.parametrize("alpha", [linear, polynomial(1), polynomial(3)])
def test_nothing_is_masked_at_time_0_and_everything_at_time_t(alpha):
    for seed in range(20):
        assert forward_mask(WORD, 0, 5, mask="m", tape=Tape(seed), alpha=alpha) == WORD
        assert forward_mask(WORD, 5, 5, mask="m", tape=Tape(seed), alpha=alpha) == ["m"] * 6


@pytest.mark.parametrize("alpha", [linear, polynomial(2)])
@pytest.mark.parametrize("t", [1, 2, 3])
def test_marginals_are_those_of_the_schedule(alpha, t):
    """2,000 seeds: each position stays as often as α(t/T) says, within five standard deviations."""
    draws, T = 2000, 4
    words = [forward_mask(WORD, t, T, mask="m", tape=Tape(seed), alpha=alpha) for seed in range(draws)]
    stays = alpha(Fraction(t, T))
    for i, symbol in enumerate(WORD):
        column = [word[i] for word in words]
        assert set(column) == {symbol, "m"}
        kept = column.count(symbol)
        assert (kept - draws * stays) ** 2 <= 25 * draws * stays * (1 - stays)
        assert (kept - draws * (stays + Fraction(1, 10))) ** 2 > 25 * draws * stays * (1 - stays)


def test_positions_are_masked_independently():
    """Pairs: both stay with probability α²."""
    draws = 2000
    words = [forward_mask(WORD, 1, 2, mask="m", tape=Tape(seed)) for seed in range(draws)]
    for i, j in ((0, 1), (2, 5)):
        both = sum(word[i] != "m" and word[j] != "m" for word in words)
        assert (both - draws * Fraction(1, 4)) ** 2 <= 25 * draws * Fraction(3, 16)


@pytest.mark.parametrize(("t", "T"), [(-1, 4), (5, 4), (0, 0)])
def test_times_are_checked(t, T):
    with pytest.raises(ValueError, match="0 <= t <= T"):
        forward_mask(WORD, t, T, mask="m", tape=Tape(0))


def test_schedules_are_checked():
    with pytest.raises(ValueError, match=r"α\(1/2\) = 3/2, which is not a probability"):
        forward_mask(WORD, 1, 2, mask="m", tape=Tape(0), alpha=lambda x: x + 1)
