"""mdm, smdm and topk on models that can be followed with a pencil. Tokens: a 0, b 1, m 2, 0 3, 1 4."""

from dataclasses import replace

import numpy as np
import pytest

import by_hand
from unmask.api import run_word
from unmask.errors import EditsWrittenSlot, PlannerError

A, LETTER_B, MASK, ZERO, ONE = range(5)


def mdm(chosen, successors, *, kind="mdm", **rest):
    fields = {"padding": 2, "steps": 3, **rest}
    rows = 1 + fields["padding"]
    transformers = {"planner": by_hand.chooses(chosen, rows), "predictor": by_hand.successor(successors, rows)}
    return by_hand.model(kind, transformers, **fields)


def canvases(model, word="a", **options):
    return ["".join(c) for c in run_word(model, word, **options).canvas_symbols]


def test_an_mdm_edits_what_it_wrote():
    """A mask becomes a, an a becomes 1, a 1 is left alone."""
    model = mdm({MASK, A}, {MASK: A, A: ONE})
    assert canvases(model) == ["aa", "11", "11"]
    assert run_word(model, "a").accepted is True


def test_slots_that_are_not_chosen_keep_their_symbol():
    assert canvases(mdm({A}, {MASK: A})) == ["mm", "mm", "mm"]
    assert run_word(mdm({A}, {MASK: A}), "a").accepted is None
    assert run_word(mdm({MASK}, {MASK: ZERO}), "a").accepted is False


def test_the_trace_says_which_slots_were_written():
    trace = run_word(mdm({MASK, A}, {MASK: A, A: ONE}), "b")
    assert [c.tolist() for c in trace.chosen] == [[True, True], [True, True], [False, False]]
    assert trace.steps_taken == 3


def test_the_mask_is_never_written():
    """Its logit is the largest; the next best symbol, and of equal ones the lowest, is written."""
    predictor = by_hand.table([[0, 4, 15, 4, 0]] * 5, 3)
    model = replace(mdm({MASK}, {}), transformers={"planner": by_hand.chooses({MASK}, 3), "predictor": predictor})
    assert canvases(model) == ["bb", "bb", "bb"]


def test_even_when_all_logits_are_the_lowest():
    predictor = by_hand.table([[-15, -15, 15, -15, -15]] * 5, 3)
    model = replace(mdm({MASK}, {}), transformers={"planner": by_hand.chooses({MASK}, 3), "predictor": predictor})
    assert canvases(model)[0] == "aa"


def test_a_tie_of_the_planner_means_keep():
    undecided = by_hand.transformer(by_hand.one_hot(5), [[0] * 5] * 3, [[4] * 5, [4] * 5])
    model = replace(
        mdm({MASK}, {}), transformers={"planner": undecided, "predictor": by_hand.successor({MASK: ONE}, 3)}
    )
    assert canvases(model) == ["mm"] * 3


def test_an_smdm_that_edits_is_stopped():
    model = mdm({MASK, A}, {MASK: A, A: ONE}, kind="smdm")
    with pytest.raises(EditsWrittenSlot, match="step 1 chose slot 0, which holds 'a'") as caught:
        run_word(model, "a")
    assert (caught.value.step, caught.value.slot, caught.value.symbol) == (1, 0, "a")
    assert canvases(mdm({MASK}, {MASK: ONE}, kind="smdm")) == ["11", "11", "11"]


SURE = [[0] * 5, [3, 0, 15, 0, 0], [0, 0, 0, 7, 0], [0, 0, 0, 0, 7], [-15] * 5]


@pytest.mark.parametrize(
    ("k", "slots"), [(1, "m0mm"), (2, "m01m"), (3, "a01m"), (4, "a01a"), (9, "a01a"), (None, "a01m")]
)
def test_topk_takes_the_surest_slots(k, slots):
    """The mask's logit does not count, the lower slot wins a tie, and a slot at -B stays out when k is null."""
    model = by_hand.model("topk", {"model": by_hand.positional(SURE)}, padding=4, k=k)
    assert canvases(model) == [slots]


def test_topk_slots_compete_whether_masked_or_not():
    """Slot 0 is always the surest, so that with k = 1 nothing else is ever written."""
    model = by_hand.model("topk", {"model": by_hand.positional(SURE[:3])}, padding=2, k=1, steps=3)
    assert canvases(model) == ["m0", "m0", "m0"]


def test_topk_is_as_sure_as_its_logits_without_noise():
    """Under sampling the drawn symbols differ, the chosen slots do not."""
    model = by_hand.model("topk", {"model": by_hand.positional(SURE)}, padding=4, k=2)
    final_canvases = {canvases(model, sample=True, seed=seed)[0] for seed in range(30)}
    assert len(final_canvases) > 3
    assert {c[0] + c[3] for c in final_canvases} == {"mm"}


def test_both_transformers_read_the_same_canvas():
    """The planner takes masks, and the predictor writes in the same step what the mask's row says."""
    model = mdm({MASK, ZERO}, {MASK: ZERO, ZERO: ONE}, steps=1)
    assert canvases(model) == ["00"]


@pytest.mark.parametrize("kind", ["mdm", "smdm", "topk"])
def test_a_planner_from_outside_drives_any_predictor(kind):
    logits = [[0] * 5, *([[0, 0, 0, 0, 4]] * 3)]
    predictor = by_hand.positional(logits)
    transformers = (
        {"model": predictor} if kind == "topk" else {"planner": by_hand.chooses({A}, 4), "predictor": predictor}
    )
    model = by_hand.model(kind, transformers, padding=3, steps=1)
    assert canvases(model, planner="left-to-right:1") == ["1mm", "11m", "111"]
    assert canvases(model, planner="left-to-right:2") == ["11m", "111"]
    assert run_word(model, "a", planner="left-to-right:2").steps_taken == 2


@pytest.mark.parametrize("kind", ["plt", "cot", "pcot"])
def test_the_other_kinds_have_no_planner(kind):
    from unmask.testing import random_model

    with pytest.raises(PlannerError, match=f"a {kind} has no planner that could be replaced"):
        run_word(random_model(0, kind, 1), "a", planner="uniform:1")


def test_without_canvas_only_the_last_is_kept():
    model = mdm({MASK, A}, {MASK: A, A: ONE})
    trace = run_word(model, "a", canvas=False)
    assert trace.canvas_symbols == [["1", "1"]]
    assert trace.steps_taken == 3
    assert np.array_equal(trace.canvas[-1], run_word(model, "a").canvas[-1])


def test_generation_from_the_empty_input():
    """N = 0: only the slots are read, at positions from 0 on."""
    logits = [[0, 0, 0, 4, 0], [0, 0, 0, 0, 4]]
    model = by_hand.model("topk", {"model": by_hand.positional(logits)}, length=0, padding=2)
    assert canvases(model, "") == ["01"]


def test_begin_moves_the_slots_one_row_down():
    logits = [[0] * 6, [0, 0, 0, 4, 0, 0], [0, 0, 0, 0, 4, 0]]
    vocabulary = (*by_hand.VOCABULARY, "^")
    model = by_hand.model(
        "topk", {"model": by_hand.positional(logits)}, length=0, padding=2, vocabulary=vocabulary, begin="^"
    )
    assert canvases(model, "") == ["01"]
