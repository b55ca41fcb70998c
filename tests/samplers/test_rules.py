"""Every rule against its published formula, on predictors whose confidences are chosen by hand."""

import re

import numpy as np
import pytest

from samplers.by_formula import Fixed, Mixed, confident
from unmask.errors import UnmaskError
from unmask.samplers.remasking_rules import P2, Remdm
from unmask.samplers.rule_interface import Beliefs, State, by_alpha, linear, quotas
from unmask.samplers.sampler_names import DEFAULT_SAMPLERS, named_samplers, parse_sampler
from unmask.samplers.sampling_loop import masks, sample
from unmask.samplers.write_once_rules import Dream, EntropyBound, FastDllm, Llada


def written(predictor, sampler, slots, seed=0):
    """The slots that each pass writes."""
    sampled = sample(predictor, sampler, masks(predictor, 1, slots), seed=seed)
    return [
        np.flatnonzero(before[0] != after[0]).tolist()
        for before, after in zip(sampled.histories, sampled.histories[1:], strict=False)
    ]


# ------------------------------------------------------------------------------------------------- schedules


@pytest.mark.parametrize(
    ("schedule", "masked", "steps", "expected"),
    [
        ("even", 63, 31, (3, *[2] * 30)),
        ("even", 5, 8, (1, 1, 1, 1, 1, 0, 0, 0)),
        ("halving", 63, 1, (32, 16, 8, 4, 2, 1)),
        ("halving", 1, 9, (1,)),
        ("linear", 63, 6, (11, 10, 10, 11, 10, 11)),
        ("cosine", 63, 6, (2, 6, 10, 13, 15, 17)),
    ],
)
def test_quotas(schedule, masked, steps, expected):
    assert quotas(schedule, masked, steps) == expected


def test_quotas_write_every_slot_once():
    for schedule in ("even", "linear", "cosine", "halving"):
        for masked in range(1, 40):
            for steps in (1, 2, 3, masked, masked + 3):
                assert sum(quotas(schedule, masked, steps)) == masked, (schedule, masked, steps)
    assert by_alpha(linear, 10, 3) == quotas("linear", 10, 3)


# ------------------------------------------------------------------------------------------------- LLaDA


def test_llada_writes_the_surest_and_declines_the_rest():
    assert written(confident(0.5, 0.9, 0.7, 0.8), Llada(2), 4) == [[1, 3], [0, 2]]
    assert written(confident(0.5, 0.9, 0.7, 0.8), Llada(4), 4) == [[1], [3], [2], [0]]


def test_the_lowest_slot_wins_a_tie_whatever_the_noise_of_a_sum():
    p = np.full((3, 3), 1 / 3)
    p[:, 0] += [0, 1e-12, 2e-12]
    assert written(Fixed(p), Llada(3), 3) == [[0], [1], [2]]


def test_llada_fills_blocks_from_left_to_right():
    assert written(confident(0.5, 0.9, 0.7, 0.8), Llada(4, block_length=2), 4) == [[1], [0], [3], [2]]
    assert written(confident(0.5, 0.9, 0.7, 0.8, 0.6), Llada(3, block_length=2), 5) == [[0, 1], [2, 3], [4]]


def test_llada_knows_how_many_slots_there_are():
    assert written(confident(0.5, 0.9), Llada(steps=2, gen_length=2, block_length=2), 2) == [[1], [0]]
    with pytest.raises(UnmaskError, match="gen_length of llada is 128 and the canvas has 2 slots; leave it out"):
        written(confident(0.5, 0.9), Llada(2, gen_length=128), 2)


def test_llada_random_draws_slots_uniformly():
    predictor, first = confident(0.5, 0.9, 0.7), []
    for seed in range(600):
        first += written(predictor, Llada(3, remasking="random"), 3, seed)[0]
    assert all(150 < first.count(slot) < 250 for slot in range(3))


def test_temperature_draws_symbols():
    sampled = sample(confident(0.6), Llada(1, temperature=1.0), masks(confident(0.6), 4000, 1))
    assert 0.57 < (sampled.sequences == 0).mean() < 0.63
    sampled = sample(confident(0.6), Llada(1, temperature=0.5), masks(confident(0.6), 4000, 1))
    assert abs((sampled.sequences == 0).mean() - 0.36 / (0.36 + 0.04 * 2)) < 0.03


