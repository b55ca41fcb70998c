"""Many words at once give what each gives alone, errors in their places."""

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
        for word, got in zip(words, together, strict=True):
            if isinstance(got, UnmaskError):
                with pytest.raises(type(got)) as caught:
                    run_word(model, word, sample=sample, seed=seed)
                assert str(caught.value) == str(got)
                continue
            alone = run_word(model, word, sample=sample, seed=seed)
            assert first_difference(alone, got) is None
            assert got.accepted == alone.accepted


def test_one_word_that_divides_by_zero_does_not_spoil_the_others():
    found = 0
    for seed in range(200):
        model = random_model(seed, "plt", 2, stochastic=True)
        together = run_words(model, ["aa", "ab", "ba", "bb"], sample=True, seed=seed, engine=ReferenceEngine())
        kinds = {isinstance(got, AttendsToNothing) for got in together}
        found += kinds == {True, False}
    assert found > 0


def test_nothing_and_nothing_readable():
    model = compile_problem("(ab)*", "mdm", length=2)
    assert run_words(model, []) == []
    assert [type(got) for got in run_words(model, ["a", "abc"])] == [WordError, WordError]
    assert words_at_once(model, FastEngine()) > 1000
