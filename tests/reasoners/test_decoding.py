"""Argmax and the law of Gumbel-max, against enumeration and against draws from the tape."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from unmask.numerics.gumbel_law import gumbel_law
from unmask.numerics.noise import DRAWS, noise_counts
from unmask.numerics.precision import Precision
from unmask.reasoners.decoding import confidence, decode
from unmask.reasoners.tape import OTHER, Tape


@pytest.mark.parametrize(
    ("logits", "without", "expected"),
    [
        ([0, 0, 0], None, 0),
        ([0, 3, 3], None, 1),
        ([0, 3, 3], 1, 2),
        ([-15, -15, -15], 0, 1),
        ([15, -15, -15], 0, 1),
        ([3, 2, 1], 2, 0),
    ],
)
def test_the_lowest_index_wins_a_tie(logits, without, expected):
    assert decode(np.array([logits]), Precision(2), without=without).tolist() == [expected]


def test_noise_is_added_before_the_clip():
    """Two scores beyond B tie at B, and the lower index wins."""
    logits, noise = np.array([[15, 14]]), np.array([[1, 9]])
    assert decode(logits, Precision(2), noise=noise).tolist() == [0]
    assert decode(logits, Precision(3), noise=noise).tolist() == [1]
    assert logits.tolist() == [[15, 14]]


def test_confidence_leaves_the_mask_out():
    logits = np.array([[[1, 9, 2], [-15, 0, -15]]])
    assert confidence(logits, Precision(2), without=1).tolist() == [[2, -15]]
    assert confidence(logits, Precision(2), without=None).tolist() == [[9, 0]]


def enumerated(logits, precision):
    """The law by enumeration of all values of the noise, weighted with how often each is drawn."""
    counts = noise_counts(precision)
    law = [0] * len(logits)
    for noises in product(counts, repeat=len(logits)):
        scores = [max(-precision.bound, min(precision.bound, a + n)) for a, n in zip(logits, noises, strict=True)]
        weight = 1
        for n in noises:
            weight *= counts[n]
        law[scores.index(max(scores))] += weight
    return [Fraction(w, DRAWS ** len(logits)) for w in law]


@pytest.mark.parametrize("p", [1, 2, 3])
def test_the_law_of_two_symbols_is_that_of_the_enumeration(p):
    precision = Precision(p)
    step = max(1, precision.bound // 7)
    for first in range(-precision.bound, precision.bound + 1, step):
        logits = [first, step]
        assert gumbel_law(logits, precision) == enumerated(logits, precision)


def test_the_law_of_three_symbols_with_ties_and_clipping():
    for logits in ([0, 0, 0], [15, 15, 15], [-15, -15, -15], [15, 0, -3]):
        law = gumbel_law(logits, Precision(2))
        assert law == enumerated(logits, Precision(2))
        assert sum(law) == 1


def test_a_tie_favours_the_lower_index_so_that_the_law_is_not_quite_the_softmax():
    law = gumbel_law([0, 0], Precision(2))
    assert law[0] > Fraction(1, 2) > law[1]
    assert law != enumerated([1, 0], Precision(2))


def test_certain_logits_cannot_be_flipped():
    """B against -B: only noise beyond 2B could."""
    assert gumbel_law([-255, 255], Precision(4))[0] < Fraction(1, 10**12)
    assert gumbel_law([-65535, 65535], Precision(8)) == [0, 1]


@pytest.mark.parametrize("logits", [[0, 0], [3, 0], [-4, 2], [15, 12]])
def test_draws_from_the_tape_follow_the_law(logits):
    """4,000 seeds; the count of the first symbol is within five standard deviations of its exact mean."""
    precision, draws = Precision(2), 4000
    noise = np.stack([Tape(seed).noise(0, OTHER, (0, 1), 2, precision)[0] for seed in range(draws)])
    first = int((decode(np.array([logits] * draws), precision, noise=noise) == 0).sum())

    def plausible(mean):
        return (first - draws * mean) ** 2 <= 25 * draws * mean * (1 - mean)

    assert plausible(gumbel_law(logits, precision)[0])
    assert not plausible(gumbel_law([logits[0] + 2, logits[1]], precision)[0])
