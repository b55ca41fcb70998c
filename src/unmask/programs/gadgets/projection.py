"""One entry of a vector of bits, by an MLP (lem:projection-mlp).

Statement:    an MLP maps x ∈ {0,1}^D and the unit vector e_d to x_d.
Construction: Σ_i ReLU(x_i - ē_i), where ē_i = [i ≠ d] is the complement of e_d.
Bounds:       D hidden units, one output column. Least p: 1.
Exactness:    exact; at most one unit is not 0.
Deviations:   the result is one bit, not a vector of D. The paper's ReLU(x - (1 - e_d)) is read with the complement
              as the input; x_i + e_i - 1 is wrong at p = 1, where 1 + 1 clips to 3/2. For numbers that are not
              bits use `gate.select`.
"""

from unmask.programs.gadgets.logic import conjunction
from unmask.programs.language.builders import Columns, MlpBuilder


def project(mlp: MlpBuilder, bits: Columns, others: Columns, target: Columns) -> None:
    """target = bits_d, where others_i = [i ≠ d]."""
    mlp.write(conjunction(mlp, bits, others[:, None]), target)
