"""Every way to compute the last slots of a model on all its words gives the integers of the reference engine.

The paths: the fast engine, classes for every head, chains in the compiled kernel and without a compiler, tables, torch.
"""

from collections import Counter
from importlib.util import find_spec

import numpy as np
import pytest

from unmask.engines import chain_kernel, class_attention, fast, head_attention
from unmask.engines.class_attention import ClassAttention
from unmask.engines.fast import FastEngine
from unmask.engines.reference import ReferenceEngine
from unmask.export.torch_engine import TorchEngine
from unmask.numerics.compact import Compact
from unmask.testing import random_model
from unmask.testing.random_model import all_words
from unmask.verification.answer_tables import answer_many_words
from unmask.weights.kinds import KINDS


def eager_classes(patch):
    for name in ("CLASSED_FROM", "CLASSED_KEYS", "LONG"):
        patch.setattr(head_attention, name, 0)
    patch.setattr(class_attention, "FEW", 0)


def eager_chains(patch):
    patch.setattr(fast, "LONG_CHAIN", 0)
    patch.setattr(chain_kernel, "FIRST_BUDGET", 8)


def no_compiler(patch):
    eager_chains(patch)
    patch.setattr(chain_kernel, "kernel", lambda: None)


PATHS = {
    "fast": (FastEngine, False, lambda _: None),
    "classes": (FastEngine, False, eager_classes),
    "kernel": (FastEngine, False, eager_chains),
    "no compiler": (FastEngine, False, no_compiler),
    "tables": (FastEngine, True, lambda _: None),
    "torch": (TorchEngine, False, lambda _: None),
}
HERE = [
    name
    for name in PATHS
    if not (name == "torch" and find_spec("torch") is None) and not (name == "kernel" and chain_kernel.kernel() is None)
]


def outcome(model, words, engine, *, by_tables):
    """Return the slots of every word, and the errors of words whose run fails."""
    answered = answer_many_words(model, words, engine=engine, tables=by_tables)
    assert answered.by == ("tables" if by_tables else "engine")
    return answered.answers.slots.tolist(), {i: str(error) for i, error in answered.failed.items()}


def disagreeing(model, monkeypatch):
    """Return the paths whose results differ from those of the reference engine."""
    words = all_words(model)
    expected = outcome(model, words, ReferenceEngine(), by_tables=False)
    wrong = []
    for name in HERE:
        engine, by_tables, prepare = PATHS[name]
        with monkeypatch.context() as patch:
            prepare(patch)
            if outcome(model, words, engine(), by_tables=by_tables) != expected:
                wrong.append(name)
    return wrong


def check_some(seeds, kind, monkeypatch):
    for seed in seeds:
        model = random_model(seed, kind, seed % 5, precision=1 + seed % 4, stochastic=False)
        assert disagreeing(model, monkeypatch) == [], seed


@pytest.mark.parametrize("kind", KINDS)
def test_random_models(kind, monkeypatch):
    check_some(range(3), kind, monkeypatch)


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("share", range(10))
def test_a_thousand_random_models(kind, share, monkeypatch):
    check_some(range(3000 + 17 * share, 3017 + 17 * share), kind, monkeypatch)


def test_every_path_is_taken(monkeypatch):
    """Classes and the kernel run where they are selected, and nowhere else."""
    paths = Counter()

    def counting(owner, name):
        work = getattr(owner, name)

        def counted(*arguments, **options):
            result = work(*arguments, **options)
            paths[name] += result is not None
            return result

        monkeypatch.setattr(owner, name, counted)

    counting(ClassAttention, "attend")
    counting(fast, "run_chain")
    for name in HERE:
        engine, by_tables, prepare = PATHS[name]
        paths.clear()
        for kind in ("mdm", "cot"):
            model = random_model(1, kind, 3)
            with monkeypatch.context() as patch:
                prepare(patch)
                outcome(model, all_words(model), engine(), by_tables=by_tables)
        assert (paths["attend"] > 0, paths["run_chain"] > 0) == (name == "classes", name == "kernel"), name


def test_another_rounding_is_noticed(monkeypatch):
    """If the engines round products down, the comparison fails."""
    monkeypatch.setattr(
        Compact, "multiply", lambda self, x, y: self.clip(np.multiply(x, y, dtype=self.wide) >> self.precision.p)
    )
    wrong = set().union(*(disagreeing(random_model(seed, "mdm", 2), monkeypatch) for seed in range(6)))
    assert {"fast", "classes", "tables"} <= wrong
