"""Run gadgets as assembled weights, on any residual stream."""

from itertools import product

import numpy as np

from unmask.engines.reference import ReferenceEngine
from unmask.numerics.arithmetic import product as inner_products
from unmask.numerics.arithmetic import weighted
from unmask.numerics.precision import Precision
from unmask.programs.assemble import assemble
from unmask.programs.program import Program

PRECISIONS = [Precision(p) for p in (1, 2, 3, 4)]


def blank(rows=1, symbols=("x",), length=None):
    return Program(symbols, outputs=1, length=rows if length is None else length, rows=rows)


def bits(count):
    """All vectors of `count` bits, [2^count, count]."""
    return np.array(list(product((0, 1), repeat=count)), dtype=np.int64).reshape(2**count, count)


def vectors(precision, count, *, most=3000, seed=0):
    """All vectors over F_p if there are at most `most`, else random ones, many of them saturated or tied."""
    if precision.size**count <= most:
        return np.array(list(product(precision.numbers(), repeat=count)))
    rng = np.random.default_rng(seed)
    far = rng.integers(-precision.bound, precision.bound + 1, (most, count))
    near = np.clip(far[:, :1] + rng.integers(-1, 2, (most, count)), -precision.bound, precision.bound)
    ends = rng.choice([-precision.bound, -1, 0, 1, precision.bound], (most, count))
    return np.where(rng.integers(0, 3, (most, 1)) == 0, near, np.where(rng.integers(0, 2, (most, 1)), far, ends))


def settle(program, precision, *contents, attention="unmasked", loops=1):
    """The residual stream after all layers, from one that holds `contents`: (columns, values [batch, (rows,) size])."""
    batch = len(contents[0][1]) if contents else 1
    residual = np.zeros((batch, program.rows, program.width), dtype=np.int64)
    transformer = assemble(program, precision, attention=attention)
    residual += transformer.positions
    for columns, values in contents:
        values = np.asarray(values)
        residual[:, :, columns] = values if values.ndim == 3 else values[:, None, :]
    session = ReferenceEngine().session(transformer)
    for _ in range(loops):
        residual = session.layers(residual, 0, len(transformer.layers))
    return residual


def run_words(program, precision, words, *, attention="unmasked", loops=1):
    """The residual stream after all layers, from embedded tokens [batch, rows]."""
    transformer = assemble(program, precision, attention=attention)
    session = ReferenceEngine().session(transformer)
    residual = session.embed(np.asarray(words))
    for _ in range(loops):
        residual = session.layers(residual, 0, len(transformer.layers))
    return residual


def scores(program, precision, *contents):
    """The score of each row of a batch with itself, in the first head: [batch]."""
    transformer = assemble(program, precision)
    head = transformer.layers[0].heads[0]
    residual = np.zeros((len(contents[0][1]), program.width), dtype=np.int64)
    for columns, values in contents:
        residual[:, columns] = values
    Q, K = (weighted(residual, w.rows(), w.shape[1], precision) for w in (head.wq, head.wk))
    return inner_products(Q[:, None, :], K[:, :, None], precision)[:, 0, 0]
