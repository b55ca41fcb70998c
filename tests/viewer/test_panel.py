"""The values in a page are those of the reference engine, for every kind."""

import numpy as np
import pytest

from unmask.api import compile_problem, run_word
from unmask.engines.reference import ReferenceEngine
from unmask.viewer.model_view import panel_of
from unmask.viewer.panel import Panel, packed_array
from unmask.weights.kinds import KINDS

from .unpacking import unpacked

# Arrays are encoded and decoded without loss.


@pytest.mark.parametrize(
    ("array", "kind"),
    [
        (np.array([[1, -127, 127], [-127, 127, 0]]), "int8"),  # differences that wrap around
        (np.array([128, -32767, 32767]), "int16"),
        (np.array([[[2**31 - 1]], [[-(2**31) + 1]]]), "int32"),
        (np.zeros((0, 5), dtype=np.int64), "int8"),
        (np.random.default_rng(1).integers(-15, 16, (7, 11, 13)), "int8"),
    ],
)
def test_arrays_come_back(array, kind):
    document = packed_array(array)
    assert document["type"] == kind
    assert document["shape"] == list(array.shape)
    assert np.array_equal(unpacked(document), array)


def test_steps_that_change_little_take_little():
    steps = np.repeat(np.random.default_rng(2).integers(-15, 16, (1, 100, 100)), 50, axis=0)
    assert len(packed_array(steps)["data"]) < 1.5 * len(packed_array(steps[:1])["data"])


CASES = [
    *((f"random:{seed}", kind, 3) for seed in (1, 2) for kind in KINDS),
    *(("(a|b)*abb", kind, 8) for kind in KINDS),
    ("family:parity", "mdm", 4),
    ("family:parity", "plt", 4),
]
RUNS = [pytest.param(*case, id=f"{case[0]}-{case[1]}") for case in CASES]


def run_of(problem, kind, length):
    model = compile_problem(problem, kind, length=length)
    word = [model.input_symbols[i % len(model.input_symbols)] for i in range(length)]
    trace = run_word(model, word, engine=ReferenceEngine(), record=True)
    return model, word, trace


def moment_name(trace, moment, transformer):
    if trace.kind == "plt":
        name = {0: "initial", trace.steps_taken + 1: "final"}.get(moment, f"steps.{moment - 1}")
    else:
        name = f"steps.{moment}"
    return f"{name}.{transformer}"


@pytest.mark.parametrize(("problem", "kind", "length"), RUNS)
def test_attention_and_registers_are_those_of_the_reference(problem, kind, length):
    model, word, trace = run_of(problem, kind, length)
    document = panel_of(model, word).to_json()
    unpacked_values = {}
    for head in document["heads"]:
        counts, keys, weights = (unpacked(head[name]) for name in ("counts", "keys", "weights"))
        start = 0
        for i, rows in enumerate(counts):
            prefix = moment_name(trace, head["first"] + i, head["transformer"])
            name = f"{prefix}.layers.{head['layer']}.heads.{head['head']}.weights"
            unpacked_values[name] = np.zeros_like(trace.activations[name])
            for row, count in enumerate(rows.tolist()):
                if row >= len(unpacked_values[name]):
                    assert count == 0
                    break
                unpacked_values[name][row, keys[start : start + count]] = weights[start : start + count]
                start += count
        assert start == len(keys) == len(weights)
    for transformer in document["transformers"]:
        for stage in transformer["stages"]:
            for i, rows in enumerate(unpacked(stage["values"])):
                prefix = moment_name(trace, stage["first"] + i, transformer["name"])
                name = f"{prefix}.embed" if stage["stage"] == 0 else f"{prefix}.layers.{stage['stage'] - 1}.residual"
                unpacked_values[name] = rows[: len(trace.activations[name])]
    assert unpacked_values.keys() == trace.activations.keys()
    for name, value in trace.activations.items():
        assert np.array_equal(unpacked_values[name], value), name


@pytest.mark.parametrize(("problem", "kind", "length"), RUNS)
def test_decisions_are_those_that_were_taken(problem, kind, length):
    """The likeliest symbol that the page shows is the one that was written; take has the larger logit where "
    "a slot was taken."""
    model, word, trace = run_of(problem, kind, length)
    panel = panel_of(model, word)
    history, transformers = panel.history, {t["name"]: t for t in panel.to_json()["transformers"]}
    writer = transformers.get("predictor") or transformers["model"]
    symbols = unpacked(writer["decided"]["symbols"])
    checked = 0
    for line, column in np.argwhere(history.change != 0):
        if kind == "plt" and line < history.lines - 1:
            continue
        moment, row = history.moment(line), history.deciding_row(line, column)
        assert symbols[moment - writer["decided"]["first"], row, 0] == history.tokens[line, column]
        checked += 1
    assert checked or problem.startswith("random:")  # random planners may choose nothing
    if "planner" in transformers:
        keep, take = np.moveaxis(unpacked(transformers["planner"]["decided"]["values"]), 2, 0)
        chosen = np.stack([np.pad(c, (history.first_slot, 0)) for c in trace.chosen])
        assert np.array_equal(take > keep, chosen)


@pytest.mark.parametrize("kind", KINDS)
def test_a_recorded_trace_shows_the_same_without_its_model(kind):
    model, word, trace = run_of("(a|b)*abb", kind, 8)
    ours, alone = panel_of(model, word), Panel.of_trace(trace)
    assert np.array_equal(ours.history.tokens, alone.history.tokens)
    assert np.array_equal(ours.history.change, alone.history.change)
    assert ours.edges == alone.edges
    assert any("Logits" in note for note in alone.left_out)
