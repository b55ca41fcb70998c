"""Index expressions → positional expressions: the same formula, over the position n of a row."""

from collections.abc import Mapping

from unmask.programs.language.positions import Expression as Formula
from unmask.programs.language.positions import choose, constant, log2_above, power_of_two_below
from unmask.recurrences.expressions import Expression


class NoFormula(Exception):
    """A table, or a power: its values are listed instead."""


def formula(expression: Expression, indices: Mapping[str, Formula]) -> Formula:
    """The expression with a positional formula for every index."""
    if expression.operator == "constant":
        return constant(expression.value)
    if expression.operator == "index":
        return indices[expression.name]
    if expression.operator in ("table", "2^"):
        raise NoFormula
    parts = [formula(operand, indices) for operand in expression.operands]
    if expression.operator == "if":
        return choose(*parts)
    if expression.operator == "power of two below":
        return power_of_two_below(parts[0])
    if expression.operator == "log2 above":
        return log2_above(parts[0])
    left, right = parts
    return {
        "+": lambda: left + right,
        "-": lambda: left - right,
        "·": lambda: left * right,
        "div": lambda: left // right,
        "mod": lambda: left % right,
        "<=": lambda: left <= right,
        "<": lambda: left < right,
        ">=": lambda: left >= right,
        ">": lambda: left > right,
        "=": lambda: left.equals(right),
        "≠": lambda: choose(left.equals(right), 0, 1),
    }[expression.operator]()
