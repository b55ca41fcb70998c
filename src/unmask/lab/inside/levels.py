"""How much of a tree is learned: the share of right products in every level, on true canvases.

    right[t] = share of the slots that step t writes whose likeliest element is right, the canvas before it being true

The answer is right only if all levels are, so that it says nothing about a tree of which one level is missing.
"""

import numpy as np
import torch

from unmask.lab.evaluation.trained import Trained
from unmask.lab.tasks.words import Stream, words

WORDS = 64


def right_by_level(trained: Trained, *, seed: int, count: int = WORDS) -> tuple[float, ...] | None:
    """None where there are no levels: of anything but a tree that was taught its canvases."""
    task = trained.task
    if not trained.decides_once:
        return None
    states = task.states(words(task.source, count, task.length, seed, Stream.judging, 5))
    found = []
    for step, due in enumerate(trained.order):
        with torch.inference_mode():
            places = trained.places.at(step)
            seen = trained.network(torch.from_numpy(states[:, step]).to(places.codes.device), places)
            logits = trained.network.logits(seen)[:, task.length :, : task.mask]
        slots = np.flatnonzero(due)
        right = logits.argmax(dim=-1).cpu().numpy()[:, slots] == states[:, step + 1, task.length + slots]
        found.append(float(right.mean()))
    return tuple(found)
