"""LawPredictor: the exact conditionals of a law, for any partly masked string, by forward and backward sums.

    p(x_i = a | what is written) = F_i · A_a · B_{i+1} / Σ_a' F_i · A_a' · B_{i+1}

The predictor makes no error, so that all error of a sampler is its own: it writes several slots at once as if they were
independent (the factorisation error), or lets the draw decide what is written. A written slot is certain of itself.
Where what is written has probability 0, nothing is conditional on it, and every symbol is as likely.
"""

from dataclasses import dataclass

import numpy as np

from unmask.samplers.laws.law import Law

MASK = "□"


@dataclass(frozen=True, eq=False)
class LawPredictor:
    law: Law

    @property
    def mask_id(self) -> int:
        return len(self.law.alphabet)

    @property
    def vocabulary(self) -> tuple[str, ...]:
        return (*self.law.alphabet, MASK)

    def logits(self, canvas: np.ndarray) -> np.ndarray:
        """log p, the mask's column −∞."""
        with np.errstate(divide="ignore"):
            logs = np.log(self.conditionals(canvas))
        return np.concatenate([logs, np.full((*canvas.shape, 1), -np.inf)], axis=-1)

    def conditionals(self, canvas: np.ndarray) -> np.ndarray:
        """[batch, slots, symbols]"""
        symbols = len(self.law.alphabet)
        fits = np.concatenate([np.eye(symbols), np.ones((1, symbols))])[canvas]
        forward, backward = self.law.forward(fits), self.law.backward(fits)
        joint = np.einsum("bis,ast,bit->bia", forward[:, :-1], self.law.steps, backward[:, 1:], optimize=True) * fits
        mass = joint.sum(axis=-1, keepdims=True)
        return np.where(mass > 0, joint / np.where(mass > 0, mass, 1), fits / fits.sum(axis=-1, keepdims=True))
