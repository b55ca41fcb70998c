"""The slots of an expression: every step of the figure layout is an expression with the same value."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from problems.python_arithmetic import expressions, python_height, python_value
from unmask.problems.expression_problems import ExpressionProblem
from unmask.problems.expression_shapes import OPERATORS, apply_operator
from unmask.programs.arithmetic_expressions import compact_plan, figure_plan

FIGURE = "(a+b)*(c+d)-e"


def texts_of(plan, word):
    """What each step writes, by following the plan: the symbols of its slots."""
    rows = list(word)
    written = [[] for _ in range(plan.steps)]
    for sources, copies, fills, step in zip(plan.sources, plan.copies, plan.fills, plan.step, strict=True):
        left, operator, expected = (rows[i] if i < len(rows) else None for i in sources)
        if fills:
            rows.append(None)
            continue
        if not copies:
            assert operator in OPERATORS
        rows.append(left if copies else str(apply_operator(operator, int(left), int(expected))))
        written[step].append(rows[-1])
    return written


def test_the_figure():
    plan = figure_plan(ExpressionProblem(FIGURE).shape)
    assert (plan.length, plan.slots, plan.steps) == (14, 11, 3)
    assert plan.writes == (6, 4, 1)
    assert ["".join(text) for text in texts_of(plan, "(2+3)*(4+1)-6=")] == ["5*5-6=", "25-6=", "19"]


def test_the_compact_layout():
    plan = compact_plan(ExpressionProblem(FIGURE).shape)
    assert (plan.length, plan.slots, plan.steps) == (14, 4, 3)
    assert texts_of(plan, "(2+3)*(4+1)-6=") == [["5", "5"], ["25"], ["19"]]


@pytest.mark.parametrize(
    ("text", "writes"),
    [("a+b", (1,)), ("((a+b))", (1,)), ("(a)*((b)+c)", (4, 1)), ("a-b-c-d", (6, 4, 1)), ("a*(b-(c+d))", (8, 4, 1))],
)
def test_what_other_shapes_write(text, writes):
    assert figure_plan(ExpressionProblem(text).shape).writes == writes


@given(expressions(), st.integers(0, 1000))
def test_every_step_keeps_the_value(text, seed):
    problem = ExpressionProblem(f"{text} in 0..3")
    word = problem.random_word(random.Random(seed))
    value = python_value(word.removesuffix("="))
    height = python_height(text)
    texts = texts_of(figure_plan(problem.shape), word)
    assert len(texts) == height
    for i, symbols in enumerate(texts, start=1):
        assert python_value("".join(symbols).removesuffix("=")) == value
        assert python_height("".join(symbols).removesuffix("=")) == height - i
        assert (symbols[-1] == "=") == (i < height)
    compact = texts_of(compact_plan(problem.shape), word)
    assert len(compact) == height
    assert sum(map(len, compact)) == sum(text.count(sign) for sign in "+-*")
    assert compact[-1] == [str(value)]


@given(expressions(), st.integers(0, 1000))
def test_blocks_hold_the_same_with_as_many_slots_each(text, seed):
    problem = ExpressionProblem(f"{text} in 0..3")
    word = problem.random_word(random.Random(seed))
    for plan in (figure_plan(problem.shape), compact_plan(problem.shape)):
        blocks = plan.in_blocks()
        assert set(blocks.writes) == {max(plan.writes)}
        assert texts_of(blocks, word) == texts_of(plan, word)
        assert not blocks.fills[-1]
