"""All methods are about every word of the problem: one that a folder cannot read refutes it, and is named."""

import json
import re
from dataclasses import replace
from functools import partial

import pytest

from outside_reader import Unreadable
from outside_reader import run as run_outside
from unmask.api import compile_problem, load_model, save_model, verify_model
from unmask.engines.reference import ReferenceEngine
from unmask.errors import UnmaskError
from unmask.problems.catalogue import parse_problem
from unmask.verification.model_outcomes import outcomes
from unmask.verification.words.references import Comparison, reference_of
from unmask.weights.kinds import KINDS

METHODS = ["prove", "exhaustive", "sample"]
A, B, LAST = ord("a"), ord("b"), 0x10FFFF
OTHER = "[^ab]"


@pytest.fixture(scope="module")
def abb(tmp_path_factory):
    """A folder of (a|b)*abb, N = 5, whose config a test may change."""
    folder = save_model(compile_problem("(a|b)*abb", "mdm", length=5), tmp_path_factory.mktemp("folders") / "abb")
    written = (folder / "config.json").read_text()

    def changed(**fields):
        config = json.loads(written)
        unknown = fields.keys() - config.keys()
        assert not unknown
        (folder / "config.json").write_text(json.dumps(config | fields))
        return folder

    yield changed
    (folder / "config.json").write_text(written)


def without(point):
    """All of Unicode but for one code point."""
    every = [(0, A - 1, OTHER), (A, A, "a"), (B, B, "b"), (B + 1, LAST, OTHER)]
    cut = [
        entry
        for low, high, name in every
        for entry in ((low, min(high, point - 1), name), (max(low, point + 1), high, name))
    ]
    return [list(entry) for entry in dict.fromkeys(cut) if entry[0] <= entry[1] and not entry[0] <= point <= entry[1]]


WHOLE = [[0, A - 1, OTHER], [A, A, "a"], [B, B, "b"], [B + 1, LAST, OTHER]]

