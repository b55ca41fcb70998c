"""Declarations that are formulas on numbers of O(log N) bits are accepted, all others are refused."""

import numpy as np
import pytest

from unmask.expressions import (
    Expression,
    N,
    both,
    choose,
    constant,
    log2_above,
    n,
    power_of_two_below,
    table,
    variable,
)
from unmask.programs.declarations import AllBut, Flag, OneHot, SignedBits, TableBits, TableFlag, TableRows, Thermometer
from unmask.programs.program import Program
from unmask.programs.uniform_positions import ARITY, formula_size, growth, uniformity

LENGTHS = (4, 8, 16)


def program(length, *declarations):
    declared = Program(("a",), 1, length, 2 * length)
    for i, declaration in enumerate(declarations):
        declared.register(f"register {i}", 3, declaration)
    return declared


def checked(expression, length=8):
    return uniformity(program(length, Flag(expression)))


def grown(expression_of, lengths=LENGTHS):
    return growth({length: [checked(expression_of(length), length)] for length in lengths})


EVERY_OPERATOR = choose(
    both(n >= 3, (n - N).equals(0)),
    (2 * n + 1) % N,
    ((n - 1).positive_part() // 2 + power_of_two_below(N) + log2_above(N) - (n < 5) + (n <= 5) + (n > 7)),
)


def test_every_operator_is_accepted_and_nothing_else_exists():
    operators, waiting = set(), [EVERY_OPERATOR]
    while waiting:
        node = waiting.pop()
        operators.add(node.operator)
        waiting += node.operands
    assert operators == set(ARITY)
    assert checked(EVERY_OPERATOR).status == "uniform"


@pytest.mark.parametrize("length", [1, 2, 5, 16, 40])
def test_bounds_are_bounds(length):
    """Every intermediate value is at most its bound, at every position."""
    empty = program(length)
    scale = max(empty.rows, 2)
    waiting = [EVERY_OPERATOR, n * 7 - N * 3, (N - n) // 3 - 5, (n - 3 * N) % 4, (n - 5) // 2]
    while waiting:
        node = waiting.pop()
        values = np.abs(node.at_positions(length, range(empty.rows)))
        size = formula_size(node)
        assert values.max() <= size.coefficient * scale**size.degree, node
        waiting += node.operands


def test_every_declaration_is_looked_at():
    wrong = 2**n
    numbers = np.arange(16)
    for declaration in (
        SignedBits(wrong),
        SignedBits(n, wrong),
        OneHot(wrong),
        OneHot(n, wrong),
        Thermometer(wrong),
        AllBut(wrong),
        Flag(wrong),
        TableRows(numbers[:, None], wrong),
        TableRows(numbers[:, None], n, wrong),
        TableBits(numbers, wrong),
        TableFlag(numbers, wrong),
    ):
        result = uniformity(program(8, Flag(n), declaration), sources=[numbers])
        assert result.status == "refused"
        assert result.flaws == ("register 1: 2^(n) is not a formula of the operators of positions",)


def test_a_table_in_a_formula_is_refused():
    hidden = table([0, 1, 1, 0, 1, 0, 0, 1] * 2)(n)
    assert "table(n) is not a formula" in checked(1 + 2 * hidden).sentence
    assert "is not a formula" in checked(choose(n < N, n, hidden)).sentence


def test_an_operator_with_operands_of_another_number_is_refused():
    odd = Expression("pos", (n, n))
    assert checked(odd).status == "refused"
    assert checked(variable("size")).flaws == ("register 0: size is not the position n or the length N",)
    assert checked(n % 0).flaws == ("register 0: n mod 0 divides by 0",)


def test_a_number_with_too_many_bits_is_refused():
    assert checked(n + constant(2**40)).flaws == ("register 0: the number 1099511627776 has 41 bits, for 16 rows",)
    table_as_number = constant(int("0110100110010110" * 3, 2))
    assert checked(table_as_number // 2 % 2).status == "refused"


def test_a_value_that_doubles_is_refused():
    def doubled(times):
        e = n
        for _ in range(times):
            e = 2 * e
        return e

    assert "height" in checked(doubled(40)).sentence
    assert grown(doubled).status == "refused"
    assert any("bits" in flaw for flaw in grown(doubled).flaws)


def test_intermediate_values_count():
    large = n * (1 << 20) * (1 << 20) * (1 << 20)
    assert "intermediate value of up to 65 bits" in checked(choose(large < n, 0, 1)).sentence
    assert grown(lambda length: n < constant(2**length)).status == "refused"


def test_a_number_exponential_in_the_length_is_refused():
    assert grown(lambda length: n + constant(length**3)).status == "uniform"
    result = grown(lambda length: n + constant(2**length))
    assert result.status == "refused"
    assert result.flaws == ("numbers grow from 8 to 22 bits from N = 4 to N = 16: not O(log N)",)


def test_a_table_written_as_a_formula_is_refused():
    def listed(length):
        result = constant(0)
        for i in range(2 * length):
            result = choose(n.equals(i), i * i % 7, result)
        return result

    result = grown(listed, (4, 16, 64))
    assert result.status == "refused"
    assert "a table in disguise" in result.flaws[0]


def test_a_formula_that_goes_on_bit_by_bit_is_accepted_and_named():
    def chain(length):
        result = constant(0)
        for k in range(length.bit_length()):
            result = choose((n // (1 << k) % 2).equals(1), k, result)
        return result

    result = grown(chain, (4, 16, 64))
    assert result.status == "uniform"
    assert result.changing == ("register 0",)


def test_numbers_that_the_compiler_computes_are_named():
    assert grown(lambda length: n < length).numbers == ("register 0",)
    assert grown(lambda length: n < N).numbers == ()  # noqa: ARG005


def test_tables_are_the_sources_or_given():
    source, other = np.zeros((16, 3), dtype=np.int64), np.zeros((16, 3), dtype=np.int64)
    declared = program(8, Flag(n < N), TableRows(source, n % 8))
    assert uniformity(declared, sources=[source]).status == "relative"
    assert uniformity(declared, sources=[other]).status == "given as a table"  # equal numbers are not enough
    assert uniformity(declared).sentence == "not uniform: given as a table (register 1)"
    assert uniformity(program(8, TableFlag(np.arange(16), n))).status == "given as a table"


def test_the_worst_length_decides():
    formula, table = checked(n), uniformity(program(8, TableBits(np.arange(16), n)))
    assert growth({4: [formula], 8: [table]}).status == "given as a table"
    assert growth({4: [formula], 8: [formula]}, at_best="relative").status == "relative"
    assert growth({4: [formula, formula], 8: [formula]}).status == "refused"
