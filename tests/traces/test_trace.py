import json
from dataclasses import replace

import numpy as np
import pytest

import by_hand
from unmask.api import compile_problem, run_word
from unmask.engines.fast import FastEngine
from unmask.reasoners.run_words import answers
from unmask.testing import random_model
from unmask.traces.trace import Trace, TraceError
from unmask.traces.trace_differences import first_difference
from unmask.weights.kinds import KINDS
from unmask.weights.transformer import Registers


def through_json(trace):
    return Trace.from_json(json.loads(json.dumps(trace.to_json())))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("options", [{}, {"record": True}, {"canvas": False}, {"sample": True, "seed": 4}])
def test_json_round_trip(kind, options):
    trace = run_word(random_model(5, kind, 2), "ab", **options)
    again = through_json(trace)
    assert again.to_json() == trace.to_json()
    assert first_difference(trace, again) is None
    assert (again.output, again.accepted, again.canvas_symbols) == (trace.output, trace.accepted, trace.canvas_symbols)
    assert list(again.activations) == list(trace.activations)
    assert bool(again.activations) == bool(options.get("record"))


def test_registers_are_kept():
    transformer = by_hand.successor({0: 4}, 2, attention="causal", registers=Registers.of({"t": list("abcde")}))
    trace = run_word(by_hand.model("cot", {"model": transformer}), "a", record=True)
    assert through_json(trace).register_name("model", 3) == "t:d"
    assert trace.register_name("planner", 3) == "column 3"


@pytest.fixture(scope="module")
def good():
    return run_word(random_model(5, "mdm", 2), "ab", record=True).to_json()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("format", "unmask-trace/2"),
        ("format", None),
        ("kind", "rnn"),
        ("kind", 3),
        ("length", "2"),
        ("padding", None),
        ("steps_taken", "3"),
        ("steps_taken", 0),
        ("accept", 1),
        ("mask", 7),
        ("mask", "a symbol of another model"),
        ("vocabulary", 3),
        ("vocabulary", [1, 2, 3]),
        ("vocabulary", []),
        ("word", ["a", "b"]),
        ("word", [99, 0]),
        ("word", [-1, 0]),
        ("word", None),
        ("canvas", []),
        ("canvas", None),
        ("canvas", [[99]]),
        ("canvas", [[0.5]]),
        ("canvas", [[True]]),
        ("canvas", [[10**30]]),
        ("canvas", [[[0]]]),
        ("chosen", [[0]]),
        ("chosen", [[99], [], []]),
        ("chosen", "no"),
        ("activations", []),
        ("activations", {"steps.0.planner.embed": [1, 2]}),
        ("activations", {"steps.0.planner.embed": [[1], [2, 3]]}),
        ("activations", {"steps.0.planner.embed": [["x"]]}),
        ("registers", []),
        ("registers", {"planner": [1, 2]}),
        ("registers", {"planner": 3}),
    ],
    ids=str,
)
def test_damaged_traces_are_refused(good, key, value):
    assert Trace.from_json(good).kind == "mdm"
    with pytest.raises(TraceError, match=r"damaged|a trace is a JSON object"):
        Trace.from_json(good | {key: value})


@pytest.mark.parametrize("data", [None, [], "trace", 3, {}])
def test_what_is_not_a_trace_is_refused(data):
    with pytest.raises(TraceError, match="a trace is a JSON object"):
        Trace.from_json(data)


@pytest.mark.parametrize("key", ["kind", "canvas", "word", "activations", "steps_taken"])
def test_missing_keys_are_refused(good, key):
    with pytest.raises(TraceError, match=f"damaged.*{key}"):
        Trace.from_json({k: v for k, v in good.items() if k != key})


def test_numbers_are_python_integers(good):
    assert all(type(token) is int for canvas in good["canvas"] for token in canvas)
    assert json.loads(json.dumps(good)) == good
    assert np.array(good["activations"]["steps.0.planner.embed"]).dtype == np.int64


# A last symbol that is an alias of accept or reject decides, in a trace and in a batch.


def test_an_alias_of_accept_accepts():
    model = compile_problem("a", "mdm", length=1)
    token = model.token["a"]
    assert run_word(model, "a").accepted is True
    swapped = replace(model, accept="ε", aliases={"1": "ε"})
    trace = run_word(swapped, "a")
    assert trace.output[-1] == "1"
    assert trace.accepted is True
    assert Trace.from_json(trace.to_json()).accepted is True
    assert answers(swapped, np.array([[token]]), engine=FastEngine()).accepted.tolist() == [1]
    assert run_word(replace(swapped, aliases={}), "a").accepted is None
