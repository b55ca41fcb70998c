"""A planner as a sampler: which slots it writes, with which symbols, and how it compares with runs and with laws."""

import numpy as np
import pytest

from samplers.by_formula import Mixed, confident
from unmask import compile_problem, run_word
from unmask.errors import PlannerError
from unmask.samplers import Bench, CompiledPredictor, PlannedSampler, masks, parse_sampler, sample
from unmask.samplers.law_comparison import compare_samplers
from unmask.samplers.string_law import law_from_json

CHAIN = {
    "kind": "ngram",
    "alphabet": ["a", "b"],
    "order": 2,
    "contexts": {"": {"a": "1/2", "b": "1/2"}, "a": {"a": 0.9, "b": 0.1}, "b": {"a": "1/5", "b": "4/5"}},
}


def passes_of(name, predictor, slots):
    return sample(predictor, parse_sampler(name).make(), masks(predictor, 1, slots)).step_map[0].tolist()


@pytest.mark.parametrize(
    ("name", "passes"),
    [
        ("planner:left-to-right:2", [1, 1, 2, 2, 3]),
        ("planner:confidence:2", [3, 1, 2, 1, 2]),
        ("planner:threshold:0.75", [3, 1, 2, 1, 1]),  # 0.75 is not above 0.75
        ("planner:blockwise:2:confidence:1", [2, 1, 4, 3, 5]),
        ("planner:blockwise:3:threshold:0", [1, 1, 1, 2, 2]),
    ],
)
def test_the_pass_of_every_slot(name, passes):
    assert passes_of(name, confident(0.5, 0.9, 0.75, 0.95, 0.8), 5) == passes


def test_the_likeliest_symbols_are_written():
    predictor = Mixed(6, 3)
    sampled = sample(predictor, parse_sampler("planner:left-to-right:1").make(), masks(predictor, 2, 6))
    for before, after in zip(sampled.histories, sampled.histories[1:], strict=False):
        written = before != after
        assert (after[written] == predictor.logits(before).argmax(axis=-1)[written]).all()
        assert written.sum(axis=1).tolist() == [1, 1]


class EverySlot:
    """A user's planner that does not look at the masks."""

    def choose(self, situation):
        return np.ones_like(situation.masked)


def test_a_users_planner_cannot_change_slots_that_are_given():
    predictor = Mixed(4, 3)
    canvas = np.array([[predictor.mask_id, 2, predictor.mask_id, 0]])
    sampled = sample(predictor, PlannedSampler(EverySlot(), "every slot"), canvas)
    assert sampled.passes.tolist() == [1]
    assert sampled.sequences[0, [1, 3]].tolist() == [2, 0]
    assert (sampled.sequences != predictor.mask_id).all()


@pytest.mark.parametrize(
    ("planner", "published", "steps"),
    [("confidence:2", "llada", 4), ("threshold:0.6", "fast-dllm:threshold=0.6", 1)],
)
def test_planners_agree_with_the_published_rules_of_the_same_kind(planner, published, steps):
    predictor = Mixed(8, 4, seed=3)
    blank = masks(predictor, 3, 8)
    ours = sample(predictor, parse_sampler(f"planner:{planner}").make(), blank)
    theirs = sample(predictor, parse_sampler(published).make(steps), blank)
    assert np.array_equal(ours.histories, theirs.histories)
    other = sample(predictor, parse_sampler("planner:left-to-right:2").make(), blank)
    assert not np.array_equal(ours.step_map, other.step_map)


@pytest.mark.parametrize("name", ["left-to-right:1", "left-to-right:2", "blockwise:3:left-to-right:2"])
def test_a_run_with_a_planner_and_the_sampler_of_that_planner_write_the_same(name):
    model, words = compile_problem("group:Z2", "mdm", length=4), ["+0 +1 +1 +0", "+1 +1 +1 +0"]
    predictor = CompiledPredictor.of_words(model, words)
    sampled = sample(predictor, parse_sampler(f"planner:{name}").make(), masks(predictor, 2, model.padding))
    for row, word in enumerate(words):
        trace = run_word(model, word, planner=name)
        assert [history[row].tolist() for history in sampled.histories[1:]] == [c.tolist() for c in trace.canvas]


def test_from_left_to_right_a_law_is_sampled_exactly():
    """A slot for each pass is the chain rule; two slots in a pass are not independent in this law."""
    bench = Bench(law_from_json(CHAIN, "chain"), 4)
    entries = [parse_sampler(f"planner:left-to-right:{k}") for k in (1, 2)]
    exact, rough = (result.runs[0] for result in compare_samplers(bench, entries, (4,)))
    assert exact.distance.exact
    assert rough.distance.exact
    assert (exact.passes, rough.passes) == pytest.approx((4, 2))
    assert exact.distance.kl == pytest.approx(0, abs=1e-12)
    assert rough.distance.kl > 0.1


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("planner", "unknown planner ''; use uniform:K"),
        ("planner:oracle", "unknown planner 'oracle'"),
        ("planner:left-to-right:0", "needs a positive integer"),
        ("planner:uniform:2", "the planner 'uniform:2' is random and cannot be a sampler; use llada:remasking=random"),
    ],
)
def test_planners_that_cannot_be_samplers_are_refused(name, message):
    with pytest.raises(PlannerError, match=message):
        parse_sampler(name)


def test_the_command_takes_a_planner(unmask):
    code, out, err = unmask("samplers", "group:Z2", "--length", 8, "--sampler", "planner:left-to-right:1", "--json")
    assert (code, err) == (0, "")
    assert '"sampler": "planner left-to-right:1"' in out
