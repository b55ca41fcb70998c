"""The fast engine gives the integers of the reference, for random models, compiled models, and planted structure."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from engines.agreement import Recorder, assert_same_run, outcome, same
from engines.planted import Planter, token_runs
from unmask.compilers.regular_compiler import RegularCompiler
from unmask.engines import fast, head_attention
from unmask.engines.engine import forward
from unmask.engines.fast import FastEngine, HeadState
from unmask.engines.head_attention import HeadAttention
from unmask.engines.reference import ReferenceEngine
from unmask.engines.visible_keys import CodeIndex, KeyCode
from unmask.numerics.arithmetic import Precision
from unmask.numerics.compact import Compact
from unmask.problems.catalogue import parse_problem
from unmask.reasoners.decoding import Tape
from unmask.reasoners.run_words import answers
from unmask.testing import random_model
from unmask.testing.random_model import all_words
from unmask.weights.kinds import KINDS

REFERENCE, FAST = ReferenceEngine(), FastEngine()


# random models of every kind


def check_random_model(seed, kind):
    """One model on all its words at once, on one word alone, and sampled."""
    p, length = 1 + seed % 4, seed % 5
    model = random_model(seed, kind, length, precision=p)
    words = all_words(model)
    assert_same_run(model, words, REFERENCE, FAST)
    assert_same_run(model, words[seed % len(words)][None], REFERENCE, FAST)
    assert_same_run(model, words, REFERENCE, FAST, Tape(seed))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("part", [0, 1, 2, *(pytest.param(part, marks=pytest.mark.long) for part in (3, 4, 5))])
def test_random_models(kind, part):
    for seed in range(6 * part, 6 * part + 6):
        check_random_model(seed, kind)


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("part", range(34))
def test_many_random_models(kind, part):
    for seed in range(1000 + 10 * part, 1010 + 10 * part):
        check_random_model(seed, kind)


@pytest.mark.parametrize("p", [5, 6, 7, 8])
@pytest.mark.parametrize("kind", ["mdm", "plt", "cot"])
def test_large_precisions(kind, p):
    for seed in range(2):
        model = random_model(seed, kind, 2, precision=p)
        assert_same_run(model, all_words(model), REFERENCE, FAST)


# compiled models


def compilers():
    for text in ("regex:(ab)*", "group:A5"):
        problem = parse_problem(text)
        yield text, RegularCompiler.of(problem.automaton, getattr(problem, "group", None))
    yield "a slot per state", RegularCompiler(parse_problem("regex:(a|b)*abb").automaton, None, {})


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("compiler", [pytest.param(c, id=name) for name, c in compilers()])
def test_compiled_models(compiler, kind):
    rng = np.random.default_rng(0)
    for length, p in ((0, 2), (1, 3), (2, 2), (5, 2), (8, 4)):
        model = compiler.compile(kind, length, Precision(p))
        letters = np.array([model.token[s] for s in model.input_symbols])
        words = letters[rng.integers(0, letters.size, (3, length))]
        assert_same_run(model, words, REFERENCE, FAST)
        assert_same_run(model, words[:1], REFERENCE, FAST, Tape(length))


def test_a_large_batch_is_answered_in_parts(monkeypatch):
    monkeypatch.setattr("unmask.reasoners.run_words.ROWS_AT_ONCE", 40)
    for kind in KINDS:
        model = random_model(3, kind, 4)
        words = all_words(model)
        together = answers(model, words, engine=FAST)
        single = [answers(model, word[None], engine=FAST).slots[0] for word in words]
        assert np.array_equal(together.slots, np.array(single))
        assert answers(model, words[:0], engine=FAST).slots.shape == (0, together.slots.shape[1])


# planted structure


def check_planted(seed, p):
    """One session of each engine through a series of calls."""
    planter = Planter(seed, p)
    transformer, rng = planter.transformer(), planter.rng
    batch = int(rng.choice([1, 1, 2, 3]))
    reference, fast = REFERENCE.session(transformer), FAST.session(transformer)
    watching = rng.random() < 0.5
    for tokens in token_runs(rng, transformer, batch, 6):
        first = int(rng.integers(0, tokens.shape[1]))
        rows = (first, int(rng.integers(first, tokens.shape[1])) + 1)
        recorder, theirs = Recorder(), Recorder()
        ours = outcome(partial(reference.read, tokens, rows, watch=recorder))
        fast_result = outcome(partial(fast.read, tokens, rows, watch=theirs if watching else None))
        assert ours[1] == fast_result[1]
        assert np.array_equal(ours[0], fast_result[0]) if ours[1] is None else fast_result[0] is None
        if watching:
            assert same(recorder, theirs)
    if rng.random() < 0.5:
        check_loop(transformer, rng, batch)


def check_loop(transformer, rng, batch):
    """The layers alone, some of them, on residuals that change a little."""
    reference, fast = REFERENCE.session(transformer), FAST.session(transformer)
    tokens = rng.integers(0, transformer.embed.shape[0], (batch, len(transformer.positions)))
    residual = reference.embed(tokens)
    assert np.array_equal(residual, fast.embed(tokens))
    first, last = np.sort(rng.integers(0, len(transformer.layers) + 1, 2))
    for step in range(5):
        a, b = (outcome(partial(session.layers, residual, first, last)) for session in (reference, fast))
        assert a[1] == b[1]
        if a[1] is not None:
            return
        assert np.array_equal(a[0], b[0])
        assert np.array_equal(reference.logits(a[0]), fast.logits(b[0]))
        residual = a[0].copy()
        if step % 2:
            residual[rng.integers(batch), rng.integers(residual.shape[1])] = 0
        if step == 3:
            first, last = 0, len(transformer.layers)


@pytest.mark.parametrize("p", [1, 2, 3, 4])
@pytest.mark.parametrize("part", [0, 1, *(pytest.param(part, marks=pytest.mark.long) for part in (2, 3))])
def test_planted_structure(p, part):
    for seed in range(40 * part, 40 * part + 40):
        check_planted(seed, p)


@pytest.mark.long
@pytest.mark.parametrize("p", [1, 2, 3, 4, 5, 7, 8])
@pytest.mark.parametrize("part", range(4))
def test_much_planted_structure(p, part):
    for seed in range(10_000 + 300 * part, 10_300 + 300 * part):
        check_planted(seed, p)


def test_planted_structure_takes_every_path(monkeypatch):
    """Joined and not, one match and groups, irregular rows, errors: all of them occur in the tests above."""
    counts = dict.fromkeys(("gather", "lists", "all", "mixed", "scan", "errors", "distinct", "guarded"), 0)

    def counting(owner, name, key, when=lambda *_: True):
        original = getattr(owner, name)

        def counted(*args, **kwargs):
            counts[key] += bool(when(*args))
            return original(*args, **kwargs)

        monkeypatch.setattr(owner, name, counted)

    counting(HeadAttention, "_gather", "gather")
    counting(HeadAttention, "_attend_by_code", "lists", lambda *a: not a[1].code.constant)
    counting(HeadAttention, "_attend_by_code", "guarded", lambda *a: a[1].code.holds is not None)
    counting(HeadAttention, "_attend_to_all", "all")
    counting(HeadAttention, "_attend_to_all", "mixed", lambda *a: a[1].code.deciding.size > 0)
    counting(Compact, "_scan", "scan")
    counting(HeadAttention, "_distinct_queries", "distinct")
    counting(fast, "AttendsToNothing", "errors")
    for seed in range(60):
        check_planted(seed, 2)
    assert all(count >= 10 for count in counts.values()), counts


# a broken engine is noticed


def no_key_is_hidden(code: KeyCode) -> KeyCode:
    """The proof accepts every bit."""
    return replace(code, deciding=np.arange(code.bits.query.size)[:20], holds=None)


def forgets_all(Q, places, *_):
    """All columns of a score are taken as forgotten."""
    return np.full(Q.shape[1], places[0].size), np.zeros(Q.shape[1], dtype=np.int64)


BREAKS = {
    "the proof accepts every bit": lambda m: m.setattr(
        fast, "prove_code", lambda *a, real=fast.prove_code: no_key_is_hidden(real(*a))
    ),
    "the proof holds for every query": lambda m: m.setattr(
        fast, "prove_code", lambda *a, real=fast.prove_code: replace(real(*a), holds=None)
    ),
    "all queries are taken for one": lambda m: m.setattr(head_attention, "score_prefix", forgets_all),
    "no row reads a changed key": lambda m: m.setattr(HeadState, "_affected_rows", lambda _, moved, *__: moved[:0]),
    "codes before a change are forgotten": lambda m: m.setattr(
        HeadState, "_rows_of_codes", forgets_old_codes(HeadState._rows_of_codes)
    ),
    "sums clip only at their end": lambda m: m.setattr(
        Compact, "_scan", lambda self, terms, kind: np.clip(terms.sum(1, dtype=kind), -self.bound, self.bound)
    ),
    "an index is never rebuilt": lambda m: (
        m.setattr(head_attention, "COMPARED_AT_ONCE", 0),
        m.setattr(
            HeadAttention, "index", property(lambda s: s.__dict__.get("i"), lambda s, v: keep(s, v)), raising=False
        ),
    ),
    "rows that were not requested count as computed": lambda m: m.setattr(
        fast.LayerState, "_multiply", only_once(fast.LayerState._multiply)
    ),
    "products are not rounded": lambda m: m.setattr(
        Compact,
        "multiply",
        lambda self, x, y: self.clip(np.multiply(x, y, dtype=self.wide) >> self.precision.p),
    ),
}


def forgets_old_codes(real):
    return lambda self, moved, _, grid: real(self, moved, self._key_code[moved], grid)


def keep(state, index):
    if index is not None and "i" not in state.__dict__:
        state.__dict__["i"] = index


def only_once(real):
    def multiply(self, x, rows, touched):
        multiplied = self.__dict__.setdefault("done", set())
        real(self, x, np.array([r for r in rows.tolist() if r not in multiplied], dtype=np.int64), touched)
        multiplied.update(rows.tolist())

    return multiply


@pytest.mark.parametrize("name", BREAKS)
def test_a_broken_engine_is_noticed(name, monkeypatch):
    BREAKS[name](monkeypatch)
    with pytest.raises(AssertionError):
        check_many()


def check_many():
    for seed in range(240):
        for p in (1, 2, 3):
            check_planted(seed, p)


def test_forward_through_the_parts_is_the_same():
    for seed in range(10):
        transformer = Planter(seed, 3).transformer()
        tokens = np.random.default_rng(seed).integers(0, 5, (2, len(transformer.positions)))
        a, b = (
            outcome(partial(forward, engine.session(transformer), transformer, tokens)) for engine in (REFERENCE, FAST)
        )
        assert a[1] == b[1]
        assert a[1] is not None or np.array_equal(a[0], b[0])


def test_an_index_answers_with_all_rows_of_a_code_in_order():
    rng = np.random.default_rng(0)
    for space in (4, 64, 1 << 40):
        for rows in (1, 5, 200):
            codes = rng.integers(0, min(space, 300), rows)
            index = CodeIndex(codes, np.arange(rows) * 3, space)
            queried = rng.integers(0, min(space, 300), 50)
            for code, start, count in zip(queried, *index.find(queried), strict=True):
                assert index.rows[start : start + count].tolist() == (np.flatnonzero(codes == code) * 3).tolist()
