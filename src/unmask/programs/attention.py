"""Attention gadgets: which rows a head reads (sections 1.1 to 1.6 of the constructions).

A column (q ¦ k) adds ⟨q of the query row, k of the key row⟩ to the score; columns are summed in order. Within a
head the order is: columns of a simulated model, BOOST, FOCUS or EQ, HIDE. Codes are signed bits, ±1.

| gadget | columns                                            | effect                               | least p |
|--------|----------------------------------------------------|--------------------------------------|---------|
| EQ     | per bit (B·a_i ¦ b_i), (B·one ¦ -one)              | score 0 if a = b, else exactly -B    | 1       |
| LOOKUP | EQ with one match                                  | copies that row's values exactly     | 1       |
| SELF   | LOOKUP of the own position                         | any linear map of the own row        | 1       |
| FOCUS  | EQ with [B/2] for B, all of it 2 times (p = 1: 3)  | exp unchanged if a = b, else 0       | 2       |
| HIDE   | (-B·one ¦ flag), twice                             | exp = 0 on flagged keys, else same   | 1       |
| BOOST  | (B·flag ¦ one), twice                              | flagged queries score B everywhere   | 1       |

Deviations from the paper: HIDE needs its column twice (lem:ignore-positions has it twice; the footnote of
lem:unmask-conversion-fp subtracts B once, which a large score survives); FOCUS needs two copies and p >= 2, or three
(lem:focus-on-marked-positions); BOOST is missing there, without it a row whose keys are all hidden divides by zero.
"""

import numpy as np

from unmask.programs.coefficients import HALF, ONE, B, Coefficient
from unmask.programs.program import Columns, HeadBuilder, Weight

Form = list[tuple[Columns, Weight]]


def match(head: HeadBuilder, a: list[Form], b: Columns, one: Columns, scale: Coefficient = B) -> None:
    """Per bit (scale·a_i | b_i), (scale·one | -one), where each a_i is a form that is already scaled."""
    for form, bit in zip(a, b, strict=True):
        head.column(form, [(bit, ONE)])
        head.column([(one, scale)], [(one, -ONE)])


def eq(head: HeadBuilder, a: Columns, b: Columns, one: Columns) -> None:
    """EQ(a, b): score 0 if the query's code a is the key's code b, else -B."""
    match(head, scaled(a, B), b, one)


def scaled(code: Columns, scale: Coefficient) -> list[Form]:
    """The bits of a code, each times a coefficient."""
    return [[(bit, scale)] for bit in code]


def constant_code(value: int, bits: int, one: Columns) -> list[Form]:
    """The signed bits of a constant, times B, from the column that is always 1."""
    return [[(one, B if value >> i & 1 else -B)] for i in reversed(range(bits))]


def encoded(onehot: Columns, bits: int) -> list[Form]:
    """The signed bits, times B, of the number whose one-hot code stands in `onehot`; 0 if that is all 0."""
    numbers = np.arange(onehot.size)
    forms: list[Form] = []
    for i in reversed(range(bits)):
        set_bit = (numbers >> i & 1).astype(bool)
        forms.append([(onehot[set_bit], B), (onehot[~set_bit], -B)])
    return forms


def focus(head: HeadBuilder, a: Columns, b: Columns, one: Columns, *, copies: int = 2) -> None:
    """FOCUS(a, b): keep the score's exponential where the codes agree, make it 0 elsewhere."""
    for _ in range(copies):
        match(head, scaled(a, HALF), b, one, HALF)


def hide(head: HeadBuilder, flag: Columns, one: Columns, *, copies: int = 2) -> None:
    """HIDE(flag): flagged keys are invisible. One copy is enough only straight after EQ."""
    for _ in range(copies):
        head.column([(one, -B)], [(flag, ONE)])


def boost(head: HeadBuilder, flag: Columns, one: Columns) -> None:
    """BOOST(flag): flagged queries score B on every key, so that they never divide by zero."""
    for _ in range(2):
        head.column([(flag, B)], [(one, ONE)])


def hide_later(head: HeadBuilder, before: Columns, position: Columns) -> None:
    """Causal attention in an unmasked transformer: keys whose position is beyond the query's are invisible.

    Per position c twice (-B·[c > own position] ¦ [c = own position]): `before` is the thermometer code of the query,
    `position` the one-hot code of the key. It takes two columns per position, so its width is not logarithmic.
    """
    for _ in range(2):
        for flag, place in zip(before, position, strict=True):
            head.column([(flag, -B)], [(place, ONE)])


def clear(head: HeadBuilder, *registers: Columns) -> None:
    """In a SELF head: x ← x - x."""
    for columns in registers:
        head.copy(columns, columns, -ONE)
