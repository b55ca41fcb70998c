"""The checker of inductions: it accepts certificates of proofs, and refuses one with a change in any place."""

import json
import random
import re
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
from import_graph import closure, module_graph

import unmask.checker.check_induction as checker
from unmask.api import compile_problem, verify_model
from unmask.checker.__main__ import main
from unmask.weights.kinds import KINDS
from unmask.weights.storage import content_hash, save

from .certificates import certified, changed, refusal
from .mutants import mutants, replaced

ABB = "(a|b)*abb"
ANY = [(ABB, 3), ("group:S3", 3), ("(?s:.*)a", 3), (r"\d+[a-z]?", 2), ("a*", 0)]
"""In the third, every letter leads to one state, so that the start state makes no difference."""


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


READER_OF_FOLDERS = {"weights", "files", "limits", "errors"}
FORMER_MODULES = {"documents", "writing", "budget", "interrupts", "escapes"}


@pytest.mark.parametrize("entry_point", ["checker/__main__", "checker/families"])
def test_it_imports_nothing_but_numbers_and_the_reader_of_folders(entry_point):
    modules = closure(module_graph(), [entry_point])
    packages = {module.split("/")[0] for module in modules} - FORMER_MODULES
    assert packages <= {"checker", "numerics", "lazy_names"} | READER_OF_FOLDERS


def test_the_checker_is_small_enough_to_read():
    sizes = {file.name: len(file.read_text().splitlines()) for file in Path(checker.__file__).parent.glob("*.py")}
    assert len(sizes) <= 10
    assert max(sizes.values()) <= 500, sizes
    assert sum(sizes.values()) <= 2500, sizes


# one place of a certificate


def accepted(problem, kind, length, *, at_most=None):
    """Return (number of tried mutants, the mutants that the checker accepts), of all mutants or of a sample."""
    model, document = certified(problem, kind, length)
    sample = list(mutants(document))
    if at_most is not None:
        sample = random.Random(f"{problem} {kind}").sample(sample, min(at_most, len(sample)))
    return len(sample), [(path, description) for path, description, mutant in sample if refusal(mutant, model) is None]


@pytest.mark.parametrize("kind", ["mdm", "plt", "cot"])
@pytest.mark.parametrize(("problem", "length"), [(ABB, 2), ("group:Z2", 3)])
def test_a_certificate_broken_in_one_place_is_refused(problem, kind, length):
    assert accepted(problem, kind, length, at_most=120) == (120, [])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("problem", "length"), [(ABB, 4), ("group:Z3", 3), ("(ab)*", 5), (r"\d+[a-z]?", 4)])
@pytest.mark.parametrize("most", [100, pytest.param(None, marks=pytest.mark.long)], ids=["some", "all"])
def test_every_entry_of_every_table_matters(problem, kind, length, most):
    """Each entry is replaced by every other value of its table and by a new one; by default a sample of these."""
    model, document = certified(problem, kind, length)
    changes = [
        (v, entry, new)
        for v, variable in enumerate(document["variables"])
        for entry, old in enumerate(variable["table"])
        for new in range(max(variable["table"]) + 2)
        if new != old
    ]
    assert changes
    if most is not None and most < len(changes):
        changes = random.Random(f"{problem} {kind}").sample(changes, most)
    for v, entry, new in changes:
        assert refusal(replaced(document, ("variables", v, "table", entry), new), model) is not None, (v, entry, new)


UNUSED = """
from unmask.recurrences import BOOLEAN, N, Slots, System, indices, letter

(i,) = indices("i")
unused = Slots("unused", (), BOOLEAN)
unused.rule((letter(0), letter(1), letter(2)), lambda x, y, z: x == y == z)
odd = Slots("odd", i.range(N), BOOLEAN)
odd.rule((odd[i - 1].or_else(False), letter(i)), lambda before, x: before != (x == "1"))
program = System("01", (unused, odd), answer=odd[N - 1])
"""
PARITY = {
    "alphabet": ["0", "1"],
    "states": ["even", "odd"],
    "start": "even",
    "accepting": ["odd"],
    "transitions": {"even": {"0": "even", "1": "odd"}, "odd": {"0": "odd", "1": "even"}},
}


