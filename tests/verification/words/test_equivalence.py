"""`--method prove`: against problems, models, circuits and expressions; as text, as JSON, and its exit codes."""

import json
import sys
import time
from dataclasses import replace
from functools import partial
from itertools import product

import pytest

from compilers.test_regular_compiler import LARGE, SMALL
from problems.regexes.test_lookaround import PUBLISHED
from unmask.api import compile_problem, convert_model, save_model, verify_model
from unmask.engines.reference import ReferenceEngine
from unmask.errors import TooLarge, UnmaskError
from unmask.problems.catalogue import parse_problem
from unmask.problems.circuits.circuit import CircuitBuilder
from unmask.problems.circuits.circuit_files import write_aiger
from unmask.problems.problem import ACCEPTED, REJECTED
from unmask.testing.random_model import random_model
from unmask.verification.model_outcomes import outcomes
from unmask.verification.words import equivalence
from unmask.verification.words.network import TooManyCases
from unmask.verification.words.references import Comparison, reference_of
from unmask.weights.kinds import KINDS
from unmask.weights.matrices import Matrix


def prove(model, against=None):
    return verify_model(model, against=against, method="prove")


def converted(problem, source, target, length):
    *_, (_, conversion) = convert_model(compile_problem(problem, source, length=length), target)
    return conversion.model


def dumb(model):
    """A model that writes the first symbol of its vocabulary wherever it writes."""
    name = "predictor" if "predictor" in model.transformers else "model"
    transformer = model.transformers[name]
    mute = replace(transformer, out=Matrix.zeros(transformer.out.shape))
    return replace(model, transformers={**model.transformers, name: mute})


@pytest.mark.parametrize("kind", KINDS)
def test_regexes_of_every_kind_beyond_enumeration(kind):
    verdict = prove(compile_problem("regex:(a|b)*abb", kind, length=24))
    assert verdict.status == "proved"
    assert verdict.proof["by"] == "induction over intervals of the word"
    assert "invariant" in verdict.proof


@pytest.mark.parametrize(
    ("problem", "kind", "length"),
    [
        ("group:A5", "mdm", 16),
        ("family:parity", "mdm", 20),
        ("family:addition", "mdm", 12),
        ("family:contains-aba", "plt", 16),
        ("family:reachability", "mdm", 9),
        ("family:majority", "mdm", 6),
        ("expr:(a+b)*(c-d)", "mdm", None),
        ("expr:a*b-c compact", "plt", None),
    ],
)
def test_problems_of_every_sort(problem, kind, length):
    assert prove(compile_problem(problem, kind, length=length)).status == "proved"


@pytest.mark.parametrize(
    ("source", "target", "length"), [("mdm", "smdm", 12), ("mdm", "topk", 12), ("mdm", "plt", 12), ("pcot", "mdm", 5)]
)
def test_converted_models(source, target, length):
    model = converted("regex:(ab|ba)*", source, target, length)
    assert prove(model).status == "proved"
    assert prove(model, compile_problem("regex:(ab|ba)*", "cot", length=length)).status == "proved"


def test_a_word_that_refutes_really_differs():
    model = compile_problem("regex:(a|b)*abb", "mdm", length=20)
    verdict = prove(model, "regex:(a|b)*ab[ab]")
    assert verdict.status == "refuted"
    assert verdict.counterexample.endswith("aba")
    assert (verdict.expected, verdict.got) == ("accepted", "rejected")
    assert outcomes(model, [verdict.counterexample], ReferenceEngine()) == [REJECTED]


def test_models_against_models():
    first = compile_problem("regex:(a|b)*abb", "mdm", length=10)
    assert prove(first, compile_problem("regex:[ab]*abb", "plt", length=10)).status == "proved"
    verdict = prove(first, compile_problem("regex:[ab]*bb", "plt", length=10))
    assert verdict.status == "refuted"
    assert verdict.counterexample.endswith("bb")
    assert not verdict.counterexample.endswith("abb")


@pytest.mark.parametrize("kind", KINDS)
def test_random_models_against_themselves_and_others(kind):
    """The answer is what running all words says, constants and undecided symbols included."""
    models = [random_model(seed, kind, 2, precision=1, steps=2, padding=2, layers=1, width=3) for seed in range(5)]
    words = ["".join(word) for word in product("ab", repeat=2)]
    outcomes_of_models = [outcomes(model, words, ReferenceEngine()) for model in models]
    for i, j in ((0, 0), (1, 1), (0, 1), (1, 2), (2, 3), (3, 4), (4, 0)):
        verdict = prove(models[i], models[j])
        assert verdict.status == ("proved" if outcomes_of_models[i] == outcomes_of_models[j] else "refuted")
        if verdict.status == "refuted":
            word_index = words.index(verdict.counterexample)
            assert (verdict.got, verdict.expected) == (
                str(outcomes_of_models[i][word_index]),
                str(outcomes_of_models[j][word_index]),
            )


