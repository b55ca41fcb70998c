"""Python's own parser as the judge of expressions."""

import ast
import operator

from hypothesis import strategies as st

OPERATIONS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul}


def python_value(text):
    """The value of an expression with integers, + - * and parentheses, by Python's grammar."""
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
    """How many operations stand above each other."""

    def height(node):
        return 1 + max(height(node.left), height(node.right)) if isinstance(node, ast.BinOp) else 0

    return height(ast.parse(text, mode="eval").body)


def expressions(operators=6):
    """Texts with at most this many operators; some parentheses matter, some are idle, some are missing."""

    def joined(subexpression):
        whole = st.builds("{}{}{}".format, subexpression, st.sampled_from("+-*"), subexpression)
        return st.one_of(whole, whole.map("({})".format), subexpression.map("({})".format))

    operation = st.builds("{}{}{}".format, st.just("a"), st.sampled_from("+-*"), st.just("b"))
    texts = st.recursive(st.one_of(st.sampled_from("abc"), operation), joined, max_leaves=4)
    return texts.filter(lambda text: 1 <= sum(text.count(sign) for sign in "+-*") <= operators)
