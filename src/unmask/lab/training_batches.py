"""Batches of training examples (inputs and targets), and the loss of a network on a batch.

    canvas    x = the true canvas before step t, t drawn per word;     target = the canvas after it
    chain     x = the word and all of its products;                    target = the next one, all steps in one pass
    latent    x = the word and the pads;                               target = all rows after every loop, or the last
    masking   x = the last canvas, a random share of it masked;        target = the symbols that were masked

In the framework `tree` only masked slots have targets, and the target is the mask while a slot must wait.
Batch i of a seed does not depend on earlier batches, and every process takes its own part of it.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy

from unmask.lab.settings import Config, Objective
from unmask.lab.task_layouts import NO_OPERAND
from unmask.lab.task_sources import IDENTITY, Stream, generator, words
from unmask.lab.tasks import LabTask
from unmask.lab.trained_network import EVERY_ROW, PlaceInputs, TrainedNetwork

IGNORED = -100
LEAST_SHARE = 1e-3  # a smaller t has the weight of this one


@dataclass(frozen=True, eq=False)
class Batch:
    """tokens [batch, rows]; for every example its step (which determines the places) and its weight.

    targets [batch, loops, rows] and operands [batch, loops, rows, fetches] are IGNORED where there is no target; loops
    is 1 but for a latent loop.
    """

    tokens: np.ndarray
    steps: np.ndarray
    targets: np.ndarray
    operands: np.ndarray
    weights: np.ndarray


def training_batch(task: LabTask, config: Config, number: int, *, process: int = 0, processes: int = 1) -> Batch:
    """Return batch `number` of a run, or the share of process `part` of `parts`."""
    own_examples = slice(process * config.batch // processes, (process + 1) * config.batch // processes)
    tokens = words(task.source, config.batch, task.length, config.seed, Stream.training, number)[own_examples]
    steps = generator(config.seed, Stream.steps, number).integers(0, task.layout.steps, config.batch)[own_examples]
    states = task.states(tokens)
    if config.objective != "canvas":
        chance = generator(config.seed, Stream.masks, number)
        mask_share = chance.random(config.batch)[own_examples]
        ticks = chance.random((config.batch, task.layout.padding))[own_examples]
        return masked_batch(task, states, mask_share, ticks, config.objective)
    if task.causal:
        return chain_batch(task, states)
    if config.latent:
        return latent_batch(task, states, every=config.supervision == "each")
    return canvas_batch(task, states, steps)


def canvas_batch(task: LabTask, states: np.ndarray, steps: np.ndarray) -> Batch:
    examples = np.arange(len(states))
    before, after = states[examples, steps], states[examples, steps + 1]
    supervised = np.ones(task.rows, dtype=bool) if task.framework == "looped" else np.arange(task.rows) >= task.length
    if task.layout.kind == "smdm":
        supervised = supervised & (before == task.mask)
    targets = np.where(supervised, after, IGNORED)
    return _single_pass(before, steps, targets, operand_contents(before, task.pointers[steps], targets))


def chain_batch(task: LabTask, states: np.ndarray) -> Batch:
    read = states[:, -1, :-1]
    targets = np.full(read.shape, IGNORED)
    targets[:, task.length - 1 :] = states[:, -1, task.length :]
    return _single_pass(
        read, np.zeros(len(read), dtype=np.int64), targets, operand_contents(read, task.pointers[:1, :-1], targets)
    )


def latent_batch(task: LabTask, states: np.ndarray, *, every: bool) -> Batch:
    targets = states[:, 1:].copy()
    if not every:
        targets[:, :-1] = IGNORED
        targets[:, -1, :-1] = IGNORED
    contents = np.where(states == task.pad, IDENTITY, states)[:, :-1]
    loops = contents.shape[1]
    operands = [operand_contents(contents[:, t], task.pointers[t : t + 1], targets[:, t]) for t in range(loops)]
    return Batch(
        states[:, 0], np.zeros(len(states), dtype=np.int64), targets, np.stack(operands, axis=1), np.ones(len(states))
    )


def masked_batch(
    task: LabTask, states: np.ndarray, share: np.ndarray, ticks: np.ndarray, objective: Objective
) -> Batch:
    """Mask each of P slots with probability t; `masking` always masks at least one.

    The loss is a mean over masked slots; an objective that sums over them gives the mean their number as a weight:

        masking            mean over masked slots
        masking-uniform    Σ over masked slots / P
        masking-1/t        Σ over masked slots / (t·P)
    """
    hidden = ticks < share[:, None]
    if objective == "masking":
        hidden[np.arange(len(hidden)), ticks.argmin(axis=1)] = True
    masked_share = hidden.sum(axis=1) / task.layout.padding
    weights = {
        "masking": np.ones(len(states)),
        "masking-uniform": masked_share,
        "masking-1/t": masked_share / np.maximum(share, LEAST_SHARE),
    }[objective]
    read, targets = states[:, -1].copy(), np.full((len(states), task.rows), IGNORED)
    slots = slice(task.length, None)
    targets[:, slots] = np.where(hidden, read[:, slots], IGNORED)
    read[:, slots] = np.where(hidden, task.mask, read[:, slots])
    steps = np.zeros(len(states), dtype=np.int64)
    return _single_pass(read, steps, targets, operand_contents(read, task.pointers[:1], targets), weights)


def operand_contents(contents: np.ndarray, pointers: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Return the contents of the operands of the supervised rows, [batch, rows, fetches]."""
    pointers = np.broadcast_to(pointers, (len(contents), *pointers.shape[1:]))
    contents_there = np.take_along_axis(contents[:, :, None], np.maximum(pointers, 0), axis=1)
    return np.where((pointers == NO_OPERAND) | (targets == IGNORED)[..., None], IGNORED, contents_there)


