"""GATE: a number or nothing, by a flag; SELECT: one of several numbers, by their flags; both in one MLP.

Equation:     GATE     ReLU(x - B·off) and ReLU(-x - B·off): (x⁺, x⁻) if not off, else (0, 0)
              SELECT   Σ_i GATE(x_i, [i ≠ d]) = (x_d⁺, x_d⁻)
Bounds:       two hidden units per number. Least p: 1.
Exactness:    exact for all numbers of F_p.
Deviations:   lem:projection-mlp is about bits. A signed value leaves an MLP as two columns, because the outer ReLU
              cannot lower a column; a SELF head merges them.
"""

import numpy as np

from unmask.programs.language.builders import Columns, HeadBuilder, MlpBuilder
from unmask.programs.language.coefficients import ONE, B


def gate(mlp: MlpBuilder, x: Columns, off: Columns, positive: Columns, negative: Columns, *more: Columns) -> None:
    """(positive_i, negative_i) = the two signs of x_i, or 0 and 0 where off_i, or one of `more`, is 1."""
    for sign, column in ((ONE, positive), (-ONE, negative)):
        units = mlp.units(np.size(x))
        mlp.read(units, x, sign)
        for flag in (off, *more):
            mlp.read(units, flag, -B)
        mlp.write(units, column)


def select(mlp: MlpBuilder, x: Columns, others: Columns, positive: Columns, negative: Columns, *off: Columns) -> None:
    """The two signs of x_d, where others_i = [i ≠ d]. ReLU(x_i + B·e_i - B) would clip x_i + B first."""
    gate(mlp, x, others, positive, negative, *off)


def merge(head: HeadBuilder, positive: Columns, negative: Columns, target: Columns) -> None:
    """In a SELF head: target += positive - negative."""
    head.copy(positive, target)
    head.copy(negative, target, -ONE)
