"""Chain of thought, one symbol at a time or a block at a time (kinds cot, pcot).

    cot:   y_t = the last row's symbol after reading  w · y_1 … y_{t-1}                        T steps
    pcot:  the P' symbols of the last P' rows after reading  w · y_1 … y_{t-1} · m^{P'}        T steps

Both are causal; positions and N do not change while the string grows.
"""

from collections.abc import Iterator

import numpy as np

from unmask.reasoners.decoding import decode
from unmask.reasoners.frame import Frame, Step
from unmask.reasoners.tape import OTHER


def chain_of_thought(frame: Frame) -> Iterator[Step]:
    """After every step, all symbols generated so far; the last ones are new."""
    model, session = frame.model, frame.session("model")
    fresh = model.block or 1
    masks = frame.copies(model.mask, model.block or 0)
    generated = frame.copies(None, 0)
    for step in range(model.steps):
        tokens = frame.before(np.concatenate([generated, masks], axis=1))
        watch = frame.watching(f"steps.{step}.model")
        rows = (tokens.shape[1] - fresh, tokens.shape[1])
        noise = frame.noise(step, OTHER, rows, len(model.vocabulary))
        symbols = decode(session.read(tokens, rows, watch=watch), frame.precision, noise=noise)
        generated = np.concatenate([generated, symbols], axis=1)
        new = np.arange(generated.shape[1]) >= generated.shape[1] - fresh
        yield Step(generated, np.broadcast_to(new, generated.shape))
