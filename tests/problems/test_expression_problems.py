"""Expressions: the shape as Python reads it, the values that can occur, and what is refused."""

import random
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from problems.python_arithmetic import expressions, python_height, python_value
from unmask.errors import ProblemError, TooLarge
from unmask.problems.catalogue import parse_problem, problem_from_json
from unmask.problems.expression_problems import ExpressionProblem

FIGURE = "(a+b)*(c+d)-e"


@given(expressions(), st.randoms(use_true_random=False))
def test_value_and_depth_are_those_of_python(text, rng):
    problem = ExpressionProblem(f"{text} in -1..2")
    word = problem.random_word(rng)
    assert problem.outcome(word).value == str(python_value(word.removesuffix("=")))
    assert problem.outcome(word.removesuffix("=")) == problem.outcome(word)
    assert problem.shape.depth == python_height(text)


@given(expressions(operators=4))
def test_the_values_are_exactly_those_that_occur(text):
    problem = ExpressionProblem(f"{text} in -1..1")
    words = (problem.word_of(x) for x in product((-1, 0, 1), repeat=len(problem.shape.operands)))
    assert set(problem.values[-1].tolist()) == {python_value(word.removesuffix("=")) for word in words}


def test_the_word_of_the_figure():
    problem = ExpressionProblem(FIGURE)
    assert problem.length == 14
    for word in ("(2+3)*(4+1)-6=", "(2+3)*(4+1)-6", "(2+3)×(4+1)−6", "( 2 + 3 ) * ( 4 + 1 ) - 6 ="):
        assert problem.outcome(word).value == "19"
    assert problem.outcome([*"(2+3)*(4+1)-6="]).value == "19"


@pytest.mark.parametrize(
    "word", ["(2+3)*(4+1)+6=", "(2+3)*(4+1)-6=6", "2+3*(4+1)-6", "(12+3)*(4+1)-6", "(2+3)*(4+1)-", "", "(2+3)*(4/1)-6"]
)
def test_a_word_of_another_shape_has_no_value(word):
    assert ExpressionProblem(FIGURE).outcome(word).value is None
    assert ExpressionProblem(FIGURE).outcome(word).accepted is False


def test_misshapen_words_are_mostly_that():
    problem, rng = ExpressionProblem(FIGURE), random.Random(1)
    words = [problem.misshapen_word(rng) for _ in range(200)]
    assert all(len(word.split()) == 14 for word in words)
    assert sum(problem.outcome(word).value is None for word in words) >= 195


def test_names_and_numbers_mark_places_only():
    for text in ("a*a-b", "x*y-z", "2*3-3"):
        assert ExpressionProblem(text).shape.symbols == (None, "*", None, "-", None, "=")
    assert ExpressionProblem("a*a").outcome("2*3").value == "6"


def test_ranges():
    assert ExpressionProblem("a+b").operands == (0, 9)
    problem = parse_problem("expr:a−b  in -3 .. 12 within -15..15 compact")
    assert problem.operands == (-3, 12)
    assert problem.compact
    assert problem.outcome("-3--2").value == "-1"
    assert problem.outcome("12-3").value == "9"
    assert problem.letters[0] == "-3"
    with pytest.raises(ProblemError, match=r"the \* at column 6 of the expression can give 324, outside of -99..99"):
        ExpressionProblem(f"{FIGURE} within -99..99")
    with pytest.raises(ProblemError, match=r"the - at column 2 of the expression can give -9, outside of 0..9"):
        ExpressionProblem("a-b within 0..9")
    assert ExpressionProblem("a-b within -9..9").values[-1].tolist() == list(range(-9, 10))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no operator"),
        ("a", "no operator"),
        ("a+", "ends where an operand is missing"),
        ("+a", "'\\+' at column 1 has no left operand"),
        ("a*-b", "'-' at column 3 has no left operand"),
        ("(a+b", "parenthesis at column 1 is never closed"),
        ("a+b)", "'\\)' at column 4 closes nothing"),
        ("()+a", "'\\)' at column 2 closes an empty place"),
        ("a b+c", "an operator is missing before 'b' at column 3"),
        ("a(b)+c", "an operator is missing before '\\(' at column 2"),
        ("a/b", "'/' at column 2 is not a name, number"),
        ("a  ^b", "'\\^' at column 4 is not a name"),
        ("a+b in 5..2", "the range 5..2 is empty"),
        ("a+b in 0..99999999999999", "exceeds"),
        ("a+b in x..y", "'\\.' at column 9 is not a name"),
        ("+".join("a" * 200), "more than 256 symbols"),
        ("a+" * 9000, "too long"),
    ],
)
def test_what_cannot_be_read_is_refused(text, message):
    with pytest.raises(ProblemError, match=message):
        ExpressionProblem(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a+b in 0..9999", "more than 4,096 numbers"),
        ("a+b+c in 0..999", "the \\+ at column 4 .* has too many pairs of operands"),
        ("a*b in 0..999", "2 .* has .* values, more than 4,096"),
        ("*".join("a" * 40) + " in 2..2", "values beyond"),
    ],
)
def test_what_is_too_large_is_refused(text, message):
    with pytest.raises(TooLarge, match=message):
        ExpressionProblem(text)


def test_deep_and_long_expressions_are_read():
    assert ExpressionProblem("(" * 100 + "a+b" + ")" * 100).shape.depth == 1
    problem = ExpressionProblem("-".join("a" * 100) + " in 0..1")
    assert problem.shape.depth == 99
    assert np.array_equal(problem.values[-1], np.arange(-99, 2))


def test_json_round_trip():
    for text in (FIGURE, f"{FIGURE} in -2..7 compact", "a×b within 0..81"):
        problem = parse_problem(f"expr:{text}")
        again = problem_from_json(problem.to_json())
        assert again.name == problem.name
        assert again.shape == problem.shape
        assert (again.operands, again.compact) == (problem.operands, problem.compact)
