"""Oracles of regular problems, and what is stored of them."""

import json
import random
from pathlib import Path

import pytest

from problems.automata.test_dfa_file import PARITY
from unmask.errors import PatternError, WordError
from unmask.problems.catalogue import parse_problem, problem_from_json

from .agreement import sampled_words


@pytest.fixture
def parity_file(tmp_path: Path) -> Path:
    file = tmp_path / "parity.json"
    file.write_text(json.dumps(PARITY), encoding="utf-8")
    return file


def test_a_dfa_is_stored_whole(parity_file: Path):
    problem = parse_problem(f"dfa:{parity_file}")
    parity_file.unlink()
    stored = json.dumps(problem.to_json())
    assert str(parity_file.parent) not in stored
    again = problem_from_json(json.loads(stored))
    assert again.name == problem.name == "dfa:parity.json"
    rng = random.Random(0)
    for length in range(8):
        word = "".join(rng.choices("ab", k=length))
        assert again.outcome(word).accepted == again.automaton.accepts(word) == (word.count("a") % 2 == 0)
    with pytest.raises(WordError, match="'c' is not an input symbol"):
        again.outcome("abc")


def test_the_oracle_of_a_regex_is_re_whatever_the_automaton_can_do():
    problem = parse_problem(r"regex:(a+)b\1")
    assert problem.outcome("aabaa").accepted
    assert not problem.outcome("aaba").accepted
    with pytest.raises(PatternError, match="back-reference"):
        _ = problem.automaton


def test_options_show_in_the_name_and_survive():
    document = {"kind": "regex", "pattern": r"k\w", "ascii": False, "ignore_case": True}
    problem = problem_from_json(document)
    assert problem.to_json() == document
    assert problem.name == r"regex:(?iu)k\w"
    words = ["\u212aé", "kx", "k", "-x"]
    assert [problem.outcome(word).accepted for word in words] == [True, True, False, False]
    assert [problem.automaton.accepts(word) for word in words] == [True, True, False, False]
    assert [parse_problem(problem.name).outcome(word).accepted for word in words] == [True, True, False, False]


@pytest.mark.parametrize("text", ["(a|b)*abb", "group:A5", "group:D4"])
def test_oracle_and_automaton_agree(text: str):
    problem, rng = parse_problem(text), random.Random(2)
    automaton = problem.automaton
    if automaton.characters is None:
        for _ in range(300):
            word = rng.choices(automaton.tokens, k=rng.randint(0, 5))
            assert problem.outcome(word).accepted == automaton.accepts(word) == problem.outcome(" ".join(word)).accepted
    else:
        assert all(
            problem.outcome(w).accepted == automaton.accepts(w)
            for w in sampled_words(automaton, rng, count=50, longest=9)
        )


def test_words_of_a_regex_are_characters():
    assert parse_problem("ab").outcome(["a", "b"]).accepted
    with pytest.raises(WordError, match="not one character"):
        parse_problem("ab").outcome(["ab"])
