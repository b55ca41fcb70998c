"""Python's own parser as an oracle for expressions."""

import ast
import operator

from hypothesis import strategies as st

OPERATIONS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul}


def python_value(text):
    """Return the value of an expression with integers, + - * and parentheses, by Python's grammar."""
    return value_of(ast.parse(text, mode="eval").body)


def value_of(node):
    if isinstance(node, ast.BinOp):
        return OPERATIONS[type(node.op)](value_of(node.left), value_of(node.right))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -value_of(node.operand)
    assert isinstance(node, ast.Constant)
    assert type(node.value) is int
    return node.value


def python_height(text):
    """Return the height of an expression: the largest number of nested operations."""

    def height(node):
        return 1 + max(height(node.left), height(node.right)) if isinstance(node, ast.BinOp) else 0

    return height(ast.parse(text, mode="eval").body)


def expressions(operators=6):
    """Return a strategy for texts with at most this many operators and with or without parentheses."""

    def joined(subexpression):
        whole = st.builds("{}{}{}".format, subexpression, st.sampled_from("+-*"), subexpression)
        return st.one_of(whole, whole.map("({})".format), subexpression.map("({})".format))

    operation = st.builds("{}{}{}".format, st.just("a"), st.sampled_from("+-*"), st.just("b"))
    texts = st.recursive(st.one_of(st.sampled_from("abc"), operation), joined, max_leaves=4)
    return texts.filter(lambda text: 1 <= sum(text.count(sign) for sign in "+-*") <= operators)
