"""Chance: the only source of randomness of a sampler, so that a run can be drawn, replayed or enumerated."""

from typing import Protocol

import numpy as np


class Chance(Protocol):
    """What a rule may ask for."""

    def symbols(self, probabilities: np.ndarray) -> np.ndarray:
        """One symbol per row of [rows, symbols], independently."""
        ...

    def coins(self, probabilities: np.ndarray) -> np.ndarray:
        """True with these probabilities, independently."""
        ...

    def subset(self, slots: np.ndarray, count: int) -> np.ndarray:
        """`count` of the slots, every subset alike."""
        ...

    def weighted_subset(self, slots: np.ndarray, weights: np.ndarray, count: int) -> np.ndarray:
        """`count` of the slots one by one, each in proportion to its weight among those that are left."""
        ...

    def uniforms(self, shape: tuple[int, ...]) -> np.ndarray:
        """Numbers from [0, 1): a continuum, which cannot be enumerated."""
        ...


class Drawn:
    """Chance by a generator of NumPy."""

    def __init__(self, generator: np.random.Generator) -> None:
        self.generator = generator

    def symbols(self, probabilities: np.ndarray) -> np.ndarray:
        edges = probabilities.cumsum(axis=-1)
        ticks = self.generator.random(len(probabilities))[:, None] * edges[:, -1:]
        likely = probabilities.shape[-1] - 1 - np.argmax(probabilities[:, ::-1] > 0, axis=-1)
        return np.minimum((ticks >= edges).sum(axis=-1), likely)  # a tick may be rounded up to the last edge

    def coins(self, probabilities: np.ndarray) -> np.ndarray:
        return self.generator.random(len(probabilities)) < probabilities

    def subset(self, slots: np.ndarray, count: int) -> np.ndarray:
        return self.generator.choice(slots, size=min(count, len(slots)), replace=False)

    def weighted_subset(self, slots: np.ndarray, weights: np.ndarray, count: int) -> np.ndarray:
        # the smallest of exponential times with these rates come in just this order
        times = self.generator.exponential(size=len(slots)) / np.where(weights > 0, weights, 1)
        order = np.argsort(np.where(weights > 0, times, np.inf), kind="stable")
        return slots[order[: min(count, int((weights > 0).sum()))]]

    def uniforms(self, shape: tuple[int, ...]) -> np.ndarray:
        return self.generator.random(shape)
