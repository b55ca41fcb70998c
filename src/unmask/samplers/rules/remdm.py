"""ReMDM: written slots are masked again with a probability σ, and the rest makes up for it.

    α_t = 1 − t,  t from 1 to ε in T passes,  s the next t
    a written slot is masked with σ
    a masked slot is written with (α_s − (1 − σ)·α_t) / (1 − α_t),  its symbol ~ softmax(logits)
    cap       σ = min(η, (1 − α_s)/α_t)
    rescale   σ = η·min(1, (1 − α_s)/α_t)
    conf      σ_i = softmax over slots of −p_i · min(1, (1 − α_s)/α_t),  p_i the probability it was written with
    one pass more writes the likeliest symbol wherever a mask is left

*Remasking* here means to mask again. A written slot keeps its symbol unless it is masked: the predictor is not asked.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unmask.samplers.passes.beliefs import Beliefs
from unmask.samplers.passes.chance import Chance
from unmask.samplers.passes.parameters import check_choice, check_count, check_number
from unmask.samplers.passes.predictor import softmax
from unmask.samplers.passes.state import Remasking, State

VARIANTS = ("cap", "rescale", "conf")


@dataclass(frozen=True)
class Remdm:
    """T + 1 passes; `eta` is of no account for conf."""

    steps: int
    variant: str = "cap"
    eta: float = 0.02
    eps: float = 1e-5

    remasks: ClassVar[Remasking] = "masks again"

    def __post_init__(self) -> None:
        check_count("remdm", "steps", self.steps)
        check_choice("remdm", "variant", self.variant, VARIANTS)
        check_number("remdm", "eta", self.eta, 1)
        check_number("remdm", "eps", self.eps, 0.5)

    @property
    def label(self) -> str:
        return f"remdm {self.variant}" + (f" eta {self.eta:g}" if self.eta != 0.02 else "")

    def finished(self, state: State) -> bool:
        return state.step > self.steps

    def next(self, state: State, beliefs: Beliefs, chance: Chance) -> State:
        canvas = chance.symbols(self.slotwise(state, beliefs))
        if self.variant != "conf" or state.step == self.steps:
            return state.after(canvas)
        probability = np.where(canvas == state.mask_id, np.inf, self._remembered(state))
        filled = np.flatnonzero(state.masked & (canvas != state.mask_id))
        probability[filled] = beliefs.at(filled).probability(canvas[filled])
        return state.after(canvas, tuple(probability.tolist()))

    @property
    def is_slotwise(self) -> bool:
        """Whether the canvas alone decides how it goes on; conf remembers probabilities as well."""
        return self.variant != "conf"

    def slotwise(self, state: State, beliefs: Beliefs) -> np.ndarray:
        """What every slot holds after the pass, each by itself, [slots, symbols]."""
        symbols = np.eye(beliefs.logits.shape[1])
        stays = symbols[state.canvas]
        if state.step == self.steps:
            return np.where(state.masked[:, None], symbols[beliefs.best], stays)
        alpha_t, alpha_s = (i * (1 - self.eps) / self.steps for i in (state.step, state.step + 1))
        sigma = self._sigma(state, self._remembered(state), alpha_t, alpha_s)[:, None]
        fills = (alpha_s - (1 - sigma) * alpha_t) / (1 - alpha_t)
        masked = fills * beliefs.probabilities + (1 - fills) * symbols[state.mask_id]
        written = np.where(state.to_fill[:, None], sigma * symbols[state.mask_id] + (1 - sigma) * stays, stays)
        return np.where(state.masked[:, None], masked, written)

    def _remembered(self, state: State) -> np.ndarray:
        """The probability that each written slot was written with; ∞ at a mask."""
        return np.array(state.memory) if state.memory else np.full(len(state.canvas), np.inf)

    def _sigma(self, state: State, probability: np.ndarray, alpha_t: float, alpha_s: float) -> np.ndarray:
        most = min(1.0, (1 - alpha_s) / alpha_t) if alpha_t > 0 else 1.0
        share = np.full(len(state.canvas), self.eta)
        if self.variant == "cap":
            return np.minimum(share, (1 - alpha_s) / alpha_t if alpha_t > 0 else 1.0)
        if self.variant == "conf":
            written = np.isfinite(probability)
            share = np.zeros(len(probability))
            if written.any():
                share[written] = softmax(-probability[written])
        return share * most
