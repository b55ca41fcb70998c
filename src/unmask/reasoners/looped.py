"""Padded looped transformer (kind plt).

    w · □^P → layers [0, l1) once, [l1, l2) T times, the rest once → the last row decodes to the answer

Stochastic: noise from the tape is added to the listed columns before each of the T loops. (The paper adds it
after each loop, so that the first loop has none and the last noise is never read; def:stochastic-looped-transformer.)
"""

from collections.abc import Iterator

import numpy as np

from unmask.numerics.arithmetic import add
from unmask.reasoners.decoding import decode
from unmask.reasoners.frame import Frame, Step
from unmask.reasoners.tape import OTHER, PLANNER


def looped(frame: Frame) -> Iterator[Step]:
    """One step, whose canvas is the answer alone."""
    model, session = frame.model, frame.session("model")
    transformer = model.transformers["model"]
    first, last = transformer.loop or (0, 0)
    tokens = frame.before(frame.copies(model.pad, model.padding))
    watch = frame.watching("initial.model")
    residual = session.layers(session.embed(tokens, watch=watch), 0, first, watch=watch)
    for step in range(model.steps):
        residual = _noisy(frame, step, residual)
        residual = session.layers(residual, first, last, watch=frame.watching(f"steps.{step}.model"))
    residual = session.layers(residual, last, len(transformer.layers), watch=frame.watching("final.model"))
    answer = decode(session.logits(residual[:, -1:]), frame.precision)
    yield Step(answer, np.ones(answer.shape, dtype=bool))


def _noisy(frame: Frame, step: int, residual: np.ndarray) -> np.ndarray:
    noise = frame.model.transformers["model"].noise
    if noise is None or frame.tape is None:
        return residual
    residual = residual.copy()
    for columns, stream, symbols in (
        (noise.planner, PLANNER, 2),
        (noise.predictor, OTHER, len(frame.model.vocabulary)),
    ):
        drawn = frame.tape.noise(step, stream, (0, residual.shape[1]), symbols, frame.precision)
        for symbol, column in enumerate(columns):
            residual[:, :, column] = add(residual[:, :, column], drawn[:, symbol], frame.precision)
    return residual