# ------------------------------------------------------------------------------------------------- Dream


def test_dream_counts_as_it_is_published():
    """⌊m·(1 − s/t)⌋ with ε = 1/1000: the first pass of as many as there are slots writes none, the last two."""
    passes = written(confident(0.9, 0.8, 0.7, 0.6), Dream(4, "maskgit_plus"), 4)
    assert passes == [[], [0], [1], [2, 3]]
    assert written(confident(0.9, 0.8, 0.7, 0.6), Dream(4, "maskgit_plus", scheduler="linear"), 4) == [
        [0],
        [1],
        [2],
        [3],
    ]


def test_the_measures_of_dream_differ():
    p = np.array([[0.5, 0.5, 0.0], [0.45, 0.275, 0.275], [0.48, 0.26, 0.26]])
    orders = {
        alg: written(Fixed(p), Dream(3, alg, scheduler="linear"), 3)
        for alg in ("maskgit_plus", "topk_margin", "entropy")
    }
    assert orders == {
        "maskgit_plus": [[0], [2], [1]],  # p = 0.50, 0.48, 0.45
        "topk_margin": [[2], [1], [0]],  # 0.22, 0.175, 0
        "entropy": [[0], [2], [1]],  # 0.69, 1.05, 1.07
    }


def test_dream_origin_writes_each_slot_by_itself():
    first = [len(written(confident(*[0.5] * 10), Dream(2), 10, seed)[0]) for seed in range(300)]
    assert 4.7 < np.mean(first) < 5.3
    assert np.std(first) > 1


def test_dream_draws_slots_at_a_temperature():
    predictor = confident(0.9, 0.5)
    first = [written(predictor, Dream(2, "maskgit_plus", 0.4, scheduler="linear"), 2, s)[0] for s in range(500)]
    share = np.exp(0.9 / 0.4) / (np.exp(0.9 / 0.4) + np.exp(0.5 / 0.4))
    assert abs(first.count([0]) / 500 - share) < 0.06


# ------------------------------------------------------------------------------------------------- Fast-dLLM, EB


def test_a_threshold_writes_all_that_is_sure_and_always_the_surest():
    assert written(confident(0.5, 0.95, 0.9, 0.4), FastDllm(0.9), 4) == [[1, 2], [0], [3]]
    assert written(confident(0.5, 0.95, 0.9, 0.4), FastDllm(0.9, block_length=2), 4) == [[1], [0], [2], [3]]


def test_a_factor_asks_more_of_each_further_slot():
    # 1 − f/(n + 1): 0.6667 for the second, 0.75 for the third, 0.8 for the fourth
    assert written(confident(0.5, 0.7, 0.74, 0.76), FastDllm(factor=1), 4) == [[2, 3], [1], [0]]
    assert written(confident(0.76, 0.76, 0.76, 0.76), FastDllm(factor=1), 4) == [[0, 1, 2], [3]]


def test_the_entropy_bound_leaves_the_largest_entropy_free():
    sure, unsure = [1.0, 0.0], [0.5, 0.5]
    assert written(Fixed(np.array([unsure, sure, unsure, sure])), EntropyBound(0.1), 4) == [[0, 1, 3], [2]]
    assert written(Fixed(np.array([unsure, unsure, unsure])), EntropyBound(np.log(2) + 1e-9), 3) == [[0, 1], [2]]
    assert written(Fixed(np.array([unsure, unsure])), EntropyBound(0), 2) == [[0], [1]]


def test_the_order_of_the_entropy_bound():
    p = np.array([[0.5, 0.5, 0.0], [0.48, 0.26, 0.26]])
    assert written(Fixed(p), EntropyBound(0), 2) == [[0], [1]]
    assert written(Fixed(p), EntropyBound(0, order="margin"), 2) == [[1], [0]]
    assert written(Fixed(p), EntropyBound(0, order="confidence"), 2) == [[0], [1]]


