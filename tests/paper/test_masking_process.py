from fractions import Fraction

import numpy as np
import pytest

import by_hand
from unmask.engines.reference import ReferenceEngine
from unmask.numerics.noise import gumbel_law
from unmask.paper.checks.masking_process import (
    CanvasLaw,
    Imperfection,
    forward_mask,
    linear,
    model_conditionals,
    perfect,
    polynomial,
)
from unmask.reasoners.decoding import Tape
from unmask.weights.matrices import Matrix
from unmask.weights.transformer import Head, Layer, Mlp

WORD = list("abcabc")


@pytest.mark.parametrize("alpha", [linear, polynomial(1), polynomial(3)])
def test_nothing_is_masked_at_time_0_and_everything_at_time_t(alpha):
    for seed in range(20):
        assert forward_mask(WORD, 0, 5, mask="m", tape=Tape(seed), alpha=alpha) == WORD
        assert forward_mask(WORD, 5, 5, mask="m", tape=Tape(seed), alpha=alpha) == ["m"] * 6


@pytest.mark.parametrize("alpha", [linear, polynomial(2)])
@pytest.mark.parametrize("t", [1, 2, 3])
def test_marginals_are_those_of_the_schedule(alpha, t):
    """2,000 seeds: each position stays with frequency α(t/T), within five standard deviations."""
    draws, T = 2000, 4
    words = [forward_mask(WORD, t, T, mask="m", tape=Tape(seed), alpha=alpha) for seed in range(draws)]
    stays = alpha(Fraction(t, T))
    for i, symbol in enumerate(WORD):
        column = [word[i] for word in words]
        assert set(column) == {symbol, "m"}
        unmasked = column.count(symbol)
        assert (unmasked - draws * stays) ** 2 <= 25 * draws * stays * (1 - stays)
        assert (unmasked - draws * (stays + Fraction(1, 10))) ** 2 > 25 * draws * stays * (1 - stays)


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


# Is a predictor right in every partially masked context? Two slots over {0, 1}; the task: both are equal.


HALF = Fraction(1, 2)
EQUAL = CanvasLaw({("0", "0"): HALF, ("1", "1"): HALF, ("0", "1"): Fraction(0)}, "m")
ONES = CanvasLaw({("1", "1"): Fraction(1)}, "m")


def test_contexts_are_all_maskings_of_what_can_happen():
    assert sorted(EQUAL.contexts()) == sorted([("m", "m"), ("m", "0"), ("0", "m"), ("m", "1"), ("1", "m")])


def test_conditionals_of_the_task():
    assert EQUAL.conditionals(("m", "m")) == {0: {"0": HALF, "1": HALF}, 1: {"0": HALF, "1": HALF}}
    assert EQUAL.conditionals(("m", "1")) == {0: {"1": Fraction(1)}}


def test_the_task_is_perfect_for_itself():
    assert perfect(EQUAL.conditionals, EQUAL.conditionals, EQUAL.contexts()) == []


def test_a_predictor_that_is_wrong_once_is_named():
    def wrong(context):
        if context == ("m", "1"):
            return {0: {"0": Fraction(1), "1": Fraction(0)}}
        return EQUAL.conditionals(context)

    assert perfect(wrong, EQUAL.conditionals, EQUAL.contexts()) == [
        Imperfection(("m", "1"), 0, {"0": Fraction(1)}, {"1": Fraction(1)})
    ]


def test_the_right_symbols_with_wrong_chances_are_not_perfect():
    def leaning(context):
        laws = EQUAL.conditionals(context)
        return laws | {0: {"0": Fraction(2, 3), "1": Fraction(1, 3)}} if context == ("m", "m") else laws

    wrong = perfect(leaning, EQUAL.conditionals, EQUAL.contexts())
    assert [(w.context, w.slot) for w in wrong] == [(("m", "m"), 0)]


def test_a_model_that_always_writes_1_is_perfect_for_ones():
    """A deterministic predictor, in both kinds that have one."""
    predictor = by_hand.successor({2: 4}, 3)
    mdm = by_hand.model("mdm", {"planner": by_hand.chooses({2}, 3), "predictor": predictor}, padding=2)
    topk = by_hand.model("topk", {"model": predictor}, padding=2)
    for model in (mdm, topk):
        laws = model_conditionals(model, [0], engine=ReferenceEngine())
        assert perfect(laws, ONES.conditionals, ONES.contexts()) == []
        wrong = perfect(laws, EQUAL.conditionals, EQUAL.contexts())
        assert [(w.context, w.slot) for w in wrong][:2] == [(("m", "m"), 0), (("m", "m"), 1)]
        assert ("m", "0") in {w.context for w in wrong}
        assert ("m", "1") not in {w.context for w in wrong}


def copier():
    """A slot attends to all three rows; a 0 or 1 seen there decides, else the two logits are equal.

    Column i of the stream is 1 for symbol i; columns 5 and 6 gather the zeros and ones that are seen.
    """
    width = 7
    wv = np.zeros((width, width), dtype=np.int64)
    wv[3, 5] = wv[4, 6] = 15
    embed = np.zeros((5, width), dtype=np.int64)
    embed[np.arange(5), np.arange(5)] = 4
    out = np.full((5, width), 0, dtype=np.int64)
    out[:3, 2] = -15
    out[3, 5] = out[4, 6] = 15
    out[3, 6] = out[4, 5] = -15
    head = Head(Matrix.zeros((width, 1)), Matrix.zeros((width, 1)), Matrix.of(wv))
    transformer = by_hand.transformer(embed, [[0] * width] * 3, out, layers=[Layer((head,), Mlp.nothing(width))])
    return by_hand.model("topk", {"model": transformer}, padding=2)


def test_a_sampled_predictor_has_the_exact_law_of_its_logits():
    """If one slot is unmasked, only noise makes the predictor wrong. If both are masked, ties favour 0."""
    laws = model_conditionals(copier(), [0], engine=ReferenceEngine(), sampled=True)
    both = laws(("m", "m"))[0]
    assert sum(both.values()) == 1
    assert both["0"] > both["1"] > Fraction(2, 5)
    assert both == dict(zip(["a", "b", "0", "1"], gumbel_law([-15, -15, 0, 0], by_hand.P2), strict=True))
    assert laws(("m", "1"))[0]["1"] > Fraction(99, 100)
    assert perfect(laws, EQUAL.conditionals, EQUAL.contexts())


def test_deterministically_it_copies_but_cannot_be_uncertain():
    laws = model_conditionals(copier(), [0], engine=ReferenceEngine())
    wrong = perfect(laws, EQUAL.conditionals, EQUAL.contexts())
    assert {w.context for w in wrong} == {("m", "m")}
    assert {w.slot for w in wrong} == {0, 1}


@pytest.mark.parametrize("sampled", [False, True])
def test_only_masked_slots_have_a_law(sampled):
    laws = model_conditionals(copier(), [0], engine=ReferenceEngine(), sampled=sampled)
    assert set(laws(("m", "1"))) == {0}
    assert "m" not in laws(("m", "1"))[0]
