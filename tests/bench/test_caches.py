"""Published cache policies on models of several hops: they fail one check, at the slots that the integers predict."""

import faulty_samplers
import numpy as np
import pytest

from unmask.api import compile_problem
from unmask.bench.bench_folder import cached_models
from unmask.bench.run_checks import run_checks
from unmask.bench.trial import Trial
from unmask.export.export_task import slot_order, work_slots
from unmask.reasoners.cached_run import CachePolicy, CanvasLayout, cached_run
from unmask.reasoners.typed_words import read_word

pytest.importorskip("transformers")


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("UNMASK_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield {model.name: model for model in cached_models("tree-16,hops-16-skip,hops-16-work,rotary-hops-16-skip")}


def predicted(reference, policy, width, number):
    """Places of the canvas whose decision a cache changes in the integer run of the word, and slots above them."""
    model = compile_problem(reference.facts["problem"], "mdm", length=reference.facts["length"], hops=2)
    order = reference.facts["slot_order"]
    work = work_slots(model, order)
    own_slots = list(slot_order(model, order))[len(work) :]
    layout = CanvasLayout.of(model, order=[*work, *own_slots], block=width, work=work)
    word = read_word(model, reference.words[number].text)
    run = cached_run(model, word, CachePolicy(policy), layout)
    places = {own_slots.index(change.slot) for change in run.changed}
    return places | ({reference.facts["answer_slot"]} if places else set())


@pytest.mark.parametrize(
    ("name", "cache", "width", "right"),
    [
        ("hops-16-skip", "dual", 15, 16),
        ("hops-16-skip", "dual", 5, 8),
        ("hops-16-skip", "prefix", 5, 16),
        ("hops-16-work", "prefix", 11, 8),
        ("hops-16-work", "dual", 11, 8),
        ("rotary-hops-16-skip", "dual", 5, 8),
        ("tree-16", "dual", 5, 16),
    ],
)
def test_a_cache_fails_where_the_integers_say(models, name, cache, width, right):
    model, answers = models[name], 0
    trial = Trial(faulty_samplers.make(cache=cache), model)
    for number, word in enumerate(model.words):
        plain, cached = (trial.run(word.ids, model.slots, use_cache=use, block_length=width) for use in (False, True))
        assert np.array_equal(plain.slots[0], word.values)
        wrong = np.flatnonzero(plain.slots[0] != cached.slots[0]).tolist()
        places = set() if name == "tree-16" else predicted(model, cache, width, number)
        assert set(wrong) <= places
        assert bool(places) == (right < 16)
        answer = model.facts["answer_slot"]
        answers += bool(cached.slots[0, answer] == plain.slots[0, answer])
    assert answers == right


@pytest.mark.parametrize("cache", ["prefix", "dual"])
def test_a_published_cache_fails_one_check(models, cache):
    report = run_checks(faulty_samplers.make(cache=cache), list(models.values()), seconds=5)
    assert {outcome.check for outcome in report.failures} == {"cache_changes_nothing"}, report.text()
    failing = {outcome.model for outcome in report.failures}
    assert "tree-16" not in failing
    assert "hops-16-work" in failing
    assert ("hops-16-skip" in failing) == (cache == "dual")
