"""Model × words → the order in which its own planner fills the slots."""

import numpy as np

from unmask.engines.fast import FastEngine
from unmask.reasoners.frame import Frame
from unmask.reasoners.run import steps
from unmask.weights.model import DIFFUSION, Model

Order = list[list[int]]


def planned_order(model: Model, words: np.ndarray) -> Order | None:
    """The slots that are written in each step; None where that depends on the word, or there is no canvas."""
    if model.kind not in DIFFUSION:
        return None
    order = []
    for step in steps(Frame(model, words, FastEngine())):
        if (step.chosen != step.chosen[0]).any():
            return None
        order.append(np.flatnonzero(step.chosen[0]).tolist())
    return order
