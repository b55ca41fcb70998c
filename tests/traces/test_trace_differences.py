"""first_difference must find what was changed, and name its step, layer, row and register."""

from dataclasses import replace

import numpy as np
import pytest

import by_hand
from unmask.api import run_word
from unmask.errors import UnmaskError
from unmask.testing import random_model
from unmask.traces.trace import Trace, TraceError
from unmask.traces.trace_differences import first_difference
from unmask.weights.kinds import KINDS
from unmask.weights.matrices import Matrix
from unmask.weights.transformer import Registers

NAMES = Registers.of({"count": ["0", "1", "2", "3", "4"]})


def counter(*, layers=2, steps=3, changed=None, positions=None, registers=NAMES):
    """A plt whose layer i adds 1/4 to column i, every layer in the loop; `changed` is (layer, column, amount)."""
    stack = [by_hand.increment(5, i) for i in range(layers)]
    if changed is not None:
        layer, column, amount = changed
        b2 = np.array(stack[layer].mlp.b2)
        b2[column] += amount
        stack[layer] = replace(stack[layer], mlp=replace(stack[layer].mlp, b2=b2))
    transformer = by_hand.transformer(
        [[0] * 5] * 5,
        [[0] * 5] * 2 if positions is None else positions,
        by_hand.one_hot(5),
        layers=stack,
        loop=(0, layers),
        registers=registers,
    )
    return by_hand.model("plt", {"model": transformer}, vocabulary=("a", "b", "□", "0", "1"), pad="□", steps=steps)


def recorded(model, word="a", **options):
    return run_word(model, word, record=True, **options)


@pytest.mark.parametrize("kind", KINDS)
def test_equal_runs_do_not_differ(kind):
    model = random_model(3, kind, 2)
    for options in ({}, {"canvas": False}, {"sample": True, "seed": 2}):
        assert first_difference(recorded(model, "ab", **options), recorded(model, "ab", **options)) is None
        assert first_difference(run_word(model, "ab", **options), recorded(model, "ab", **options)) is None


@pytest.mark.parametrize(("layer", "column"), [(0, 0), (1, 1), (1, 4), (0, 3)])
def test_a_changed_weight_is_named(layer, column):
    difference = first_difference(recorded(counter()), recorded(counter(changed=(layer, column, 1))))
    assert (difference.step, difference.transformer, difference.layer, difference.row) == (0, "model", layer, 0)
    assert difference.register == f"count:{column}"
    assert str(difference).startswith(f"step 0, model, layer {layer}, row 0, count:{column}: ")


def test_a_column_without_a_name_has_its_number():
    plain = [counter(registers=None), counter(registers=None, changed=(0, 2, 1))]
    assert first_difference(*map(recorded, plain)).register == "column 2"


def test_a_changed_position_is_found_in_the_embedding_of_its_row():
    positions = [[0] * 5, [0, 0, 3, 0, 0]]
    difference = first_difference(recorded(counter()), recorded(counter(positions=positions)))
    assert (difference.step, difference.layer, difference.row, difference.register) == (None, None, 1, "count:2")
    assert (difference.left, difference.right) == ("0", "3")
    assert str(difference) == "model, row 1, count:2: 0 against 3"


def test_a_difference_that_shows_late_names_its_step():
    """Saturation hides it: column 1 starts at B - 1/4 in one, at B in the other, and both are at B after a loop."""
    first = counter(positions=[[0, 14, 0, 0, 0]] * 2)
    second = counter(positions=[[0, 14, 0, 0, 0]] * 2, changed=(1, 1, 1))
    assert first_difference(recorded(first), recorded(second)) is None
    third = counter(positions=[[0, 13, 0, 0, 0]] * 2, changed=(1, 1, 1))
    difference = first_difference(recorded(counter(positions=[[0, 13, 0, 0, 0]] * 2)), recorded(third))
    assert (difference.step, difference.left, difference.right) == (0, "14", "15")


def test_more_loops_differ_where_the_other_ended():
    difference = first_difference(recorded(counter(steps=2)), recorded(counter(steps=3)))
    assert difference is None or difference.step is None or difference.step >= 2
    longer = run_word(random_model(3, "cot", 2, steps=3), "ab")
    shorter = replace(longer, canvas=longer.canvas[:2], chosen=longer.chosen[:2], steps_taken=2)
    difference = first_difference(longer, shorter)
    assert (difference.step, difference.left, difference.right) == (2, "goes on", "ended")
    assert first_difference(shorter, longer).left == "ended"


