"""Checking by cases: all words or a sample, compared with `re`, groups and other models; mutations are refuted."""

import random
from dataclasses import replace
from functools import partial
from itertools import islice

import numpy as np
import pytest

from unmask.api import compile_problem, verify_model
from unmask.errors import ProblemError, UnmaskError
from unmask.problems.catalogue import parse_problem
from unmask.verification.model_outcomes import outcomes
from unmask.verification.words.references import reference_of
from unmask.weights.kinds import KINDS
from unmask.weights.matrices import Matrix


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", ["exhaustive", "sample"])
def test_compiled_models_hold(kind, method):
    model = compile_problem("(a|b)*abb", kind, length=4)
    verdict = verify_model(model, method=method, cases=40)
    assert (verdict.status, verdict.method) == ("held", method)
    assert verdict.cases == (3**4 if method == "exhaustive" else 40)


def test_all_words_by_default_where_they_are_few():
    assert verify_model(compile_problem("(a|b)*abb", "mdm", length=3)).method == "exhaustive"
    assert verify_model(compile_problem("(a|b)*abb", "mdm", length=12), cases=20).method == "sample"


@pytest.mark.parametrize("rare", ["xyxzx", "zzzzy"])
def test_a_sample_leaves_out_no_word_if_it_may_have_all(rare):
    """One word of 4^5 is answered otherwise, and found by no more words than there are; seeds do not matter."""
    model = compile_problem("[xyz]*", "cot", length=5)
    for seed in range(3):
        against = f"(?!{rare}$)[xyz]*"
        verdict = verify_model(model, against=against, method="sample", cases=4**5, seed=seed)
        assert (verdict.status, verdict.counterexample) == ("refuted", rare)


def test_too_many_words_are_not_a_verdict():
    verdict = verify_model(compile_problem("(a|b)*abb", "mdm", length=20), method="exhaustive")
    assert verdict.status == "unknown"
    assert "--method prove" in (verdict.reason or "")


def test_another_problem_is_refuted_by_a_word():
    model = compile_problem("(a|b)*abb", "mdm", length=3)
    verdict = verify_model(model, against="(a|b)*ab", method="exhaustive")
    assert verdict.status == "refuted"
    assert verdict.counterexample == "aab"
    assert (verdict.expected, verdict.got) == ("accepted", "rejected")


def test_another_model_as_the_oracle():
    model, other = (compile_problem("(a|b)*abb", kind, length=3) for kind in ("mdm", "plt"))
    assert verify_model(model, against=other, method="exhaustive").status == "held"
    odd = compile_problem("(a|b)*a", "cot", length=3)
    assert verify_model(model, against=odd, method="exhaustive").counterexample is not None
    with pytest.raises(UnmaskError, match="length 3 and 4; compare models of the same length"):
        verify_model(model, against=compile_problem("(a|b)*abb", "plt", length=4))


def test_random_models_name_no_problem():
    with pytest.raises(ProblemError, match="names no problem to compare with; give one with --against"):
        verify_model(compile_problem("random:1", "mdm", length=2))


def test_methods_that_do_not_exist():
    with pytest.raises(UnmaskError, match="unknown method 'magic'"):
        verify_model(compile_problem("a*", "mdm", length=2), method="magic")


@pytest.mark.parametrize("kind", KINDS)
def test_a_mutated_weight_is_refuted_with_a_real_counterexample(kind):
    """Entries of the embedding, set to zero one by one until one matters: the word found must tell the two apart."""
    model = compile_problem("(a|b)*abb", kind, length=3)
    name = "predictor" if "predictor" in model.transformers else "model"
    refuted = 0
    for entry in range(0, model.transformers[name].embed.nonzeros, 3):
        mutated = replace(model, transformers={**model.transformers, name: without(model.transformers[name], entry)})
        verdict = verify_model(mutated, method="exhaustive")
        if verdict.status == "refuted":
            refuted += 1
            word = verdict.counterexample or ""
            assert [str(outcome) for outcome in outcomes(mutated, [word], engine())] == [verdict.got]
            assert verdict.got != verdict.expected
            assert verdict.expected == str(parse_problem("(a|b)*abb").outcome(word))
    assert refuted > 0


def engine():
    from programs.languages import ENGINE

    return ENGINE


def without(transformer, entry):
    """The same weights with one entry of the embedding left out."""
    dense = transformer.embed.dense().copy()
    index = np.argwhere(dense)[entry % np.count_nonzero(dense)]
    dense[tuple(index)] = 0
    return replace(transformer, embed=Matrix.of(dense))


def test_one_character_represents_all_that_share_its_token():
    model = compile_problem(r"\d+[a-z]", "mdm", length=2)
    reference = reference_of(model, parse_problem(r"\d+[a-z]"), partial(outcomes, engine=engine()))
    words = list(reference.every_word().each)
    assert reference.every_word().count == len(set(words)) == 9
    assert all(len(word) == 2 for word in words)


@pytest.mark.parametrize(
    ("finer", "distinguished"), [("[a-y]", "z"), ("[a-ln-z]", "m"), ("[a-zé]", "é"), ("[a-z\\n]", "\n")]
)
def test_characters_that_only_the_other_side_distinguishes_are_cases_too(finer, distinguished):
    model = compile_problem("[a-z]", "mdm", length=1)
    for against in (finer, compile_problem(finer, "cot", length=1)):
        verdict = verify_model(model, against=against, method="exhaustive")
        assert (verdict.status, verdict.counterexample) == ("refuted", distinguished)


def test_words_of_a_group_are_separated_by_blanks():
    model = compile_problem("group:S3", "mdm", length=2)
    every = reference_of(model, parse_problem("group:S3"), partial(outcomes, engine=engine())).every_word()
    assert every.count == 36
    assert next(every.each) == "e e"
    assert verify_model(model, method="exhaustive").cases == 36
    assert verify_model(model, method="sample", cases=30).status == "held"


def test_the_empty_word():
    for pattern, kind in (("a*", "mdm"), ("a+", "cot"), ("(ab)*", "plt")):
        verdict = verify_model(compile_problem(pattern, kind, length=0))
        assert (verdict.status, verdict.cases) == ("held", 1)


def test_a_sample_holds_both_answers_even_where_members_are_rare():
    problem = parse_problem("abcdefgh")

    def sampled(seed):
        return list(islice(problem.words(8, random.Random(seed)), 40))

    words = sampled(1)
    assert {problem.outcome(word).accepted for word in words} == {True, False}
    assert words == sampled(1)
    assert words != sampled(2)
    near = [w for w in words if w != "abcdefgh" and sum(a != b for a, b in zip(w, "abcdefgh", strict=True)) == 1]
    assert near
