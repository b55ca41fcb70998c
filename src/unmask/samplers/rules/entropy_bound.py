"""EB, the entropy-bounded sampler: as many slots as a budget of entropy allows.

    slots in the order of an error: entropy, −confidence or −margin
    writes the longest prefix U with  Σ_{i in U} H_i − max_{i in U} H_i <= γ

The largest entropy is free: what is written beside it bounds what a joint draw can lose. So a pass always writes a slot
beyond those that are decided, which is right for a law and wrong where an undecided slot is a computation not yet done.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unmask.samplers.passes.beliefs import Beliefs, surest
from unmask.samplers.passes.chance import Chance
from unmask.samplers.passes.parameters import check_choice, check_number
from unmask.samplers.passes.state import Remasking, State


@dataclass(frozen=True)
class EntropyBound:
    gamma: float = 0.1
    order: str = "entropy"
    temperature: float = 0.0

    remasks: ClassVar[Remasking] = "declines"

    def __post_init__(self) -> None:
        check_number("eb", "gamma", self.gamma)
        check_choice("eb", "order", self.order, ("entropy", "confidence", "margin"))
        check_number("eb", "temperature", self.temperature)

    @property
    def label(self) -> str:
        return f"eb gamma {self.gamma:g}" + (f" by {self.order}" if self.order != "entropy" else "")

    def finished(self, state: State) -> bool:
        return state.full

    def next(self, state: State, beliefs: Beliefs, chance: Chance) -> State:
        slots = np.flatnonzero(state.masked)
        of_slots = beliefs.at(slots)
        sure = {
            "entropy": lambda: -of_slots.entropy,
            "confidence": lambda: of_slots.probability(of_slots.best),
            "margin": lambda: of_slots.margin,
        }[self.order]()
        order = surest(np.arange(len(slots)), sure, len(slots))
        entropy = of_slots.entropy[order]
        within = np.cumsum(entropy) - np.maximum.accumulate(entropy) <= self.gamma
        chosen = order[: max(1, int(np.argmin(np.append(within, False))))]
        return state.written(slots[chosen], of_slots.at(chosen).draw(self.temperature, chance))
