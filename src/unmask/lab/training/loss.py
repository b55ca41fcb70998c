"""Network × Lesson → loss: cross-entropy, a mean over what an example teaches, then over examples.

    loss = Σ_b w_b · mean over taught rows of -log p(target)  +  the same of every operand, with aux
           + the cross-entropy of "the likeliest symbol is right", whose gradient reaches its own read-out alone (the
             norm that is clipped is that of all gradients, so that it shortens the others where it is large)

Means are taken per example, so that the mean of equal parts of a batch is that of the batch.
"""

from collections.abc import Iterator

import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy

from unmask.lab.network.network import EVERY_ROW, Network, Places
from unmask.lab.training.lessons import UNTAUGHT


class Scored(torch.nn.Module):
    """The network and its loss in one forward pass, as distributed training wants it."""

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.network = network

    def forward(
        self,
        tokens: Tensor,
        places: Places,
        targets: Tensor,
        operands: Tensor,
        weights: Tensor,
        latent: bool,
        asked: slice = EVERY_ROW,
    ) -> Tensor:
        """`asked` are the rows that the lesson may teach."""
        targets, operands = targets[:, :, asked], operands[:, :, asked]
        losses = torch.zeros(())
        loops = 0
        for loop, seen in enumerate(self._read_outs(tokens, places, targets.shape[1], latent, asked)):
            target = targets[:, loop]
            losses = losses + self._loss(seen, target, operands[:, loop], weights)
            loops += 1
        return losses / loops

    def _read_outs(self, tokens: Tensor, places: Places, loops: int, latent: bool, asked: slice) -> Iterator[Tensor]:
        if not latent:
            yield self.network(tokens, places, asked=asked)
            return
        hidden = self.network.embed(tokens, places)
        for _ in range(loops):
            hidden = self.network.pass_through(hidden, places)
            yield self.network.norm(hidden)

    def _loss(self, seen: Tensor, target: Tensor, operands: Tensor, weights: Tensor) -> Tensor:
        logits = self.network.logits(seen)
        loss = (weights * per_example(logits, target)).mean()
        if self.network.aux is not None:
            loss = loss + per_example(self.network.operand_logits(seen).flatten(1, 2), operands.flatten(1, 2)).mean()
        right = (logits.detach().argmax(dim=-1) == target).float()
        sure = binary_cross_entropy_with_logits(self.network.correctness(seen), right, reduction="none")
        return loss + mean_where(sure, target != UNTAUGHT).mean()


def per_example(logits: Tensor, targets: Tensor) -> Tensor:
    """The mean of -log p over the taught rows of each example; 0 where there is none."""
    losses = cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=UNTAUGHT, reduction="none")
    return mean_where(losses.view_as(targets), targets != UNTAUGHT)


def mean_where(values: Tensor, taught: Tensor) -> Tensor:
    return (values * taught).sum(dim=-1) / taught.sum(dim=-1).clamp(min=1)
