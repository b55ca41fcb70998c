"""P2, path planning: in every pass the lowest scores are masked, written slots among them.

    κ_i    = i / T                                                    i = 1 … T
    x0     = argmax of l,   l = logits / τ + Gumbel noise             τ = 0: without noise
    score  = log softmax(l)[x0]        score='logP'                   a planner's logits on x0, at written slots
             log uniform               score='random'
             log p(1st) − log p(2nd)   score='diff_top2'
             times η at slots that are written
    the ⌊n·(1 − κ_i)⌋ lowest of the n scores are masked, of equals the rightmost; other masks take x0

*Remasking* here means to mask again. The published code scores x0 at written slots, whatever stands there, so that a
wrong symbol under a confident predictor is never revised; `scored='xt'` scores the symbol that stands there. Where
scores at the edge are exactly equal it masks fewer (it compares with <), which the noise of floats seldom leaves them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unmask.samplers.passes.beliefs import Beliefs, comparable
from unmask.samplers.passes.chance import Chance
from unmask.samplers.passes.parameters import check_choice, check_count, check_number
from unmask.samplers.passes.predictor import softmax
from unmask.samplers.passes.state import Remasking, State

LOWEST = -1e300  # a score, so that η times it is one

Planner = Callable[[int, np.ndarray], np.ndarray]
"""(row, x0) → logits [slots, symbols] of a planner that reads the canvas filled with x0."""


@dataclass(frozen=True)
class P2:
    steps: int
    eta: float = 1.0
    tau: float = 0.0
    score: str = "logP"
    scored: str = "x0"
    planner: Planner | None = None

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
        # in single precision, as the published code counts
        left = np.float32(state.to_fill.sum()) * np.float32(1 - (state.step + 1) * (1 / self.steps))
        low = np.zeros_like(state.masked)
        low[np.lexsort((-np.arange(len(score)), comparable(score)))[: int(left)]] = True
        canvas = np.where(state.masked & ~low, x0, np.where(low, state.mask_id, state.canvas))
        if state.step == self.steps - 1:  # nothing is left masked
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
