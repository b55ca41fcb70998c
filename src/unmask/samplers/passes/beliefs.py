"""Beliefs: one row of a predictor's logits, and how sure it is of each slot.

probability   p of a symbol                    LLaDA, Dream maskgit_plus, Fast-dLLM
margin        p(1st) − p(2nd)                   Dream topk_margin
entropy       −Σ p log p                        Dream entropy, EB
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from unmask.samplers.passes.chance import Chance
from unmask.samplers.passes.predictor import softmax


@dataclass(frozen=True, eq=False)
class Beliefs:
    """What the predictor says of one canvas, [slots, symbols]."""

    logits: np.ndarray

    @cached_property
    def probabilities(self) -> np.ndarray:
        return softmax(self.logits)

    @cached_property
    def best(self) -> np.ndarray:
        """The likeliest symbol of each slot; the lowest token wins a tie."""
        return self.logits.argmax(axis=-1)

    def at(self, slots: np.ndarray, temperature: float = 1.0) -> "Beliefs":
        """About some slots alone, sharpened: logits / temperature; a temperature of 0 leaves them alone."""
        logits = self.logits[slots]
        return Beliefs(logits / temperature if temperature not in (0, 1) else logits)

    def draw(self, temperature: float, chance: Chance) -> np.ndarray:
        """A symbol per slot from softmax(logits / temperature); at 0 the likeliest."""
        if temperature == 0:
            return self.best
        return chance.symbols(self.probabilities if temperature == 1 else softmax(self.logits / temperature))

    def probability(self, symbols: np.ndarray) -> np.ndarray:
        """p of these symbols, one per slot."""
        return np.take_along_axis(self.probabilities, symbols[:, None], axis=-1)[:, 0]

    @cached_property
    def margin(self) -> np.ndarray:
        top = np.sort(self.probabilities, axis=-1)
        return top[:, -1] - top[:, -2]

    @cached_property
    def entropy(self) -> np.ndarray:
        p = self.probabilities
        return -np.sum(p * np.log(np.where(p > 0, p, 1)), axis=-1)


def surest(slots: np.ndarray, confidence: np.ndarray, count: int) -> np.ndarray:
    """`count` of the slots, the most confident first; the lowest slot wins a tie."""
    order = np.argsort(-comparable(confidence), kind="stable")
    return slots[order[:count]]


def comparable(scores: np.ndarray) -> np.ndarray:
    """To seven digits, about what the field's single precision tells apart: the noise of a sum must not break a tie."""
    return np.round(scores, 7)
