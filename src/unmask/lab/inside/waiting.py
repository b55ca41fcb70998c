"""Whether a trained planner waits: when each slot of a tree is written, against when its two factors are there.

early     before the step in which the exact order writes it: a factor was still a mask
on time   in that step
late      after it, or never

The loop of compiled models runs it, and every slot of every word counts alike.
"""

from dataclasses import dataclass

import numpy as np

from unmask.lab.evaluation.medium import NetworkMedium
from unmask.lab.evaluation.trained import Trained
from unmask.lab.tasks.words import Stream, words
from unmask.reasoners.masked_diffusion import masked_diffusion

WORDS = 64


@dataclass(frozen=True)
class Waiting:
    """Shares of all slots."""

    early: float
    on_time: float
    late: float


def waiting(trained: Trained, *, seed: int, count: int = WORDS) -> Waiting | None:
    """None where the network does not decide when a slot is written, once."""
    if trained.kind != "smdm" or trained.config.objective != "canvas":
        return None
    drawn = words(trained.task.algebra, count, trained.length, seed, Stream.judging, 3)
    canvases = [canvas for canvas, _ in masked_diffusion(NetworkMedium(trained, drawn))]
    masked = np.stack([canvas == trained.task.mask for canvas in canvases])  # [steps, batch, slots]
    written, due = masked.sum(axis=0), trained.order.argmax(axis=0)
    return Waiting(*(float(share.mean()) for share in (written < due, written == due, written > due)))
