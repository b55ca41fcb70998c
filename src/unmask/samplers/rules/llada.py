"""LLaDA: a fixed number of slots per pass, the surest or random ones; dllm's schedules decide how many.

    x0_i   ~ softmax(logits_i / temperature)                     temperature 0: the likeliest
    c_i    = softmax(logits_i)[x0_i]        remasking='low_confidence'
           ~ uniform                        remasking='random'
    pass j writes the n_j masked slots of the current block with the largest c; Σ n_j = size of the block

*Remasking* here means to decline: a slot that is not written stays masked, none is ever taken back. With
`block_length`, blocks are filled from left to right, steps / blocks passes each (semi-autoregressive). LLaDA asks that
the numbers divide; where they do not, this rounds up as dllm does. `scheduler` is LLaDA's even quota, or one of dllm's.
"""

from dataclasses import dataclass
from math import ceil
from typing import ClassVar

import numpy as np

from unmask.samplers.passes.beliefs import Beliefs, surest
from unmask.samplers.passes.blocks import block, block_count
from unmask.samplers.passes.chance import Chance
from unmask.samplers.passes.parameters import SamplerError, check_choice, check_count, check_number
from unmask.samplers.passes.schedules import SCHEDULES, quotas
from unmask.samplers.passes.state import Remasking, State


@dataclass(frozen=True)
class Llada:
    """`gen_length` is the number of slots of the canvas; it need not be given, but must be right if it is."""

    steps: int
    block_length: int | None = None
    temperature: float = 0.0
    remasking: str = "low_confidence"
    scheduler: str = "even"
    gen_length: int | None = None

    remasks: ClassVar[Remasking] = "declines"

    def __post_init__(self) -> None:
        check_count("llada", "steps", self.steps)
        check_count("llada", "block_length", self.block_length)
        check_count("llada", "gen_length", self.gen_length)
        check_number("llada", "temperature", self.temperature)
        check_choice("llada", "remasking", self.remasking, ("low_confidence", "random"))
        check_choice("llada", "scheduler", self.scheduler, SCHEDULES)

    @property
    def label(self) -> str:
        if self.scheduler != "even":
            return f"dllm {self.scheduler}"
        return f"llada {self.remasking}" + (f" block {self.block_length}" if self.block_length else "")

    def finished(self, state: State) -> bool:
        if self.gen_length not in (None, len(state.first)):
            raise SamplerError(
                f"gen_length of llada is {self.gen_length} and the canvas has {len(state.first)} slots; leave it out"
            )
        return self._turn(state) is None

    def next(self, state: State, beliefs: Beliefs, chance: Chance) -> State:
        turn = self._turn(state)
        assert turn is not None
        here, quota = turn
        slots = np.flatnonzero(state.masked & here)
        if self.remasking == "random":
            chosen = chance.subset(slots, quota)
            return state.written(chosen, beliefs.at(chosen).draw(self.temperature, chance))
        of_slots = beliefs.at(slots)
        symbols = of_slots.draw(self.temperature, chance)
        chosen = surest(np.arange(len(slots)), of_slots.probability(symbols), quota)
        return state.written(slots[chosen], symbols[chosen])

    def _turn(self, state: State) -> tuple[np.ndarray, int] | None:
        """(the slots of the current block, how many of them this pass writes); None after the last pass."""
        blocks = block_count(len(state.first), self.block_length)
        passed = 0
        for number in range(blocks):
            here = block(len(state.first), self.block_length, number)
            plan = quotas(self.scheduler, int((state.to_fill & here).sum()), ceil(self.steps / blocks))
            if state.step < passed + len(plan):
                return here, plan[state.step - passed]
            passed += len(plan)
        return None
