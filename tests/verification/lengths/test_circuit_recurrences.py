"""Families of circuits for every N: four are proved, others are unknown, and a wrong recurrence is refuted."""

from dataclasses import replace

import pytest

from unmask.api import compile_problem, prove_family, verify_model
from unmask.compilers.circuit_compiler import family_circuit_compiler
from unmask.compilers.compiler import compiler_for
from unmask.engines.fast import FastEngine
from unmask.expressions import choose, log2_above
from unmask.numerics.arithmetic import Precision
from unmask.problems.catalogue import parse_problem
from unmask.programs import circuit_systems
from unmask.recurrences import (
    BOOLEAN,
    N,
    Slots,
    System,
    collect,
    every,
    indices,
    letter,
    number,
    pick,
    power_of_two_below,
    some,
)
from unmask.verification.lengths.prove_lengths import prove_every_length

P = Precision(2)
(j,) = indices("j")


@pytest.mark.parametrize(
    ("family", "kind", "precision", "price"),
    [
        ("parity", "mdm", 2, "⌈log2 N⌉ steps with N - 1 slots"),
        ("formula", "smdm", 1, "⌈log2 N⌉ steps with 2^⌈log2 N⌉ - 1 slots"),
        ("contains-aba", "mdm", 2, "1 step with N - 1 slots from N = 3"),
        ("contains-aba", "smdm", 1, "1 step with N - 1 slots from N = 3"),
        ("equal-halves", "mdm", 3, "1 step with (if [N mod 2 = 0] then N div 2 else 1) + 1 slots"),
    ],
)
def test_a_family_is_proved_for_every_length(family, kind, precision, price):
    result = prove_family(f"family:{family}", kind, precision=precision, lengths=[12])
    assert result.verdict == "proved", result.reason
    assert price in result.statement
    assert any(o.name == "N = 12: `compile` writes the family's weights" for o in result.obligations)


@pytest.mark.parametrize(
    ("family", "kind"), [("contains-aba", "plt"), ("addition", "plt"), ("majority", "smdm"), ("parity", "plt")]
)
def test_what_is_compiled_circuit_by_circuit_is_unknown(family, kind):
    result = prove_family(f"family:{family}", kind)
    assert result.verdict == "unknown"
    assert "circuit by circuit" in result.reason


@pytest.mark.parametrize("family", ["parity", "formula"])
@pytest.mark.parametrize("length", [1, 2, 3, 4, 5, 7, 8, 9])
def test_the_recurrence_costs_no_more_than_the_circuit(family, length):
    problem = parse_problem(f"family:{family}")
    model = compile_problem(f"family:{family}", "mdm", length=length)
    circuit = family_circuit_compiler(problem, length).compile("mdm", length, P)
    assert (model.steps, model.padding) <= (circuit.steps, circuit.padding)
    assert model.padding <= circuit.padding
    for name, transformer in model.transformers.items():
        assert transformer.width <= 1.1 * circuit.transformers[name].width
        assert len(transformer.layers) <= len(circuit.transformers[name].layers)
    assert verify_model(model, against=problem, method="prove").status == "proved"


@pytest.mark.parametrize("family", ["contains-aba", "equal-halves"])
@pytest.mark.parametrize("length", [1, 2, 3, 4, 5, 8, 9, 16, 32])
def test_a_read_over_a_range_costs_no_more_than_the_circuit(family, length):
    """Except for the width at the shortest lengths, and at odd lengths, where the circuit is constant."""
    problem = parse_problem(f"family:{family}")
    model = compile_problem(f"family:{family}", "mdm", length=length)
    circuit = family_circuit_compiler(problem, length).compile("mdm", length, P)
    assert model.steps <= circuit.steps
    assert model.padding <= circuit.padding
    for name, transformer in model.transformers.items():
        assert len(transformer.layers) <= len(circuit.transformers[name].layers)
        if length >= 4 and (length % 2 == 0 or family == "contains-aba"):
            assert transformer.width <= circuit.transformers[name].width
    assert verify_model(model, against=problem, method="prove").status == "proved"


EARLY = 2 * (N - power_of_two_below(N))
ODD = log2_above(N) % 2


def parity(of=lambda a, b: a != b, early=EARLY, one="1"):
    odd = Slots("odd", j.range(N - 1), BOOLEAN)

    def entry(e):
        return pick(e < N, letter((e - early + N) % N).map(lambda x: x == one), odd[e - N])

    odd.rule((entry(2 * j), entry(2 * j + 1)), of)
    return System("01", odd, answer=odd[N - 2])


def formula(odd=ODD, end=None, joined=lambda a, b: None if a is None else not (a and (b is None or b))):
    leaves = choose(power_of_two_below(N) < N, 2 * power_of_two_below(N), power_of_two_below(N))
    node, root = Slots("node", j.range(2, leaves), (False, True, None)), Slots("root", (), BOOLEAN)

    def entry(e):
        leaf = letter(e - leaves).or_else(None).map(lambda x: end if x is None else x == "1")
        return pick(e < leaves, node[e], leaf)

    node.rule((entry(2 * j), entry(2 * j + 1)), joined)
    root.rule((node[2], node[3], number(odd)), lambda a, b, odd: bool(joined(a, b)) != bool(odd))
    return System("01", (node, root), answer=root[()])


