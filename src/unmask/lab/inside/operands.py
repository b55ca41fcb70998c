"""How much of a network's attention goes to the right operands: 1 for a compiled model, whose heads look up one row.

    mass[l, h, f] = mean attention of head h in layer l, from rows that are being written to their f-th operand
    operands      = mean over f of the largest mass[l, h, f]          the distance from a compiled model is 1 - operands

Read off the true canvases, so that an error of the model does not change what is asked; a loop without symbols is
watched in every round of its own stream. A place that is a pad, which stands for nothing, is no operand.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from unmask.lab.evaluation.trained import Trained
from unmask.lab.tasks.layout import NOBODY
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
    states = task.states(words(task.source, count, task.length, seed, Stream.judging, 2))
    shares, counts, uniform = np.zeros(()), np.zeros(task.fetches), []
    for step, weights in enumerate(_weights(trained, states)):
        writing, pointers = _writing(trained, states[0], step)
        operands = (pointers != NOBODY) & (states[0, 0][pointers] != task.pad)
        rows, operand = np.nonzero(writing[:, None] & operands)
        found = weights[:, :, :, rows, pointers[rows, operand]].mean(axis=2)  # [layers, heads, pairs]
        each = np.stack([found[..., operand == f].sum(axis=-1) for f in range(task.fetches)], axis=-1)
        shares, counts = shares + each, counts + np.bincount(operand, minlength=task.fetches)
        uniform += [1 / (row + 1 if task.causal else weights.shape[-1]) for row in rows]
    fetched = counts > 0
    return OperandAttention(shares[..., fetched] / counts[fetched], float(np.mean(uniform)))


def _weights(trained: Trained, states: np.ndarray) -> Iterator[np.ndarray]:
    """[layers, heads, batch, rows, rows] of a pass over the true canvas before every step, or of every round.

    One pass over a chain shows all of its steps.
    """
    network, task = trained.network, trained.task
    seen: list[Tensor] = []

    def watch(name: str, value: Tensor) -> None:
        if name.endswith("weights"):
            seen.append(value.transpose(0, 1))

    hidden = None
    for step in range(1 if task.causal else task.layout.steps):
        tokens = states[:, -1, :-1] if task.causal else states[:, step]
        seen.clear()
        with torch.inference_mode():
            places = trained.places.at(step, tokens.shape[1])
            if hidden is None or not trained.config.latent:
                hidden = network.embed(torch.from_numpy(tokens).to(places.codes.device), places)
            hidden = network.pass_through(hidden, places, watch)
        yield torch.stack(seen).double().cpu().numpy()


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
