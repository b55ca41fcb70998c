"""The compiled kernel writes the same chains as reading row after row, for any weights."""

from dataclasses import replace

import numpy as np
import pytest

from engines.agreement import outcome
from engines.planted import SYMBOLS, Planter
from engines.test_fast_shortcuts import FLAG, ONE, RESULT, Lookup
from unmask.api import compile_problem, convert_model, run_word
from unmask.engines import chain_kernel
from unmask.engines.fast import LONG_CHAIN, FastEngine
from unmask.engines.reference import ReferenceEngine
from unmask.engines.visible_keys import ValueRange
from unmask.reasoners.array_medium import RunSetup
from unmask.reasoners.run_words import run, steps
from unmask.testing import random_model
from unmask.testing.random_model import all_words
from unmask.weights.matrices import Matrix

pytestmark = pytest.mark.skipif(chain_kernel.kernel() is None, reason="there is no C compiler")


def read_out(transformer, words, count, engine):
    """The same chain, row after row."""
    session, tokens = engine.session(transformer), words
    for _ in range(count):
        logits = session.read(tokens, (tokens.shape[1] - 1, tokens.shape[1]))
        tokens = np.concatenate([tokens, logits.argmax(axis=-1)], axis=1)
    return tokens[:, words.shape[1] :]


def planted(seed, p, rows):
    """(a causal transformer with planted structure, two words that leave room for a chain, its length)."""
    planter = Planter(seed, p)
    transformer = planter.transformer(attention="causal", rows=rows)
    inputs = int(planter.rng.integers(1, rows))
    return transformer, planter.rng.integers(0, SYMBOLS, (2, inputs)), rows - inputs


def agrees(transformer, words, count, engine):
    expected, error = outcome(lambda: read_out(transformer, words, count, engine))
    actual = chain_kernel.run_chain(transformer, words, count)
    assert (actual is None) == (error is not None)
    return actual is None or np.array_equal(actual, expected)


@pytest.fixture
def eager(monkeypatch):
    """Codes are learned after a few rows."""
    monkeypatch.setattr(chain_kernel, "FIRST_BUDGET", 8)


@pytest.mark.parametrize("p", [1, 2, 3, 5, 8])
@pytest.mark.usefixtures("eager")
def test_planted_structure(p):
    for seed in range(6):
        assert agrees(*planted(seed, p, 12 + seed), ReferenceEngine())


@pytest.mark.usefixtures("eager")
def test_longer_planted_chains_learn_codes(monkeypatch):
    learned = []
    learn = chain_kernel._HeadLearner.learn
    monkeypatch.setattr(chain_kernel._HeadLearner, "learn", lambda *a: learned.append(learn(*a)) or learned[-1])
    for seed in range(12):
        assert agrees(*planted(seed, 2, 90), FastEngine())
    assert {code is None for code in learned} == {True, False}


