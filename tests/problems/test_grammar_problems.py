"""Grammars compared with the chart parser of NLTK, from the file to the compiled model."""

import itertools
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from unmask.api import compile_problem, run_word, verify_model
from unmask.compilers.compiler import compiler_for
from unmask.errors import ProblemError
from unmask.numerics.arithmetic import Precision
from unmask.problems import grammar_problems as grammar_module
from unmask.problems.circuits.circuit import CircuitBuilder
from unmask.problems.context_free_grammars import derives, read_grammar, to_binary_grammar
from unmask.problems.grammar_problems import GrammarProblem, chart, parse_grammar
from unmask.recurrences import Interpreter
from unmask.verification.word_encoding import WordEncoding
from unmask.verification.words.deciders import GrammarDecider

FILES = Path(__file__).parents[2] / "examples" / "grammars"
TEXTS = {path.stem: path.read_text(encoding="utf-8") for path in sorted(FILES.glob("*.cfg"))}


def parses(text):
    """Word → whether NLTK finds a parse; its notation differs only in ε."""
    import nltk

    parser = nltk.ChartParser(nltk.CFG.fromstring(text.replace("ε", "")))
    return lambda word: next(iter(parser.parse(list(word))), None) is not None


def random_grammar(rng):
    """A small grammar with empty alternatives, units, and names that derive nothing."""
    names = "SABC"[: rng.randint(1, 4)]

    def alternative():
        symbols = rng.choices([*names, "'a'", "'b'"], k=rng.choice([0, 1, 1, 2, 2, 3]))
        return " ".join(symbols)

    rules = [f"{name} -> {' | '.join(alternative() for _ in range(rng.randint(1, 3)))}" for name in names]
    return "\n".join([*rules, "S -> 'a' 'b'"])


@pytest.mark.parametrize("name", TEXTS)
def test_a_grammar_derives_what_an_outside_parser_parses(name):
    grammar, parse = read_grammar(TEXTS[name]), parses(TEXTS[name])
    chart_of = chart(to_binary_grammar(grammar))
    for length in range(5):
        interpreter = Interpreter(chart_of, length)
        for word in itertools.product(grammar.letters, repeat=length):
            assert derives(grammar, word) == parse(word) == interpreter.run(word).answers[0], word


@pytest.mark.parametrize("seed", range(30))
def test_random_grammars(seed):
    text = random_grammar(random.Random(seed))
    grammar, parse = read_grammar(text), parses(text)
    systems = [chart(to_binary_grammar(grammar), sets=sets) for sets in (True, False)]
    for length in range(5):
        readers = [Interpreter(system, length) for system in systems]
        for word in itertools.product(grammar.letters, repeat=length):
            expected = parse(word)
            assert derives(grammar, word) == expected, (text, word)
            assert [reader.run(word).answers[0] for reader in readers] == [expected, expected], (text, word)


@pytest.mark.parametrize(("name", "kind"), [("dyck2", "mdm"), ("ambiguous", "plt"), ("arithmetic", "topk")])
def test_compiled_grammars_decide_as_the_outside_parser_does(name, kind):
    problem, parse = parse_grammar(str(FILES / f"{name}.cfg")), parses(TEXTS[name])
    model = compiler_for(problem).compile(kind, 6, Precision(2))
    rng = random.Random(name)
    words = list(itertools.islice(problem.words(6, rng), 12))
    answers = [run_word(model, word).accepted for word in words]
    assert answers == [parse(word) for word in words]


@pytest.mark.parametrize("seed", range(40))
def test_what_a_proof_compares_with_derives_what_the_rules_do(seed):
    """The gates are built from the rules as written, with empty alternatives and cycles of unit rules."""
    grammar = read_grammar(random_grammar(random.Random(seed)))
    letters = grammar.letters
    for length in range(5):
        encoding = WordEncoding(len(letters), length)
        builder = CircuitBuilder(encoding.names())
        (answers,) = GrammarDecider(grammar, letters).decide(builder, encoding.literals(builder)).answers
        circuit = builder.circuit([answers["accept"]])
        for assignment in itertools.product([False, True], repeat=encoding.width * length):
            word = [letters[k] for k in encoding.word(assignment)]
            outputs = circuit.evaluate(np.array([assignment], dtype=bool).reshape(1, encoding.width * length))
            assert bool(outputs[0, 0]) == derives(grammar, word), (grammar, word)


