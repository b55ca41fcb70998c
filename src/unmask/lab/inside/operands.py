"""How much of a network's attention goes to the right operands: 1 for a compiled model, whose heads look up one row.

    mass[l, h, f] = mean attention of head h in layer l, from rows that are being written to their f-th operand
    operands      = mean over f of the largest mass[l, h, f]          the distance from a compiled model is 1 - operands

Read off the true canvases, so that an error of the model does not change what is asked.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from unmask.lab.evaluation.trained import Trained
from unmask.lab.tasks.layout import FETCHES, NOBODY
from unmask.lab.tasks.words import Stream, words

WORDS = 64


@dataclass(frozen=True, eq=False)
class OperandAttention:
    """mass[layer, head, operand]; an operand that no row of the framework has is left out."""

    mass: np.ndarray
    uniform: float
    """What an attention that tells no rows apart would give."""

    @property
    def best(self) -> float:
        return float(self.mass.max(axis=(0, 1)).mean()) if self.mass.size else 0.0


def operand_attention(trained: Trained, *, seed: int, count: int = WORDS) -> OperandAttention | None:
    """None for a framework that fetches nothing."""
    task = trained.task
    if (task.pointers == NOBODY).all():
        return None
    states = task.states(words(task.algebra, count, task.length, seed, Stream.judging, 2))
    shares, counts, visible = np.zeros(()), np.zeros(FETCHES), []
    for step in range(task.layout.steps):
        weights = _weights(trained, states, step)
        writing, pointers = _writing(trained, states[0], step)
        rows, operand = np.nonzero(writing[:, None] & (pointers != NOBODY))
        found = weights[:, :, :, rows, pointers[rows, operand]].mean(axis=2)  # [layers, heads, pairs]
        each = np.stack([found[..., operand == f].sum(axis=-1) for f in range(FETCHES)], axis=-1)
        shares, counts = shares + each, counts + np.bincount(operand, minlength=FETCHES)
        visible.append(weights.shape[-1])
        if trained.config.latent or task.causal:
            break  # one pass shows it all
    fetched = counts > 0
    return OperandAttention(shares[..., fetched] / counts[fetched], 1 / float(np.mean(visible)))


def _weights(trained: Trained, states: np.ndarray, step: int) -> np.ndarray:
    """[layers, heads, batch, rows, rows] of one pass over the true canvas before a step."""
    seen: list[Tensor] = []

    def watch(name: str, value: Tensor) -> None:
        if name.endswith("weights"):
            seen.append(value.transpose(0, 1))

    tokens = states[:, -1, :-1] if trained.task.causal else states[:, step]
    with torch.inference_mode():
        places = trained.places.at(step, tokens.shape[1])
        trained.network(torch.from_numpy(tokens).to(places.codes.device), places, watch)
    return torch.stack(seen).double().cpu().numpy()


def _writing(trained: Trained, states: np.ndarray, step: int) -> tuple[np.ndarray, np.ndarray]:
    """Which rows write in a step, and the operands of all rows."""
    task = trained.task
    pointers = task.pointers[step]
    if task.causal:
        rows = np.arange(task.rows - 1)
        return rows >= task.length - 1, pointers[:-1]
    if task.layout.kind == "smdm":
        return (states[step] == task.mask) & (states[step + 1] != task.mask), pointers
    return np.ones(task.rows, dtype=bool), pointers
