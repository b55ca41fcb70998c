"""Bisection: every pass writes the middle of each gap between written slots.

    ⌈log2(N + 1)⌉ passes for N masked slots

For a first-order Markov chain this samples exactly: slots of different gaps are independent given the slots between
them. `laws/least_passes.py` says for which chains no exact write-once sampler takes fewer passes.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unmask.samplers.passes.beliefs import Beliefs
from unmask.samplers.passes.chance import Chance
from unmask.samplers.passes.parameters import check_number
from unmask.samplers.passes.state import Remasking, State


@dataclass(frozen=True)
class Bisection:
    temperature: float = 0.0

    remasks: ClassVar[Remasking] = "declines"
    label: ClassVar[str] = "bisection"

    def __post_init__(self) -> None:
        check_number("bisection", "temperature", self.temperature)

    def finished(self, state: State) -> bool:
        return state.full

    def next(self, state: State, beliefs: Beliefs, chance: Chance) -> State:
        edges = np.flatnonzero(np.diff(state.masked.astype(np.int8), prepend=0, append=0))
        middles = (edges[::2] + edges[1::2] - 1) // 2
        return state.written(middles, beliefs.at(middles).draw(self.temperature, chance))
