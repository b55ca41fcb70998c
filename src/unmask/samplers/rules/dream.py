"""Dream: a falling quota, and four measures of confidence.

    t_i = 1 − i·(1 − ε)/T,  s = t_{i+1}                         i = 0 … T − 1
    origin         every masked slot is written with probability 1 − s/t
    maskgit_plus   ⌊m·(1 − s/t)⌋ of the m masked slots, the largest p(x0)
    topk_margin    … the largest p(1st) − p(2nd)
    entropy        … the smallest entropy
    the last pass writes all that is left;  p = softmax(logits / temperature),  x0 ~ p, at temperature 0 the likeliest

`scheduler` 'linear' or 'cosine' takes the quotas that dllm gives its Dream instead. With `alg_temp` the slots are drawn
one by one in proportion to exp(confidence / alg_temp). A slot that is not chosen stays masked. Dream's own model
predicts slot i from row i − 1 (`right_shift_logits`); that is a matter of the predictor, and none of ours needs it.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unmask.samplers.passes.beliefs import Beliefs, surest
from unmask.samplers.passes.chance import Chance
from unmask.samplers.passes.parameters import SamplerError, check_choice, check_count, check_number
from unmask.samplers.passes.predictor import softmax
from unmask.samplers.passes.schedules import quotas
from unmask.samplers.passes.state import Remasking, State

ALGORITHMS = ("origin", "maskgit_plus", "topk_margin", "entropy")


@dataclass(frozen=True)
class Dream:
    steps: int
    alg: str = "origin"
    alg_temp: float | None = None
    temperature: float = 0.0
    eps: float = 1e-3
    scheduler: str = "dream"

    remasks: ClassVar[Remasking] = "declines"

    def __post_init__(self) -> None:
        check_count("dream", "steps", self.steps)
        check_choice("dream", "alg", self.alg, ALGORITHMS)
        check_number("dream", "alg_temp", self.alg_temp)
        check_number("dream", "temperature", self.temperature)
        check_number("dream", "eps", self.eps, 0.5)
        check_choice("dream", "scheduler", self.scheduler, ("dream", "linear", "cosine"))
        if self.alg == "origin" and self.scheduler != "dream":
            raise SamplerError("alg='origin' of dream chooses the number of slots at random; leave out its scheduler")

    @property
    def label(self) -> str:
        family = "dream" if self.scheduler == "dream" else "dllm dream"
        return f"{family} {self.alg}" + (f" alg_temp {self.alg_temp:g}" if self.alg_temp else "")

    def finished(self, state: State) -> bool:
        return state.step >= (self.steps if self.scheduler == "dream" else len(self._plan(state)))

    def next(self, state: State, beliefs: Beliefs, chance: Chance) -> State:
        slots = np.flatnonzero(state.masked)
        if self.alg == "origin":
            chosen = slots[chance.coins(np.full(len(slots), self._share(state)))]
            return state.written(chosen, beliefs.at(chosen).draw(self.temperature, chance))
        quota = int(len(slots) * self._share(state)) if self.scheduler == "dream" else self._plan(state)[state.step]
        of_slots = beliefs.at(slots, self.temperature)
        if self.alg == "maskgit_plus":  # this confidence is that of the drawn symbol, so that all must be drawn
            symbols = of_slots.draw(float(self.temperature > 0), chance)
            chosen = self._chosen(of_slots.probability(symbols), quota, chance)
            return state.written(slots[chosen], symbols[chosen])
        chosen = self._chosen(of_slots.margin if self.alg == "topk_margin" else -of_slots.entropy, quota, chance)
        return state.written(slots[chosen], of_slots.at(chosen).draw(float(self.temperature > 0), chance))

    @property
    def is_slotwise(self) -> bool:
        return self.alg == "origin"

    def slotwise(self, state: State, beliefs: Beliefs) -> np.ndarray:
        """For origin: what every slot holds after the pass, each by itself, [slots, symbols]."""
        symbols = beliefs.logits.shape[1]
        draws = beliefs.at(np.arange(len(state.canvas)), self.temperature).probabilities
        if self.temperature == 0:
            draws = np.eye(symbols)[beliefs.best]
        share = self._share(state)
        stays = np.eye(symbols)[state.canvas]
        return np.where(state.masked[:, None], share * draws + (1 - share) * stays, stays)

    def _share(self, state: State) -> float:
        """1 − s/t, and all that is left in the last pass."""
        t, s = (1 - i * (1 - self.eps) / self.steps for i in (state.step, state.step + 1))
        return 1.0 if state.step == self.steps - 1 else 1 - s / t

    def _plan(self, state: State) -> tuple[int, ...]:
        return quotas(self.scheduler, int(state.to_fill.sum()), self.steps)

    def _chosen(self, confidence: np.ndarray, quota: int, chance: Chance) -> np.ndarray:
        places = np.arange(len(confidence))
        if not self.alg_temp or not quota:
            return surest(places, confidence, quota)
        return chance.weighted_subset(places, softmax(confidence / self.alg_temp), quota)
