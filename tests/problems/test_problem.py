"""PROBLEM strings and the JSON form."""

import json

import pytest

from unmask.api import compare_frameworks, compile_problem, verify_model
from unmask.errors import ProblemError
from unmask.problems.catalogue import CATALOGUE, Row, parse_problem, problem_from_json
from unmask.problems.problem import ACCEPTED, REJECTED, Outcome

STORED_KINDS = list(dict.fromkeys(row.stored.__struct_config__.tag for row in CATALOGUE if row.stored is not None))


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
    for parsed in (problem, again, parse_problem(problem.name)):
        assert parsed.name == name
        assert parsed.outcome(yes).accepted
        assert not parsed.outcome(no).accepted
        assert parsed.automaton.accepts(yes)
        assert not parsed.automaton.accepts(no)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("aiger:", "has no file name"),
        ("aiger:no-such-file", "cannot be read"),
        ("family:unknown", "unknown family"),
        ("expr:a+", "ends where an operand is missing"),
        ("dfa:", "has no file name"),
        ("dfa:/no/such/file", "cannot be read"),
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


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ([], f"needs a kind among {', '.join(STORED_KINDS)}, not None"),
        ({"kind": "random"}, "needs a kind among .*, not 'random'"),
        ({"kind": "group", "spec": 5}, "a stored problem of kind group: its spec must be a string, not 5"),
        ({"kind": "group"}, "a stored problem of kind group lacks the field 'spec'"),
        ({"kind": "group", "spec": "A5", "more": 1}, "a stored problem of kind group has no field 'more'; remove it"),
        (
            {"kind": "group", "spec": "A5", "\ud800": 1},
            r"every name must be characters, and .*ud800.* holds half of one",
        ),
        ({"kind": "dfa", "name": "x", "dfa": []}, r"of kind dfa: its dfa must be an object, not \[\]"),
    ],
)
def test_an_invalid_stored_problem_is_refused(document: object, message: str):
    with pytest.raises(ProblemError, match=message) as refused:
        problem_from_json(document)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("row", [row for row in CATALOGUE if not row.reads_file], ids=lambda row: row.prefix)
def test_examples_of_the_catalogue_are_problems(row: Row):
    for example in row.examples:
        if example or row.prefix == "regex":
            assert parse_problem(f"{row.prefix}:{example}").name == f"{row.prefix}:{example}"


def test_random_weights_are_a_problem_without_answers():
    problem = parse_problem("random:007")
    assert (problem.name, problem.to_json(), problem.has_answers) == ("random:007", {}, False)
    with pytest.raises(
        ProblemError, match="random:007 consists of random weights, which do not solve a problem; give another"
    ):
        problem.outcome("ab")
    model = compile_problem("random:007", "mdm", length=2)
    assert model.provenance == [{"compiled": "random:007", "to": "mdm"}]
    assert model.problem == {}
    with pytest.raises(ProblemError, match="random:7 solves no problem to compare with"):
        verify_model(model, against="random:7")
    with pytest.raises(ProblemError, match="has no bound"):
        list(compare_frameworks("random:7", [2]))


@pytest.mark.parametrize(
    ("outcome", "text", "accepted"),
    [
        (ACCEPTED, "accepted", True),
        (REJECTED, "rejected", False),
        (Outcome.of_bits([0, 1, 1]), "accepted, outputs 011", True),
        (Outcome.of_bits([0, 1, 1]).last(1), "accepted", True),
        (Outcome(value="-3"), "gives -3", True),
        (Outcome(undecided="m q3"), "undecided: m q3", None),
        (Outcome(error="row 2 attends to nothing"), "error: row 2 attends to nothing", None),
    ],
)
def test_outcomes(outcome: Outcome, text: str, accepted: bool | None):
    assert (str(outcome), outcome.accepted) == (text, accepted)
