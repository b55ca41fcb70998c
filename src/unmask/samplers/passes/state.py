"""State and Sampler: where a run stands, and what makes its next pass."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, Protocol

import numpy as np

from unmask.samplers.passes.beliefs import Beliefs
from unmask.samplers.passes.chance import Chance

Remasking = Literal["declines", "masks again", "resamples"]
"""What *remasking* means: a slot that is not chosen stays masked (LLaDA); a written slot may become a mask again (P2,
ReMDM); a written slot may take another symbol at once (the paper's planner)."""


@dataclass(frozen=True, eq=False)
class State:
    """One canvas before a pass: `step` passes were made; `first` is the canvas at the start, `row` its number."""

    first: np.ndarray
    canvas: np.ndarray
    mask_id: int
    row: int = 0
    step: int = 0
    memory: tuple[float, ...] = ()

    @cached_property
    def masked(self) -> np.ndarray:
        return self.canvas == self.mask_id

    @cached_property
    def to_fill(self) -> np.ndarray:
        """The slots that were masked at the start: the others are given, and no sampler touches them."""
        return self.first == self.mask_id

    @property
    def full(self) -> bool:
        return not self.masked.any()

    @property
    def key(self) -> tuple[int, bytes, tuple[float, ...]]:
        """Equal for states that go on alike."""
        return self.step, self.canvas.tobytes(), self.memory

    def written(self, slots: np.ndarray, symbols: np.ndarray) -> "State":
        """After a pass that writes these slots."""
        canvas = self.canvas.copy()
        canvas[slots] = symbols
        return self.after(canvas)

    def after(self, canvas: np.ndarray, memory: tuple[float, ...] = ()) -> "State":
        return replace(self, canvas=canvas, step=self.step + 1, memory=memory)


class Sampler(Protocol):
    """One published rule with its parameters; it draws through `chance` alone."""

    @property
    def label(self) -> str:
        """The name and the parameters that tell it from its kin."""
        ...

    @property
    def remasks(self) -> Remasking:
        """What *remasking* means to it."""
        ...

    def finished(self, state: State) -> bool:
        """Whether no further pass is made."""
        ...

    def next(self, state: State, beliefs: Beliefs, chance: Chance) -> State:
        """One pass."""
        ...
