"""The small checker: it accepts what was proved, and refuses a certificate that is broken in one place."""

import json
import random
import re
from dataclasses import replace
from itertools import product

import pytest
from import_graph import closure, module_graph

import unmask.checker.induction as checker
from unmask.checker.__main__ import main
from unmask.pipeline import save_model
from unmask.weights.model import KINDS
from unmask.weights.storage import content_hash

from .certificates import certified, changed, refusal
from .mutants import mutants

ABB = "(a|b)*abb"
ANY = [(ABB, 3), ("group:S3", 3), ("(?s:.*)a", 3), (r"\d+[a-z]?", 2), ("a*", 0)]
"""The third: every letter leads to one state, so that it does not matter where a word starts."""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("problem", "length"), [(ABB, 4), ("group:S3", 3)])
def test_what_was_proved_is_checked(problem, kind, length):
    model, document = certified(problem, kind, length)
    assert refusal(document, model) is None


@pytest.mark.parametrize(("problem", "length"), [("a*", 0), ("a", 1), ("group:Z2", 1), ("(ab)*", 5), (r"\d+[a-z]?", 3)])
@pytest.mark.parametrize("kind", ["mdm", "plt", "cot"])
def test_small_and_odd_lengths(problem, kind, length):
    model, document = certified(problem, kind, length)
    assert refusal(document, model) is None


def test_it_imports_nothing_but_numbers_and_the_reader_of_folders():
    """And what its sentences pass on their way to a terminal. What reads folders also writes them."""
    modules = closure(module_graph(), ["checker/__main__"])
    reader = {"weights", "documents", "files", "errors", "writing", "budget"}
    assert {module.split("/")[0] for module in modules} == {"checker", "numerics", "escapes"} | reader


def test_the_induction_is_checked_by_one_small_file():
    with open(checker.__file__, encoding="utf-8") as file:
        assert len(file.read().splitlines()) <= 200


# one place of a certificate


def accepted(problem, kind, length, *, at_most=None):
    """(how many mutants were tried, those that the checker accepts): all of them, or some of every part."""
    model, document = certified(problem, kind, length)
    drawn = list(mutants(document))
    if at_most is not None:
        drawn = random.Random(f"{problem} {kind}").sample(drawn, min(at_most, len(drawn)))
    return len(drawn), [(path, what) for path, what, mutant in drawn if refusal(mutant, model) is None]


@pytest.mark.parametrize("kind", ["mdm", "plt", "cot"])
@pytest.mark.parametrize(("problem", "length"), [(ABB, 2), ("group:Z2", 3)])
def test_broken_in_one_place_it_is_refused(problem, kind, length):
    assert accepted(problem, kind, length, at_most=120) == (120, [])


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("problem", "length"), ANY)
def test_broken_in_any_place_of_any_kind_it_is_refused(problem, kind, length, capsys):
    tried, wrong = accepted(problem, kind, length)
    with capsys.disabled():
        print(f"\n{problem}, {kind}, N = {length}: {tried} broken certificates")
    assert wrong == []


@pytest.mark.parametrize("pattern", [ABB, "(ab)*", r"\d?a*"])
def test_the_automaton_of_a_certificate_has_the_words_of_the_pattern(pattern):
    """The checker does not compare them; here Python's own expressions do."""
    automaton = certified(pattern, "cot", 3)[1]["automaton"]
    for letters in product("ab7€", repeat=3):
        state, word = 0, "".join(letters)
        for letter in word:
            column = next(k for first, last, k in automaton["characters"] if first <= ord(letter) <= last)
            state = automaton["delta"][state][column]
        assert automaton["accepting"][state] is (re.fullmatch(pattern, word) is not None)


def test_a_name_that_is_given_twice_is_refused(tmp_path, capsys):
    model, document = certified(ABB, "mdm", 2)
    folder, path = save_model(model, tmp_path / "m"), tmp_path / "abb.induction.json"
    whole = json.dumps(document)
    path.write_text(whole)
    assert main([str(folder), str(path)]) == 0
    path.write_text(whole.replace('"model"', '"model": "", "model"', 1))
    assert main([str(folder), str(path)]) == 1
    assert "a field twice" in capsys.readouterr().out


@pytest.mark.parametrize(
    "change",
    [
        {"aliases": {"1": "0"}},
        {"accept": "0", "reject": "1"},
        {"characters": ((0, 96, "[^ab]"), (97, 97, "b"), (98, 98, "a"), (99, 0x10FFFF, "[^ab]"))},
        {"characters": ((97, 97, "a"), (98, 98, "b"))},
        {"characters": ((0, 96, "[^ab]"), (97, 97, "a"), (98, 98, "b"), (100, 0x10FFFF, "[^ab]"))},
        {"characters": None},
    ],
    ids=str,
)
def test_symbols_aliases_and_characters_of_the_folder_are_checked(change):
    """With the hash of the other folder, so that nothing but the check is in the way."""
    model, document = certified(ABB, "mdm", 3)
    other = replace(model, **change)
    assert "hashes differ" in refusal(document, other)
    assert refusal(document | {"model": content_hash(other)}, other) is not None


# a small file that asks for everything


def test_a_loop_of_many_turns_is_not_unrolled_for_a_certificate_without_cuts():
    """A thousand layers, a million times over: refused by counting, before a list of them is made."""
    model, document = certified("group:Z2", "plt", 1)
    body = model.transformers["model"]
    long = replace(body, layers=body.layers * 1000, loop=(0, 1000 * len(body.layers)))
    greedy = replace(model, steps=1 << 20, transformers={"model": long})
    claim = document | {"model": content_hash(greedy), "cuts": []}
    assert "cut to no variable" in refusal(claim, greedy)


def test_an_automaton_with_too_many_maps_is_not_listed():
    """Three letters that generate all 10^10 maps of ten states, and a gap of thirty letters."""
    states = range(10)
    cycle, swap, merge = tuple((q + 1) % 10 for q in states), (1, 0, *states[2:]), (0, 0, *states[2:])
    letters = [(0, cycle), (1, swap), (2, merge)]
    greedy = checker.Induction(letters, 32, len(states))
    with pytest.raises(checker.Refused, match="too many maps"):
        list(greedy.over([0, 31], 0, 32, "the answer"))


# on the command line


def test_the_command(tmp_path, capsys):
    model, document = certified(ABB, "mdm", 4)
    folder, path = save_model(model, tmp_path / "m"), tmp_path / "abb.induction.json"
    path.write_text(json.dumps(document))
    assert main([str(folder), str(path)]) == 0
    assert "checked for every word of length 4" in capsys.readouterr().out
    path.write_text(json.dumps(changed(document, "variables", 0, "table", 1, to=lambda x: x + 1)))
    assert main([str(folder), str(path)]) == 1
    assert capsys.readouterr().out.startswith("refused: ")
    for nonsense in ("", "[]", "{}", "3", '{"format": "unmask-induction/2"}', "[" * 100_000):
        path.write_text(nonsense)
        assert main([str(folder), str(path)]) == 1
        assert capsys.readouterr().out.startswith("refused: this is no certificate")
    assert main([str(folder), str(tmp_path / "nowhere")]) == 2
    path.write_text(json.dumps(document))
    assert main([str(tmp_path / "nowhere"), str(path)]) == 2
    assert main([]) == 2
    assert "Traceback" not in capsys.readouterr().err
