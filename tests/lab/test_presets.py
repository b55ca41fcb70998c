"""What is measured of a cell, and what is not."""

import pytest

from lab.small import small
from unmask.lab import trained_model as judging
from unmask.lab import training
from unmask.lab.presets import SweepCell, run_cell
from unmask.lab.settings import Shape
from unmask.lab.task_sources import Stream
from unmask.lab.training import train

from .test_trained_sampling import NAMES

RUN = {"right", "words", "chance", "steps", "cpu_seconds", "ended", "processes", "made_by", "parameters", "curve"}


def config(framework="tree", **more):
    return small(framework, **{"steps": 4, "evaluate_every": 2, **more})


@pytest.fixture
def judged(monkeypatch):
    """(length, words, stream) of every accuracy that is asked for beside the run's own, and what it was."""
    recorded, accuracy = [], judging.accuracy

    def spy(trained, count, *, stream, **more):
        result = accuracy(trained, count, stream=stream, **more)
        recorded.append(((trained.length, count, stream), result.right))
        return result

    monkeypatch.setattr(judging, "accuracy", spy)
    return recorded


@pytest.fixture
def at_once(monkeypatch):
    """Every run has converged at its first evaluation."""
    monkeypatch.setattr(training.Trainer, "evaluate", lambda *_: 1.0)
    monkeypatch.setattr(training, "JUDGED", 10)


def test_no_measure(judged):
    result = run_cell(SweepCell("budgets", config(), ()))
    run = train(config())
    assert result.keys() == RUN
    assert (result["right"], result["steps"], result["ended"]) == (run.right, 4, "steps")
    assert result["curve"] == [[moment.step, moment.right] for moment in run.progress.history]
    assert judged == []


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("framework", ["tree", "scan", "cot"])
def test_longer_words_are_twice_and_four_times_as_long(framework, judged):
    result = run_cell(SweepCell("main", config(framework, converged=0.995), ("longer",)))
    assert (result["ended"], result["steps"]) == ("converged", 2)
    assert result.keys() == RUN | {"longer"}
    assert [arguments for arguments, _ in judged] == [(8, 100, Stream.judging), (16, 100, Stream.judging)]
    assert result["longer"] == {"8": judged[0][1], "16": judged[1][1]}


@pytest.mark.usefixtures("at_once")
def test_what_has_not_converged_is_not_asked_about_longer_words(judged):
    """However right it is in the end."""
    assert run_cell(SweepCell("main", config(converged=None), ("longer",))).keys() == RUN
    assert judged == []


@pytest.mark.usefixtures("at_once")
def test_words_that_are_too_long_for_the_code_are_left_out(judged):
    """A tree over 256 letters has 511 rows."""
    run = config(length=64, batch=2, converged=0.995)
    assert run_cell(SweepCell("main", run, ("longer",)))["longer"].keys() == {"128"}
    assert [length for (length, _, _), _ in judged] == [128]


def test_operands():
    result = run_cell(SweepCell("main", config(), ("operands",)))
    assert result.keys() >= RUN | {"operands", "waiting"}
    assert not result.keys() & {"longer", "planners", "signal"}
    mass = result["operands"]["mass"]
    assert [len(mass), len(mass[0]), len(mass[0][0])] == [1, 2, 2]  # layers, heads, operands
    assert result["operands"].keys() == {"best", "uniform", "mass"}
    assert 0 < result["operands"]["best"] < 1
    assert result["waiting"].keys() >= {"early", "on_time", "late"}


def test_operands_where_nothing_is_fetched_or_nothing_waits():
    assert run_cell(SweepCell("main", config("direct"), ("operands",))).keys() == RUN
    assert run_cell(SweepCell("main", config("scan"), ("operands",))).keys() == RUN | {"operands"}
    assert run_cell(SweepCell("main", config(objective="masking"), ("operands",))).keys() == RUN | {"operands"}


def test_planners():
    """Every one, on as many words."""
    result = run_cell(SweepCell("planners", config(objective="masking"), ("planners",)))
    assert result.keys() == RUN | {"planners"}
    assert [entry["planner"] for entry in result["planners"]] == NAMES
    assert {entry["words"] for entry in result["planners"]} == {200}
    assert all(0 <= entry["right"] <= 1 and entry["passes"] >= 1 for entry in result["planners"])


def test_a_signal_and_nothing_else(monkeypatch):
    """The run is not judged, whatever else is asked for."""
    monkeypatch.setattr("unmask.lab.training.train", None)
    run = config("cot", shape=Shape(width=16, hidden=32, heads=2, layers=1))
    result = run_cell(SweepCell("signal", run, ("operands", "signal")))
    assert result.keys() == {"signal", "made_by"}
    assert result["signal"].keys() >= {"signal", "noise", "mass"}
    assert 0 < result["signal"]["mass"] < 1
    assert result["signal"]["noise"] > 0
