"""The resident memory of a run, measured in a separate process, stays below the estimate, for many kinds and shapes."""

import subprocess
import sys

import pytest

from command_line import ENVIRONMENT
from unmask.api import compile_problem
from unmask.engines.engine import Footprint
from unmask.engines.fast import FastEngine
from unmask.engines.reference import ReferenceEngine
from unmask.testing import random_model

MEASURED = """
import re, sys
from pathlib import Path
import numpy as np
from unmask.limits import resident
from unmask.api import ENGINES, compile_problem, convert_model
from unmask.reasoners.run_words import canvas_cost, run_cost
from unmask.reasoners.run_words import run_batch
from unmask.testing import random_model

problem, kind, length, precision, batch, engine, canvas = sys.argv[1:]
length, precision, batch = int(length), int(precision), int(batch)
if problem == "random":
    model = random_model(7, kind, length, precision=precision)
else:
    model = compile_problem(problem, kind.split(" to ")[0], length=length, precision=precision)
for to in kind.split(" to ")[1:]:
    for _, made in convert_model(model, to):
        model = made.model
engine = ENGINES[engine]()
letters = np.array([model.token[s] for s in model.input_symbols])
words = letters[np.random.default_rng(0).integers(0, letters.size, (batch, length))]
foreseen = run_cost(model, engine, batch) + (batch * canvas_cost(model) if canvas == "True" else 0)
before = resident()
traces = run_batch(model, words, engine=engine, canvas=canvas == "True")
# not the maximum of getrusage, which a child inherits from its parent
most = int(re.search(r"VmHWM:\\s*([0-9]+) kB", Path("/proc/self/status").read_text())[1]) * 1024
print(most - before, foreseen)
"""

CASES = [
    ("(a|b)*abb", "mdm", 8192, 2, 1, "fast", True),
    ("(a|b)*abb", "plt", 8192, 2, 1, "fast", False),
    ("(a|b)*abb", "cot", 1000, 3, 20, "fast", True),
    ("(a|b)*abb", "pcot", 1024, 2, 2, "fast", True),
    ("(a|b)*abb", "pcot to mdm", 128, 2, 2, "fast", True),
    ("(a|b)*abb", "mdm to pcot", 128, 3, 1, "fast", True),
    ("group:A5", "mdm", 32, 8, 400, "fast", False),
    ("family:sorting", "smdm", 8, 4, 60, "fast", True),
    ("random", "topk", 8, 5, 4000, "fast", True),
    ("random", "plt", 8, 8, 4000, "fast", False),
    ("(a|b)*abb", "mdm", 100, 2, 4, "reference", True),
]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="resident memory is read from /proc")
@pytest.mark.parametrize("case", CASES, ids=lambda case: " ".join(map(str, case)))
def test_a_run_takes_no_more_than_was_foreseen(case):
    command = [sys.executable, "-c", MEASURED, *map(str, case)]
    process = subprocess.run(command, env=ENVIRONMENT, capture_output=True, check=True, timeout=300, text=True)
    used, foreseen = map(int, process.stdout.split())
    assert 0 < used < foreseen


@pytest.mark.parametrize("engine", [FastEngine(), ReferenceEngine()], ids=lambda engine: engine.name)
def test_more_words_and_a_watch_take_more(engine):
    transformer = random_model(3, "cot", 4).transformers["model"]
    one, two = (engine.footprint(transformer, batch) for batch in (1, 2))
    watched = engine.footprint(transformer, 1, watched=True)
    assert Footprint.combined([one]) < Footprint.combined([two])
    assert Footprint.combined([one]) < Footprint.combined([watched])


def test_sessions_that_take_turns_share_temporary_memory():
    parts = [Footprint(10, 100), Footprint(20, 300)]
    assert Footprint.combined(parts) - Footprint.combined([]) == 330


@pytest.mark.parametrize(("length", "most"), [(1 << 12, 2000), (1 << 16, 1500)])
def test_a_long_word_is_not_refused(length, most):
    """The bound must not forbid what fits: what is kept of a row is about a kilobyte, more where keys have classes."""
    model = compile_problem("(a|b)*abb", "mdm", length=length)
    per_row = [FastEngine().footprint(t, 1).retained // model.rows for t in model.transformers.values()]
    assert sum(per_row) < most