UNREADABLE = {
    "only a": ([[A, A, "a"]], None),
    "nothing": ([], None),
    "b is missing": (without(B), "b"),
    "a rare character is missing": (without(0x1F600), "\U0001f600"),
    "the first is missing": (without(0), "\0"),
    "the last is missing": (without(LAST), "\U0010ffff"),
    "half of a pair is missing": (without(0xD800), "\ud800"),
    "mapped twice": ([*WHOLE, [B, B, "a"]], "b"),
    "mapped twice to the same": ([*WHOLE, [B, B, "b"]], "b"),
    "mapped to the mask": ([*WHOLE[:2], [B, B, "m"], WHOLE[3]], "b"),
    "mapped to an answer, by its token": ([*WHOLE[:2], [B, B, 5], WHOLE[3]], "b"),
    "mapped to no symbol": ([*WHOLE[:2], [B, B, "zebra"], WHOLE[3]], "b"),
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("case", UNREADABLE)
def test_a_character_that_cannot_be_read(abb, unmask, case, method):
    characters, culprit = UNREADABLE[case]
    folder = abb(characters=characters)
    code, out, _ = unmask("verify", folder, "--method", method, "--json")
    verdict = json.loads(out)
    assert (code, verdict["verdict"]) == (1, "refuted")
    word = verdict["counterexample"]
    assert len(word) == 5
    assert culprit is None or culprit in word
    assert "has no token" in verdict["got"]
    assert verdict["expected"] in ("accepted", "rejected")
    with pytest.raises(Unreadable):
        run_outside(folder, word)
    assert unmask("verify", folder, "--method", method, "--against", "(a|b)*abb")[0] == 1


def test_the_folder_as_it_was_is_proved(abb, unmask):
    assert unmask("verify", abb(characters=WHOLE), "--method", "prove")[0] == 0
    assert unmask("verify", abb(characters=WHOLE[::-1]), "--method", "prove")[0] == 0  # in any order


MISREAD = {
    "c as b": [*WHOLE[:2], [B, B + 1, "b"], [B + 2, LAST, OTHER]],
    "an emoji as a": [*without(0x1F600), [0x1F600, 0x1F600, "a"]],
    "the first as b": [*without(0), [0, 0, "b"]],
    "the last as a": [*without(LAST), [LAST, LAST, "a"]],
    "half of a pair as b": [*without(0xD800), [0xD800, 0xD800, "b"]],
    "a as any other": [*without(A), [A, A, OTHER]],
    "b as a": [*without(B), [B, B, "a"]],
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("case", MISREAD)
def test_a_character_of_another_token_is_found(abb, unmask, case, method):
    """A word for `re`, another for the model; no method leaves it to luck."""
    code, out, _ = unmask("verify", abb(characters=MISREAD[case]), "--method", method, "--json", "--cases", "1")
    verdict = json.loads(out)
    assert (code, verdict["verdict"]) == (1, "refuted")
    assert (re.fullmatch("(a|b)*abb", verdict["counterexample"]) is None) == (verdict["expected"] == "rejected")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "fields",
    [
        {"characters": None},
        {"input_symbols": ["a", OTHER]},
        {"input_symbols": ["a", "b"], "characters": None},
    ],
    ids=str,
)
def test_tokens_are_part_of_what_is_proved(abb, unmask, fields, method):
    code, out, _ = unmask("verify", abb(**fields), "--method", method, "--json")
    assert (code, json.loads(out)["verdict"]) == (1, "refuted")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("problem", ["group:Z3", "family:parity", "expr:a+b in 0..2"])
def test_a_letter_that_is_missing(tmp_path, unmask, problem, method):
    model = compile_problem(problem, "mdm", length=None if "expr" in problem else 3)
    folder = save_model(model, tmp_path / "m")
    config = json.loads((folder / "config.json").read_text())
    for symbols in (config["input_symbols"][:1], config["input_symbols"][1:]):
        (folder / "config.json").write_text(json.dumps(config | {"input_symbols": symbols}))
        code, out, _ = unmask("verify", folder, "--method", method, "--json")
        verdict = json.loads(out)
        assert (code, verdict["verdict"]) == (1, "refuted")
        assert verdict["got"].startswith("error")


def test_a_folder_without_input_symbols_is_not_compared(abb, unmask):
    code, _, error = unmask("verify", abb(input_symbols=[], characters=[]), "--method", "prove")
    assert (code, "no input_symbols" in error) == (2, True)


@pytest.mark.parametrize("kind", KINDS)
def test_aliases_are_part_of_what_is_proved(kind):
    """Acceptance applies them: swapped answers are refuted, answers of another name are not."""
    model = compile_problem("(a|b)*abb", kind, length=3)
    swapped = replace(model, aliases={model.accept: model.reject, model.reject: model.accept})
    lost = replace(model, aliases={model.accept: "a"})
    renamed = replace(model, accept=model.reject, reject=model.accept, aliases=swapped.aliases)
    for method in METHODS:
        assert verify_model(swapped, method=method).status == "refuted"
        assert verify_model(lost, method=method).status == "refuted"
        assert verify_model(renamed, method=method).status == ("proved" if method == "prove" else "held")


def test_an_alias_of_an_alias_is_not_followed():
    model = compile_problem("(a|b)*abb", "mdm", length=3)
    twice = replace(model, aliases={model.accept: "a", "a": model.accept})
    for method in METHODS:
        assert verify_model(twice, method=method).status == "refuted"


def test_the_words_of_another_model_are_those_that_it_reads(abb):
    whole = load_model(abb(characters=WHOLE))
    partial = load_model(abb(characters=[[A, A, "a"], [B, B, "b"]]))
    for method in METHODS:
        assert verify_model(partial, against=whole, method=method).status == "refuted"
        verdict = verify_model(whole, against=partial, method=method)
        assert verdict.status == ("proved" if method == "prove" else "held")
        assert verdict.to_json()["about"] == "every word that the other model reads; it reads no '!', and this one does"


def test_of_a_folder_that_reads_the_same_nothing_is_said(abb):
    whole = load_model(abb(characters=WHOLE))
    assert verify_model(whole, against=whole, method="prove").about is None


def test_a_proof_against_a_folder_that_reads_less_says_so(abb, tmp_path, unmask):
    partial = save_model(load_model(abb(characters=[[A, A, "a"], [B, B, "b"]])), tmp_path / "partial")
    _, output, _ = unmask("verify", abb(characters=WHOLE), "--against", partial, "--method", "prove")
    assert output.startswith("proved for every word that was compared, by ")
    assert "it reads no '!', and this one does" in output


def test_a_model_that_reads_nothing_says_nothing(abb):
    whole, mute = load_model(abb(characters=WHOLE)), load_model(abb(characters=[]))
    for method in METHODS:
        with pytest.raises(UnmaskError, match="the other model cannot read any character"):
            verify_model(whole, against=mute, method=method)


def test_every_class_of_characters_has_a_letter():
    """Two characters that one side distinguishes are represented by different letters."""
    model = compile_problem("[a-m]*", "mdm", length=2)
    problem = parse_problem("[f-z]*")
    run_words = partial(outcomes, engine=ReferenceEngine())
    question = Comparison(model, reference_of(model, problem, run_words), run_words)
    classes = {(letter in "abcdefghijklm", letter in "fghijklmnopqrstuvwxyz") for letter in question.letters}
    assert classes == {(True, False), (True, True), (False, True), (False, False)}
    assert len(question.letters) == 4


def test_the_empty_word_needs_no_letter(tmp_path):
    folder = save_model(compile_problem("a*", "mdm", length=0), tmp_path / "m")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"characters": []}))
    assert verify_model(load_model(folder), method="prove").status == "proved"
