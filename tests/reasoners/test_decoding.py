"""Argmax and the law of Gumbel-max, against enumeration and against draws from the tape."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from numpy.random import Philox

import by_hand
from unmask.api import generate, run_word
from unmask.errors import UnmaskError
from unmask.numerics.arithmetic import Precision
from unmask.numerics.noise import DRAWS, gumbel_law, gumbel_noise, noise_counts
from unmask.reasoners.decoding import OTHER, PLANNER, Tape, confidence, decode
from unmask.testing import random_model


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


# Which random bits a run uses: exactly those of the design page, written out here with plain Philox.


def page(seed, step, w, entries):
    """raw = numpy.random.Philox(key=[s, 2*step + w]).random_raw(...)"""
    return Philox(key=np.array([seed, 2 * step + w], dtype=np.uint64)).random_raw(entries)


@pytest.mark.parametrize("seed", [0, 1, 7, 2**63, 2**64 - 1])
@pytest.mark.parametrize("step", [0, 1, 1000])
@pytest.mark.parametrize("stream", [PLANNER, OTHER])
def test_addresses_are_those_of_the_design_page(seed, step, stream):
    whole = page(seed, step, stream, 60)
    for first in range(0, 23):
        for count in (0, 1, 3, 30):
            assert np.array_equal(Tape(seed).raw(step, stream, first, count), whole[first : first + count])


def test_an_entry_is_position_times_v_plus_symbol():
    precision = Precision(3)
    whole = gumbel_noise(page(5, 2, OTHER, 9 * 6), precision).reshape(9, 6)
    assert np.array_equal(Tape(5).noise(2, OTHER, (4, 9), 6, precision), whole[4:9])
    assert Tape(5).noise(2, OTHER, (4, 4), 6, precision).shape == (0, 6)


def test_streams_steps_and_seeds_are_different():
    drawn = [Tape(seed).raw(step, w, 0, 4).tolist() for seed in (0, 1) for step in (0, 1) for w in (0, 1)]
    assert len({tuple(d) for d in drawn}) == 8


@pytest.mark.parametrize("seed", [-1, 2**64])
def test_seeds_have_64_bits(seed):
    with pytest.raises(ValueError, match="from 0 to 2"):
        Tape(seed)
    with pytest.raises(UnmaskError, match="a seed is an integer from 0"):
        run_word(random_model(0, "cot", 1), "a", sample=True, seed=seed)


def zeros(kind, **rest):
    """All logits are 0, so that the tape alone decides."""
    attention = "causal" if kind in ("cot", "pcot") else "unmasked"
    fields = {"padding": 3, "steps": 3, **rest}
    rows = 1 + fields["padding"]
    predictor = by_hand.successor({}, rows, attention=attention)
    planner = by_hand.transformer([[0]] * 5, [[0]] * rows, [[0], [0]])
    transformers = {"planner": planner, "predictor": predictor} if kind == "mdm" else {"model": predictor}
    return by_hand.model(kind, transformers, **fields)


def argmax_at(seed, step, row, *, without=None, symbols=5):
    noise = gumbel_noise(page(seed, step, 1, (row + 1) * symbols), by_hand.P2).tolist()[row * symbols :]
    allowed = [s for s in range(symbols) if s != without]
    return max(allowed, key=lambda s: (noise[s], -s))


@pytest.mark.parametrize("seed", range(5))
def test_every_kind_reads_its_rows_of_the_tape(seed):
    cot = run_word(zeros("cot"), "a", sample=True, seed=seed)
    assert cot.canvas[-1].tolist() == [argmax_at(seed, step, step) for step in range(3)]
    pcot = run_word(zeros("pcot", block=1), "a", sample=True, seed=seed)
    assert pcot.canvas[-1].tolist() == [argmax_at(seed, step, 1 + step) for step in range(3)]
    topk = run_word(zeros("topk", steps=2), "a", sample=True, seed=seed)
    assert topk.canvas[-1].tolist() == [argmax_at(seed, 1, 1 + slot, without=2) for slot in range(3)]


@pytest.mark.parametrize("seed", range(5))
def test_planner_and_predictor_of_an_mdm_read_two_streams(seed):
    slots, history = [2, 2, 2], []
    for step in range(3):
        plan = gumbel_noise(page(seed, step, 0, 8), by_hand.P2).reshape(4, 2)[1:]
        for slot, (keep, take) in enumerate(plan.tolist()):
            if take > keep:
                slots[slot] = argmax_at(seed, step, 1 + slot, without=2)
        history.append(list(slots))
    trace = run_word(zeros("mdm"), "a", sample=True, seed=seed)
    assert [c.tolist() for c in trace.canvas] == history


@pytest.mark.parametrize("kind", ["mdm", "topk", "plt", "cot", "pcot"])
def test_same_tape_same_path_and_other_seeds_other_samples(kind):
    def path(model, seed):
        return run_word(model, "", sample=True, seed=seed, record=kind == "plt")

    def drawn(model, seed):
        trace = path(model, seed)
        if kind == "plt":
            return {name: array.tolist() for name, array in trace.activations.items()}
        return trace.canvas_symbols

    for model_seed in range(20):
        model = random_model(model_seed, kind, 0, stochastic=True)
        try:
            paths = [drawn(model, seed) for seed in range(12)]
        except UnmaskError:  # noise may lead to a row that divides by zero
            continue
        assert paths == [drawn(model, seed) for seed in range(12)]
        if any(p != paths[0] for p in paths):
            return
    pytest.fail("twelve seeds always gave the same samples")


def test_generation_needs_a_model_of_the_empty_input():
    with pytest.raises(
        UnmaskError, match="sampling needs a model that reads no input, but this one reads words of length 2"
    ):
        generate(random_model(0, "cot", 2), seed=0)
    model = zeros("cot", length=0, vocabulary=("a", "b", "^", "0", "1"), begin="^")
    assert len({tuple(generate(model, seed=seed).output) for seed in range(10)}) > 5
    assert generate(model, seed=3).canvas_symbols == run_word(model, "", sample=True, seed=3).canvas_symbols
