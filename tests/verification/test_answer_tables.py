"""Answers by tables equal those of the engine, for any weights; if tables do not save time, the engine runs."""

import json
import subprocess
import sys

import numpy as np
import pytest

from unmask.api import compile_problem, convert_model, decide_words, run_words, save_model
from unmask.engines.fast import FastEngine
from unmask.errors import TooLarge, WordError
from unmask.testing import random_model
from unmask.testing.random_model import all_words
from unmask.verification import answer_tables
from unmask.verification.answer_tables import answer_many_words
from unmask.verification.words.network import Network
from unmask.weights.kinds import KINDS


def same(model, words):
    """Both ways on the same words."""
    looked_up = answer_many_words(model, words, engine=FastEngine(), tables=True)
    computed = answer_many_words(model, words, engine=FastEngine(), tables=False)
    assert (looked_up.by, computed.by) == ("tables", "engine")
    assert {i: str(e) for i, e in looked_up.failed.items()} == {i: str(e) for i, e in computed.failed.items()}
    return np.array_equal(looked_up.answers.slots, computed.answers.slots)


@pytest.mark.parametrize("kind", KINDS)
def test_random_models(kind):
    for seed in range(5):
        model = random_model(seed, kind, 1 + seed % 4, precision=1 + seed % 3, stochastic=False)
        assert same(model, all_words(model)), seed


@pytest.mark.parametrize(("problem", "kind", "to"), [("(ab)*", "mdm", "plt"), ("(ab)*", "pcot", "mdm")])
def test_converted_models(problem, kind, to):
    model = compile_problem(problem, kind, length=3)
    for _, converted in convert_model(model, to):
        model = converted.model
    assert same(model, all_words(model))


@pytest.mark.parametrize("problem", ["family:parity", "group:S3", "(a|b)*abb"])
def test_compiled_models(problem):
    model = compile_problem(problem, "mdm", length=6)
    words = all_words(model)
    assert same(model, words[:: max(1, len(words) // 200)])


def test_words_whose_run_fails_have_the_error_of_the_engine():
    """A random planner edits written slots: in an smdm that is an error, of some words alone."""
    for seed in range(40):
        model = random_model(seed, "mdm", 2)
        strict = model.__class__(**_as(model, "smdm"))
        assert same(strict, all_words(strict))
        failed = answer_many_words(strict, all_words(strict), engine=FastEngine(), tables=True).failed
        if 0 < len(failed) < len(all_words(strict)):
            return
    pytest.fail("no model edits on some words alone")


def _as(model, kind):
    names = model.__dataclass_fields__
    return {**{name: getattr(model, name) for name in names}, "kind": kind}


def test_a_table_that_is_wrong_is_noticed(monkeypatch):
    """The comparison above can fail: one entry of one table is changed."""
    cut = Network.cut

    def spoiled(self, cases):
        cut_cases = cut(self, cases)
        variable = self.variables[-1]
        if variable.table is not None and variable.table.size > 1 and variable.size > 1:
            variable.table.flat[0] = (variable.table.flat[0] + 1) % variable.size
        return cut_cases

    model = compile_problem("(a|b)*abb", "mdm", length=4)
    monkeypatch.setattr(Network, "cut", spoiled)
    assert not same(model, all_words(model))


def test_few_words_do_not_pay_and_many_do():
    model = compile_problem("(ab)*", "mdm", length=8)
    words = all_words(model)
    assert answer_many_words(model, words, engine=FastEngine()).by == "engine"
    assert answer_many_words(model, words, engine=FastEngine(), expected=10**6).by == "tables"
    assert answer_many_words(model, words, engine=FastEngine()).by == "tables"  # once they are there


def test_an_extraction_that_takes_too_long_is_given_up(monkeypatch):
    model = compile_problem("(ab)*", "mdm", length=8)
    monkeypatch.setattr(answer_tables, "SHARE", 10**12)
    answered = answer_many_words(model, all_words(model), engine=FastEngine(), expected=10**6)
    assert answered.by == "engine"
    assert answered.answers.accepted.sum() == 1


def test_too_many_cases_are_an_error_only_for_who_insists(monkeypatch):
    def refuse(_):
        raise TooLarge("too many")

    monkeypatch.setattr(answer_tables, "extract", refuse)
    model = compile_problem("(ab)*", "mdm", length=8)
    assert answer_many_words(model, all_words(model), engine=FastEngine(), expected=10**6).by == "engine"
    with pytest.raises(TooLarge):
        answer_many_words(model, all_words(model), engine=FastEngine(), tables=True)


@pytest.mark.parametrize("problem", ["(a|é|😀)*", "group:S3", "family:parity"])
def test_words_as_people_write_them(problem):
    model = compile_problem(problem, "mdm", length=3)
    letters = ["é", "a", "x", "😀", "\ud800", "1", "0", model.input_symbols[0]]
    words = ["", "aa", *("".join(letters[(i * j) % 8] for j in range(3)) for i in range(8)), " ".join(letters[-1:] * 3)]
    expected = run_words(model, words)
    for choice in (True, False):
        decided = decide_words(model, words, tables=choice)
        for i, trace in enumerate(expected):
            if i in decided.errors:
                assert isinstance(trace, WordError)
                assert str(trace) == str(decided.errors[i])
                assert decided.accepted[i] is None
            else:
                assert decided.accepted[i] == trace.accepted
                assert model.symbols(decided.slots[i]) == trace.output


def test_no_words():
    model = compile_problem("(ab)*", "mdm", length=2)
    assert decide_words(model, []).accepted == []
    assert decide_words(model, ["abc"], tables=True).accepted == [None]


def unmask(*arguments, stdin):
    """The command in a process of its own."""
    command = [sys.executable, "-m", "unmask", *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, text=True, check=False, timeout=60)


def test_the_command_prints_the_same_lines(tmp_path):
    folder = str(save_model(compile_problem("(a|b)*abb", "mdm", length=5), tmp_path / "model"))
    words = "\n".join(["ababb", "aabbb", "abb", "bbabb", "ab?bb"]) + "\n"
    by_tables = unmask("run", folder, "-", "--tables", stdin=words)
    assert by_tables.returncode == 2
    lines = by_tables.stdout.splitlines()
    assert [line.split(":")[0] for line in lines] == ["accepted", "rejected", "error", "accepted", "rejected"]
    documents = [
        [json.loads(line) for line in unmask("run", folder, "-", "--json", *flags, stdin=words).stdout.splitlines()]
        for flags in (("--no-canvas", "--tables"), ("--no-canvas", "--no-tables"))
    ]
    for looked_up, computed in zip(*documents, strict=True):
        assert looked_up.pop("by", None) == (None if "error" in computed else "tables")
        looked_up["seconds"] = computed["seconds"] = 0
    assert [line.get("accepted") for line in documents[0]] == [True, False, None, True, False]
    for looked_up, computed in zip(*documents, strict=True):
        assert looked_up == computed


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_a_thousand_models(kind):
    for seed in range(170):
        model = random_model(seed, kind, 1 + seed % 4, precision=1 + seed % 4, stochastic=False)
        assert same(model, all_words(model)), seed
