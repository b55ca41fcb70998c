"""One file and one row make a new kind of problem that every command and the playground can use.

The file is the one that docs/how-to/add-a-problem.md shows.
"""

import json
import random
import re
from itertools import islice, pairwise, product
from pathlib import Path
from typing import get_args

import pytest

from unmask import api, problems
from unmask.api import compare_frameworks, compile_problem, load_model, run_word, save_model, verify_model
from unmask.cli.options import ProblemArgument, complete_problem
from unmask.compilers.compiler import compiler_for
from unmask.errors import ProblemError
from unmask.numerics.arithmetic import Precision
from unmask.playground.answers import answer_run
from unmask.playground.requested_problem import PlaygroundQuestion, requested_problem
from unmask.problems import catalogue
from unmask.problems.catalogue import parse_problem, problem_from_json
from unmask.problems.problem import Outcome, Problem
from unmask.recurrences import BOOLEAN, N, Slots, System, indices, letter
from unmask.weights.kinds import KINDS

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "add-a-problem.md"
TOY = "neighbours:abc"


@pytest.fixture
def toy(monkeypatch):
    """Add the row of the page for one test."""
    api.problem_of.cache_clear()
    api.compiler_of.cache_clear()
    monkeypatch.setattr(catalogue, "CATALOGUE", rows := list(catalogue.CATALOGUE))
    monkeypatch.setattr(problems, "CATALOGUE", rows)  # the page imports the public name
    (text,) = re.findall(r"```python title=\"neighbours.py\"\n(.*?)\nmodel = ", PAGE.read_text("utf-8"), re.DOTALL)
    exec(compile(text, "neighbours.py", "exec"), {"__name__": "neighbours"})
    yield rows[-1]
    api.problem_of.cache_clear()
    api.compiler_of.cache_clear()


def is_accepted(word):
    return all(x != y for x, y in pairwise(word))


@pytest.mark.usefixtures("toy")
@pytest.mark.parametrize("kind", KINDS)
def test_it_compiles_runs_and_is_proved(kind):
    model = compile_problem(TOY, kind, length=3)
    for word in map("".join, product("abc", repeat=3)):
        assert run_word(model, word).accepted is is_accepted(word)
    assert verify_model(model, method="exhaustive").cases == 27
    assert verify_model(model, method="sample", cases=20).status == "held"
    assert verify_model(model, method="prove").status == "proved"
    assert verify_model(model, against="neighbours:cba", method="prove").status == "proved"


@pytest.mark.usefixtures("toy")
def test_it_is_compared():
    rows = list(compare_frameworks(TOY, [4]))
    assert {row.framework for row in rows} == set(KINDS)
    assert all(row.correct and row.within_bound for row in rows)


@pytest.mark.usefixtures("toy")
def test_a_folder_keeps_it(tmp_path):
    save_model(compile_problem(TOY, "mdm", length=4), tmp_path / "toy")
    model = load_model(tmp_path / "toy")
    assert model.problem == {"kind": "neighbours", "alphabet": "abc"}
    assert verify_model(model).status == "held"
    assert api.problem_name(api.compile_again(model, "plt")) == TOY
    with pytest.raises(ProblemError, match="of kind neighbours: its alphabet must be a string, not 3"):
        problem_from_json({"kind": "neighbours", "alphabet": 3})


@pytest.mark.usefixtures("toy")
def test_words_to_try_have_both_answers():
    words = list(islice(parse_problem(TOY).words(6, random.Random(0)), 40))
    assert {is_accepted(word) for word in words} == {True, False}


@pytest.mark.usefixtures("toy")
def test_shell_and_playground_know_it():
    assert list(complete_problem("nei")) == [TOY]
    answer = answer_run(requested_problem(PlaygroundQuestion.of({"problem": TOY, "word": "abca"})))
    assert (answer["answer"], answer["right"]) == ("accepted", "accepted")
    assert {words["right"] for words in answer["words"]} == {"accepted", "rejected"}
    json.dumps(answer)


def test_a_problem_is_read_once(toy, monkeypatch):
    read = []

    def counted(text):
        read.append(text)
        return toy.parse(text)

    row = catalogue.Row("counted", counted, None)
    monkeypatch.setattr(catalogue, "CATALOGUE", [*catalogue.CATALOGUE, row])
    model = compile_problem("counted:ab", "mdm", length=3)
    assert model.provenance[0]["compiled"] == "neighbours:ab"
    compile_problem("counted:ab", "plt", length=4)
    assert read == ["ab"]


class Silent(Problem):
    """A problem with only the required members."""

    name = "silent:"
    letters = ("x", "yy")

    def outcome(self, word):
        return Outcome.of_bits([bool(word)])

    def stored(self):
        return None


def test_the_defaults_of_a_problem():
    problem = Silent()
    assert (problem.length, problem.automaton, problem.system, problem.characters) == (None, None, None, None)
    assert problem.specification(3) is None
    assert (problem.outputs(3), problem.has_length(7), problem.every_word(3), problem.to_json()) == (1, True, None, {})
    assert problem.symbols_in("x yy x") == 3
    assert {len(word.split()) for word in islice(problem.words(4, random.Random(1)), 9)} == {4}


class Palindromes(Silent):
    """A problem with a system of recurrences."""

    name = "palindromes:"
    letters = ("a", "b")

    @property
    def system(self):
        i, j = indices("i j")
        same = Slots("same", (i.range(N), j.range(i, N)), BOOLEAN)
        same.rule((same[i + 1, j - 1].or_else(True), letter(i), letter(j)), lambda inside, a, b: inside and a == b)
        return System(self.letters, same, answer=same[0, N - 1])


@pytest.mark.parametrize("kind", KINDS)
def test_a_problem_with_a_system_needs_no_compiler(kind):
    model = compiler_for(Palindromes()).compile(kind, 4, Precision(2))
    for word in map("".join, product("ab", repeat=4)):
        assert run_word(model, word).accepted is (word == word[::-1])


def test_a_problem_without_automaton_needs_a_compiler():
    with pytest.raises(ProblemError, match="silent: has no automaton, no system and no compiler"):
        compiler_for(Silent())
    with pytest.raises(Exception, match="proofs about silent: are not supported"):
        verify_model(compile_problem("group:gens:(1 2)", "mdm", length=2), against=Renamed(), method="prove")


class Renamed(Silent):
    letters = ("(12)",)


def test_the_help_names_every_kind_of_problem_that_compiles():
    (argument,) = (annotation for annotation in get_args(ProblemArgument) if annotation is not str)
    named = set(re.findall(r"`(\w+):", argument.help))
    assert named == {row.prefix for row in catalogue.CATALOGUE} - {"law"}
