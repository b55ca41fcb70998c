"""The exam on A5 and others: the cliff of a fixed quota, what thresholds do, and reasons; each checker can fail."""

import random
from dataclasses import dataclass, replace

import numpy as np
import pytest

from samplers.by_formula import Mixed
from unmask.api import compile_problem, run_word
from unmask.errors import UnmaskError
from unmask.samplers.predictors import CompiledPredictor
from unmask.samplers.problem_comparison import budgets_for, examine
from unmask.samplers.problem_subject import Order, Subject, balanced_by_answer, dependencies
from unmask.samplers.sampler_names import named_samplers
from unmask.samplers.sampling_loop import Sample, sample
from unmask.samplers.write_once_rules import FastDllm, Llada


@pytest.fixture(scope="module")
def a5():
    return Subject.of("group:A5", 16, words=12)


def results(subject, names, budgets):
    return {result.sampler: result for result in examine(subject, named_samplers(subject.slots, names), budgets)}


def right(result):
    return {run.steps: run.right for run in result.runs}


# ------------------------------------------------------------------------------------------------- the table


def test_the_cliff_of_a_fixed_quota_and_what_thresholds_do(a5):
    """15 slots: two per pass are right as long as the last pass writes the root alone."""
    by_sampler = results(
        a5,
        (
            "llada:remasking=low_confidence",
            "p2",
            "dream:alg=entropy,scheduler=linear",
            "fast-dllm:threshold=0.9",
            "fast-dllm:factor=1",
            "llada:scheduler=halving",
            "llada:scheduler=cosine",
            "eb",
        ),
        (15, 10, 8, 7, 4),
    )
    wrong = a5.answers.count("rejected") / len(a5.words)  # an undecided root is read as 0
    for name, at_ten in (("llada low_confidence", 1), ("p2 logP", 1), ("dllm dream entropy", wrong)):
        # with ten passes dllm's quotas end with two slots: 2 1 2 1 2 1 1 2 1 2
        assert right(by_sampler[name]) == {15: 1, 10: at_ten, 8: 1, 7: wrong, 4: wrong}, name
        assert by_sampler[name].least.passes == 8
    for name in ("own planner", "fast-dllm threshold 0.9", "fast-dllm factor 1", "dllm halving"):
        run = by_sampler[name].runs[0]
        assert (run.right, run.passes, run.order_violated, run.first_wrong) == (1, 4, 0, None), name
    assert by_sampler["dllm cosine"].least is None
    eb = by_sampler["eb gamma 0.1"].runs[0]
    assert eb.right_answers == wrong  # the root is 0 whatever the word is,
    assert eb.right < wrong  # and the slots below it are wrong
    assert 0.5 < eb.right_slots < 1


def test_the_first_wrong_write_has_a_reason(a5):
    by_sampler = results(a5, ("llada", "eb", "llada:remasking=random"), (7,))
    cliff = by_sampler["llada low_confidence"].runs[0]
    assert cliff.first_wrong.sentence == "slot 14 written while slot 13 was masked (pass 7: 0 instead of 1)"
    assert 0 < cliff.order_violated < 0.1
    assert by_sampler["eb gamma 0.1"].runs[0].first_wrong.reason == "slot 14 written while slots 12, 13 were masked"
    assert by_sampler["llada random"].runs[0].order_violated > 0.3


def test_the_least_number_is_right_and_one_less_is_wrong(a5):
    result = results(a5, ("llada",), (15, 4))["llada low_confidence"]
    assert result.least.steps == 8
    assert [round(run.right, 9) < 1 for run in results(a5, ("llada",), (7,))["llada low_confidence"].runs] == [True]


@pytest.mark.parametrize(
    ("problem", "length", "kind"),
    [
        ("(a|b)*abb", 11, "mdm"),
        ("(a|b)*abb", 11, "topk"),
        ("family:parity", 4, "mdm"),
        ("family:parity", 4, "smdm"),
        ("expr:(a+b)*c", None, "mdm"),
    ],
)
def test_a_threshold_does_what_the_planner_does(problem, length, kind):
    subject = Subject.of(problem, length, kind=kind, words=8)
    by_sampler = results(subject, ("fast-dllm:threshold=0.9",), ())
    assert by_sampler["own planner"].runs[0].right == 1
    run = by_sampler["fast-dllm threshold 0.9"].runs[0]
    assert (run.right, run.order_violated) == (1, 0)
    assert run.passes <= subject.predictor.model.steps