def test_a_table_with_entries_that_no_word_reaches_is_refused(tmp_path):
    """The slot `unused` reads three letters. Here its table is over two pairs of letters that share a letter.

    Half of the sixteen entries belong to pairs that disagree about that letter: no word reaches them, so they could be
    anything. Version 0.2 accepted such a certificate.
    """
    (tmp_path / "unused.py").write_text(UNUSED)
    (tmp_path / "parity.json").write_text(json.dumps(PARITY))
    model = compile_problem(f"program:{tmp_path / 'unused.py'}", "mdm", length=3)
    against = f"dfa:{tmp_path / 'parity.json'}"
    proved = verify_model(model, method="prove", against=against, certified=True, by="induction")
    document = proved.certificate.document
    first, *rest = document["variables"]
    assert (first["parents"], refusal(document, model)) == ([0, 1, 2], None)
    pairs = [[2 * x + y, (x + y) % 2] for x in (0, 1) for y in (0, 1)]
    entries = [
        first["table"][4 * (left // 2) + right] if left % 2 == right // 2 else (left + right) % 2
        for left, right in product(range(4), repeat=2)
    ]
    forged = document | {
        "variables": [
            {"parents": [0, 1], "table": [0, 1, 2, 3], "interval": [0, 2], "pairs": pairs},
            {"parents": [1, 2], "table": [0, 1, 2, 3], "interval": [1, 3], "pairs": pairs},
            {"parents": [3, 4], "table": entries, "interval": None, "pairs": None},
            *(v | {"parents": [u if u < 3 else u + 2 for u in v["parents"]]} for v in rest),
        ],
        "steps": [[u if u is None or u < 3 else u + 2 for u in step] for step in document["steps"]],
    }
    assert "no row of the model was compared with entry" in refusal(forged, model)


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("problem", "length"), ANY)
def test_a_certificate_of_any_kind_broken_in_any_place_is_refused(problem, kind, length, capsys):
    tried, wrong = accepted(problem, kind, length)
    with capsys.disabled():
        print(f"\n{problem}, {kind}, N = {length}: {tried} broken certificates")
    assert wrong == []


@pytest.mark.parametrize("pattern", [ABB, "(ab)*", r"\d?a*"])
def test_the_automaton_of_a_certificate_has_the_words_of_the_pattern(pattern):
    """The checker does not compare the automaton with the pattern; Python's module re does it here."""
    automaton = certified(pattern, "cot", 3)[1]["automaton"]
    for letters in product("ab7€", repeat=3):
        state, word = 0, "".join(letters)
        for letter in word:
            column = next(k for first, last, k in automaton["characters"] if first <= ord(letter) <= last)
            state = automaton["delta"][state][column]
        assert automaton["accepting"][state] is (re.fullmatch(pattern, word) is not None)


def test_a_name_that_is_given_twice_is_refused(tmp_path, capsys):
    model, document = certified(ABB, "mdm", 2)
    folder, path = save(model, tmp_path / "m"), tmp_path / "abb.induction.json"
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
    """The certificate has the hash of the other model, so that only the check itself can refuse it."""
    model, document = certified(ABB, "mdm", 3)
    other = replace(model, **change)
    assert "hashes differ" in refusal(document, other)
    assert refusal(document | {"model": content_hash(other)}, other) is not None


# a small file that asks for everything


def test_a_loop_of_many_turns_is_not_unrolled_for_a_certificate_without_cuts():
    """A thousand layers, repeated a million times, are refused before they are listed."""
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
    folder, path = save(model, tmp_path / "m"), tmp_path / "abb.induction.json"
    path.write_text(json.dumps(document))
    assert main([str(folder), str(path)]) == 0
    assert "checked for every word of length 4" in capsys.readouterr().out
    path.write_text(json.dumps(changed(document, "variables", 0, "table", 1, to=lambda x: x + 1)))
    assert main([str(folder), str(path)]) == 1
    assert capsys.readouterr().out.startswith("refused: ")
    for nonsense in ("", "[]", "{}", "3", '{"format": "unmask-induction/2"}', "[" * 100_000):
        path.write_text(nonsense)
        assert main([str(folder), str(path)]) == 1
        assert capsys.readouterr().out.startswith("refused: this is not a certificate")
    assert main([str(folder), str(tmp_path / "nowhere")]) == 2
    path.write_text(json.dumps(document))
    assert main([str(tmp_path / "nowhere"), str(path)]) == 2
    assert main([]) == 2
    assert "Traceback" not in capsys.readouterr().err
