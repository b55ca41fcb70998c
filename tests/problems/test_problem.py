"""PROBLEM strings, oracles, and the JSON form."""

import json
import random
from pathlib import Path

import pytest

from unmask.errors import PatternError, ProblemError, WordError
from unmask.problems.problem import automaton_of, parse_problem, problem_from_json

from .agreement import sampled_words
from .test_dfa_file import PARITY


@pytest.fixture
def parity_file(tmp_path: Path) -> Path:
    file = tmp_path / "parity.json"
    file.write_text(json.dumps(PARITY), encoding="utf-8")
    return file


@pytest.mark.parametrize(
    ("text", "name", "yes", "no"),
    [
        ("regex:(a|b)*abb", "regex:(a|b)*abb", "aabb", "ab"),
        ("(a|b)*abb", "regex:(a|b)*abb", "aabb", "ab"),
        ("a:b", "regex:a:b", "a:b", "a"),
        ("", "regex:", "", "a"),
        ("regex:regex:a", "regex:regex:a", "regex:a", "a"),
        ("regex:group:A5", "regex:group:A5", "group:A5", "e"),
        (r"(?u)\w", r"regex:(?u)\w", "é", "-"),
        (r"\w", r"regex:\w", "e", "é"),
        ("(?i)k", "regex:(?i)k", "K", "\u212a"),
        ("group:S3", "group:S3", "(12) (12)", "(123)"),
        ("group:gens:(1 2 3)(4 5),(1 2)", "group:gens:(1 2 3)(4 5),(1 2)", "(12) (12)", "(123)(45)"),
    ],
)
def test_parsing_answers_and_round_trip(text: str, name: str, yes: str, no: str):
    problem = parse_problem(text)
    again = problem_from_json(json.loads(json.dumps(problem.to_json())))
    for one in (problem, again, parse_problem(problem.name)):
        assert one.name == name
        assert one.answer(yes)
        assert not one.answer(no)
        assert automaton_of(one).accepts(yes)
        assert not automaton_of(one).accepts(no)


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
        assert again.answer(word) == automaton_of(again).accepts(word) == (word.count("a") % 2 == 0)
    with pytest.raises(WordError, match="'c' is not an input symbol"):
        again.answer("abc")


def test_the_oracle_of_a_regex_is_re_whatever_the_automaton_can_do():
    problem = parse_problem(r"regex:(a+)b\1")
    assert problem.answer("aabaa")
    assert not problem.answer("aaba")
    with pytest.raises(PatternError, match="back-reference"):
        automaton_of(problem)


def test_options_show_in_the_name_and_survive():
    document = {"kind": "regex", "pattern": r"k\w", "ascii": False, "ignore_case": True}
    problem = problem_from_json(document)
    assert problem.to_json() == document
    assert problem.name == r"regex:(?iu)k\w"
    words = ["\u212aé", "kx", "k", "-x"]
    assert [problem.answer(word) for word in words] == [True, True, False, False]
    assert [automaton_of(problem).accepts(word) for word in words] == [True, True, False, False]
    assert [parse_problem(problem.name).answer(word) for word in words] == [True, True, False, False]


@pytest.mark.parametrize("text", ["(a|b)*abb", "group:A5", "group:D4"])
def test_oracle_and_automaton_agree(text: str):
    problem, rng = parse_problem(text), random.Random(2)
    automaton = automaton_of(problem)
    if automaton.characters is None:
        for _ in range(300):
            word = rng.choices(automaton.tokens, k=rng.randint(0, 5))
            assert problem.answer(word) == automaton.accepts(word) == problem.answer(" ".join(word))
    else:
        assert all(
            problem.answer(w) == automaton.accepts(w) for w in sampled_words(automaton, rng, count=50, longest=9)
        )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("aiger:file", "not available"),
        ("expr:a+b", "not available"),
        ("dfa:", "names no file"),
        ("dfa:/no/such/file", "cannot read"),
        ("group:X", "not the name of a group"),
        ("regex:(", "missing"),
        ("(" * 5000, "nested too deeply|missing"),
        ("(?<=a+)b", "look-behind requires fixed-width"),
    ],
)
def test_what_cannot_be_understood_is_refused(text: str, message: str):
    with pytest.raises(ProblemError, match=message):
        parse_problem(text)


@pytest.mark.parametrize(
    "document",
    [
        None,
        [],
        3,
        {},
        {"kind": "regex"},
        {"kind": "code", "source": "1"},
        {"kind": ["regex"]},
        {"kind": "group", "spec": 5},
        {"kind": "regex", "pattern": 3, "ascii": True, "ignore_case": False},
        {"kind": "regex", "pattern": "a", "ascii": 1, "ignore_case": False},
        {"kind": "group", "spec": "A5", "more": 1},
        {"kind": "dfa", "name": "x", "dfa": {}},
        {"kind": "dfa", "name": "x", "dfa": []},
        {"kind": "regex", "pattern": "(", "ascii": True, "ignore_case": False},
    ],
)
def test_stored_problems_are_checked(document: object):
    with pytest.raises(ProblemError):
        problem_from_json(document)


def test_words_of_a_regex_are_characters():
    assert parse_problem("ab").answer(["a", "b"])
    with pytest.raises(WordError, match="not one character"):
        parse_problem("ab").answer(["ab"])


def test_other_problems_have_no_automaton():
    class Other:
        name = "other"

        def answer(self, word):
            return bool(word)

        def to_json(self):
            return {}

    with pytest.raises(ProblemError, match="other has no automaton"):
        automaton_of(Other())