@pytest.mark.parametrize(
    ("planner", "sampler"),
    [
        ("confidence:2", Llada(8)),
        ("threshold:1", FastDllm(0.9)),
        ("blockwise:4:confidence:2", Llada(8, block_length=4)),
    ],
)
def test_names_of_ours_and_of_the_field_mean_the_same(a5, planner, sampler):
    """Largest logits and largest probabilities choose alike where a slot is either decided or not."""
    sampled = sample(a5.predictor, sampler, a5.blank)
    for row in range(3):
        trace = run_word(a5.predictor.model, a5.words[row], planner=planner)
        assert [canvas.tolist() for canvas in trace.canvas] == [h[row].tolist() for h in sampled.histories[1:]]


def test_every_answer_is_asked_for_in_turn(a5):
    assert a5.chance == 0.5
    pairs = [("a", "no"), ("b", "no"), ("c", "yes"), ("d", "no"), ("e", "yes")]
    assert balanced_by_answer(pairs, 4) == [("a", "no"), ("c", "yes"), ("b", "no"), ("e", "yes")]
    assert balanced_by_answer(pairs, 3) == [("a", "no"), ("c", "yes"), ("b", "no")]
    # d would make "no" frequent
    assert balanced_by_answer(pairs, 9) == [("a", "no"), ("c", "yes"), ("b", "no"), ("e", "yes")]
    assert balanced_by_answer(pairs[:2], 9) == []