def _single_pass(
    tokens: np.ndarray, steps: np.ndarray, targets: np.ndarray, operands: np.ndarray, weights: np.ndarray | None = None
) -> Batch:
    return Batch(
        tokens, steps, targets[:, None], operands[:, None], np.ones(len(tokens)) if weights is None else weights
    )


# Network × Batch → loss: cross-entropy, a mean over the targets of an example, then over examples.
#
#     loss = Σ_b w_b · mean over supervised rows of -log p(target)  +  the same of every operand, with aux
#            + the cross-entropy of "the likeliest symbol is right", whose gradient reaches only its own read-out (the
#              clipped norm is that of all gradients, so a large value of it shortens the others)
#
# Means are taken per example, so the mean over equal parts of a batch is the mean of the batch.


class NetworkWithLoss(torch.nn.Module):
    """The network and its loss in one forward pass, as distributed training requires."""

    def __init__(self, network: TrainedNetwork) -> None:
        super().__init__()
        self.network = network

    def forward(
        self,
        tokens: Tensor,
        places: PlaceInputs,
        targets: Tensor,
        operands: Tensor,
        weights: Tensor,
        latent: bool,
        needed_rows: slice = EVERY_ROW,
    ) -> Tensor:
        """Return the loss; `needed_rows` are the rows that may have targets."""
        targets, operands = targets[:, :, needed_rows], operands[:, :, needed_rows]
        losses = torch.zeros(())
        loops = 0
        for loop, stream in enumerate(self._read_outs(tokens, places, targets.shape[1], latent, needed_rows)):
            target = targets[:, loop]
            losses = losses + self._loss(stream, target, operands[:, loop], weights)
            loops += 1
        return losses / loops

    def _read_outs(
        self, tokens: Tensor, places: PlaceInputs, loops: int, latent: bool, needed_rows: slice
    ) -> Iterator[Tensor]:
        if not latent:
            yield self.network(tokens, places, needed_rows=needed_rows)
            return
        hidden = self.network.embed(tokens, places)
        for _ in range(loops):
            hidden = self.network.pass_through(hidden, places)
            yield self.network.norm(hidden)

    def _loss(self, stream: Tensor, target: Tensor, operands: Tensor, weights: Tensor) -> Tensor:
        logits = self.network.logits(stream)
        loss = (weights * per_example(logits, target)).mean()
        if self.network.aux is not None:
            loss = loss + per_example(self.network.operand_logits(stream).flatten(1, 2), operands.flatten(1, 2)).mean()
        is_right = (logits.detach().argmax(dim=-1) == target).float()
        correctness_loss = binary_cross_entropy_with_logits(
            self.network.correctness(stream), is_right, reduction="none"
        )
        return loss + mean_where(correctness_loss, target != IGNORED).mean()


def per_example(logits: Tensor, targets: Tensor) -> Tensor:
    """Return the mean of -log p over the supervised rows of each example; 0 for an example without one."""
    losses = cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=IGNORED, reduction="none")
    return mean_where(losses.view_as(targets), targets != IGNORED)


def mean_where(values: Tensor, supervised: Tensor) -> Tensor:
    return (values * supervised).sum(dim=-1) / supervised.sum(dim=-1).clamp(min=1)