# ------------------------------------------------------------------------------------------------- P2, ReMDM


class Regrets:
    """Slot 0 is sure at first; once slot 1 is written it is unsure of itself."""

    mask_id, vocabulary = 2, ("0", "1", "m")

    def logits(self, canvas):
        rows = []
        for row in canvas:
            slot0 = [0.9, 0.1] if row[1] == 2 else [0.4, 0.6]
            rows.append(np.log([[*slot0, 1e-300], [0.8, 0.2, 1e-300], [0.7, 0.3, 1e-300]]))
        return np.array(rows)


def test_p2_masks_a_written_slot_again():
    sampled = sample(Regrets(), P2(3), masks(Regrets(), 1, 3))
    assert [h[0].tolist() for h in sampled.histories] == [[2, 2, 2], [0, 2, 2], [0, 0, 2], [0, 0, 0]]
    eager = sample(Regrets(), P2(3, eta=8), masks(Regrets(), 1, 3))
    assert [h[0].tolist() for h in eager.histories] == [[2, 2, 2], [0, 2, 2], [2, 0, 0], [1, 0, 0]]
    assert [(w.step, w.slot, w.before, w.after) for w in eager.writes(0) if w.slot == 0] == [
        (1, 0, 2, 0),
        (2, 0, 0, 2),
        (3, 0, 2, 1),
    ]
    assert eager.step_map.tolist() == [[3, 2, 2]]


def test_p2_scores_what_stands_there_only_if_asked():
    """Over a slot that the predictor would now write otherwise: x0 is sure, what stands there is not."""

    class Turns:
        mask_id, vocabulary = 2, ("0", "1", "m")

        def logits(self, canvas):
            turned = [[0.05, 0.95, 0] if row[1] != 2 else [0.9, 0.1, 0] for row in canvas]
            rest = [[0.8, 0.2, 0], [0.7, 0.3, 0], [0.6, 0.4, 0]]
            return np.log(np.maximum([[t, *rest] for t in turned], 1e-300))

    by_x0 = sample(Turns(), P2(4), masks(Turns(), 1, 4)).sequences.tolist()
    by_xt = sample(Turns(), P2(4, scored="xt"), masks(Turns(), 1, 4)).sequences.tolist()
    assert by_x0 == [[0, 0, 0, 0]]
    assert by_xt == [[1, 0, 0, 0]]


def test_p2_asks_a_planner_about_written_slots():
    asked = []

    def planner(row, x0):
        asked.append((row, x0.tolist()))
        return np.log(np.tile([0.01, 0.99, 1e-300], (3, 1)))

    final = sample(Regrets(), P2(3), masks(Regrets(), 1, 3))
    led = sample(Regrets(), P2(3, planner=planner), masks(Regrets(), 1, 3))
    assert len(asked) == 3
    assert final.step_map.tolist() != led.step_map.tolist()


def test_remdm_is_a_law_for_every_slot():
    for variant in ("cap", "rescale", "conf"):
        sampler, predictor = Remdm(4, variant, eta=0.3), Mixed(3, 2)
        sampled = sample(predictor, sampler, masks(predictor, 50, 3))
        assert (sampled.sequences != predictor.mask_id).all()
        assert set(sampled.passes) == {5}


def test_remdm_masks_again_at_its_rate():
    """With η = 1 and cap, σ = min(1, (1 − α_s)/α_t): after half the passes every slot is masked again."""
    predictor = confident(*[0.9] * 40)
    final = sample(predictor, Remdm(4, eta=0.0), masks(predictor, 20, 40))
    lost = sample(predictor, Remdm(4, eta=1.0), masks(predictor, 20, 40))
    masked = predictor.mask_id
    again = [((a != masked) & (b == masked)).sum() for a, b in zip(lost.histories, lost.histories[1:], strict=False)]
    never = [((a != masked) & (b == masked)).sum() for a, b in zip(final.histories, final.histories[1:], strict=False)]
    assert sum(never) == 0
    assert sum(again) > 200
    assert 8 < (final.histories[1] != masked).sum(axis=1).mean() < 12  # α = 1/4 of 40