def test_blocks_keep_within_the_budget(a5):
    """Steps are shared among blocks and rounded up; a budget below the number of blocks has no run."""
    by_sampler = results(a5, ("llada:block_length=4",), range(1, 12))
    (runs,) = [result.runs for name, result in by_sampler.items() if "block 4" in name]
    blocks = 4
    assert [run.steps for run in runs] == list(range(blocks, 12))
    assert all(run.passes == run.steps // blocks * blocks for run in runs)


def test_budgets_are_the_numbers_that_tell():
    assert budgets_for(63, 6) == (63, 42, 32, 31, 16, 6)
    assert budgets_for(255, 8) == (255, 170, 128, 127, 64, 8)
    assert budgets_for(1, 1) == (1,)


# ------------------------------------------------------------------------------------------------- dependencies


def test_what_a_slot_reads_is_its_children_in_the_tree(a5):
    """The tree of 16 letters, counted level by level: slot 8 is made from slots 0 and 1, slot 14 from 12 and 13."""
    expected = np.zeros((15, 15), dtype=bool)
    for parent in range(8, 15):
        expected[parent, [2 * (parent - 8), 2 * (parent - 8) + 1]] = True
    assert (dependencies(a5) == expected).all()


def test_what_a_gate_reads_is_its_operands(tmp_path):
    """(i1 ∨ i2) ∧ (i3 ∨ i4): the last slot is made from two others, through wires that stay masked."""
    (tmp_path / "and.aag").write_text("aag 7 4 0 1 3\n2\n4\n6\n8\n14\n10 5 3\n12 9 7\n14 13 11\n")
    subject = Subject.of(f"aiger:{tmp_path / 'and.aag'}", None, words=8)
    final = subject.own.sequences != subject.predictor.mask_id
    assert not final.all()
    gates = np.flatnonzero(final[0])
    for depends in dependencies(subject):
        assert depends.sum() == 2
        assert np.flatnonzero(depends[gates[-1]]).tolist() == gates[:2].tolist()


def test_reads_do_not_depend_on_how_many_words_are_held_at_once(a5, monkeypatch):
    whole = dependencies(a5)
    monkeypatch.setattr("unmask.samplers.problem_subject.MOST_ATTENTION_ENTRIES", 5 * a5.predictor.model.rows**2)
    assert (dependencies(a5) == whole).all()
    monkeypatch.setattr("unmask.samplers.problem_subject.MOST_ATTENTION_ENTRIES", 1)
    assert dependencies(a5) is None
    run = results(a5, ("eb",), ())["eb gamma 0.1"].runs[0]
    assert run.order_violated is None
    assert "written wrongly" in run.first_wrong.reason


# ------------------------------------------------------------------------------------------------- checkers fail


def played(subject, *orders):
    """A sample that writes the right symbols in an order of ours: a list of slots per pass."""
    histories = [subject.blank]
    for slots in orders:
        canvas = histories[-1].copy()
        canvas[:, slots] = subject.own.sequences[:, slots]
        histories.append(canvas)
    return Sample(tuple(histories), np.full(len(subject.words), len(orders)), subject.predictor.mask_id)


def test_a_valid_order_violates_nothing_and_any_swap_is_seen(a5):
    order = Order(a5)
    assert order.violated(played(a5, *[[slot] for slot in range(15)])) == 0
    assert order.violated(played(a5, range(8), range(8, 12), [12, 13], [14])) == 0
    for parent in range(8, 15):
        child = 2 * (parent - 8)
        swapped = list(range(15))
        swapped[parent], swapped[child] = child, parent
        assert order.violated(played(a5, *[[slot] for slot in swapped])) > 0
    assert order.violated(played(a5, range(15))) == 1


def test_a_wrong_symbol_is_found_whoever_wrote_it(a5):
    """One symbol of one word is replaced: the answer, or a slot that nobody reads any more."""
    order, good = Order(a5), a5.own
    token = {s: i for i, s in enumerate(a5.predictor.vocabulary)}
    for slot, step in ((14, 4), (3, 1)):
        histories = [canvas.copy() for canvas in good.histories]
        for canvas in histories[step:]:
            right_symbol = a5.predictor.vocabulary[good.sequences[5, slot]]
            canvas[5, slot] = token[{"0": "1", "1": "0"}.get(right_symbol, "e" if right_symbol != "e" else "(345)")]
        bad = Sample(tuple(histories), good.passes, good.mask_id)
        wrong = order.first_wrong(bad)
        assert (wrong.word, wrong.slot, wrong.step) == (5, slot, step)
        assert wrong.reason == f"slot {slot} written wrongly although all that it reads was written"
        assert a5.right_answers(bad).all() == (slot == 3)
        assert np.flatnonzero(~a5.right(bad)).tolist() == [5]
        assert np.argwhere(~a5.right_slots(bad)).tolist() == [[5, slot]]
    assert order.first_wrong(good) is None


def test_a_wrong_predictor_is_not_right(a5):
    """Logits shifted by one row, as by a sampler that expects Dream's: nothing is right any more."""

    class Shifted(CompiledPredictor):
        def logits(self, canvas):
            return np.roll(super().logits(canvas), 1, axis=1)

    shifted = replace(a5, predictor=Shifted(a5.predictor.model, a5.predictor.words))
    sampled = sample(shifted.predictor, FastDllm(0.9), shifted.blank)
    assert not a5.right(sampled).any()


def test_a_planted_wrong_answer_of_the_oracle_is_seen(a5):
    flipped = tuple({"accepted": "rejected", "rejected": "accepted"}[a] for a in a5.answers)
    spoilt = replace(a5, answers=flipped)
    assert not spoilt.right(spoilt.own).any()


def test_a_constant_canvas_is_never_right():
    """Whatever is written in every slot of every word, some word is wrong."""
    for problem, length in (("group:A5", 4), ("(a|b)*abb", 5), ("family:majority", 3), ("expr:(a+b)*c", None)):
        subject = Subject.of(problem, length, words=12)
        assert subject.chance <= 0.5
        for row in subject.own.sequences:
            constant = Sample((subject.blank, np.tile(row, (len(subject.words), 1))), subject.own.passes, 0)
            assert subject.right(constant).mean() <= 0.5


BRACKETS = """
from unmask.recurrences import BOOLEAN, N, Slots, System, indices, letter

(i,) = indices("i")
depth = Slots("depth", i.range(N), [0, 1, 2, 3, 4, None])
step = lambda d, c: None if d is None or not 0 <= d + (c == "(") * 2 - 1 <= 4 else d + (c == "(") * 2 - 1
depth.rule((depth[i - 1].or_else(0), letter(i)), step)
end = Slots("end", (), BOOLEAN)
end.rule(depth[N - 1], lambda last: last == 0)
program = System("()", (depth, end), answer=end[()])
"""


def test_rare_answers_are_searched_for_and_a_single_answer_is_refused(tmp_path):
    """14 of 256 words of eight brackets are balanced, and none of seven."""
    (tmp_path / "brackets.py").write_text(BRACKETS)
    problem = f"program:{tmp_path / 'brackets.py'}"
    subject = Subject.of(problem, 8)
    assert sorted(set(subject.answers)) == ["accepted", "rejected"]
    assert (subject.chance, len(subject.words), len(set(subject.words))) == (0.5, 28, 28)
    with pytest.raises(UnmaskError, match=r"no score: all 128 words .* at N = 7 have the answer 'rejected'"):
        Subject.of(problem, 7)
    with pytest.raises(UnmaskError, match=r"no score: all [\d,]+ words drawn from .* at N = 15"):
        Subject.of(problem, 15)
    with pytest.raises(UnmaskError, match="try at least 2"):
        Subject.of(problem, 8, words=1)


@dataclass(frozen=True)
class Sorted:
    """A sampler that trusts every digit: no rounding, the largest probability first."""

    per_pass: int
    dtype: type = np.float64
    label = "sorted"
    remasks = "declines"

    def finished(self, state):
        return state.full

    def next(self, state, beliefs, chance):  # noqa: ARG002
        logits = beliefs.logits.astype(self.dtype)
        p = np.exp(logits - logits.max(axis=-1, keepdims=True))
        p = (p / p.sum(axis=-1, keepdims=True)).max(axis=-1)
        order = np.argsort(np.where(state.masked, -p, 1), kind="stable")[: self.per_pass]
        order = order[state.masked[order]]
        return state.written(order, beliefs.best[order])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_sampler_that_trusts_every_digit_is_right(a5, dtype):
    """Two slots per pass are right where ties go to the lowest slot, so decided slots must tie in every digit."""
    assert a5.right(sample(a5.predictor, Sorted(2, dtype), a5.blank)).all()


# ------------------------------------------------------------------------------------------------- predictors


def test_a_decided_slot_is_sure_with_any_number_of_symbols(a5):
    for problem, length in (("group:A5", 4), ("expr:(a+b)*c", None), ("(a|b)*abb", 4)):
        model = compile_problem(problem, "mdm", length=length)
        predictor = CompiledPredictor(model, np.zeros((1, model.length), dtype=np.int64))
        least_margin = predictor.scale / model.precision.one
        assert np.exp(np.float32(-least_margin)) == 0
    logits = a5.predictor.logits(a5.own.sequences)
    p = np.exp(logits - logits.max(axis=-1, keepdims=True))
    assert (p.max(axis=-1) / p.sum(axis=-1) == 1).all()
    assert np.isneginf(logits[..., a5.predictor.mask_id]).all()


def test_the_integers_behind_the_logits_are_the_engine_s(a5):
    reference = CompiledPredictor(a5.predictor.model, a5.predictor.words[:2], type(a5.predictor.engine)())
    canvas = a5.own.histories[2][:2]
    assert (reference.read(canvas) == a5.predictor.read(a5.own.histories[2])[:2]).all()


def test_what_has_no_canvas_is_refused():
    chain = compile_problem("(a|b)*abb", "cot", length=4)
    with pytest.raises(UnmaskError, match="a cot has no canvas to sample on"):
        CompiledPredictor(chain, np.zeros((1, 4), dtype=np.int64))
    with pytest.raises(UnmaskError, match="random:1 has no correct answers, so no sampler can be correct"):
        Subject.of("random:1", 4)
    with pytest.raises(UnmaskError, match="a plt has no canvas"):
        Subject.of("(a|b)*abb", 4, kind="plt")


def test_any_predictor_will_do():
    """The protocol is all that a sampler asks for."""
    predictor = Mixed(5, 3, seed=random.Random(0).randrange(100))
    assert sample(predictor, Llada(5), np.full((2, 5), predictor.mask_id)).sequences.shape == (2, 5)
