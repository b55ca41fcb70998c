"""A training stays below what was foreseen: the resident memory of a process of its own, where the batch is the most of
it, and where the words are that are looked at."""

import json
import subprocess
import sys

import pytest

from command_line import ENVIRONMENT
from unmask.lab.memory_estimates import MOST_BYTES, MOST_WORDS, evaluated_at_once, pass_memory
from unmask.lab.settings import Shape

from .small import small

MEASURED = """
import json, re, sys
from pathlib import Path
from unmask.limits import resident
from unmask.lab.settings import run_config_of
from unmask.lab.memory_estimates import training_memory
from unmask.lab.training import train

first, config = (run_config_of(json.loads(text)) for text in sys.argv[1:])
train(first, device="cpu")  # what is loaded with the first batch is not counted
before = resident()
train(config, device="cpu")
most = int(re.search(r"VmHWM:\\s*([0-9]+) kB", Path("/proc/self/status").read_text())[1]) * 1024
print(most - before, training_memory(config, config.task))
"""
FIRST = {"problem": "group:Z2", "length": 4, "shape": {"width": 16, "hidden": 32}, "steps": 2, "evaluate_every": 2}
CASES = {
    "small": {**FIRST, "shape": {}},
    "looks": {**FIRST, "problem": "group:S3", "length": 32, "batch": 1, "shape": {}},
    "batch": {**FIRST, "batch": 4096, "framework": "looped", "shape": {"aux": True, "beta": 1.0}},
    "weights": {**FIRST, "batch": 2, "shape": {"width": 512, "hidden": 1024, "layers": 4}},
}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="resident memory is read from /proc")
@pytest.mark.parametrize(
    "config",
    [pytest.param(case, id=name, marks=[pytest.mark.long] * (name == "small")) for name, case in CASES.items()],
)
def test_training_takes_no_more_than_was_foreseen(config):
    command = [sys.executable, "-c", MEASURED, json.dumps(FIRST), json.dumps(config)]
    environment = {**ENVIRONMENT, "OMP_NUM_THREADS": "1"}
    completed = subprocess.run(command, env=environment, capture_output=True, check=True, timeout=300, text=True)
    taken, foreseen = map(int, completed.stdout.split())
    assert 0 <= taken < foreseen


@pytest.mark.parametrize(("rows", "full"), [(7, True), (63, True), (255, False), (1024, False), (100_000, False)])
def test_as_many_words_are_looked_at_as_fit(rows, full):
    count = evaluated_at_once(Shape(), 9, rows)
    assert 1 <= count <= MOST_WORDS
    assert (count == MOST_WORDS) == full
    assert count == 1 or count * pass_memory(Shape(), 9, rows) <= MOST_BYTES


def test_how_many_words_at_once_changes_no_answer(monkeypatch):
    from unmask.lab import memory_estimates
    from unmask.lab.task_sources import Stream
    from unmask.lab.trained_model import accuracy
    from unmask.lab.training import train

    trained = train(small(steps=2, evaluate_every=2), device="cpu").trained
    asked = {"seed": 0, "stream": Stream.judging}
    together = accuracy(trained, 100, **asked)
    monkeypatch.setattr(
        memory_estimates, "MOST_BYTES", 7 * pass_memory(trained.config.shape, len(trained.vocabulary), 7)
    )
    assert accuracy(trained, 100, **asked) == together
