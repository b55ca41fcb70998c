"""The kind of a model → its loop, over any medium."""

from collections.abc import Iterator

from unmask.reasoners.chain_of_thought import chain_of_thought
from unmask.reasoners.looped import looped
from unmask.reasoners.masked_diffusion import masked_diffusion
from unmask.reasoners.medium import Choice, Logits, Medium, Residual, Symbols, Tokens
from unmask.weights.model import DIFFUSION


def canvases(medium: Medium[Tokens, Logits, Symbols, Choice, Residual]) -> Iterator[Tokens]:
    """What the slots hold after every step, by the model's own planner where it has one."""
    kind = medium.model.kind
    if kind in DIFFUSION:
        for canvas, _ in masked_diffusion(medium):
            yield canvas
    elif kind == "plt":
        yield looped(medium)
    else:
        yield from chain_of_thought(medium)
