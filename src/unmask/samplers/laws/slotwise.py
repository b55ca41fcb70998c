"""The exact law of a rule that moves every slot by itself, given the canvas: one vector over all canvases.

μ_{t+1}(y) = Σ_x μ_t(x) · Π_i K_x(i, y_i)        K_x the rule's `slotwise` on canvas x
"""

from functools import reduce
from itertools import product
from typing import Protocol, runtime_checkable

import numpy as np

from unmask.samplers.passes.beliefs import Beliefs
from unmask.samplers.passes.predictor import Predictor
from unmask.samplers.passes.sample import masks
from unmask.samplers.passes.state import State

MOST_DENSE = 7_000  # canvases; a pass takes the square of it


@runtime_checkable
class Slotwise(Protocol):
    """A sampler whose pass draws the slots independently, if `is_slotwise`; it makes a fixed number of passes."""

    @property
    def is_slotwise(self) -> bool: ...

    def slotwise(self, state: State, beliefs: Beliefs) -> np.ndarray: ...

    def finished(self, state: State) -> bool: ...


def dense_size(predictor: Predictor, slots: int) -> int:
    """How many canvases there are."""
    return len(predictor.vocabulary) ** slots


def slotwise_law(predictor: Predictor, sampler: Slotwise, slots: int) -> tuple[np.ndarray, np.ndarray, int]:
    """(canvases that can be written, their probabilities, passes)"""
    canvases = np.array(list(product(range(len(predictor.vocabulary)), repeat=slots)), dtype=np.int64)
    blank = masks(predictor, 1, slots)[0]
    mass = (canvases == blank).all(axis=1).astype(float)
    logits = predictor.logits(canvases)
    step = 0
    while not sampler.finished(State(blank, blank, predictor.mask_id, step=step)):
        after = np.zeros_like(mass)
        for number in np.flatnonzero(mass).tolist():
            state = State(blank, canvases[number], predictor.mask_id, step=step)
            kernel = sampler.slotwise(state, Beliefs(logits[number]))
            after += mass[number] * reduce(lambda joint, row: np.multiply.outer(joint, row).ravel(), kernel)
        mass, step = after, step + 1
    possible = np.flatnonzero(mass)
    return canvases[possible], mass[possible], step
