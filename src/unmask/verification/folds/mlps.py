"""MLP gadgets run as assembled weights, and what their sums end in; the folds stand in `gates`, `columns`, `selection`.

    unit = ReLU(SUM_i [w·x_i] + b1),        column = ReLU(SUM_h [w·unit_h] + b2)

Letters are what one input, or one unit, adds; they may come in any order, so that the order of the columns in the
residual stream, which is the order of summation, does not matter. What is proved by closure: every reachable sum ends
in the right column, for all inputs. What is read off the code: that every width has the units of the template, which is
taken from the weights of a small width and compared with those of several others.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from unmask.engines.reference import ReferenceEngine
from unmask.numerics.arithmetic import add, relu
from unmask.numerics.precision import Precision
from unmask.programs.language.assemble import assemble
from unmask.programs.language.program import Program
from unmask.verification.folds.lemma import Replayed

SIZES = (1, 2, 3, 5, 8)
Inputs = Mapping[str, Sequence[int]]
"""Integers of F_p, by register."""


def run(program: Program, inputs: Inputs, precision: Precision) -> np.ndarray:
    """One row of the residual stream after all layers of the program, by the reference engine."""
    residual = np.zeros((1, 1, program.width), dtype=np.int64)
    for name, values in inputs.items():
        if values:
            residual[0, 0, program.columns(name)] = values
    transformer = assemble(program, precision)
    return ReferenceEngine().session(transformer).layers(residual, 0, len(transformer.layers))[0, 0]


def replay(program: Program, inputs: Inputs, target: tuple[str, int], wanted: int, precision: Precision) -> Replayed:
    """What the engine writes to a column, beside what should be there."""
    got = int(run(program, inputs, precision)[program.columns(target[0])[target[1]]])
    text = f"the engine writes {precision.meaning(got)}, not {precision.meaning(wanted)}"
    return Replayed(text, got != wanted)


def column(total, bias: int, precision: Precision):
    """What an output column gets from the sum over its units."""
    return relu(add(total, bias, precision))
