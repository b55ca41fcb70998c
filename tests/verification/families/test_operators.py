"""`Expression.compute` and the bridge's evaluator against Python integers: every operator, n and N below 2^39."""

import random

import numpy as np
import pytest

from unmask.programs.language.positions import (
    REBUILT,
    Expression,
    N,
    choose,
    constant,
    log2_above,
    n,
    power_of_two_below,
)
from unmask.verification.families.bridge import values_at

LIMIT = 1 << 39
MOST = 1 << 62
"""Positions are computed with 64 bits; what is larger on the way is not compared."""


class TooLong(Exception):
    """A part of an expression has more than 62 bits."""


def by_integers(expression, length, position):
    """The value of an expression, from its tree and with Python's integers alone."""
    parts = [by_integers(operand, length, position) for operand in expression.operands]
    value = {
        "n": lambda: position,
        "N": lambda: length,
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


def drawn(rng, depth):
    if not depth:
        return rng.choice([n, N, constant(rng.randrange(-3, 9)), constant(rng.randrange(LIMIT))])
    a, b, c = (drawn(rng, depth - 1) for _ in range(3))
    small = choose(a > 0, choose(a < 2 * LIMIT, a, N), 1)  # the range of the logarithm
    made = [a + b, a - b, a * b, a % b, a // b, a <= b, a < b, a >= b, a > b, a.equals(b), a.positive_part()]
    return rng.choice([*made, choose(a, b, c), power_of_two_below(small), log2_above(small)])


def near(rng):
    """A number below 2^39, often beside a power of two."""
    power = 1 << rng.randrange(39)
    return max(0, min(LIMIT - 1, rng.choice([rng.randrange(2 * power), power - 1, power, power + 1])))


@pytest.mark.filterwarnings("ignore:divide by zero")
def test_random_expressions_have_the_value_of_their_tree():
    rng = random.Random(26)
    compared, operators = 0, set()
    for _ in range(3000):
        expression, length = drawn(rng, rng.randrange(1, 4)), near(rng)
        rows = np.array([near(rng) for _ in range(5)])
        try:
            wanted = [by_integers(expression, length, row) for row in rows.tolist()]
        except TooLong:
            continue
        assert expression.evaluate(length, rows).tolist() == wanted, (str(expression), length, rows)
        assert values_at(expression, rows, length).tolist() == wanted, (str(expression), length, rows)
        compared += 1
        operators |= set(names_of(expression))
    assert compared > 1000
    assert operators == {*REBUILT, "n", "N", "constant"}


def names_of(expression: Expression):
    yield expression.operator
    for operand in expression.operands:
        yield from names_of(operand)


@pytest.mark.parametrize("operator", [power_of_two_below, log2_above])
def test_powers_and_logarithms_at_every_bit(operator):
    """Both are constant between powers of two: at 2^k - 1, 2^k and 2^k + 1 every step of theirs is seen."""
    for k in range(1, 39):
        for length in (2**k - 1, 2**k, 2**k + 1):
            assert operator(N).at(length) == by_integers(operator(N), length, 0), length


def test_a_wrong_operator_is_seen(monkeypatch):
    """Powers of two that end at seven bits differ from N = 128 on."""
    monkeypatch.setattr(power_of_two_below, "__kwdefaults__", {"most": 7})
    wrong = power_of_two_below(N)
    assert wrong.at(127) == by_integers(wrong, 127, 0)
    assert wrong.at(128) != by_integers(wrong, 128, 0)