def test_a_model_that_decides_nothing_is_refuted():
    for kind in ("mdm", "plt", "cot"):
        verdict = prove(dumb(compile_problem("regex:(a|b)*abb", kind, length=8)))
        assert verdict.status == "refuted"
        assert verdict.got.startswith("undecided")


def circuit_file(folder, name, outputs, inputs=3):
    builder = CircuitBuilder(f"x{i}" for i in range(inputs))
    ends = [builder.and_(*(builder.input(i) for i in range(inputs) if i != k)) for k in range(outputs)]
    (folder / name).write_text(write_aiger(builder.circuit(ends)))
    return f"aiger:{folder / name}"


def test_all_outputs_count_whatever_the_folder_says(tmp_path):
    """Three outputs, of which the first is wrong: also where the folder names no problem, or one with one output."""
    right, wrong = circuit_file(tmp_path, "right.aag", 3), tmp_path / "wrong.aag"
    builder = CircuitBuilder(("x0", "x1", "x2"))
    x = [builder.input(i) for i in range(3)]
    wrong.write_text(
        write_aiger(builder.circuit([builder.or_(x[1], x[2]), builder.and_(x[0], x[2]), builder.and_(x[0], x[1])]))
    )
    for kind in ("mdm", "cot", "plt"):
        model = compile_problem(f"aiger:{wrong}", kind)
        for problem in (model.problem, {}, {"kind": "family", "family": "parity"}):
            verdict = prove(replace(model, problem=problem), right)
            assert verdict.status == "refuted"
            assert "outputs" in verdict.expected
        assert prove(replace(model, problem={}), f"aiger:{wrong}").status == "proved"


def test_what_cannot_be_compared_is_one_message(tmp_path):
    three, four = circuit_file(tmp_path, "three.aag", 1), circuit_file(tmp_path, "four.aag", 1, inputs=4)
    many = circuit_file(tmp_path, "many.aag", 3)
    bits, letters = compile_problem(three, "mdm"), compile_problem("regex:(ab)*", "mdm", length=3)
    steps = compile_problem("group:Z2", "mdm", length=3)
    for model, against, error, sentence in (
        (bits, four, UnmaskError, "reads 3 symbols, but aiger:four.aag has 4"),
        (bits, "expr:a+b", UnmaskError, "reads 3 symbols, but expr:a\\+b has 4"),
        (bits, "family:addition", UnmaskError, "has words of length 2, 4, 6"),
        (letters, compile_problem("regex:(ab)*", "mdm", length=4), UnmaskError, "words of length 3 and 4"),
        (replace(letters, problem={}), None, UnmaskError, "names no problem"),
    ):
        with pytest.raises(error, match=sentence):
            prove(model, against)
    assert not prove(steps, bits).comparable
    assert prove(compile_problem(three, "cot"), many).compared == "the last of 3 answers"


def test_too_large_is_unknown(monkeypatch):
    def refuse(model):
        raise TooManyCases(f"a row of {model.kind} reads too much")

    model = compile_problem("regex:a*", "mdm", length=3)
    monkeypatch.setattr(equivalence, "extract", refuse)
    verdict = prove(model)
    assert (verdict.status, verdict.exit_code) == ("unknown", 2)
    assert "reads too much" in verdict.reason
    assert issubclass(TooManyCases, TooLarge)


def test_a_word_on_which_both_sides_agree_does_not_refute(monkeypatch):
    """Whatever a method claims, the word is run."""
    model = compile_problem("regex:a*", "mdm", length=2)
    problem = parse_problem("regex:a*")
    run_words = partial(outcomes, engine=ReferenceEngine())
    question = Comparison(model, reference_of(model, problem, run_words), run_words)
    monkeypatch.setattr(type(question.reference), "expected", lambda _self, _word: ACCEPTED)
    a, other = question.letters.index("a"), question.letters.index("!")
    verdict = equivalence._refuted_if_confirmed(question, [a, a], 1)
    assert verdict.status == "unknown"
    assert "both sides say accepted" in verdict.reason
    assert equivalence._refuted_if_confirmed(question, [a, other], 1).status == "refuted"


def test_expressions_are_refuted_by_words_that_can_be_typed():
    model = compile_problem("expr:a+b", "mdm")
    verdict = prove(model, "expr:a-b")
    assert verdict.status == "refuted"
    assert verdict.counterexample.split() == list(verdict.counterexample.replace(" ", ""))
    verdict = prove(dumb(model))
    assert verdict.status == "refuted"
    assert [str(x) for x in outcomes(dumb(model), [verdict.counterexample], ReferenceEngine())] == [verdict.got]


# on the command line


def test_the_command(unmask, tmp_path):
    folder = tmp_path / "abb"
    save_model(compile_problem("regex:(a|b)*abb", "mdm", length=12), folder)
    code, out, _ = unmask("verify", folder, "--method", "prove")
    assert code == 0
    assert out.startswith("proved for every word, by induction over intervals of the word (")
    code, out, _ = unmask("verify", folder, "--method", "prove", "--against", "(a|b)*ab[ab]")
    assert code == 1
    assert "counterexample" in out
    save_model(compile_problem("regex:(a|b)*abb", "cot", length=12), tmp_path / "cot")
    code, out, _ = unmask("verify", folder, "--method", "prove", "--against", tmp_path / "cot")
    assert code == 0
    assert "by SAT sweeping" in out
    save_model(compile_problem("regex:(a|b)*abb", "cot", length=11), tmp_path / "short")
    code, out, err = unmask("verify", folder, "--method", "prove", "--against", tmp_path / "short")
    assert (code, out) == (2, "")
    assert "words of length 12 and 11" in err