@pytest.mark.parametrize("variant", ["cap", "rescale"])
@pytest.mark.parametrize("eta", [0.0, 0.3, 1.0])
def test_remdm_makes_up_for_what_it_masks(variant, eta):
    """Whatever σ, a slot is masked after pass j with probability 1 − α_j: that is what the second formula is for."""
    steps, predictor = 5, confident(0.7)
    sampler, beliefs = Remdm(steps, variant, eta), Beliefs(confident(0.7).logits(np.array([[3]]))[0])
    chances = np.array([0.0, 0.0, 0.0, 1.0])
    for step in range(steps):
        rows = [
            sampler.slotwise(State(np.array([3]), np.array([held]), predictor.mask_id, step=step), beliefs)[0]
            for held in range(4)
        ]
        chances = chances @ np.array(rows)
        assert chances.sum() == pytest.approx(1)
        assert chances[3] == pytest.approx(1 - (step + 1) * (1 - sampler.eps) / steps)
        assert chances[0] / chances[:3].sum() == pytest.approx(0.7)


# ------------------------------------------------------------------------------------------------- all of them


@pytest.mark.parametrize("name", DEFAULT_SAMPLERS)
@pytest.mark.parametrize("given", [False, True])
def test_every_sampler_fills_the_canvas_and_touches_nothing_that_is_given(name, given):
    predictor = Mixed(7, 3)
    canvas = masks(predictor, 3, 7)
    if given:
        canvas[:, [1, 4]] = [2, 0]
    entry = named_samplers(7, (name,))[0]
    for steps in (1, 3, 7, 9):
        sampled = sample(predictor, entry.make(steps), canvas, seed=5)
        assert (sampled.sequences != predictor.mask_id).all(), steps
        if given:
            assert all((history[:, [1, 4]] == [2, 0]).all() for history in sampled.histories)


@pytest.mark.parametrize("name", [n for n in DEFAULT_SAMPLERS if not n.startswith(("p2", "remdm"))])
def test_samplers_that_decline_never_write_twice(name):
    predictor = Mixed(7, 3)
    entry = named_samplers(7, (name,))[0]
    sampled = sample(predictor, entry.make(4, temperature=1.0), masks(predictor, 4, 7))
    assert entry.make(4).remasks == "declines"
    assert all(len({w.slot for w in sampled.writes(row)}) == len(sampled.writes(row)) == 7 for row in range(4))


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("lada", "unknown sampler 'lada'; use one of llada,"),
        ("llada:foo=1", "llada has no parameter 'foo=1'"),
        ("llada:steps", "llada has no parameter 'steps'"),
        ("llada:remasking=low", "remasking of llada must be one of low_confidence, random, not 'low'"),
        ("llada:block_length=0", "block_length of llada must be an integer from 1 to 100,000, not 0"),
        ("llada:temperature=-1", "temperature of llada must be 0 or a number from 0.000001 to 1,000,000, not -1"),
        ("llada:temperature=nan", "temperature of llada must be 0 or a number from 0.000001 to 1,000,000, not nan"),
        ("llada:temperature=warm", "temperature of llada must be 0 or a number"),
        ("llada:steps=2,steps=3", "llada is given steps twice"),
        ("dream:alg=magic", "alg of dream must be one of origin,"),
        ("dream:scheduler=linear", "alg='origin' of dream chooses the number of slots"),
        ("fast-dllm", "fast-dllm takes either a threshold or a factor"),
        ("fast-dllm:threshold=0.9,factor=1", "fast-dllm takes either a threshold or a factor"),
        ("fast-dllm:threshold=2", "threshold of fast-dllm must be 0 or a number from 0.000001 to 1, not 2"),
        ("p2:planner=x", "p2 has no parameter 'planner=x'"),
        ("remdm:eta=2", "eta of remdm must be 0 or a number from 0.000001 to 1, not 2"),
        ("eb:gamma=1,order=x", "order of eb must be one of"),
    ],
)
def test_what_is_no_sampler_is_refused(name, sentence):
    with pytest.raises(UnmaskError, match=re.escape(sentence)):
        parse_sampler(name)
