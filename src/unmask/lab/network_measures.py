"""Trained network → internal measures: attention to operands, waiting, levels, gradients on attention."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from unmask.lab.settings import Config
from unmask.lab.task_layouts import FETCHES, NO_OPERAND
from unmask.lab.task_sources import Stream, generator, words
from unmask.lab.trained_model import NetworkMedium, Trained
from unmask.lab.trained_network import NetworkAttention, PlaceTable, TrainedNetwork
from unmask.lab.training import new_network, train_without_evaluation
from unmask.lab.training_batches import IGNORED, training_batch
from unmask.reasoners.loops import masked_diffusion

# How much of a network's attention goes to the right operands: 1 for a compiled model, whose heads look up one row.
#
#     mass[l, h, f] = mean attention of head h in layer l, from rows that are being written to their f-th operand
#     operands      = mean over f of the largest mass[l, h, f]          its distance from a compiled model: 1 - operands
#
# Computed on the true canvases, so that an error of the model does not change the measure; a loop without symbols is
# watched in every round of its own stream. A padding position is not an operand.


WORDS = 64


@dataclass(frozen=True, eq=False)
class OperandAttention:
    """The attention to operands, mass[layer, head, operand], without operands that no row of the framework has."""

    mass: np.ndarray
    uniform: float
    """The mass of uniform attention."""

    @property
    def best(self) -> float:
        return float(self.mass.max(axis=(0, 1)).mean()) if self.mass.size else 0.0


def operand_attention(trained: Trained, *, seed: int, count: int = WORDS) -> OperandAttention | None:
    """Measure the attention to operands; None for a framework that fetches nothing."""
    task = trained.task
    if (task.pointers == NO_OPERAND).all():
        return None
    states = task.states(words(task.source, count, task.length, seed, Stream.judging, 2))
    shares, counts, uniform = np.zeros(()), np.zeros(task.fetches), []
    for step, weights in enumerate(_weights(trained, states)):
        writing, pointers = _writing(trained, states[0], step)
        operands = (pointers != NO_OPERAND) & (states[0, 0][pointers] != task.pad)
        rows, operand = np.nonzero(writing[:, None] & operands)
        attention = weights[:, :, :, rows, pointers[rows, operand]].mean(axis=2)  # [layers, heads, pairs]
        by_operand = np.stack([attention[..., operand == f].sum(axis=-1) for f in range(task.fetches)], axis=-1)
        shares, counts = shares + by_operand, counts + np.bincount(operand, minlength=task.fetches)
        uniform += [1 / (row + 1 if task.causal else weights.shape[-1]) for row in rows]
    fetched = counts > 0
    return OperandAttention(shares[..., fetched] / counts[fetched], float(np.mean(uniform)))


def _weights(trained: Trained, states: np.ndarray) -> Iterator[np.ndarray]:
    """Yield [layers, heads, batch, rows, rows] of a pass over the true canvas before every step, or of every round.

    One pass over a chain shows all of its steps.
    """
    network, task = trained.network, trained.task
    layer_weights: list[Tensor] = []

    def watch(name: str, value: Tensor) -> None:
        if name.endswith("weights"):
            layer_weights.append(value.transpose(0, 1))

    hidden = None
    for step in range(1 if task.causal else task.layout.steps):
        tokens = states[:, -1, :-1] if task.causal else states[:, step]
        layer_weights.clear()
        with torch.inference_mode():
            places = trained.places.at(step, tokens.shape[1])
            if hidden is None or not trained.config.latent:
                hidden = network.embed(torch.from_numpy(tokens).to(places.codes.device), places)
            hidden = network.pass_through(hidden, places, watch)
        yield torch.stack(layer_weights).double().cpu().numpy()


def _writing(trained: Trained, states: np.ndarray, step: int) -> tuple[np.ndarray, np.ndarray]:
    """Return which rows write in a step, and the operands of all rows."""
    task = trained.task
    pointers = task.pointers[step]
    if task.causal:
        rows = np.arange(task.rows - 1)
        return rows >= task.length - 1, pointers[:-1]
    if task.layout.kind == "smdm":
        return (states[step] == task.mask) & (states[step + 1] != task.mask), pointers
    return np.ones(task.rows, dtype=bool), pointers


# Whether a trained planner waits for both factors of a slot of a tree.
#
# In a normal run, in the loop of compiled models, a slot is written
#
#     early     before the step in which the exact order writes it
#     on time   in that step
#     late      after it, or never
#
# That does not show what the planner waits for: a whole level is written at once, so one factor predicts the other. So
# it also runs on scattered canvases, in which a slot whose factors are written is itself written with probability 1/2:
#
#     written[n]    the share of slots that it would write, among masked slots with n written factors


@dataclass(frozen=True)
class Waiting:
    """Shares of all slots that are written early, on time and late; `written` is None where there is no such slot."""

    early: float
    on_time: float
    late: float
    written: tuple[float | None, ...]


def measure_waiting(trained: Trained, *, seed: int, count: int = WORDS) -> Waiting | None:
    """Measure waiting; None unless the network decides when a slot of a tree is written, once."""
    if not trained.decides_once or trained.task.framework != "tree":
        return None
    tokens = words(trained.task.source, count, trained.length, seed, Stream.judging, 3)
    canvases = [canvas for canvas, _ in masked_diffusion(NetworkMedium(trained, tokens))]
    masked = np.stack([canvas == trained.task.mask for canvas in canvases])  # [steps, batch, slots]
    written, due = masked.sum(axis=0), trained.order.argmax(axis=0)
    shares = (float(share.mean()) for share in (written < due, written == due, written > due))
    return Waiting(*shares, written_by_factors(trained, tokens, seed))


def written_by_factors(trained: Trained, letters: np.ndarray, seed: int) -> tuple[float | None, ...]:
    """Return the share of masked slots that are written, by the number of their written factors: 0 to FETCHES."""
    task = trained.task
    coins = generator(seed, Stream.judging, 4).random((len(letters), task.rows)) < 0.5
    is_written = scattered(task.pointers[0], task.length, coins)
    tokens = np.where(is_written, task.states(letters)[:, -1], task.mask)
    with torch.inference_mode():
        places = trained.places.at(0)
        stream = trained.network(torch.from_numpy(tokens).to(places.codes.device), places)
        predicted = trained.network.logits(stream).argmax(dim=-1).cpu().numpy()
    factors = is_written[:, task.pointers[0, task.length :]].sum(axis=-1)  # [batch, slots]
    masked, writes = ~is_written[:, task.length :], predicted[:, task.length :] != task.mask
    by_factors = [masked & (factors == number) for number in range(FETCHES + 1)]
    return tuple(float(writes[slots].mean()) if slots.any() else None for slots in by_factors)


def scattered(pointers: np.ndarray, length: int, coins: np.ndarray) -> np.ndarray:
    """Return [batch, rows]: the letters, and of the slots whose factors are written those that `coins` selects."""
    is_written = np.zeros(coins.shape, dtype=bool)
    is_written[:, :length] = True
    for row in range(length, coins.shape[1]):
        is_written[:, row] = is_written[:, pointers[row]].all(axis=1) & coins[:, row]
    return is_written


# The learned part of a tree: the share of right products in every level, on true canvases.
#
#     right[t] = share of the slots that step t writes whose likeliest element is right, the canvas before it being true
#
# The answer is right only if all levels are, so it says nothing about a tree that fails in a single level.


def right_by_level(trained: Trained, *, seed: int, count: int = WORDS) -> tuple[float, ...] | None:
    """Measure the levels of a tree that was trained on its canvases; None for any other network."""
    task = trained.task
    if not trained.decides_once:
        return None
    states = task.states(words(task.source, count, task.length, seed, Stream.judging, 5))
    shares = []
    for step, due in enumerate(trained.order):
        with torch.inference_mode():
            places = trained.places.at(step)
            stream = trained.network(torch.from_numpy(states[:, step]).to(places.codes.device), places)
            logits = trained.network.logits(stream)[:, task.length :, : task.mask]
        slots = np.flatnonzero(due)
        is_right = logits.argmax(dim=-1).cpu().numpy()[:, slots] == states[:, step + 1, task.length + slots]
        shares.append(float(is_right.mean()))
    return tuple(shares)


# How strongly gradients pull attention towards the operands, after everything else was trained with uniform attention.
#
#     attention is kept uniform (queries and keys 0) while all else is trained; then
#     g[b, q, k]  = -∂(-log p(target of row q)) / ∂score[q, k]    in the only layer, summed over heads
#     signal      = mean over written (q, operand) and words of g[b, q, operand]
#     noise       = its standard error over words
#
# A code of places can only learn what is common to all words: the mean over words is the signal, and the rest
# averages out. An operand has a mass of 1 / rows. The hypothesis: a row that needs n operands at once has a signal ~
# mass^n, times that of one operand alone. A slot whose target is to wait is left out, because one masked factor is
# enough to see that it must wait.


@dataclass(frozen=True)
class Signal:
    """The signal of the first gradient on the operands' scores; `mass` is the initial attention to operands."""

    signal: float
    noise: float
    mass: float


