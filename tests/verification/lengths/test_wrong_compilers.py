"""A compiler that is wrong at a compared length is refuted there, or at least not proved."""

from dataclasses import replace

import pytest

import unmask.programs.instance as instance_module
from unmask import expressions
from unmask.compilers.compiler import compiler_for
from unmask.compilers.regular_compiler import RegularCompiler
from unmask.engines.fast import FastEngine
from unmask.expressions import N
from unmask.numerics.arithmetic import Precision
from unmask.problems.catalogue import parse_problem
from unmask.verification.lengths.compiled_lengths import ALWAYS_COMPARED, COMPARED_IF_SMALL, hashed_lengths
from unmask.verification.lengths.prove_lengths import prove_every_length

P = Precision(2)
ABB = "(a|b)*abb"


def prove_problem(kind="mdm", problem=ABB):
    parsed = parse_problem(problem)
    return prove_every_length(parsed, compiler_for(parsed), kind, P, FastEngine())


def swapping(monkeypatch, wrong):
    """`compile` swaps accept and reject at some lengths."""
    compile_correctly = RegularCompiler.compile

    def compile_wrongly(self, kind, length, precision):
        model = compile_correctly(self, kind, length, precision)
        return replace(model, accept=model.reject, reject=model.accept) if wrong(length) else model

    monkeypatch.setattr(RegularCompiler, "compile", compile_wrongly)


def dropping(monkeypatch, wrong):
    """`program_at` drops the value map of a head at some lengths."""
    instantiate_correctly = instance_module.program_at

    def instantiate_wrongly(program, length):
        instance = instantiate_correctly(program, length)
        if wrong(length):
            instance.layers[0].heads[0].value.clear()
        return instance

    monkeypatch.setattr(instance_module, "program_at", instantiate_wrongly)


@pytest.mark.parametrize("sabotage", [swapping, dropping])
@pytest.mark.parametrize("kind", ["mdm", "plt", "cot"])
@pytest.mark.parametrize("length", [37, 128])
def test_a_compiler_that_is_wrong_at_one_length_is_refuted_there(monkeypatch, sabotage, kind, length):
    sabotage(monkeypatch, lambda n: n == length)
    answer = prove_problem(kind)
    assert answer.verdict == "refuted"
    assert answer.length == length
    assert length not in answer.record.compared


@pytest.mark.parametrize("sabotage", [swapping, dropping])
@pytest.mark.parametrize("where", ["at 1000", "from 200 on", "at a hashed length"])
def test_a_compiler_that_is_wrong_at_long_lengths_is_not_proved(monkeypatch, sabotage, where):
    hashed = hashed_lengths(prove_problem("cot").statement)[1]
    assert 101 <= hashed <= 600
    wrong = {"at 1000": lambda n: n == 1000, "from 200 on": lambda n: n >= 200, "at a hashed length": hashed.__eq__}
    sabotage(monkeypatch, wrong[where])
    answer = prove_problem("cot")
    assert answer.verdict in ("refuted", "unknown")
    assert any(o.verdict == "open" and o.name.startswith("N = ") for o in answer.obligations)


@pytest.mark.parametrize("sabotage", [swapping, dropping])
@pytest.mark.parametrize("kind", ["mdm", "plt"])
def test_a_compiler_that_is_wrong_at_a_length_that_is_not_compared_is_refuted(monkeypatch, sabotage, kind):
    """Tracing finds the comparison `n == 389`, and then the model of that length is refuted."""
    sabotage(monkeypatch, lambda n: n == 389)
    answer = prove_problem(kind)
    assert 389 not in (*ALWAYS_COMPARED, *COMPARED_IF_SMALL, *hashed_lengths(answer.statement))
    assert answer.verdict == "refuted"
    assert answer.length == 389
    assert "N == 389, in <lambda> (test_wrong_compilers.py:" in answer.reason


@pytest.mark.parametrize("sabotage", [swapping, dropping])
@pytest.mark.parametrize(
    "wrong",
    [
        lambda n: n == 123_456,
        lambda n: n > 70_000,
        lambda n: n in {5_000},
        lambda n: n % 4_001 == 4_000,
        lambda n: str(n) == "5000",
        lambda n: 9_999 <= n < 10_001,
        lambda n: n.bit_length() == 17,
    ],
)
def test_a_compiler_that_looks_at_a_long_length_is_not_proved(monkeypatch, sabotage, wrong):
    sabotage(monkeypatch, wrong)
    answer = prove_problem("cot")
    assert answer.verdict == "unknown"
    assert "the code also uses N in this way" in answer.reason


def ending_at(monkeypatch, bits):
    """`evaluate` returns no power of two with more bits than this."""
    monkeypatch.setitem(
        expressions._OPERATIONS,
        "power of two below",
        lambda _, x: min(1 << (int(x).bit_length() - 1), 1 << (bits - 1)),
    )


def test_powers_of_two_that_end_at_seven_bits_are_not_proved(monkeypatch):
    """`evaluate` is then wrong for N >= 128, but the term for the solver is correct."""
    ending_at(monkeypatch, 7)
    answer = prove_problem()
    assert answer.verdict == "refuted"
    assert answer.length >= 127


@pytest.mark.parametrize("bits", [11, 14, 30])
def test_powers_of_two_that_end_beyond_the_compared_lengths_are_not_proved(bits, monkeypatch):
    ending_at(monkeypatch, bits)
    answer = prove_problem()
    assert answer.verdict == "unknown"
    assert "is not computed as it is written" in answer.reason


def test_the_hashed_lengths_depend_on_the_statement():
    lengths = {hashed_lengths(f"statement {k}") for k in range(20)}
    assert len(lengths) == 20
    assert hashed_lengths("statement 0") == hashed_lengths("statement 0")


def test_a_verdict_says_what_was_compared_and_what_is_trusted():
    answer = prove_problem("cot")
    assert {37, 63, 64, 65, 127, 128, 129, 255, 256, 257, 1000, *hashed_lengths(answer.statement)} <= {
        *answer.record.compared
    }
    trusted = " ".join(answer.to_json()["trusted"])
    for name in ("`compile`", "`program_at`", "`model_of`", "`assemble`", "`Expression.evaluate`", "`save` and `load`"):
        assert name in trusted


@pytest.mark.parametrize("kind", ["mdm", "plt", "pcot", "topk"])
@pytest.mark.parametrize("capacity", [2 * N - 2, N // 2, N * 0 + 1])
def test_an_assertion_that_fails_leaves_the_verdict_unknown(kind, capacity):
    """A code with too few bits fails an assertion when a model of the family is assembled."""
    problem = parse_problem(ABB)
    family = compiler_for(problem).family(kind)
    for program in family.design.programs.values():
        program.codes.update(dict.fromkeys(program.codes, capacity))
    answer = prove_every_length(problem, compiler_for(problem), kind, P, FastEngine(), family=family, lengths=())
    assert answer.verdict == "unknown"
    assert "an internal check failed" in answer.reason
