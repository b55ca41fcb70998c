"""Gadgets as assembled weights, run on any residual stream."""

from itertools import product

import numpy as np

from unmask.engines.reference import ReferenceEngine
from unmask.numerics.precision import Precision
from unmask.programs.assemble import assemble
from unmask.programs.program import Columns, Program
from unmask.testing.draws import Draws
from unmask.weights.transformer import Attention


def blank(rows: int = 1, symbols: tuple[str, ...] = ("x",)) -> Program:
    return Program(symbols, 1, rows, rows)


def bits(count: int) -> np.ndarray:
    """All vectors of `count` bits, [2^count, count]."""
    return np.array(list(product((0, 1), repeat=count)), dtype=np.int64).reshape(2**count, count)


def vectors(precision: Precision, count: int, *, most: int) -> np.ndarray:
    """All vectors over F_p if there are at most `most`, else random ones, many of them saturated or tied."""
    if precision.size**count <= most:
        return np.array(list(product(precision.numbers(), repeat=count)))
    draws, bound = Draws(precision.p, count), precision.bound
    far = draws.integers(-bound, bound, (most, count))
    near = np.clip(far[:, :1] + draws.integers(-1, 1, (most, count)), -bound, bound)
    ends = np.array([-bound, -1, 0, 1, bound])[draws.integers(0, 4, (most, count))]
    which = draws.integers(0, 2, (most, 1))
    return np.where(which == 0, near, np.where(which == 1, far, ends))


def settle(
    program: Program,
    precision: Precision,
    *contents: tuple[Columns, np.ndarray],
    attention: Attention = "unmasked",
) -> np.ndarray:
    """The stream after all layers, from the positions and `contents`: (columns, values [batch, (rows,) size])."""
    batch = len(contents[0][1]) if contents else 1
    transformer = assemble(program, precision, attention=attention)
    residual = np.zeros((batch, program.rows, program.width), dtype=np.int64)
    residual += transformer.positions
    for columns, values in contents:
        residual[:, :, columns] = values if values.ndim == 3 else values[:, None, :]
    return ReferenceEngine().session(transformer).layers(residual, 0, len(transformer.layers))


def run_words(program: Program, precision: Precision, words: np.ndarray, *, loops: int = 1) -> np.ndarray:
    """The stream after all layers, from embedded tokens [batch, rows]."""
    transformer = assemble(program, precision)
    session = ReferenceEngine().session(transformer)
    residual = session.embed(words)
    for _ in range(loops):
        residual = session.layers(residual, 0, len(transformer.layers))
    return residual
