"""Program × residual stream → the residual stream after its gadgets, run as assembled weights."""

from itertools import product

import numpy as np

from unmask.engines.engine import Session
from unmask.engines.reference import ReferenceEngine
from unmask.numerics.arithmetic import Precision
from unmask.programs.assembly import assemble
from unmask.programs.program import Columns, Program
from unmask.testing.draws import Draws
from unmask.weights.transformer import Attention, Transformer

PRECISIONS = tuple(Precision(p) for p in (1, 2, 3, 4))


def blank(rows: int = 1, symbols: tuple[str, ...] = ("x",), *, length: int | None = None) -> Program:
    """A program without layers, for words that fill all its rows."""
    return Program(symbols, outputs=1, length=rows if length is None else length, rows=rows)


def bits(count: int) -> np.ndarray:
    """All vectors of `count` bits, [2^count, count]."""
    return np.array(list(product((0, 1), repeat=count)), dtype=np.int64).reshape(2**count, count)


def vectors(precision: Precision, count: int, *, most: int = 3000) -> np.ndarray:
    """All vectors over F_p if there are at most `most`, else random ones, many of them saturated or tied."""
    if precision.size**count <= most:
        return np.array(list(product(precision.numbers(), repeat=count)))
    draws, bound = Draws(precision.p, count), precision.bound
    far = draws.integers(-bound, bound, (most, count))
    near = np.clip(far[:, :1] + draws.integers(-1, 1, (most, count)), -bound, bound)
    ends = np.array([-bound, -1, 0, 1, bound])[draws.integers(0, 4, (most, count))]
    which = draws.integers(0, 2, (most, 1))
    return np.where(which == 0, near, np.where(which == 1, far, ends))


def run_gadget(
    program: Program,
    precision: Precision,
    *contents: tuple[Columns, np.ndarray],
    attention: Attention = "unmasked",
    loops: int = 1,
) -> np.ndarray:
    """The stream after all layers, from the positions and `contents`: (columns, values [batch, (rows,) size])."""
    batch = len(contents[0][1]) if contents else 1
    program.attention = attention
    transformer = assemble(program, precision)
    residual = np.zeros((batch, program.rows, program.width), dtype=np.int64)
    residual += transformer.positions
    for columns, content in contents:
        values = np.asarray(content)
        residual[:, :, columns] = values if values.ndim == 3 else values[:, None, :]
    return _looped(transformer, ReferenceEngine().session(transformer), residual, loops)


def run_gadget_words(
    program: Program,
    precision: Precision,
    words: np.ndarray,
    *,
    attention: Attention = "unmasked",
    loops: int = 1,
) -> np.ndarray:
    """The stream after all layers, from embedded tokens [batch, rows]."""
    program.attention = attention
    transformer = assemble(program, precision)
    session = ReferenceEngine().session(transformer)
    return _looped(transformer, session, session.embed(np.asarray(words)), loops)


def _looped(transformer: Transformer, session: Session, residual: np.ndarray, loops: int) -> np.ndarray:
    for _ in range(loops):
        residual = session.layers(residual, 0, len(transformer.layers))
    return residual
