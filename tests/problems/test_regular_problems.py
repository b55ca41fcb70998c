"""Oracles of regular problems, and what is stored of them."""

import copy
import itertools
import json
import random
from pathlib import Path

import numpy as np
import pytest

from unmask.errors import PatternError, ProblemError, TooLarge, WordError
from unmask.problems.automata.groups_and_monoids import PermutationGroup, permutation_group
from unmask.problems.catalogue import parse_problem, problem_from_json
from unmask.problems.regular_problems import GroupProblem, dfa_from_json, read_dfa_document

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


def test_the_oracle_of_a_regex_is_re():
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


# Automata from JSON files.


PARITY = {
    "alphabet": ["a", "b"],
    "states": ["even", "odd"],
    "start": "even",
    "accepting": ["even"],
    "transitions": {"even": {"a": "odd", "b": "even"}, "odd": {"a": "even", "b": "odd"}},
}


def written(path: Path, text: str) -> Path:
    file = path / "automaton.json"
    file.write_text(text, encoding="utf-8")
    return file


def read_dfa(path: Path):
    return dfa_from_json(read_dfa_document(path))


def test_a_complete_automaton(tmp_path: Path):
    automaton = read_dfa(written(tmp_path, json.dumps(PARITY)))
    assert automaton.states == 2
    assert [automaton.accepts(word) for word in ("", "a", "aba", "ab")] == [True, False, True, False]


def test_missing_transitions_lead_to_a_dead_state(tmp_path: Path):
    document = copy.deepcopy(PARITY)
    del document["transitions"]["odd"]
    automaton = read_dfa(written(tmp_path, json.dumps(document)))
    assert automaton.states == 3
    assert automaton.accepts("bb")
    assert not automaton.accepts("baa")


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (["alphabet"], None, "exactly the keys"),
        (["extra"], 1, "exactly the keys"),
        (["start"], "none", "'none' in start"),
        (["start"], 3, "'3' in start"),
        (["accepting"], ["x"], "'x' in accepting"),
        (["accepting"], "even", "list of strings"),
        (["states"], [], "is empty"),
        (["states"], ["even", "even"], "twice"),
        (["alphabet"], ["a", "b", "b c"], "has a blank"),
        (["alphabet"], [1, 2], "list of strings"),
        (["transitions"], [], "must be an object"),
        (["transitions", "odd"], [], "must be an object"),
        (["transitions", "x"], {}, "'x' in transitions"),
        (["transitions", "odd", "c"], "odd", "symbol 'c'"),
        (["transitions", "odd", "a"], "x", "'x' in transitions of 'odd'"),
        (["transitions", "odd", "a"], ["odd", "even"], "deterministic"),
        (["transitions", "odd", "a"], None, "exactly|not declared"),
    ],
)
def test_what_does_not_fit_is_refused(path: list[str], value: object, message: str):
    document = copy.deepcopy(PARITY)
    parent = document
    for key in path[:-1]:
        parent = parent[key]
    if value is None and len(path) == 1:
        del parent[path[0]]
    else:
        parent[path[-1]] = value
    with pytest.raises(ProblemError, match=message):
        dfa_from_json(document)


@pytest.mark.parametrize("text", ["", "{", "[]", "3", "null", "[" * 100_000, '{"a": 1, "a": 2}'])
def test_what_is_no_such_json_is_refused(text: str, tmp_path: Path):
    with pytest.raises(ProblemError):
        read_dfa(written(tmp_path, text))


def test_a_key_given_twice_is_nondeterminism(tmp_path: Path):
    text = json.dumps(PARITY).replace('"b": "even"', '"a": "even"')
    with pytest.raises(ProblemError, match="'a' is given twice"):
        read_dfa(written(tmp_path, text))


def test_files_that_cannot_be_read_are_refused(tmp_path: Path):
    with pytest.raises(ProblemError, match=r"the automaton .* cannot be read"):
        read_dfa(tmp_path / "missing.json")
    with pytest.raises(ProblemError, match="is not a file but a folder"):
        read_dfa(tmp_path)
    binary = tmp_path / "binary.json"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ProblemError, match="not JSON in UTF-8"):
        read_dfa(binary)


def test_large_automata_are_refused(tmp_path: Path):
    with pytest.raises(TooLarge, match="bytes"):
        read_dfa(written(tmp_path, " " * 16_000_001))
    large = {
        "alphabet": [f"a{k}" for k in range(4000)],
        "states": [f"q{k}" for k in range(4000)],
        "start": "q0",
        "accepting": [],
        "transitions": {},
    }
    with pytest.raises(TooLarge, match="transitions"):
        dfa_from_json(large)


# Word problems against composition of permutations point by point.


def apply(group: PermutationGroup, symbols: list[int]) -> list[int]:
    """Where each point ends when the elements act from first to last."""
    ends = []
    for point in range(group.points):
        for symbol in symbols:
            point = int(group.elements[symbol][point])
        ends.append(point)
    return ends


@pytest.mark.parametrize("spec", ["A5", "S5", "D2", "D5", "Z7", "gens:(1 2 3)(4 5),(1 2)"])
def test_tables_are_composition(spec: str):
    group = permutation_group(spec)
    places = {tuple(row): i for i, row in enumerate(group.elements.tolist())}
    automaton = GroupProblem(spec).automaton
    for i, (k, symbol) in itertools.product(range(group.order), enumerate(group.symbols)):
        expected = places[tuple(apply(group, [i, symbol]))]
        assert automaton.delta[i, k] == expected == group.product(i, symbol)
    assert automaton.tokens == tuple(group.names[i] for i in group.symbols)


@pytest.mark.parametrize("spec", ["A5", "S5", "S6", "D3", "Z201"])
def test_words_against_the_action(spec: str):
    group, automaton, rng = permutation_group(spec), GroupProblem(spec).automaton, random.Random(3)
    answers = []
    for _ in range(300):
        word = rng.choices(group.symbols, k=rng.randint(0, 6))
        identity = apply(group, word) == list(range(group.points))
        assert automaton.accepts([group.names[i] for i in word]) == identity
        assert automaton.accepts(" ".join(group.names[i] for i in word)) == identity
        answers.append(identity)
    assert any(answers)
    assert automaton.minimal().states == group.order


def test_the_first_element_acts_first():
    automaton = GroupProblem("S3").automaton
    # 1 → 2 → 1, 2 → 3 → 3, 3 → 1 → 2: (123) then (12) is (23), and not (13)
    assert automaton.accepts("(123) (12) (23)")
    assert not automaton.accepts("(123) (12) (13)")


def test_a_wrong_table_is_caught():
    group = permutation_group("S3")
    swapped = group.table[:, [0, 2, 1, *range(3, 6)]]
    places = {tuple(row): i for i, row in enumerate(group.elements.tolist())}
    correct = [[places[tuple(apply(group, [i, s]))] for s in group.symbols] for i in range(6)]
    assert np.array_equal(group.table, correct)
    assert not np.array_equal(swapped, correct)
