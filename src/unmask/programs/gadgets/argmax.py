"""ARGMAX: the unit vector of the largest of several numbers, by an MLP (lem:mlp-for-argmax).

Equation:     h_dj = ReLU(x_j - x_d + [j < d]·2^-p) twice, ReLU(1 - Σ_j 2^(p-1)·h_dj); the lowest index wins a tie
Bounds:       2K(K - 1) hidden units for K numbers. Least p: 1.
Exactness:    exact for all numbers of F_p, also where a difference clips.
Deviations:   the lemma multiplies by 2^p, which is not in F_p (B instead fails for p = 1), leaves ties open and takes
              three layers; here it is one MLP, two units of weight 2^(p-1) each.
"""

import numpy as np

from unmask.programs.gadgets.logic import outweigh
from unmask.programs.language.builders import Columns, MlpBuilder
from unmask.programs.language.coefficients import ONE, ULP


def argmax(mlp: MlpBuilder, x: Columns, onehot: Columns) -> None:
    """onehot_d = [d is the lowest index with x_d = max_j x_j]."""
    winner, rival = np.nonzero(~np.eye(x.size, dtype=bool))
    earlier = rival < winner  # an earlier rival that is as large wins, too
    for pairs, bias in ((earlier, ULP), (~earlier, None)):
        d, j = winner[pairs], rival[pairs]
        outweigh(mlp, [(x[j], ONE), (x[d], -ONE)], bias, onehot[d])
    mlp.offset(onehot, ONE)
