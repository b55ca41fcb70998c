"""Whether a trained planner waits for both factors of a slot of a tree.

By itself, in the loop of compiled models, a slot is written

    early     before the step in which the exact order writes it
    on time   in that step
    late      after it, or never

That does not say what it waits for: there a whole level is written at once, so that one factor tells of both. So it is
asked about canvases of no level, in which slots whose factors are there are written or not by the toss of a coin:

    written[n]    the share of masked slots that it would write, of those with n factors there
"""

from dataclasses import dataclass

import numpy as np
import torch

from unmask.lab.evaluation.medium import NetworkMedium
from unmask.lab.evaluation.trained import Trained
from unmask.lab.tasks.layout import FETCHES
from unmask.lab.tasks.words import Stream, generator, words
from unmask.reasoners.masked_diffusion import masked_diffusion

WORDS = 64


@dataclass(frozen=True)
class Waiting:
    """Shares of all slots; of `written`, None where there is no such slot."""

    early: float
    on_time: float
    late: float
    written: tuple[float | None, ...]


def waiting(trained: Trained, *, seed: int, count: int = WORDS) -> Waiting | None:
    """None where the network does not decide when a slot of a tree is written, once."""
    if not trained.decides_once or trained.task.framework != "tree":
        return None
    drawn = words(trained.task.source, count, trained.length, seed, Stream.judging, 3)
    canvases = [canvas for canvas, _ in masked_diffusion(NetworkMedium(trained, drawn))]
    masked = np.stack([canvas == trained.task.mask for canvas in canvases])  # [steps, batch, slots]
    written, due = masked.sum(axis=0), trained.order.argmax(axis=0)
    shares = (float(share.mean()) for share in (written < due, written == due, written > due))
    return Waiting(*shares, written_by_factors(trained, drawn, seed))


def written_by_factors(trained: Trained, drawn: np.ndarray, seed: int) -> tuple[float | None, ...]:
    """The share of masked slots that are written, by how many of their factors are there: 0 to FETCHES."""
    task = trained.task
    coins = generator(seed, Stream.judging, 4).random((len(drawn), task.rows)) < 0.5
    there = scattered(task.pointers[0], task.length, coins)
    tokens = np.where(there, task.states(drawn)[:, -1], task.mask)
    with torch.inference_mode():
        places = trained.places.at(0)
        seen = trained.network(torch.from_numpy(tokens).to(places.codes.device), places)
        said = trained.network.logits(seen).argmax(dim=-1).cpu().numpy()
    factors = there[:, task.pointers[0, task.length :]].sum(axis=-1)  # [batch, slots]
    masked, writes = ~there[:, task.length :], said[:, task.length :] != task.mask
    asked = [masked & (factors == number) for number in range(FETCHES + 1)]
    return tuple(float(writes[slots].mean()) if slots.any() else None for slots in asked)


def scattered(pointers: np.ndarray, length: int, coins: np.ndarray) -> np.ndarray:
    """[batch, rows]: the letters, and of the slots whose factors are there those on which the coin fell."""
    there = np.zeros(coins.shape, dtype=bool)
    there[:, :length] = True
    for row in range(length, coins.shape[1]):
        there[:, row] = there[:, pointers[row]].all(axis=1) & coins[:, row]
    return there
