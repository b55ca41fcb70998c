"""Model × many words → for each its Trace, or what is wrong with it."""

from collections.abc import Sequence

import numpy as np

from unmask.engines.engine import Engine
from unmask.errors import UnmaskError
from unmask.reasoners.run import run, run_batch
from unmask.reasoners.tape import Tape
from unmask.reasoners.words import read_word
from unmask.traces.trace import Trace
from unmask.weights.model import Model


def run_each(
    model: Model, words: Sequence[str], *, engine: Engine, tape: Tape | None, canvas: bool
) -> list[Trace | UnmaskError]:
    """All words in one batch; if it fails, one by one."""
    results: dict[int, Trace | UnmaskError] = {}
    readable: dict[int, list[int]] = {}
    for i, word in enumerate(words):
        try:
            readable[i] = read_word(model, word)
        except UnmaskError as error:
            results[i] = error
    tokens = np.array(list(readable.values()), dtype=np.int64).reshape(len(readable), model.length)
    try:
        traces = run_batch(model, tokens, engine=engine, tape=tape, canvas=canvas) if readable else []
        results |= dict(zip(readable, traces, strict=True))
    except UnmaskError:  # one of them fails: find out which
        for i, word in readable.items():
            try:
                results[i] = run(model, word, engine=engine, tape=tape, canvas=canvas)
            except UnmaskError as error:
                results[i] = error
    return [results[i] for i in range(len(words))]
