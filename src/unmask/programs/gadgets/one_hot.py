"""ONEHOT: which of several values a number is, by an MLP.

Equation:     h = ReLU(x - v), ReLU(v - x), each twice, ReLU(1 - Σ 2^(p-1)·h) = [x = v]
Bounds:       four hidden units per value. Least p: 1.
Exactness:    exact for all numbers of F_p.
Deviations:   lem:idenitity-dump stores bits alone; so numbers are stored as symbols.
"""

from collections.abc import Sequence

import numpy as np

from unmask.programs.gadgets.logic import outweigh
from unmask.programs.language.builders import Columns, MlpBuilder
from unmask.programs.language.coefficients import ONE


def one_hot(mlp: MlpBuilder, x: Columns, values: Sequence[int] | range, onehot: Columns) -> None:
    """onehot_i = [x = values[i]·2^-p], for one column x."""
    assert len(values) == onehot.size
    for sign in (ONE, -ONE):
        outweigh(mlp, [(x, sign)], -sign.times * np.array(values), onehot)
    mlp.offset(onehot, ONE)
