"""EQ: a head that tells whether the query's code is the key's code (lem:pos-enc-properties), and codes to compare.

Statement:    EQ(a, b) scores 0 on the keys whose code b is the query's code a, and -B on all others.
Columns:      per bit (B·a_i ¦ b_i), (B·one ¦ -one). Codes are signed bits, ±1: equal ones give B - B, others -B - B.
Bounds:       two columns per bit. Least p: 1.
Exactness:    exact for codes of any length: after each pair of columns the score is 0 or -B.
Deviations:   the paper's codes of one position have no bit; here a code has one at least.

A column (q ¦ k) adds ⟨q of the query row, k of the key row⟩ to the score; columns are summed in order. Within a head
the order is: columns of a simulated model, BOOST, FOCUS or EQ, HIDE.
"""

import numpy as np

from unmask.programs.language.builders import Columns, Form, HeadBuilder
from unmask.programs.language.coefficients import ONE, B, Coefficient


def eq(head: HeadBuilder, a: Columns, b: Columns) -> None:
    """EQ(a, b): score 0 if the query's code a is the key's code b, else -B."""
    match(head, scaled(a, B), b)


def match(
    head: HeadBuilder,
    a: list[Form],
    b: Columns,
    scale: Coefficient = B,
    *,
    asks: Columns | None = None,
    cares: Columns | None = None,
) -> None:
    """Per bit (a_i ¦ b_i), (scale·asks ¦ -cares_i), where each a_i is a form that is scaled already.

    `asks` and `cares` are `one`, unless some queries ask for nothing, or some keys, or bits of them, go with any query:
    there the flag is 0, and so is the code.
    """
    asks = head.one if asks is None else asks
    for form, bit, care in zip(a, b, np.broadcast_to(head.one if cares is None else cares, b.shape), strict=True):
        head.bit((form, [(bit, ONE)]), ([(asks, scale)], [(care, -ONE)]))


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
