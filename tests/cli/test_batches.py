"""A batch of words has the same results as its words one by one, errors included."""

import pytest

from unmask.api import compile_problem, run_word, run_words
from unmask.engines.fast import FastEngine
from unmask.engines.reference import ReferenceEngine
from unmask.errors import AttendsToNothing, UnmaskError, WordError
from unmask.reasoners.run_words import words_at_once
from unmask.testing import random_model
from unmask.traces.trace_differences import first_difference
from unmask.weights.kinds import KINDS


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sample", [False, True])
def test_a_batch_is_its_words(kind, sample):
    for seed in range(8):
        model = random_model(seed, kind, 3)
        words = ["aab", "bbb", "xyz", "ab", "aab", "aba"]
        together = run_words(model, words, sample=sample, seed=seed)
        assert len(together) == len(words)
        for word, outcome in zip(words, together, strict=True):
            if isinstance(outcome, UnmaskError):
                with pytest.raises(type(outcome)) as caught:
                    run_word(model, word, sample=sample, seed=seed)
                assert str(caught.value) == str(outcome)
                continue
            alone = run_word(model, word, sample=sample, seed=seed)
            assert first_difference(alone, outcome) is None
            assert outcome.accepted == alone.accepted


def test_one_word_that_divides_by_zero_does_not_spoil_the_others():
    mixed_batches = 0
    for seed in range(200):
        model = random_model(seed, "plt", 2, stochastic=True)
        together = run_words(model, ["aa", "ab", "ba", "bb"], sample=True, seed=seed, engine=ReferenceEngine())
        kinds = {isinstance(outcome, AttendsToNothing) for outcome in together}
        mixed_batches += kinds == {True, False}
    assert mixed_batches > 0


def test_nothing_and_nothing_readable():
    model = compile_problem("(ab)*", "mdm", length=2)
    assert run_words(model, []) == []
    assert [type(outcome) for outcome in run_words(model, ["a", "abc"])] == [WordError, WordError]
    assert words_at_once(model, FastEngine()) > 1000
