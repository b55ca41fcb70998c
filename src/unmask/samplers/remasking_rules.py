"""Rules that mask written slots again: P2 and ReMDM."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unmask.samplers.rule_interface import (
    Beliefs,
    Chance,
    Remasking,
    State,
    check_choice,
    check_count,
    check_number,
    comparable,
    softmax,
)

# P2, path planning: in every pass the lowest scores are masked, written slots among them.
#
#     κ_i    = i / T                                                    i = 1 … T
#     x0     = argmax of l,   l = logits / τ + Gumbel noise             τ = 0: without noise
#     score  = log softmax(l)[x0]        score='logP'                   a planner's logits on x0, at written slots
#              log uniform               score='random'
#              log p(1st) − log p(2nd)   score='diff_top2'
#              times η at slots that are written
#     the ⌊n·(1 − κ_i)⌋ lowest of the n scores are masked, of equals the rightmost; other masks take x0
#
# *Remasking* here means to mask again. The published code scores x0 at written slots, whatever is there, so that a
# wrong symbol under a confident predictor is never revised; `scored='xt'` scores the symbol that is there. If scores at
# the threshold are exactly equal, the published code masks fewer (it compares with <); with float noise, equal scores
# are rare.


LOWEST = -1e300  # bound of a score, so that η times it is still a finite score

PlannerLogits = Callable[[int, np.ndarray], np.ndarray]
"""(row, x0) → logits [slots, symbols] of a planner that reads the canvas filled with x0."""


@dataclass(frozen=True)
class P2:
    """The rule P2: each pass masks the positions with the lowest scores, written or not."""

    steps: int
    eta: float = 1.0
    tau: float = 0.0
    score: str = "logP"
    scored: str = "x0"
    planner: PlannerLogits | None = None

    remasks: ClassVar[Remasking] = "masks again"

    def __post_init__(self) -> None:
        check_count("p2", "steps", self.steps)
        check_number("p2", "eta", self.eta)
        check_number("p2", "tau", self.tau)
        check_choice("p2", "score", self.score, ("logP", "random", "diff_top2"))
        check_choice("p2", "scored", self.scored, ("x0", "xt"))

    @property
    def label(self) -> str:
        return f"p2 {self.score}" + (f" eta {self.eta:g}" if self.eta != 1 else "") + (" xt" * (self.scored == "xt"))

    def finished(self, state: State) -> bool:
        return state.step >= self.steps

    def next(self, state: State, beliefs: Beliefs, chance: Chance) -> State:
        logits = beliefs.logits
        if self.tau != 0:
            ticks = chance.uniforms(logits.shape)
            logits = logits / self.tau - np.log(-np.log(ticks + 1e-8) + 1e-8)
        x0 = logits.argmax(axis=-1)
        written = ~state.masked & state.to_fill
        if self.planner is not None:
            planned = self.planner(state.row, np.where(state.to_fill, x0, state.canvas))
            logits = np.where(written[:, None], planned, logits)
        scored = np.where(written, state.canvas, x0) if self.scored == "xt" else x0
        score = np.maximum(self._scores(logits, scored, chance), LOWEST)
        score[written] *= self.eta
        score[~state.to_fill] = np.inf
        # in single precision, as in the published code
        left = np.float32(state.to_fill.sum()) * np.float32(1 - (state.step + 1) * (1 / self.steps))
        low = np.zeros_like(state.masked)
        low[np.lexsort((-np.arange(len(score)), comparable(score)))[: int(left)]] = True
        canvas = np.where(state.masked & ~low, x0, np.where(low, state.mask_id, state.canvas))
        if state.step == self.steps - 1:  # no slot stays masked
            canvas = np.where(canvas == state.mask_id, x0, canvas)
        return state.after(canvas)

    def _scores(self, logits: np.ndarray, symbols: np.ndarray, chance: Chance) -> np.ndarray:
        if self.score == "random":
            return np.log(np.maximum(chance.uniforms((len(logits),)), 1e-300))
        with np.errstate(divide="ignore"):
            logs = np.log(softmax(logits))
        if self.score == "logP":
            return np.take_along_axis(logs, symbols[:, None], axis=-1)[:, 0]
        top = np.sort(logs, axis=-1)
        return top[:, -1] - np.maximum(top[:, -2], LOWEST)


# ReMDM: written slots are masked again with a probability σ, and masked slots are written more often to compensate.
#
#     α_t = 1 − t,  t from 1 to ε in T passes,  s the next t
#     a written slot is masked with σ
#     a masked slot is written with (α_s − (1 − σ)·α_t) / (1 − α_t),  its symbol ~ softmax(logits)
#     cap       σ = min(η, (1 − α_s)/α_t)
#     rescale   σ = η·min(1, (1 − α_s)/α_t)
#     conf      σ_i = softmax over slots of −p_i · min(1, (1 − α_s)/α_t),  p_i the probability it was written with
#     one pass more writes the likeliest symbol wherever a mask is left
#
# *Remasking* here means to mask again. A written slot keeps its symbol unless it is masked: the predictor is not asked.


VARIANTS = ("cap", "rescale", "conf")


@dataclass(frozen=True)
class Remdm:
    """The rule ReMDM: T + 1 passes; conf ignores `eta`."""

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
        """Return whether the next pass depends on the canvas alone; conf also remembers probabilities."""
        return self.variant != "conf"

    def slotwise(self, state: State, beliefs: Beliefs) -> np.ndarray:
        """Return the law of every slot after the pass; slots are independent, [slots, symbols]."""
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
        """Return the probability with which each written slot was written; ∞ at a mask."""
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