def test_a_flipped_weight_of_a_head_is_found_in_its_weights():
    model = random_model(3, "topk", 2, layers=2)
    transformer = model.transformers["model"]
    for column in range(transformer.width):
        wq = transformer.layers[1].heads[0].wq.dense()
        wq[column, 0] = 4 if wq[column, 0] <= 0 else -4
        head = replace(transformer.layers[1].heads[0], wq=Matrix.of(wq))
        layer = replace(transformer.layers[1], heads=(head, *transformer.layers[1].heads[1:]))
        changed = replace(transformer, layers=(transformer.layers[0], layer))
        try:
            other = recorded(replace(model, transformers={"model": changed}), "ab")
        except UnmaskError:
            continue
        difference = first_difference(recorded(model, "ab"), other)
        if difference is not None:
            assert (difference.step, difference.layer, difference.head) == (0, 1, 0)
            assert difference.register.startswith("key row ")
            return
    pytest.fail("no change of the queries changed the attention")


def test_another_choice_of_the_planner_comes_before_the_canvas_it_leads_to():
    model = by_hand.model(
        "mdm",
        {"planner": by_hand.chooses({2}, 4), "predictor": by_hand.successor({2: 4}, 4)},
        padding=3,
        steps=2,
    )
    difference = first_difference(run_word(model, "a"), run_word(model, "a", planner="left-to-right:2"))
    assert (difference.step, difference.row, difference.register) == (0, 2, "choice of slot")
    assert (difference.left, difference.right) == ("True", "False")
    assert str(difference) == "step 0, slot 2, choice of slot: True against False"


def test_another_symbol_on_the_canvas_is_named():
    def model(symbol):
        predictor = by_hand.successor({2: 0, 0: symbol}, 3)
        return by_hand.model("mdm", {"planner": by_hand.chooses({0, 2}, 3), "predictor": predictor}, padding=2, steps=2)

    difference = first_difference(run_word(model(3), "a"), run_word(model(4), "a"))
    assert (difference.step, difference.row, difference.register) == (1, 0, "symbol")
    assert (difference.left, difference.right) == ("'0'", "'1'")
    forgotten = first_difference(run_word(model(3), "a", canvas=False), run_word(model(4), "a", canvas=False))
    assert (forgotten.step, forgotten.left) == (1, "'0'")
    mixed = first_difference(run_word(model(3), "a"), run_word(model(4), "a", canvas=False))
    assert (mixed.step, mixed.left) == (1, "'0'")


def test_symbols_are_compared_not_token_ids():
    trace = run_word(by_hand.model("cot", {"model": by_hand.successor({0: 4}, 2, attention="causal")}), "a")
    renumbered = replace(
        trace,
        vocabulary=trace.vocabulary[::-1],
        word=tuple(4 - t for t in trace.word),
        canvas=tuple(4 - tokens for tokens in trace.canvas),
    )
    assert first_difference(trace, renumbered) is None


def test_the_answer_of_a_plt():
    trace = run_word(counter(), "a")
    other = replace(trace, canvas=(np.array([4 - trace.canvas[0][0]]),))
    assert first_difference(trace, other).register == "symbol"


def test_numbers_of_slots_and_shapes():
    left, right = (run_word(random_model(0, "mdm", 2, padding=p, steps=2), "ab") for p in (1, 3))
    assert first_difference(left, right).left == "1 slots"
    trace = recorded(counter())
    name = "initial.model.embed"
    other = replace(trace, activations=trace.activations | {name: trace.activations[name][:1]})
    assert first_difference(trace, other).right == "shape [1, 5]"


def test_runs_of_different_words_are_not_compared():
    model = random_model(0, "cot", 2)
    with pytest.raises(TraceError, match="different words"):
        first_difference(run_word(model, "ab"), run_word(model, "ba"))


def test_an_unknown_activation_is_refused():
    data = recorded(counter()).to_json()
    trace = Trace.from_json(data | {"activations": {"steps.0.model.mood": [[1]]}})
    with pytest.raises(TraceError, match="is not the name of an activation"):
        first_difference(trace, trace)
