"""Automata from JSON files."""

import copy
import json
from pathlib import Path

import pytest

from unmask.errors import ProblemError, TooLarge
from unmask.problems.automata.dfa_file import dfa_from_json, read_dfa_document

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
    place = document
    for key in path[:-1]:
        place = place[key]
    if value is None and len(path) == 1:
        del place[path[0]]
    else:
        place[path[-1]] = value
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
