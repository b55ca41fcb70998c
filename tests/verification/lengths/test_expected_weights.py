"""A model is compared with its family entry by entry; a single other number is detected."""

import random
from dataclasses import replace

import numpy as np
import pytest

from unmask.api import compiler_of
from unmask.expressions import (
    _OPERATIONS,
    Expression,
    N,
    both,
    choose,
    constant,
    indices,
    log2_above,
    n,
    power_of_two_below,
)
from unmask.numerics.arithmetic import Precision
from unmask.programs.recurrences.slot_rows import position_formula
from unmask.verification.lengths.expected_weights import compare_with_family, values_at
from unmask.verification.lengths.obligations import ObligationFailed
from unmask.weights.kinds import KINDS
from unmask.weights.matrices import Matrix

P = Precision(2)
(i,) = indices("i")


@pytest.mark.parametrize("kind", KINDS)
def test_the_folder_is_the_family(kind):
    compiler = compiler_of("group:S3")
    family = compiler.family(kind)
    for length in (family.least, 3, 6, 33):
        assert compare_with_family(family, compiler.compile(kind, length, Precision(3))) > length


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_a_hundred_lengths(kind):
    compiler = compiler_of("(a|b)*abb")
    for length in random.Random(kind).sample(range(2, 5000), 100):
        assert compare_with_family(compiler.family(kind), compiler.compile(kind, length, P)) > length


def changed(model, program_name, **fields):
    return replace(
        model, transformers={**model.transformers, program_name: replace(model.transformers[program_name], **fields)}
    )


def one_more(matrix):
    dense = matrix.dense()
    dense[0, 0] = 1 - dense[0, 0]
    return Matrix.of(dense)


def test_a_changed_entry_is_seen():
    compiler = compiler_of("(a|b)*abb")
    family, model = compiler.family("mdm"), compiler.compile("mdm", 9, P)
    predictor = model.transformers["predictor"]
    positions = np.array(predictor.positions[np.arange(len(predictor.positions))])
    positions[4, 5] *= -1
    layer = predictor.layers[0]
    head = replace(layer.heads[0], wq=one_more(layer.heads[0].wq))
    layers = (replace(layer, heads=(head, *layer.heads[1:])), *predictor.layers[1:])
    for wrong, where in (
        (changed(model, "predictor", embed=one_more(predictor.embed)), "embed"),
        (changed(model, "predictor", positions=positions), "row 4 of the positions"),
        (changed(model, "planner", out=one_more(model.transformers["planner"].out)), "planner, out"),
        (changed(model, "predictor", layers=layers), "wq"),
        (replace(model, steps=5), "steps"),
        (replace(model, aliases={"a": "b"}), "aliases"),
    ):  # fmt: skip
        with pytest.raises(ObligationFailed, match=where):
            compare_with_family(family, wrong)


def test_a_folder_of_another_length_is_not_the_family():
    compiler = compiler_of("(a|b)*abb")
    model = compiler.compile("mdm", 9, P)
    with pytest.raises(ObligationFailed):
        compare_with_family(compiler.family("mdm"), replace(model, length=10, padding=7))


def test_trees_and_arrays_of_expressions_agree():
    rows = np.arange(40)
    for expression in (
        (2 * n + 1 - 2 * (N - power_of_two_below(N))) % N,
        choose(both(n < N, 2 * n < N), 2 * n, N),
        (n - N) // ((N + 1) // 2),
        log2_above(N) * n + (n - 7).positive_part(),
        (n >= N).equals(n > N),
    ):
        for length in (1, 2, 3, 7, 8, 9, 31):
            assert (values_at(expression, rows, length) == expression.at_positions(length, rows)).all()