def flagged(rows):
    """Rows that look up their own code; a key with a flag, which only late rows have, is seen by every query."""
    lookup = Lookup([r % 8 for r in range(rows)], [r % 8 for r in range(rows)], [0, 5, -7], attention="causal")
    lookup.positions[[rows // 2, rows - 3], FLAG] = lookup.one
    whole = lookup.match().column({ONE: lookup.precision.bound}, {FLAG: lookup.one}).transformer()
    out = np.zeros((3, whole.width), dtype=np.int64)
    out[1:, RESULT] = [lookup.one, -lookup.one]
    return replace(whole, out=Matrix.of(out))


@pytest.mark.usefixtures("eager")
def test_a_late_key_outside_of_the_ranges_is_looked_at(monkeypatch):
    """The test notices a kernel that does not check the ranges."""
    model = flagged(40), np.random.default_rng(1).integers(0, 3, (4, 12)), 28
    assert agrees(*model, ReferenceEngine())
    learn = chain_kernel._HeadLearner.learn

    def careless(self, Q, K):
        learned = learn(self, Q, K)
        if learned is None:
            return None
        code, columns, ranges = learned
        return code, columns, tuple(ValueRange(r.low - 100, r.high + 100) for r in ranges)

    monkeypatch.setattr(chain_kernel._HeadLearner, "learn", careless)
    assert not agrees(*model, ReferenceEngine())


@pytest.mark.usefixtures("eager")
def test_random_models():
    for seed in range(10):
        model = random_model(seed, "cot", 2 + seed % 3, precision=1 + seed % 4, steps=8)
        words = RunSetup(model, all_words(model), FastEngine()).before(np.zeros((len(all_words(model)), 0), dtype=int))
        assert agrees(model.transformers["model"], words, model.steps, ReferenceEngine())


@pytest.mark.parametrize(("problem", "length"), [("(a|b)*abb", 300), ("group:S3", 260), ("family:parity", 256)])
def test_long_chains_of_compiled_models(problem, length, monkeypatch):
    model = compile_problem(problem, "cot", length=length)
    word = np.random.default_rng(0).choice([model.token[s] for s in model.input_symbols], length).tolist()
    assert model.steps >= LONG_CHAIN
    fast = run(model, word, engine=FastEngine())
    monkeypatch.setattr(FastEngine.session(FastEngine(), model.transformers["model"]).__class__, "continued", _none)
    slow = run(model, word, engine=FastEngine())
    assert fast.accepted == slow.accepted
    for ours, theirs in ((fast.canvas, slow.canvas), (fast.chosen, slow.chosen)):
        assert all(np.array_equal(x, y) for x, y in zip(ours, theirs, strict=True))


def _none(*_):
    return None


@pytest.mark.usefixtures("eager")
def test_a_converted_chain():
    (_, conversion), *_ = convert_model(compile_problem("(ab)*", "pcot", length=4), "cot")
    model = conversion.model
    words = RunSetup(model, all_words(model), FastEngine()).before(np.zeros((len(all_words(model)), 0), dtype=int))
    assert agrees(model.transformers["model"], words[:6], model.steps, FastEngine())


def test_a_row_that_attends_to_nothing_is_the_same_error(monkeypatch):
    monkeypatch.setattr("unmask.engines.fast.LONG_CHAIN", 1)
    failed = 0
    for seed in range(30):
        transformer, words, count = planted(seed, 2, 10)
        if outcome(lambda t=transformer, w=words, c=count: read_out(t, w, c, ReferenceEngine()))[1] is None:
            continue
        failed += 1
        assert chain_kernel.run_chain(transformer, words, count) is None
    assert failed


def test_without_a_compiler_numpy_does_the_work(monkeypatch):
    monkeypatch.setattr(chain_kernel, "kernel", lambda: None)
    assert run_word(compile_problem("(ab)*", "cot", length=300), "ab" * 150, canvas=False).accepted


def test_a_folder_that_others_may_write_to_is_not_trusted(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    private = chain_kernel._private_folder()
    assert private == tmp_path / "unmask"
    private.chmod(0o777)
    assert chain_kernel._private_folder() != private


def test_no_compiler_no_kernel(monkeypatch):
    monkeypatch.setenv("UNMASK_COMPILER", "")
    assert chain_kernel.kernel.__wrapped__() is None


def test_the_steps_of_a_chain_end_where_each_symbol_was_written():
    model = compile_problem("(ab)*", "cot", length=256)
    word = np.array([[model.token["a"]] * 256])
    for t, step in enumerate(steps(RunSetup(model, word, FastEngine()))):
        assert step.canvas.shape == step.chosen.shape == (1, t + 1)
        assert np.flatnonzero(step.chosen[0]).tolist() == [t]


@pytest.mark.long
@pytest.mark.usefixtures("eager")
def test_a_thousand_chains():
    for seed in range(700):
        assert agrees(*planted(1000 + seed, 1 + seed % 8, 8 + seed % 40), FastEngine()), seed
    for seed in range(300):
        model = random_model(seed, "cot", 1 + seed % 4, precision=1 + seed % 4, steps=12)
        words = RunSetup(model, all_words(model), FastEngine()).before(np.zeros((len(all_words(model)), 0), dtype=int))
        assert agrees(model.transformers["model"], words, model.steps, FastEngine()), seed
