"""Trained: a network and its task, with the face that the loops know from compiled models."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from unmask.errors import UnmaskError
from unmask.lab.network.network import Network
from unmask.lab.network.places import PlaceTable
from unmask.lab.settings.config import Config
from unmask.lab.tasks.task import Task
from unmask.weights.kinds import Kind


@dataclass(frozen=True, eq=False)
class Trained:
    """kind, T, P and symbols of its layout; one network decides and predicts.

    The planner takes a slot whose likeliest symbol is not the mask; in a tree, only one that is still masked. What was
    trained by random masking is a predictor alone: it has the exact order of its layout for a planner.
    """

    task: Task
    network: Network
    config: Config

    @property
    def kind(self) -> Kind:
        return self.task.layout.kind

    @property
    def length(self) -> int:
        return self.task.length

    @property
    def padding(self) -> int:
        return self.task.layout.padding

    @property
    def steps(self) -> int:
        return self.task.layout.steps

    @property
    def vocabulary(self) -> tuple[str, ...]:
        return self.task.vocabulary

    @cached_property
    def token(self) -> dict[str, int]:
        return {symbol: number for number, symbol in enumerate(self.vocabulary)}

    @property
    def mask(self) -> str:
        return self.vocabulary[self.task.mask]

    @property
    def pad(self) -> str:
        return self.vocabulary[self.task.pad]

    @property
    def block(self) -> None:
        return None

    @property
    def k(self) -> None:
        return None

    @property
    def answer_rows(self) -> int:
        return 1

    @property
    def loop(self) -> tuple[int, int, int]:
        """All layers are looped."""
        count = self.config.shape.layers
        return 0, count, count

    @property
    def decides_once(self) -> bool:
        """Whether the network itself says when a slot is written, once: a tree that was taught its canvases."""
        return self.kind == "smdm" and self.config.objective == "canvas"

    @cached_property
    def order(self) -> np.ndarray:
        """[steps, slots]: which slots each step of the layout writes for the first time."""
        word = np.zeros((1, self.length), dtype=np.int64)
        masked = self.task.states(word)[0, :, self.length :] == self.task.mask
        return masked[:-1] & ~masked[1:]

    @cached_property
    def places(self) -> PlaceTable:
        return PlaceTable(self.task, self.config.shape.encoding, next(self.network.parameters()).device)

    def at_length(self, length: int) -> "Trained":
        """The same weights, asked about longer or shorter words."""
        task = self.task.longer(length)
        if task.fetches != self.network.fetches:
            raise UnmaskError(
                f"at length {length} a rule reads {task.fetches} positions, but this network was trained with "
                f"{self.network.fetches}; train a network at that length"
            )
        return replace(self, task=task)
