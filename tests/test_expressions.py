"""Expressions: evaluation agrees with the printed form."""

import doctest

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from programs.formulas import meaning
from unmask import expressions
from unmask.expressions import N, both, choose, constant, n, power_of_two_below, substituted, variable

LENGTHS = (1, 2, 3, 7, 16, 33)

FORMULAS = [
    (n - N, "n - N", lambda n, N: n - N),
    (n - (N - 3), "n - (N - 3)", lambda n, N: n - (N - 3)),
    (3 - n - 1, "3 - n - 1", lambda n, _: 2 - n),
    (2 * (n - N) + 1, "2·(n - N) + 1", lambda n, N: 2 * (n - N) + 1),
    (2 * n % 3, "2·n mod 3", lambda n, _: 2 * n % 3),
    (2 * (n % 3), "2·(n mod 3)", lambda n, _: 2 * (n % 3)),
    (n // 4 % 2, "n div 4 mod 2", lambda n, _: n // 4 % 2),
    (n % (N + 1) // 2, "n mod (N + 1) div 2", lambda n, N: n % (N + 1) // 2),
    (n // N * 4, "4·(n div N)", lambda n, N: 4 * (n // N)),
    (-3 * n, "-3·n", lambda n, _: -3 * n),
    (n + constant(-3), "n + -3", lambda n, _: n - 3),
    ((n - N).positive_part(), "pos(n - N)", lambda n, N: max(n - N, 0)),
    (n - N <= 2, "[n - N <= 2]", lambda n, N: n - N <= 2),
    (n < N, "[n < N]", lambda n, N: n < N),
    (n >= N, "[n >= N]", lambda n, N: n >= N),
    (n > N, "[n > N]", lambda n, N: n > N),
    (n.equals(N), "[n = N]", lambda n, N: n == N),
    (choose(n < N, 0, n - N), "(if [n < N] then 0 else n - N)", lambda n, N: 0 if n < N else n - N),
    (both(n < N, n >= 2), "(if [n < N] then [n >= 2] else 0)", lambda n, N: 2 <= n < N),
]


@pytest.mark.parametrize(("expression", "printed", "plain"), FORMULAS, ids=[case[1] for case in FORMULAS])
def test_value_and_formula(expression, printed, plain):
    assert str(expression) == repr(expression) == printed
    for length in LENGTHS:
        expected = [int(plain(i, length)) for i in range(3 * length)]
        assert expression.at_positions(length, range(3 * length)).tolist() == expected
        assert [meaning(printed, i, length) for i in range(3 * length)] == expected


def combined(parts):
    pairs = st.tuples(parts, parts)
    divisors = st.one_of(st.integers(1, 9), st.just(N), parts.map(lambda e: e.positive_part() + 1))
    return st.one_of(
        pairs.map(lambda p: p[0] + p[1]),
        pairs.map(lambda p: p[0] - p[1]),
        st.tuples(parts, st.integers(-4, 4)).map(lambda p: p[0] * p[1]),
        st.tuples(parts, divisors).map(lambda p: p[0] % p[1]),
        st.tuples(parts, divisors).map(lambda p: p[0] // p[1]),
        parts.map(lambda e: e.positive_part()),
        pairs.map(lambda p: p[0] <= p[1]),
        pairs.map(lambda p: p[0] > p[1]),
        pairs.map(lambda p: p[0].equals(p[1])),
        st.tuples(parts, parts, parts).map(lambda p: choose(*p)),
    )


atoms = st.one_of(st.just(n), st.just(N), st.integers(-9, 9).map(constant))
any_expression = st.recursive(atoms, combined, max_leaves=12)


@settings(max_examples=300, deadline=None)
@given(any_expression, st.integers(1, 20))
def test_printed_formulas_mean_what_is_evaluated(expression, length):
    table = expression.at_positions(length, range(2 * length))
    assert table.tolist() == [meaning(str(expression), i, length) for i in range(2 * length)]


@settings(max_examples=100, deadline=None)
@given(any_expression, st.integers(1, 20))
def test_one_entry_at_a_time_gives_the_same_table(expression, length):
    """The executable stand-in for uniformity: every entry is computed from (n, N) alone."""
    table = expression.at_positions(length, range(2 * length))
    assert [int(expression.at_positions(length, [i])[0]) for i in range(2 * length)] == table.tolist()


def test_the_reader_of_formulas_notices_a_wrong_one():
    assert meaning("2·(n - N) + 1", 7, 5) == 5 != meaning("2·n - N + 1", 7, 5)
    with pytest.raises(AssertionError, match=r"\) instead of end"):
        meaning("n)", 0, 1)


def test_power_of_two_below():
    table = power_of_two_below(n + 1).at_positions(0, range(1000))
    assert table.tolist() == [1 << (i.bit_length() - 1) for i in range(1, 1001)]
    assert power_of_two_below(N).at_positions(2**39 + 5, [0]).tolist() == [2**39]


def test_constants_fill_the_table():
    assert constant(3).at_positions(5, range(4)).tolist() == [3, 3, 3, 3]
    assert N.at_positions(5, np.arange(2)).tolist() == [5, 5]


def test_the_example_of_the_module():
    assert doctest.testmod(expressions).failed == 0


def test_a_size_has_a_name_until_it_is_known():
    size = variable("slots")
    slot = n - (N + 1)
    formula = choose(
        slot < size, 2 * (slot % size) + size * size, (slot // size - power_of_two_below(N)).positive_part()
    )
    with pytest.raises(KeyError, match="slots"):
        formula.at_positions(3, [0])
    for value in (1, 2, 5):
        written = choose(
            slot < value, 2 * (slot % value) + value * value, (slot // value - power_of_two_below(N)).positive_part()
        )
        filled = substituted(formula, {"slots": constant(value)})
        assert filled.at_positions(3, range(20)).tolist() == written.at_positions(3, range(20)).tolist()
        assert "slots" not in str(filled)
