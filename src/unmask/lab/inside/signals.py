"""How strongly gradients pull attention towards the operands, once everything else has learned what it can without it.

    attention is kept uniform (queries and keys 0) while all else is trained; then
    g[b, q, k]  = -∂(-log p(target of row q)) / ∂score[q, k]    in the only layer, summed over heads
    signal      = mean over written (q, operand) and words of g[b, q, operand]
    noise       = its standard error over words

A code of places can only learn what is the same for every word: the mean over words is the signal, and the rest
averages out. An operand has a mass of 1 / rows. The hypothesis: a row that needs n operands at once has a signal ~
mass^n, times what one operand alone would have. A slot that is taught to wait is left out: that a factor is still a
mask can be seen from one of them.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch.nn.functional import cross_entropy

from unmask.lab.network.network import Attention, Network
from unmask.lab.network.places import PlaceTable
from unmask.lab.settings.config import Config
from unmask.lab.tasks.layout import NOBODY
from unmask.lab.training.lessons import UNTAUGHT, lesson
from unmask.lab.training.train import new_network, rehearse


@dataclass(frozen=True)
class Signal:
    """Of the first gradient on the operands' scores; `mass` is the attention that operands have at the start."""

    signal: float
    noise: float
    mass: float


def pull_on_uniform_attention(config: Config, *, batches: int) -> Signal:
    """Train all but queries and keys for the steps of the config, then measure."""
    task = config.task
    network = new_network(config, task)
    for part in network.modules():
        if isinstance(part, Attention):
            keep_uniform(part.qkv.weight)
    rehearse(config, network, task)
    return first_signal(config, network, batches=batches)


def keep_uniform(qkv: torch.Tensor) -> None:
    """Queries and keys that are 0 and stay so: no gradient, and nothing for weight decay to do."""
    values = torch.zeros_like(qkv)
    values[2 * len(qkv) // 3 :] = 1
    with torch.no_grad():
        qkv.mul_(values)
    qkv.register_hook(lambda gradient: gradient * values)


def first_signal(config: Config, network: Network, *, batches: int) -> Signal:
    """Over batches that come after those of the run that the config describes, the weights as they are."""
    task = config.task
    table = PlaceTable(task, config.shape.encoding)
    pulls, masses = [], []
    for number in range(batches):
        part = lesson(task, config, config.steps + number)
        places = table.at(torch.from_numpy(part.steps), part.tokens.shape[1])
        scores = _Scores()
        seen = network(torch.from_numpy(part.tokens), places, scores.watch)
        written = np.where(part.targets[:, 0] == task.mask, UNTAUGHT, part.targets[:, 0])
        logits = network.logits(seen).flatten(0, 1)
        loss = cross_entropy(logits, torch.from_numpy(written).flatten(), ignore_index=UNTAUGHT, reduction="sum")
        (gradient,) = torch.autograd.grad(loss, scores.weights)
        weights = scores.weights.detach()
        # through the softmax: ∂/∂score = w·(∂/∂w - Σ w·∂/∂w)
        pull = -(weights * (gradient - (weights * gradient).sum(-1, keepdim=True))).sum(1).numpy()
        pointers = np.broadcast_to(task.pointers[part.steps][:, : pull.shape[1]], (len(pull), pull.shape[1], 2))
        asked = (pointers != NOBODY) & (written != UNTAUGHT)[..., None]
        at = np.take_along_axis(pull, np.maximum(pointers, 0), axis=2)
        held = np.take_along_axis(weights.mean(1).numpy(), np.maximum(pointers, 0), axis=2)
        count = np.maximum(1, asked.sum(axis=(1, 2)))
        pulls.append((at * asked).sum(axis=(1, 2)) / count)
        masses.append(float(held[asked].mean()))
    each = np.concatenate(pulls)
    return Signal(float(each.mean()), float(each.std() / len(each) ** 0.5), float(np.mean(masses)))


class _Scores:
    """Keeps the attention weights of the first layer, as a node of the graph."""

    weights: torch.Tensor

    def watch(self, name: str, value: torch.Tensor) -> None:
        if name == "layers.0.weights":
            self.weights = value
