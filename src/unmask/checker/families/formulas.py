"""Positions as formulas in (n, N): their values, and their text in SMT-LIB.

    e ::= "n" | "N" | integer | [operator, e, …]

x mod y by a y that is no constant is `near`, which is x mod y for x in [-y, 2y) and else unknown; x div y by such a y
is an unknown `quotient`. K is the power of two with K <= N < 2K, T = ⌈log2 N⌉. So what follows from the text holds.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from unmask.checker.certificate import Refused, need

ARITHMETIC = {"+": ("+", np.add), "-": ("-", np.subtract), "·": ("*", np.multiply)}
COMPARED = {
    "<=": ("<=", np.less_equal),
    "<": ("<", np.less),
    ">=": (">=", np.greater_equal),
    ">": (">", np.greater),
    "=": ("=", np.equal),
}
OPERANDS = {"pos": 1, "power of two below": 1, "log2 above": 1, "if": 3, "mod": 2, "div": 2}
OPERANDS |= dict.fromkeys((*ARITHMETIC, *COMPARED), 2)
COMMUTATIVE = ("+", "·", "=")
OF_LENGTH = {"power of two below": "K", "log2 above": "T"}
MOST = 1 << 40
DEEPEST = 100


def checked(formula: Any, depth: int = 0) -> None:
    """A formula in the one form that it can have: operands that may be swapped stand in order."""
    need(depth < DEEPEST, "a formula is too deep")
    if isinstance(formula, str):
        need(formula in ("n", "N"), f"{formula!r} is not a number that a row knows")
    elif type(formula) is int:
        need(abs(formula) < MOST, "a number in a formula is too large")
    else:
        need(isinstance(formula, list) and bool(formula) and isinstance(formula[0], str), "this is not a formula")
        operator, *operands = formula
        need(OPERANDS.get(operator) == len(operands), f"a formula has no operator {operator!r} with these operands")
        need(operator not in OF_LENGTH or operands == ["N"], f"{operator} is only known of N")
        for operand in operands:
            checked(operand, depth + 1)
        in_order = all(repr(a) <= repr(b) for a, b in pairwise(operands))
        need(operator not in COMMUTATIVE or in_order, f"the operands of {operator!r} are not in order")


def values(formula: Any, n: np.ndarray, length: int) -> np.ndarray:
    """The values at the rows n of a word of this length."""
    if isinstance(formula, str | int):
        return np.broadcast_to(np.int64({"N": length}.get(formula, formula)) if formula != "n" else n, n.shape)
    operator, *operands = formula
    if operator in OF_LENGTH:
        found = 1 << (length.bit_length() - 1) if operator == "power of two below" else (length - 1).bit_length()
        return np.broadcast_to(np.int64(found), n.shape)
    parts = [values(operand, n, length) for operand in operands]
    if operator in ("mod", "div"):
        need(bool((parts[1] > 0).all()), "a formula divides by what is not above 0")
    return _operation(operator)(*parts).astype(np.int64)


def number(formula: Any, length: int) -> int:
    """The value of a formula in N alone."""
    return int(values(formula, np.zeros(1, dtype=np.int64), length)[0])


def mentions(formula: Any, name: str) -> bool:
    return formula == name or (isinstance(formula, list) and any(mentions(part, name) for part in formula[1:]))


def _operation(operator: str) -> Callable:
    others = {
        "pos": lambda x: np.maximum(x, 0),
        "if": lambda condition, yes, no: np.where(condition != 0, yes, no),
        "mod": np.mod,
        "div": np.floor_divide,
    }
    return others[operator] if operator in others else (ARITHMETIC | COMPARED)[operator][1]


def text(formula: Any) -> str:
    """The formula in SMT-LIB."""
    if isinstance(formula, str):
        return formula
    if isinstance(formula, int):
        return str(formula) if formula >= 0 else f"(- {-formula})"
    operator, *operands = formula
    if operator in OF_LENGTH:
        return OF_LENGTH[operator]
    parts = [text(operand) for operand in operands]
    if operator in ("mod", "div"):
        constant = isinstance(operands[1], int) and operands[1] > 0
        return f"({operator if constant else {'mod': 'near', 'div': 'quotient'}[operator]} {' '.join(parts)})"
    if operator == "pos":
        return f"(ite (> {parts[0]} 0) {parts[0]} 0)"
    if operator == "if":
        return f"(ite (= {parts[0]} 0) {parts[2]} {parts[1]})"
    if operator in ARITHMETIC:
        return f"({ARITHMETIC[operator][0]} {' '.join(parts)})"
    if operator in COMPARED:
        return f"(ite ({COMPARED[operator][0]} {' '.join(parts)}) 1 0)"
    raise Refused(f"{operator!r} is not an operator")
