"""TokenArrays: what media have in common whose tokens and choices are arrays of integers and flags [batch, slots]."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Protocol, runtime_checkable

import numpy as np

from unmask.errors import EditsWrittenSlot


@runtime_checkable
class Lettered(Protocol):
    """Whose symbols have names."""

    @property
    def vocabulary(self) -> tuple[str, ...]: ...

    @property
    def token(self) -> Mapping[str, int]: ...

    @property
    def mask(self) -> str | None: ...


class TokenArrays(ABC):
    """Writing to a canvas: no number is computed here."""

    @property
    @abstractmethod
    def model(self) -> Lettered: ...

    def masks_alone(self, step: int, choice: np.ndarray, canvas: np.ndarray) -> np.ndarray:
        edits = choice & (canvas != self.model.token[self.model.mask or ""])
        if edits.any():
            word, slot = np.argwhere(edits)[0]
            raise EditsWrittenSlot(step=step, slot=int(slot), symbol=self.model.vocabulary[canvas[word, slot]])
        return choice

    def overwrite(self, canvas: np.ndarray, choice: np.ndarray, symbols: np.ndarray) -> np.ndarray:
        return np.where(choice, symbols, canvas)

    def joined(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        return np.concatenate([left, right], axis=1)

    def written(self, symbols: np.ndarray) -> np.ndarray:
        return symbols
