"""Runs of compiled models: by an outside reader, under noise, and with planners they were not made for."""

import random

import pytest

import outside_reader
from programs.languages import KINDS
from unmask.api import compile_problem, compiler_of, run_word
from unmask.problems.catalogue import parse_problem
from unmask.reasoners.typed_words import spell
from unmask.traces.trace import trace_result
from unmask.weights.storage import load, save

PROBLEMS = {"regex:(a|b)*abb": (0, 1, 3, 8), "group:S3": (2, 5, 12)}
ALIKE = ("output", "canvas", "accepted", "steps", "length", "padding")


def sample_words(problem, length, count=2):
    """Words of a length, members and non-members in turn."""
    language, rng = compiler_of(problem).automaton, random.Random(length)
    words = [language.random_word(length, accepted=i % 2 == 0, rng=rng) for i in range(count)]
    return [word for word in words if word is not None]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("problem", PROBLEMS)
def test_an_outside_reader_agrees(tmp_path, problem, kind):
    for length in PROBLEMS[problem]:
        folder = save(compile_problem(problem, kind, length=length), tmp_path / str(length))
        model = load(folder)
        for word in sample_words(problem, length):
            for options in ({}, {"sample": True, "seed": length}):
                ours = trace_result(run_word(model, word, **options))
                theirs = outside_reader.run(folder, word, **options)
                assert {k: ours[k] for k in ALIKE} == {k: theirs[k] for k in ALIKE}, (word, options)
            assert ours["accepted"] == parse_problem(problem).outcome(word).accepted


@pytest.mark.parametrize("kind", ["mdm", "plt", "cot", "pcot"])
def test_an_outside_reader_agrees_with_a_slot_per_state(tmp_path, kind):
    problem = "regex:.*(error|warning|fatal|panic).*(timeout|refused|reset).*"
    assert "slots per node" in compiler_of(problem).layout
    folder = save(compile_problem(problem, kind, length=3), tmp_path / "model")
    ours = trace_result(run_word(load(folder), "pan"))
    theirs = outside_reader.run(folder, "pan")
    assert {k: ours[k] for k in ALIKE} == {k: theirs[k] for k in ALIKE}


@pytest.mark.parametrize("p", [2, 3, 6])
@pytest.mark.parametrize("kind", KINDS)
def test_noise_changes_nothing(kind, p):
    """The logits of the planner and of ready rows are ±B, so the path is the same for every noise tape."""
    for problem, length in (("regex:(a|b)*abb", 6), ("group:S3", 5)):
        model = compile_problem(problem, kind, length=length, precision=p)
        for word in sample_words(problem, length):
            plain = trace_result(run_word(model, word))
            for seed in range(15):
                assert trace_result(run_word(model, word, sample=True, seed=seed)) == plain, (problem, word, seed)


@pytest.mark.parametrize("problem", [*PROBLEMS, r"regex:.*(Googlebot|bingbot|Slurp|DuckDuckBot|Baiduspider).*\d{3}.*"])
def test_other_planners_never_divide_by_zero(problem):
    for length in (0, 1, 2, 5):
        model = compile_problem(problem, "mdm", length=length)
        for word in sample_words(problem, length, count=1) or sample_words(problem, length):
            for planner in ("uniform:1", "uniform:3", "confidence:1", "threshold:0", "blockwise:2:uniform:1"):
                trace = run_word(model, word, planner=planner, seed=length)
                assert trace.accepted is not None


@pytest.mark.parametrize("kind", ["mdm", "smdm", "topk"])
def test_from_left_to_right_is_right_as_well_where_slots_follow_their_factors(kind):
    for problem in PROBLEMS:
        for length in (2, 3, 5, 6, 7, 9):
            model = compile_problem(problem, kind, length=length)
            for word in sample_words(problem, length, count=4):
                trace = run_word(model, word, planner="left-to-right:1")
                assert trace.accepted == parse_problem(problem).outcome(word).accepted
                assert trace.steps_taken == max(1, length - 1)


def test_a_uniform_planner_errs():
    """A slot that is written before its factors is a guess; the planner of the model prevents this."""
    model = compile_problem("group:S3", "mdm", length=6)
    wrong = 0
    for word in sample_words("group:S3", 6, count=12):
        expected = parse_problem("group:S3").outcome(word).accepted
        assert run_word(model, word).accepted == expected
        wrong += run_word(model, word, planner="uniform:1", sample=True, seed=len(word) + wrong).accepted != expected
    assert wrong > 0


@pytest.mark.parametrize("kind", KINDS)
def test_characters_that_a_regex_never_mentions_are_rejected(kind):
    model = compile_problem("regex:[ab]+", kind, length=2)
    assert run_word(model, "ab").accepted is True
    for word in ("a\n", "\x00b", "a□", "mm", "01", "\ud800a", "a\U0010ffff", "é́", "a "):
        assert run_word(model, word).accepted is False, word


@pytest.mark.parametrize("kind", KINDS)
def test_special_symbols_step_aside_for_letters(kind):
    for length in (0, 3):
        model = compile_problem(r"regex:m?0?1?□?\^?", kind, length=length)
        named = [getattr(model, role) for role in ("mask", "pad", "accept", "reject", "begin")]
        special = [symbol for symbol in named if symbol is not None]
        assert len({*special, *model.input_symbols}) == len(special) + len(model.input_symbols)
        word = "m01"[:length]
        assert spell(model, word) == list(word)
        assert run_word(model, word).accepted is True
    assert run_word(model, "1m□").accepted is False