def pull_on_uniform_attention(config: Config, *, batches: int) -> Signal:
    """Train all but queries and keys for the steps of the config, then measure."""
    task = config.task
    network = new_network(config, task)
    for module in network.modules():
        if isinstance(module, NetworkAttention):
            keep_uniform(module.qkv.weight)
    train_without_evaluation(config, network, task)
    return first_signal(config, network, batches=batches)


def keep_uniform(qkv: torch.Tensor) -> None:
    """Set queries and keys to 0 and keep them there: they get no gradient, and weight decay does not change them."""
    values = torch.zeros_like(qkv)
    values[2 * len(qkv) // 3 :] = 1
    with torch.no_grad():
        qkv.mul_(values)
    qkv.register_hook(lambda gradient: gradient * values)


def first_signal(config: Config, network: TrainedNetwork, *, batches: int) -> Signal:
    """Measure over batches that follow those of the configured run, without changing the weights."""
    task = config.task
    table = PlaceTable(task, config.shape.encoding)
    pulls, masses = [], []
    for number in range(batches):
        batch = training_batch(task, config, config.steps + number)
        places = table.at(torch.from_numpy(batch.steps), batch.tokens.shape[1])
        scores = _Scores()
        stream = network(torch.from_numpy(batch.tokens), places, scores.watch)
        written = np.where(batch.targets[:, 0] == task.mask, IGNORED, batch.targets[:, 0])
        logits = network.logits(stream).flatten(0, 1)
        loss = cross_entropy(logits, torch.from_numpy(written).flatten(), ignore_index=IGNORED, reduction="sum")
        (gradient,) = torch.autograd.grad(loss, scores.weights)
        weights = scores.weights.detach()
        # through the softmax: ∂/∂score = w·(∂/∂w - Σ w·∂/∂w)
        pull = -(weights * (gradient - (weights * gradient).sum(-1, keepdim=True))).sum(1).numpy()
        pointers = np.broadcast_to(task.pointers[batch.steps][:, : pull.shape[1]], (len(pull), pull.shape[1], 2))
        has_operand = (pointers != NO_OPERAND) & (written != IGNORED)[..., None]
        operand_pull = np.take_along_axis(pull, np.maximum(pointers, 0), axis=2)
        attended = np.take_along_axis(weights.mean(1).numpy(), np.maximum(pointers, 0), axis=2)
        count = np.maximum(1, has_operand.sum(axis=(1, 2)))
        pulls.append((operand_pull * has_operand).sum(axis=(1, 2)) / count)
        masses.append(float(attended[has_operand].mean()))
    all_pulls = np.concatenate(pulls)
    return Signal(float(all_pulls.mean()), float(all_pulls.std() / len(all_pulls) ** 0.5), float(np.mean(masses)))


class _Scores:
    """A watch that keeps the attention weights of the first layer as a node of the graph."""

    weights: torch.Tensor

    def watch(self, name: str, value: torch.Tensor) -> None:
        if name == "layers.0.weights":
            self.weights = value
