"""Random models must be the same everywhere, never divide by zero, and bite."""

import sys
from dataclasses import replace

import numpy as np
import pytest

from unmask.api import run_word
from unmask.engines import reference
from unmask.engines.reference import ReferenceEngine
from unmask.errors import AttendsToNothing, EditsWrittenSlot, TooLarge, UnmaskError
from unmask.numerics import arithmetic
from unmask.reasoners.run_words import answers
from unmask.testing import random_model
from unmask.testing.draws import Draws
from unmask.testing.random_model import all_words, sample_words
from unmask.weights.kinds import KINDS
from unmask.weights.matrices import Matrix
from unmask.weights.storage import content_hash


def test_draws_are_fixed_for_all_time():
    """Models of a seed must not change with a version of NumPy; these numbers pin the stream."""
    draws = Draws(1, 2, 3)
    raw = np.random.Philox(key=np.array([2 * 1_000_003**2 + 3 * 1_000_003 + 4, 3], dtype=np.uint64)).random_raw(7)
    assert draws.integer(0, 9) == raw[0] % 10
    assert draws.integers(-2, 2, (2, 3)).ravel().tolist() == [int(r % 5) - 2 for r in raw[1:]]
    assert {Draws(7).integer(0, 1) for _ in range(20)} == {Draws(7).integer(0, 1)}


@pytest.mark.parametrize("kind", KINDS)
def test_a_seed_is_a_model(kind):
    hashes = [content_hash(random_model(seed, kind, 2)) for seed in range(12)]
    assert hashes == [content_hash(random_model(seed, kind, 2)) for seed in range(12)]
    assert len(set(hashes)) == 12
    assert content_hash(random_model(2**64 - 1, kind, 2)) not in hashes


@pytest.mark.parametrize("kind", KINDS)
def test_lengths_precisions_and_sizes(kind):
    for length in (0, 1, 5):
        for p in (1, 3, 8):
            model = random_model(1, kind, length, precision=p)
            assert (model.kind, model.length, model.precision.p) == (kind, length, p)
    model = random_model(1, kind, 2, padding=3, steps=2, layers=3, width=3)
    for name, transformer in model.transformers.items():
        assert len(transformer.layers) == 3
        assert transformer.width == (5 if (kind, name) == ("smdm", "planner") else 3)
    assert model.steps == 2


@pytest.mark.parametrize("kind", KINDS)
def test_no_word_divides_by_zero(kind):
    for seed in range(15):
        model = random_model(seed, kind, seed % 5, precision=1 + seed % 4)
        assert len(answers(model, all_words(model), engine=ReferenceEngine()).accepted) == 2 ** (seed % 5)


def test_a_draw_that_divides_by_zero_is_refused(monkeypatch):
    """Were every draw to divide by zero, there would be no model."""
    module = sys.modules["unmask.testing.random_model"]  # the package exports a function of the same name
    monkeypatch.setattr(module, "ATTEMPTS", 3)

    def divides(*_, **__):
        raise AttendsToNothing(layer=0, head=0, row=0)

    monkeypatch.setattr(module, "answers", divides)
    with pytest.raises(UnmaskError, match="avoids Z = 0 in 3 draws"):
        random_model(0, "cot", 2)


@pytest.mark.parametrize(
    ("seed", "length", "error"), [(-1, 2, UnmaskError), (2**64, 2, UnmaskError), (0, 65, TooLarge)]
)
def test_seeds_and_lengths_are_checked(seed, length, error):
    with pytest.raises(error, match=r"random models?"):
        random_model(seed, "cot", length)


def test_long_words_are_sampled():
    model = random_model(0, "topk", 14, padding=1, steps=2)
    words = sample_words(model, Draws(0), 300)
    assert words.shape == (300, 14)
    assert len({tuple(w) for w in words.tolist()}) > 250


RUNS = [(seed, kind) for kind in KINDS for seed in range(25)]


def clips(model, monkeypatch):
    """Does a run go beyond B anywhere? Counted where sums and products are clipped."""
    beyond = []
    original = arithmetic.clip

    def watched(a, precision):
        beyond.append(bool((np.abs(a) > precision.bound).any()))
        return original(a, precision)

    word = "ab" * model.length
    with monkeypatch.context() as patch:
        patch.setattr(arithmetic, "clip", watched)
        run_word(model, word[: model.length], engine=ReferenceEngine())
    return any(beyond)


def edits(model):
    """Does a run write a slot that is not masked?"""
    word = ("ab" * model.length)[: model.length]
    trace = run_word(model, word)
    mask = model.token[model.mask]
    before = np.full(model.padding, mask)
    for canvas, chosen in zip(trace.canvas, trace.chosen, strict=True):
        if (chosen & (before != mask)).any():
            return True
        before = canvas
    return False


def test_they_bite(monkeypatch, capsys):
    """At least 30 % of the runs clip, and 20 % of the mdm runs edit a written slot. The rates are printed."""
    models = {(seed, kind): random_model(seed, kind, seed % 5, precision=1 + seed % 4) for seed, kind in RUNS}
    clipped = {kind: [clips(models[s, k], monkeypatch) for s, k in RUNS if k == kind] for kind in KINDS}
    edited = [edits(model) for (_, kind), model in models.items() if kind == "mdm"]
    everything = [hit for hits in clipped.values() for hit in hits]
    with capsys.disabled():
        rates = ", ".join(f"{kind} {sum(hits)}/{len(hits)}" for kind, hits in clipped.items())
        print(f"\nrandom models: runs that clip: {rates}; mdm runs that edit: {sum(edited)}/{len(edited)}")
    assert sum(everything) >= 0.3 * len(everything)
    assert sum(edited) >= 0.2 * len(edited)


def test_the_counters_of_the_rates_can_say_no(monkeypatch):
    """Models whose weights are all 0 never clip; an smdm never edits."""
    model = random_model(0, "mdm", 2)

    def silent(transformer):
        zeros = {name: Matrix.zeros(getattr(transformer, name).shape) for name in ("embed", "out")}
        return replace(transformer, **zeros, positions=0 * transformer.positions, layers=())

    still = replace(model, transformers={name: silent(t) for name, t in model.transformers.items()})
    assert not clips(still, monkeypatch)
    assert not any(edits(random_model(seed, "smdm", 2)) for seed in range(10))


@pytest.mark.parametrize("sample", [False, True])
def test_the_planner_of_a_random_smdm_never_edits(sample):
    """It is gated by the mask flag, even against the noise; and it does choose something."""
    wrote = 0
    for seed in range(30):
        model = random_model(seed, "smdm", 2, precision=1 + seed % 4)
        for tape in range(5 if sample else 1):
            try:
                trace = run_word(model, "ab", sample=sample, seed=tape)
            except AttendsToNothing:
                continue
            wrote += any(chosen.any() for chosen in trace.chosen)
    assert wrote > 10


def test_without_its_gate_it_would_edit():
    """The same weights as an mdm's planner are caught when they run as an smdm."""
    caught = 0
    for seed in range(40):
        model = random_model(seed, "mdm", 2)
        try:
            run_word(replace(model, kind="smdm"), "ab")
        except EditsWrittenSlot:
            caught += 1
    assert caught > 5


def test_the_engine_is_the_one_that_is_given(monkeypatch):
    monkeypatch.setattr(reference, "LARGEST_SCORES", 1)
    with pytest.raises(TooLarge):
        random_model(0, "topk", 2, engine=ReferenceEngine())