def test_the_command_in_json(unmask, tmp_path, monkeypatch):
    folder = tmp_path / "parity"
    save_model(compile_problem("family:parity", "mdm", length=12), folder)
    code, out, _ = unmask("verify", folder, "--method", "prove", "--json")
    document = json.loads(out)
    assert code == 0
    assert (document["verdict"], document["method"], document["counterexample"]) == ("proved", "prove", None)
    assert document["cases"] > 0
    assert document["seconds"] > 0
    assert document["proof"]["by"] == "SAT sweeping"
    code, out, _ = unmask("verify", folder, "--method", "prove", "--against", "family:majority", "--json")
    document = json.loads(out)
    assert (code, document["verdict"]) == (1, "refuted")
    word = document["counterexample"]
    assert (word.count("1") % 2 == 1) != (word.count("1") > 6)
    monkeypatch.setitem(sys.modules, "pysat.solvers", None)
    code, out, _ = unmask("verify", folder, "--method", "prove", "--json")
    assert code == 2
    assert json.loads(out) == {"error": "this proof needs a SAT solver; run `pip install 'unmask[verify]'`"}


# the list of what must be proved, with times


REGEXES = [
    "(a|b)*abb",
    "(aa)*",
    "[0-9]{4}-[0-9]{2}-[0-9]{2}.*",
    "(a|b)*a(a|b)(a|b)",
    ".*cat.*|.*dog.*",
    "(ab|ba)*",
    "a*b*c*",
    "(0|1(01*0)*1)*",
    r"[a-z]+@[a-z]+\.(com|org)",
    "((a|b){3})*",
    "a?b+c{2,5}.*",
    "[^x]*",
    "(a(b|c)*d)*",
    r"\w+( \w+)*",
    "(b*ab*ab*ab*)*",
    "x{64}",
    "()",
    ".*(.)*",
    "[αβγ]*ω",
    "(a|ab)(c|bcd)(d*)",
]


@pytest.fixture
def timed(capsys):
    """Prove, print how much of a processor's time it took, and return the status."""

    def run(model, name):
        start = time.process_time()
        verdict = prove(model)
        took = time.process_time() - start
        with capsys.disabled():
            print(f"\n{name}: {verdict.status} in {took:.1f} s")
        return verdict.status

    return run


@pytest.mark.long
@pytest.mark.parametrize("kind", ["mdm", "plt"])
@pytest.mark.parametrize("pattern", REGEXES)
def test_regexes_at_64(pattern, kind, timed):
    assert timed(compile_problem(f"regex:{pattern}", kind, length=64), f"{pattern} {kind} 64") == "proved"


@pytest.mark.long
@pytest.mark.parametrize("pattern", [*LARGE.values(), *SMALL.values(), *PUBLISHED])
def test_the_largest_regexes_at_64(pattern, timed):
    assert timed(compile_problem(f"regex:{pattern}", "mdm", length=64), f"{pattern} 64") == "proved"


@pytest.mark.long
@pytest.mark.parametrize(
    ("source", "target", "length"), [("mdm", "smdm", 64), ("mdm", "topk", 64), ("mdm", "plt", 64), ("pcot", "mdm", 8)]
)
@pytest.mark.parametrize("pattern", REGEXES[:5])
def test_converted_regexes(pattern, source, target, length, timed):
    model = converted(f"regex:{pattern}", source, target, length)
    assert timed(model, f"{pattern} {source} → {target} {length}") == "proved"


@pytest.mark.long
@pytest.mark.parametrize("pattern", ["(a|b)*abb", "(aa)*", "(a|b)*a(a|b)(a|b)", "(ab|ba)*", "a*b*c*"])
def test_looped_models_converted_to_diffusion(pattern, timed):
    assert timed(converted(f"regex:{pattern}", "plt", "mdm", 3), f"{pattern} plt → mdm 3") == "proved"


@pytest.mark.long
@pytest.mark.parametrize(
    ("problem", "kind", "length"),
    [
        ("family:addition", "mdm", 64),
        ("family:addition", "cot", 64),
        ("family:parity", "mdm", 128),
        ("family:parity", "plt", 128),
        ("regex:(a|b)*abb", "mdm", 256),
        ("regex:(a|b)*abb", "plt", 256),
        ("regex:(a|b)*abb", "cot", 256),
        ("group:A5", "mdm", 64),
        ("group:A5", "plt", 64),
        ("group:A5", "cot", 64),
    ],
)
def test_large_models(problem, kind, length, timed):
    assert timed(compile_problem(problem, kind, length=length), f"{problem} {kind} {length}") == "proved"
