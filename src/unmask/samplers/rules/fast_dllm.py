"""Fast-dLLM: as many slots per pass as the predictor is sure of.

    c(1) >= c(2) >= … the confidences softmax(logits)[x0] of the masked slots of the leftmost open block
    threshold   writes the surest, and every slot with c >= threshold
    factor      writes the longest prefix with c(n) >= 1 − factor/(n + 1), the surest always

`factor` is the rule of the paper, (n + 1)·(1 − c(n)) <= f for all that are written. The published function writes one
slot more where only the last of the masked slots fails; dllm's counts all slots that pass, prefix or not.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unmask.samplers.passes.beliefs import Beliefs, comparable, surest
from unmask.samplers.passes.blocks import leftmost_open
from unmask.samplers.passes.chance import Chance
from unmask.samplers.passes.parameters import SamplerError, check_count, check_number
from unmask.samplers.passes.state import Remasking, State


@dataclass(frozen=True)
class FastDllm:
    """Exactly one of `threshold` and `factor` is given; passes go on until no slot is masked."""

    threshold: float | None = None
    factor: float | None = None
    block_length: int | None = None
    temperature: float = 0.0

    remasks: ClassVar[Remasking] = "declines"

    def __post_init__(self) -> None:
        check_number("fast-dllm", "threshold", self.threshold, 1)
        check_number("fast-dllm", "factor", self.factor)
        check_count("fast-dllm", "block_length", self.block_length)
        check_number("fast-dllm", "temperature", self.temperature)
        if (self.threshold is None) == (self.factor is None):
            raise SamplerError("fast-dllm takes either a threshold or a factor; give one of them")

    @property
    def label(self) -> str:
        rule = f"factor {self.factor:g}" if self.threshold is None else f"threshold {self.threshold:g}"
        return f"fast-dllm {rule}" + (f" block {self.block_length}" if self.block_length else "")

    def finished(self, state: State) -> bool:
        return state.full

    def next(self, state: State, beliefs: Beliefs, chance: Chance) -> State:
        slots = np.flatnonzero(leftmost_open(state.masked, self.block_length))
        of_slots = beliefs.at(slots)
        symbols = of_slots.draw(self.temperature, chance)
        confidence = of_slots.probability(symbols)
        order = surest(np.arange(len(slots)), confidence, len(slots))
        chosen = order[: self._count(comparable(confidence[order]))]
        return state.written(slots[chosen], symbols[chosen])

    def _count(self, falling: np.ndarray) -> int:
        """How many of the confidences, the largest first, are large enough."""
        if self.threshold is not None:
            passing = falling >= self.threshold
        else:
            assert self.factor is not None
            passing = falling >= 1 - self.factor / (np.arange(len(falling)) + 2)
        passing[0] = True
        return int(np.argmin(np.append(passing, False)))
