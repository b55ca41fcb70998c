"""PROBLEM strings and the JSON form."""

import json

import pytest

from unmask.errors import ProblemError
from unmask.problems.problem import automaton_of, parse_problem, problem_from_json


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


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("aiger:", "names no file"),
        ("aiger:no-such-file", "cannot be read"),
        ("family:unknown", "there is no family"),
        ("expr:a+", "ends where an operand is missing"),
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


def test_other_problems_have_no_automaton():
    class Other:
        name = "other"

        def answer(self, word):
            return bool(word)

        def to_json(self):
            return {}

    with pytest.raises(ProblemError, match="other has no automaton"):
        automaton_of(Other())
