"""Model × words → how the field's samplers do on them, beside the planners."""

import time
from typing import Any

from unmask.samplers.passes.sample import masks, sample
from unmask.samplers.predictors.compiled import CompiledPredictor
from unmask.samplers.zoo import zoo
from unmask.weights.model import Model

SAMPLERS = (
    "llada:remasking=low_confidence",
    "llada:remasking=random",
    "llada:scheduler=halving",
    "dream:alg=entropy",
    "fast-dllm:threshold=0.9",
    "eb:gamma=0.1",
    "p2:score=logP",
)
BUDGET = 0.7  # seconds of each sampler; one that takes longer is left out
IN_ALL = 4  # seconds after which no further one is tried: a single pass of a large model may be slow


class TooSlow(Exception):
    """A sampler that makes more passes than there is time for."""


def sampling(model: Model, words: list[str], per_pass: int) -> list[dict[str, Any]]:
    """For each sampler its label, its passes, and what it leaves on the last slots of every word.

    Those that take a number of steps get as many as write `per_pass` slots in each.
    """
    predictor = CompiledPredictor.of_words(model, words)
    blank = masks(predictor, len(words), model.padding)
    rows = []
    last = time.monotonic() + IN_ALL
    for entry in zoo(model.padding, SAMPLERS):
        sampler = entry.make(-(-model.padding // per_pass))
        end = min(last, time.monotonic() + BUDGET)

        def in_time(_: int, end: float = end) -> None:
            if time.monotonic() > end:
                raise TooSlow

        try:
            in_time(0)
            sampled = sample(predictor, sampler, blank, progress=in_time)
        except TooSlow:
            continue
        symbols = [model.symbols(row) for row in sampled.sequences]
        rows.append({"sampler": sampler.label, "passes": int(sampled.passes.max()), "symbols": symbols})
    return rows