@pytest.mark.parametrize(("name", "length"), [("dyck2", 4), ("arithmetic", 3)])
def test_a_wrong_binary_form_is_refuted(name, length, monkeypatch):
    """The compiled grammar lacks a pair; the proof starts from the original rules."""
    problem = parse_grammar(str(FILES / f"{name}.cfg"))
    correct = to_binary_grammar(problem.grammar)
    wrong = 0
    for pair in correct.pairs:
        lacking = replace(correct, pairs={other: derived for other, derived in correct.pairs.items() if other != pair})
        with monkeypatch.context() as patch:
            patch.setattr(grammar_module, "to_binary_grammar", lambda _, lacking=lacking: lacking)
            bent = GrammarProblem(problem.title, problem.text)
            reader = Interpreter(bent.system, length)
            model = compiler_for(bent).compile("mdm", length, Precision(2))
        words = itertools.product(problem.letters, repeat=length)
        same = all(reader.run(word).answers[0] == derives(problem.grammar, word) for word in words)
        assert verify_model(model, against=problem, method="prove").status == ("proved" if same else "refuted")
        wrong += not same
    assert wrong


def test_a_proof_starts_from_the_rules():
    model = compile_problem(f"cfg:{FILES / 'dyck2.cfg'}", "mdm", length=4)
    assert verify_model(model, method="prove").status == "proved"
    other = GrammarProblem("cfg:other", TEXTS["dyck2"].replace("'[' S ']'", "'[' S ')'"))
    refuted = verify_model(model, against=other, method="prove")
    assert refuted.status == "refuted"
    assert derives(other.grammar, refuted.counterexample) != parses(TEXTS["dyck2"])(refuted.counterexample)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the grammar has no rule; write one as S -> 'a' S 'b' | ε"),
        ("S -> 'a", "line 1 of the grammar has a quotation mark that is never closed; close it"),
        ("'a' S", "line 1 of the grammar has no arrow; write it as Name -> alternatives"),
        ("S -> 'a'\nS 'b'", "line 2 of the grammar has no arrow; write it as Name -> alternatives"),
        ("S -> S", "the grammar has no letters, so its only word is the empty word; quote letters, as in 'a'"),
        ("S -> 'S'", "'S' is a letter and the name of a rule; rename the rule"),
        ("S -> 'a' ' '", "line 1 of the grammar has the letter ' '; remove the blanks from it"),
        ("S -> 'a b'", "line 1 of the grammar has the letter 'a b'; remove the blanks from it"),
    ],
)
def test_errors_name_the_line(text, message):
    with pytest.raises(ProblemError, match="^" + message.replace("|", r"\|").replace("(", r"\(") + "$"):
        GrammarProblem("cfg:x", text)


def test_a_line_may_go_on_with_a_bar():
    assert read_grammar("S -> 'a'\n   | 'b' S  # more\n") == read_grammar("S ::= a | b S")


@pytest.mark.parametrize(
    ("text", "words", "other_words"),
    [
        ("accepted -> 'a' accepted 'b' | cell\ncell -> 'c' | ε", ["", "c", "ab", "acb"], ["a", "cc"]),
        ("S -> 'a' 'c' | ⟨a⟩\n⟨a⟩ -> 'b'", ["ac", "b"], ["bc", "a"]),
        ("S -> E 'a' | '⟨a⟩' '⟨a⟩'\nE -> ε | 'b'", ["a", "ba"], ["⟨a⟩", "b"]),
    ],
)
def test_names_of_the_library_are_not_those_of_the_grammar(text, words, other_words):
    problem = GrammarProblem("cfg:x", text)
    for sets, word in itertools.product((True, False), (*words, *other_words)):
        split = [word] if word in problem.letters else list(word)
        system = chart(problem.binary, sets=sets)
        assert Interpreter(system, len(split)).run(split).answers == [word in words]
        assert derives(problem.grammar, split) == (word in words)


def test_the_first_arrow_of_a_line_ends_the_name():
    assert read_grammar("S->a->b").rules == {"S": (("a->b",),)}