def contains_aba(windows=N - 2, reads=(0, 1, 2), word=("a", "b", "a"), over=some):
    answer = Slots("found", (), BOOLEAN)
    window = tuple(letter(j + k) for k in reads)
    answer.rule(over(j.range(windows), window, lambda *letters: letters == word), bool)
    return System("ab", answer, answer=answer[()])


def contains_aba_and(read, of):
    """The answer depends on more than whether a window matches."""
    answer = Slots("found", (), BOOLEAN)
    window = tuple(letter(j + k) for k in range(3))
    answer.rule((some(j.range(N - 2), window, lambda *letters: letters == ("a", "b", "a")), read), of)
    return System("ab", answer, answer=answer[()])


def collects_aba():
    """The collected value is never the one that the rule tests for."""
    answer = Slots("found", (), BOOLEAN)
    window = tuple(letter(j + k) for k in range(3))
    answer.rule(
        collect(j.range(N - 2), window, lambda *letters: {"aba"} if letters == ("a", "b", "a") else ()),
        lambda items: True in items,
    )
    return System("ab", answer, answer=answer[()])


HALF = choose((N % 2).equals(0), N // 2, 1)
NOTHING = letter(0).map(lambda _: True)


def equal_halves(half, odd=1, also=NOTHING):
    equal = Slots("equal", (), BOOLEAN)
    same = every(j.range(half), (letter(j), letter(j + half)), lambda x, y: x == y)
    equal.rule((same, number(N % 2), also), lambda same, parity, more: same and parity != odd and more)
    return System("01", equal, answer=equal[()])


WRONG = {
    "or in place of xor": ("parity", lambda: parity(lambda a, b: a or b)),
    "zeros are counted": ("parity", lambda: parity(one="0")),
    "never negated at the root": ("formula", lambda: formula(odd=0 * N)),
    "the end counts as false": ("formula", lambda: formula(end=False)),
    "the end is forgotten": ("formula", lambda: formula(joined=lambda a, b: not (a and b))),
    "a window too few": ("contains-aba", lambda: contains_aba(windows=choose(N > 3, N - 3, 1))),
    "a letter twice": ("contains-aba", lambda: contains_aba(reads=(0, 1, 1))),
    "another word": ("contains-aba", lambda: contains_aba(word=("a", "b", "b"))),
    "every window": ("contains-aba", lambda: contains_aba(over=every)),
    "a pair too few": ("equal-halves", lambda: equal_halves(choose(N > 3, N // 2 - 1, 1))),
    "odd words": ("equal-halves", lambda: equal_halves(N // 2, odd=2)),
    "only after a": ("contains-aba", lambda: contains_aba_and(letter(0), lambda matched, x: matched and x == "a")),
    "never what is collected": ("contains-aba", collects_aba),
    "a zero first": ("equal-halves", lambda: equal_halves(HALF, also=letter(0).map(lambda x: x == "0"))),
    "a zero first, if even": (
        "equal-halves",
        lambda: equal_halves(HALF, also=pick((N % 2).equals(0), letter(0).map(lambda x: x == "0"), letter(0))),
    ),
}
CORRECT = {
    "a rule that differs": (
        "contains-aba",
        lambda: contains_aba_and(number(choose(N > 7, 1, 0)), lambda matched, _: matched),
    ),
    "a letter that does not count": ("equal-halves", lambda: equal_halves(HALF)),
}
"""Other recurrences for the same families."""


def by_recurrence(monkeypatch, family, make):
    """Return the verdict on a family that is compiled from this recurrence."""
    least, _ = circuit_systems.UNIFORM[family]
    monkeypatch.setitem(circuit_systems.UNIFORM, family, (least, lambda _: make()))
    problem = parse_problem(f"family:{family}")
    return prove_every_length(problem, compiler_for(problem), "mdm", P, FastEngine(), lengths=())


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_recurrence_is_refuted(name, monkeypatch):
    """Models that compute their recurrence, which is not the family."""
    result = by_recurrence(monkeypatch, *WRONG[name])
    assert result.verdict == "refuted", result.reason
    assert result.counterexample is not None


@pytest.mark.parametrize("name", CORRECT)
def test_another_recurrence_is_proved(name, monkeypatch):
    result = by_recurrence(monkeypatch, *CORRECT[name])
    assert result.verdict == "proved", result.reason


def test_the_order_of_letters_is_required_although_parity_does_not_need_it(monkeypatch):
    """Correct, but not by the argument that is checked: unknown, and not refuted."""
    monkeypatch.setitem(circuit_systems.UNIFORM, "parity", (2, lambda _: parity(early=0 * N)))
    problem = parse_problem("family:parity")
    result = prove_every_length(problem, compiler_for(problem), "mdm", P, FastEngine(), lengths=())
    assert result.verdict == "unknown"


def test_a_step_too_few_is_refuted():
    problem = parse_problem("family:formula")
    compiler = compiler_for(problem)
    family = compiler.family_of("mdm", P)
    short = replace(family, design=replace(family.design, steps=family.design.steps - 1))
    result = prove_every_length(problem, compiler, "mdm", P, FastEngine(), family=short, lengths=())
    assert result.verdict == "refuted"
