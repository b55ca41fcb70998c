"""Predictors whose logits are a formula of the canvas, so that rules can be checked by hand and without ties."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np


@dataclass(frozen=True)
class Mixed:
    """Logits that depend on the whole canvas, all different: a small random network."""

    slots: int
    symbols: int
    seed: int = 0
    sharpness: float = 3.0

    @property
    def mask_id(self):
        return self.symbols

    @property
    def vocabulary(self):
        return (*map(str, range(self.symbols)), "m")

    @cached_property
    def weights(self):
        rng = np.random.default_rng(self.seed)
        size = self.slots * (self.symbols + 1)
        return rng.normal(size=(size, 40)), rng.normal(size=(40, self.slots * self.symbols))

    def logits(self, canvas):
        first, second = self.weights
        one_hot = np.eye(self.symbols + 1)[canvas].reshape(len(canvas), -1)
        plain = (np.tanh(one_hot @ first / 3) @ second).reshape(len(canvas), self.slots, self.symbols)
        return np.concatenate([self.sharpness * plain / 4, np.full((*canvas.shape, 1), -np.inf)], axis=-1)


@dataclass(frozen=True)
class Fixed:
    """The same probabilities whatever is written: [slots, symbols]."""

    probabilities: np.ndarray

    @property
    def mask_id(self):
        return self.probabilities.shape[1]

    @property
    def vocabulary(self):
        return (*map(str, range(self.mask_id)), "m")

    def logits(self, canvas):
        with np.errstate(divide="ignore"):
            logs = np.log(self.probabilities)
        logs = np.concatenate([logs, np.full((len(logs), 1), -np.inf)], axis=1)
        return np.broadcast_to(logs, (len(canvas), *logs.shape))


def confident(*confidences, symbols=3):
    """Slots whose likeliest symbol, 0, has these probabilities."""
    rows = [[c] + [(1 - c) / (symbols - 1)] * (symbols - 1) for c in confidences]
    return Fixed(np.array(rows))
