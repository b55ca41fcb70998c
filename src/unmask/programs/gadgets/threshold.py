"""THRESH: whether a number is above 0, by an MLP.

Equation:     h = ReLU(2^-p - x) twice, ReLU(1 - Σ 2^(p-1)·h) = [x > 0]
Bounds:       two hidden units per number. Least p: 1.
Exactness:    exact for all numbers of F_p: none lies between 0 and 2^-p.
Deviations:   the paper has no such gadget; an average over many rows is only ever compared with 0 (lem:detection).
"""

from unmask.programs.gadgets.logic import outweigh
from unmask.programs.language.builders import Columns, MlpBuilder
from unmask.programs.language.coefficients import ONE, ULP


def threshold(mlp: MlpBuilder, x: Columns, positive: Columns) -> None:
    """positive_i = [x_i > 0]."""
    outweigh(mlp, [(x, -ONE)], ULP, positive)
    mlp.offset(positive, ONE)