def random_expression(rng, depth):
    """Return an index expression, which may divide by 0 or contain the logarithm of a number that is not positive."""
    if not depth:
        return rng.choice([i, N, i - 3, N - 5, *map(constant, (0, 1, 2, 5, -2))])
    a, b, c = (random_expression(rng, depth - 1) for _ in range(3))
    combined = [a + b, a - b, a * b, a // b, a % b, a < b, a.equals(b), a.differs(b), choose(a, b, c)]
    return rng.choice([*combined, power_of_two_below(a), log2_above(a)])


@pytest.mark.filterwarnings("ignore:divide by zero")
def test_an_expression_is_one_number():
    """It has the same value for one slot, for all slots at once, at positions, and computed from its tree."""
    rng = random.Random(17)
    for _ in range(400):
        expression, length = random_expression(rng, rng.randrange(1, 4)), rng.randrange(14)
        values = np.arange(-2, length + 3)
        rows, formula_ = np.arange(values.size), position_formula(expression, {"N": N, "i": n - 2})
        arrays = {"N": np.full(values.size, length), "i": values}
        by_slot = [int(expression.evaluate({"N": length, "i": int(value)})) for value in values]
        assert np.broadcast_to(expression.evaluate(arrays), values.shape).tolist() == by_slot, expression
        assert formula_.at_positions(length, rows).tolist() == by_slot, expression
        assert values_at(formula_, rows, length).tolist() == by_slot, expression


# `Expression.evaluate` and `values_at` against Python integers: every operator, n and N below 2^39.


LIMIT = 1 << 39
MOST = 1 << 62
"""Positions are computed with 64 bits; expressions with larger intermediate values are not compared."""


class TooLong(Exception):
    """The value of a part of an expression has more than 62 bits."""


def by_integers(expression, length, position):
    """Return the value of an expression, computed from its tree with Python's integers alone."""
    parts = [by_integers(operand, length, position) for operand in expression.operands]
    value = {
        "variable": lambda: {"n": position, "N": length}[expression.name],
        "constant": lambda: expression.value,
        "+": lambda a, b: a + b,
        "-": lambda a, b: a - b,
        "·": lambda a, b: a * b,
        "mod": lambda a, b: a % b if b else 0,
        "div": lambda a, b: a // b if b else 0,
        "<=": lambda a, b: a <= b,
        "<": lambda a, b: a < b,
        ">=": lambda a, b: a >= b,
        ">": lambda a, b: a > b,
        "=": lambda a, b: a == b,
        "pos": lambda a: max(a, 0),
        "if": lambda a, b, c: b if a else c,
        "power of two below": lambda a: 2 ** (len(bin(a)) - 3) if a >= 1 else 1,
        "log2 above": lambda a: min((k for k in range(64) if 2**k >= a), default=64),
    }[expression.operator](*parts)
    if abs(value) >= MOST:
        raise TooLong
    return int(value)


def random_integers(rng, depth):
    if not depth:
        return rng.choice([n, N, constant(rng.randrange(-3, 9)), constant(rng.randrange(LIMIT))])
    a, b, c = (random_integers(rng, depth - 1) for _ in range(3))
    small = choose(a > 0, choose(a < 2 * LIMIT, a, N), 1)  # the range of the logarithm
    combined = [a + b, a - b, a * b, a % b, a // b, a <= b, a < b, a >= b, a > b, a.equals(b), a.positive_part()]
    return rng.choice([*combined, choose(a, b, c), power_of_two_below(small), log2_above(small)])


def random_number(rng):
    """Return a number below 2^39, often next to a power of two."""
    power = 1 << rng.randrange(39)
    return max(0, min(LIMIT - 1, rng.choice([rng.randrange(2 * power), power - 1, power, power + 1])))


@pytest.mark.filterwarnings("ignore:divide by zero")
def test_random_expressions_have_the_value_of_their_tree():
    rng = random.Random(26)
    compared, operators = 0, set()
    for _ in range(3000):
        expression, length = random_integers(rng, rng.randrange(1, 4)), random_number(rng)
        rows = np.array([random_number(rng) for _ in range(5)])
        try:
            expected = [by_integers(expression, length, row) for row in rows.tolist()]
        except TooLong:
            continue
        assert expression.at_positions(length, rows).tolist() == expected, (str(expression), length, rows)
        assert values_at(expression, rows, length).tolist() == expected, (str(expression), length, rows)
        compared += 1
        operators |= set(names_of(expression))
    assert compared > 1000
    assert operators == {*_OPERATIONS, "if", "variable", "constant"} - {"≠", "2^", "table", "machine"}


def names_of(expression: Expression):
    yield expression.operator
    for operand in expression.operands:
        yield from names_of(operand)


@pytest.mark.parametrize("operator", [power_of_two_below, log2_above])
def test_powers_and_logarithms_at_every_bit(operator):
    """Both are constant between powers of two, so that 2^k - 1, 2^k and 2^k + 1 show every step."""
    for k in range(1, 39):
        for length in (2**k - 1, 2**k, 2**k + 1):
            assert operator(N).at(length) == by_integers(operator(N), length, 0), length


def test_a_wrong_operator_is_seen(monkeypatch):
    """Powers of two that end at seven bits differ from N = 128 on."""
    monkeypatch.setitem(_OPERATIONS, "power of two below", lambda _, x: 1 << min(int(x).bit_length() - 1, 6))
    wrong = power_of_two_below(N)
    assert wrong.at(127) == by_integers(wrong, 127, 0)
    assert wrong.at(128) != by_integers(wrong, 128, 0)
