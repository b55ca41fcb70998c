"""Every program of benchmarks/ can be imported, and the history reports a loss of speed."""

import importlib
import json
import sys
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture
def benchmark_path(monkeypatch):
    """Let the benchmarks import each other."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if (BENCHMARKS / f"{name}.py").is_file():
            del sys.modules[name]


@pytest.mark.usefixtures("benchmark_path")
@pytest.mark.parametrize("name", ["bench", "proofs", "depth", "history", "rivals", "pages", "multiplier"])
def test_what_a_benchmark_imports_is_there(name):
    assert importlib.import_module(name).__doc__


@pytest.mark.usefixtures("benchmark_path")
def test_a_ratio_that_grows_is_a_loss(tmp_path):
    history = importlib.import_module("history")
    for ratio in (1.0, 1.2, 0.9):
        history.append(tmp_path / "history.jsonl", {"ours over theirs": ratio})
    assert list(history.losses(tmp_path / "history.jsonl", {"ours over theirs": 1.4})) == []
    (loss,) = history.losses(tmp_path / "history.jsonl", {"ours over theirs": 1.6})
    assert loss == "LOSS: ours over theirs is 1.6, and was 1"
    assert len(list(map(json.loads, (tmp_path / "history.jsonl").read_text().splitlines()))) == 3


@pytest.mark.usefixtures("benchmark_path")
def test_the_multiplier_multiplies():
    circuit = importlib.import_module("multiplier").nor_multiplier(3)
    pairs = [(a, b) for a in range(8) for b in range(8)]
    inputs = np.array([[number >> i & 1 for number in pair for i in range(3)] for pair in pairs], dtype=bool)
    assert (circuit.evaluate(inputs) @ (1 << np.arange(6))).tolist() == [a * b for a, b in pairs]


@pytest.mark.usefixtures("benchmark_path")
def test_an_unknown_part_is_an_error():
    with pytest.raises(SystemExit, match="there is no part nonsense; parts are a5, regex"):
        importlib.import_module("bench").main(["nonsense"])
