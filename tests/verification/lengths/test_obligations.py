"""The solver knows the meaning of an expression; unknown operators and contradictory facts prove nothing."""

import pytest

from unmask.expressions import Expression, N, log2_above, n, power_of_two_below, variable
from unmask.verification.lengths.obligations import Arithmetic, Ledger, ObligationFailed


@pytest.fixture
def arithmetic():
    return Arithmetic(Ledger(), 2)


def test_what_follows_and_what_does_not(arithmetic):
    row = arithmetic.row()
    value = arithmetic.at((n + N) % N, row)
    arithmetic.require("a remainder", value == row.n, [row.n >= 0, row.n < arithmetic.N])
    with pytest.raises(ObligationFailed, match="does not follow"):
        arithmetic.require("no remainder", value == row.n, [row.n >= 0])
    assert [o.verdict for o in arithmetic.ledger.obligations] == ["proved", "open"]


def test_nothing_follows_from_a_contradiction(arithmetic):
    row = arithmetic.row()
    with pytest.raises(ObligationFailed, match="finds no example"):
        arithmetic.require("anything", row.n == 7, [row.n > 0, row.n < 0])


@pytest.mark.parametrize(
    "expression",
    [
        n // N,
        power_of_two_below(N - 1),
        log2_above(n),
        Expression("f", (n,)),
        variable("size"),
    ],
)
def test_what_the_solver_is_not_given_is_open(arithmetic, expression):
    with pytest.raises(ObligationFailed):
        arithmetic.at(expression, arithmetic.row())


def test_the_questions_can_be_repeated(arithmetic):
    z3 = arithmetic.z3
    row = arithmetic.row()
    arithmetic.require("a bound", arithmetic.at(2 * n + N, row) >= 2, [row.n >= 0])
    (text,) = arithmetic.ledger.questions.values()
    solver = z3.Solver()
    solver.from_string(text)
    assert solver.check() == z3.unsat
