"""The playground shows samplers beside planners."""

from unmask.playground import answers as module
from unmask.playground.worker import answer_question

QUESTION = {"problem": "(a|b)*abb", "word": "aababbabbabababb", "kind": "mdm"}


def test_samplers_stand_beside_planners():
    rows = {row["sampler"]: row for row in answer_question("planners", {**QUESTION, "k": 3})["answer"]["samplers"]}
    assert list(rows)[:3] == ["llada low_confidence", "llada random", "dllm halving"]
    assert len(rows) == len(module.SAMPLERS)
    for name in ("dllm halving", "fast-dllm threshold 0.9"):
        assert rows[name]["passes"] == 4
        assert rows[name]["word"]["right"] == 1
        assert rows[name]["words"]["right"] == rows[name]["words"]["runs"] > 4
    quota = rows["llada low_confidence"]
    assert quota["passes"] == 5
    assert quota["words"]["right"] < quota["words"]["runs"]


def test_one_slot_per_pass_is_right():
    rows = {row["sampler"]: row for row in answer_question("planners", QUESTION)["answer"]["samplers"]}
    assert rows["llada low_confidence"]["passes"] == 15
    assert rows["llada low_confidence"]["words"]["right"] == rows["llada low_confidence"]["words"]["runs"]


def test_a_sampler_that_takes_too_long_is_left_out(monkeypatch):
    monkeypatch.setattr(module, "SECONDS_PER_SAMPLER", -1)
    assert answer_question("planners", QUESTION)["answer"]["samplers"] == []
