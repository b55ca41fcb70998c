"""Rules that edit: what they write pass by pass, and how many passes they need where the truth is known."""

from math import ceil, log2

import numpy as np
import pytest

from samplers.by_formula import Fixed
from unmask.errors import UnmaskError
from unmask.samplers.editing_rules import BlockRefinement, DiffusionGemma, JointThreshold, Llada21
from unmask.samplers.problem_subject import Subject
from unmask.samplers.sampler_names import EDITING_SAMPLERS, named_samplers
from unmask.samplers.sampling_loop import masks, sample


@pytest.fixture(scope="module", params=[8, 16], ids=lambda length: f"N={length}")
def subject(request):
    return Subject.of("group:S3", request.param, words=16)


def passes_and_right(subject, sampler):
    sampled = sample(subject.predictor, sampler, subject.blank)
    return int(sampled.passes.max()), float(subject.right(sampled).mean())


@pytest.mark.parametrize("length", [4, 8, 16, 32, 24])
def test_random_symbols_are_right_after_exactly_the_least_number_of_refreshes(length):
    subject = Subject.of("group:S3", length, words=16)
    symbols = np.delete(np.arange(len(subject.predictor.vocabulary)), subject.predictor.mask_id)
    canvas = np.random.default_rng(1).choice(symbols, subject.blank.shape)
    right_words = []
    for _ in range(ceil(log2(length)) + 1):
        canvas = subject.predictor.logits(canvas).argmax(-1)
        right_words.append(bool((canvas == subject.expected).all()))
    assert right_words == [False] * (ceil(log2(length)) - 1) + [True, True]


def test_what_one_pass_commits_is_made_right_by_edits_alone(subject):
    least, slots = subject.own.passes.max(), subject.slots
    assert passes_and_right(subject, Llada21(num_to_transfer=slots)) == (least + 1, 1.0)  # the last one changes nothing
    assert passes_and_right(subject, Llada21(num_to_transfer=slots, max_post_steps=0)) == (1, 0.0)
    assert passes_and_right(subject, Llada21(num_to_transfer=slots, editing_threshold=None)) == (1, 0.0)
    # after the pass that fills, `max_post_steps` passes may edit
    assert passes_and_right(subject, Llada21(num_to_transfer=slots, max_post_steps=int(least) - 1))[1] == 1
    assert passes_and_right(subject, Llada21(num_to_transfer=slots, max_post_steps=int(least) - 2))[1] < 1


def test_a_threshold_above_one_half_needs_no_edit(subject):
    least = subject.own.passes.max()
    assert passes_and_right(subject, Llada21()) == (least + 1, 1.0)
    assert passes_and_right(subject, Llada21(editing_threshold=None)) == (least, 1.0)
    assert passes_and_right(subject, JointThreshold(threshold=0.9)) == (least + 1, 1.0)


def test_the_samplers_from_noise_need_the_least_number_of_passes(subject):
    least = int(subject.own.passes.max())
    for rule in (DiffusionGemma, BlockRefinement):
        assert passes_and_right(subject, rule(least)) == (least, 1.0)
        assert passes_and_right(subject, rule(3 * least)) == (3 * least, 1.0)
        assert passes_and_right(subject, rule(least - 1))[1] < 1
    assert passes_and_right(subject, BlockRefinement(4 * least, editing_threshold=None))[1] < 0.5


def unsure(probabilities):
    """A predictor that says symbol 1 with these probabilities and symbol 0 else; symbol 2 is the mask."""
    p = np.array(probabilities)
    return Fixed(np.stack([1 - p, p], axis=-1))


def history(sampler, predictor, canvas):
    return [row[0].tolist() for row in sample(predictor, sampler, np.array([canvas])).histories]


def test_masks_are_filled_above_the_threshold_and_the_surest_always():
    canvases = history(Llada21(threshold=0.85, editing_threshold=None), unsure([0.9, 0.6, 0.8]), [2, 2, 2])
    assert canvases == [[2, 2, 2], [1, 2, 2], [1, 2, 1], [1, 1, 1]]
    two = history(
        Llada21(threshold=0.85, editing_threshold=None, num_to_transfer=2), unsure([0.9, 0.6, 0.8]), [2, 2, 2]
    )
    assert two == [[2, 2, 2], [1, 2, 1], [1, 1, 1]]


def test_blocks_are_finished_one_after_the_other():
    canvases = history(Llada21(block_length=2, editing_threshold=None), unsure([0.99] * 4), [2, 2, 2, 2])
    assert canvases == [[2, 2, 2, 2], [1, 1, 2, 2], [1, 1, 1, 1]]


def test_given_slots_are_neither_edited_nor_made_random():
    for sampler in (Llada21(), JointThreshold(), DiffusionGemma(3), BlockRefinement(3)):
        for canvas in history(sampler, unsure([0.99] * 3), [0, 2, 2]):
            assert canvas[0] == 0


def test_a_penalty_forbids_the_symbol_on_the_left():
    plain = history(JointThreshold(threshold=0.4), unsure([0.9, 0.9]), [1, 2])
    penalised = history(JointThreshold(threshold=0.4, penalty_lambda=8), unsure([0.9, 0.9]), [1, 2])
    assert (plain[-1], penalised[-1]) == ([1, 1], [1, 0])


def test_the_entropy_bound_accepts_by_rising_entropy():
    """H(0.99) = 0.056, H(0.9) = 0.325, H(0.5) = 0.693: the two surest fit below 0.1 beside the largest of them."""
    predictor, accepted = unsure([0.5, 0.99, 0.9]), []
    for seed in range(200):
        sampled = sample(predictor, DiffusionGemma(1, t_max=1.0, t_min=1.0), masks(predictor, 1, 3), seed=seed)
        accepted.append(sampled.sequences[0].tolist())
    ones = np.mean(accepted, axis=0)
    assert abs(ones[0] - 0.5) < 0.12
    assert ones[1] > 0.95
    assert abs(ones[2] - 0.9) < 0.08
    tight = [
        sample(predictor, DiffusionGemma(1, 0.01, 1.0, 1.0), masks(predictor, 1, 3), seed=seed).sequences[0, 2]
        for seed in range(200)
    ]
    assert abs(np.mean(tight) - 0.5) < 0.12  # not accepted: random again


def test_the_names_of_the_zoo_are_read():
    assert len({entry.make().label for entry in named_samplers(15, EDITING_SAMPLERS)}) == len(EDITING_SAMPLERS)
    assert [entry.from_noise for entry in named_samplers(15, ("llada2.1", "diffusion-gemma"))] == [False, True]
    for name in ("llada2.1:num_to_transfer=0", "diffusion-gemma:steps=3", "joint-threshold:editing_threshold=0.5"):
        with pytest.raises(UnmaskError):
            named_samplers(15, (name,))
