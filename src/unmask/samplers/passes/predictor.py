"""Predictor: canvas → what every slot might hold. All that a sampler knows of a model.

    logits(canvas)[b, i, a]       a larger logit is a likelier symbol; the mask's column is −∞
    p(slot i holds a) = softmax over a

A predictor is bound to what it reads besides the canvas: row b of the canvas belongs to its b-th word or prompt.
"""

from typing import Protocol, runtime_checkable

import numpy as np

from unmask.numerics.array_types import Float, Int


@runtime_checkable
class Predictor(Protocol):
    """Anything with a mask, symbols and logits."""

    @property
    def mask_id(self) -> int:
        """The token of a slot that is not written."""
        ...

    @property
    def vocabulary(self) -> tuple[str, ...]:
        """token id → symbol, the mask among them."""
        ...

    def logits(self, canvas: Int[np.ndarray, "batch slots"]) -> Float[np.ndarray, "batch slots symbols"]: ...


def without_mask(logits: np.ndarray, mask_id: int) -> np.ndarray:
    """The logits as floats, so that the mask is never predicted."""
    logits = np.array(logits, dtype=np.float64)
    logits[..., mask_id] = -np.inf
    return logits


def softmax(logits: np.ndarray) -> np.ndarray:
    """exp(l − max) / Σ exp(l − max), along the last axis; −∞ becomes 0."""
    exps = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return exps / exps.sum(axis=-1, keepdims=True)
