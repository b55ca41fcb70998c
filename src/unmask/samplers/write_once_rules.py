"""Rules that write each slot once: planners, LLaDA, Dream, Fast-dLLM, EB and bisection."""

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil
from typing import ClassVar

import numpy as np

from unmask.reasoners.planners import Planner, Situation, leftmost_block
from unmask.samplers.rule_interface import (
    SCHEDULES,
    Beliefs,
    Chance,
    Remasking,
    SamplerError,
    State,
    block,
    block_count,
    check_choice,
    check_count,
    check_number,
    comparable,
    quotas,
    softmax,
    surest,
)

# A planner as a sampler: the planner chooses the slots, the predictor's beliefs give their symbols.
#
#     confidence of slot i = max_a softmax(logits_i)[a]
#     every slot that the planner chooses takes x0_i ~ softmax(logits_i / temperature)     temperature 0: the likeliest
#
# So `threshold:X` compares probabilities with X here, but logits of F_p in `unmask run --planner threshold:X`. The
# chosen slots do not depend on the symbols that are drawn.


def largest_probability(state: State, beliefs: Beliefs) -> np.ndarray:  # noqa: ARG001
    """Return the probability of the likeliest symbol of every slot."""
    return beliefs.probability(beliefs.best)


@dataclass(frozen=True, eq=False)
class PlannedSampler:
    """The sampler that writes the masked slots that a planner chooses, until no slot is masked."""

    planner: Planner
    label: str
    temperature: float = 0.0
    confidence: Callable[[State, Beliefs], np.ndarray] = largest_probability
    """The confidence in every slot, which the planner sees."""

    remasks: ClassVar[Remasking] = "declines"

    def finished(self, state: State) -> bool:
        return state.full

    def next(self, state: State, beliefs: Beliefs, chance: Chance) -> State:
        confidence = comparable(self.confidence(state, beliefs))
        situation = Situation(state.step, 0, state.masked[None], confidence[None], one=1.0)
        slots = np.flatnonzero(self.planner.choose(situation)[0] & state.masked)
        return state.written(slots, beliefs.at(slots).draw(self.temperature, chance))


# LLaDA: a fixed number of slots per pass, the surest or random ones; dllm's schedules decide how many.
#
#     x0_i   ~ softmax(logits_i / temperature)                     temperature 0: the likeliest
#     c_i    = softmax(logits_i)[x0_i]        remasking='low_confidence'
#            ~ uniform                        remasking='random'
#     pass j writes the n_j masked slots of the current block with the largest c; Σ n_j = size of the block
#
# *Remasking* here means to decline: a slot that is not chosen stays masked, and no written slot is masked again. With
# `block_length`, blocks are filled from left to right, steps / blocks passes each (semi-autoregressive). LLaDA requires
# that the numbers divide; if they do not, this rounds up as dllm does. `scheduler` is LLaDA's even quota, or one of
# dllm's.


@dataclass(frozen=True)
class Llada:
    """The rule LLaDA. `gen_length` is optional; if given, it must be the number of slots of the canvas."""

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
        return self._block_and_quota(state) is None

    def next(self, state: State, beliefs: Beliefs, chance: Chance) -> State:
        block_and_quota = self._block_and_quota(state)
        assert block_and_quota is not None
        in_block, quota = block_and_quota
        slots = np.flatnonzero(state.masked & in_block)
        if self.remasking == "random":
            chosen = chance.subset(slots, quota)
            return state.written(chosen, beliefs.at(chosen).draw(self.temperature, chance))
        of_slots = beliefs.at(slots)
        symbols = of_slots.draw(self.temperature, chance)
        chosen = surest(np.arange(len(slots)), of_slots.probability(symbols), quota)
        return state.written(slots[chosen], symbols[chosen])

    def _block_and_quota(self, state: State) -> tuple[np.ndarray, int] | None:
        """Return (the slots of the current block, how many of them this pass writes); None after the last pass."""
        blocks = block_count(len(state.first), self.block_length)
        passes_before = 0
        for number in range(blocks):
            in_block = block(len(state.first), self.block_length, number)
            plan = quotas(self.scheduler, int((state.to_fill & in_block).sum()), ceil(self.steps / blocks))
            if state.step < passes_before + len(plan):
                return in_block, plan[state.step - passes_before]
            passes_before += len(plan)
        return None


# Dream: a falling quota, and four measures of confidence.
#
#     t_i = 1 − i·(1 − ε)/T,  s = t_{i+1}                         i = 0 … T − 1
#     origin         every masked slot is written with probability 1 − s/t
#     maskgit_plus   ⌊m·(1 − s/t)⌋ of the m masked slots, the largest p(x0)
#     topk_margin    … the largest p(1st) − p(2nd)
#     entropy        … the smallest entropy
#     the last pass writes all that is left;  p = softmax(logits / temperature),  x0 ~ p, at temperature 0 the likeliest
#
# `scheduler` 'linear' or 'cosine' takes the quotas that dllm gives its Dream instead. With `alg_temp` the slots are
# drawn one by one in proportion to exp(confidence / alg_temp). A slot that is not chosen stays masked. Dream's own
# model predicts slot i from row i − 1 (`right_shift_logits`); that concerns the predictor, and no predictor here needs
# it.


ALGORITHMS = ("origin", "maskgit_plus", "topk_margin", "entropy")


@dataclass(frozen=True)
class Dream:
    """Dream's sampler: in each pass, the slots that its score `alg` ranks first are written."""

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
        if self.alg == "maskgit_plus":  # this confidence is that of the drawn symbol, so all symbols must be drawn
            symbols = of_slots.draw(float(self.temperature > 0), chance)
            chosen = self._chosen(of_slots.probability(symbols), quota, chance)
            return state.written(slots[chosen], symbols[chosen])
        chosen = self._chosen(of_slots.margin if self.alg == "topk_margin" else -of_slots.entropy, quota, chance)
        return state.written(slots[chosen], of_slots.at(chosen).draw(float(self.temperature > 0), chance))

    @property
    def is_slotwise(self) -> bool:
        return self.alg == "origin"

    def slotwise(self, state: State, beliefs: Beliefs) -> np.ndarray:
        """Return, for origin, the law of every slot after the pass; slots are independent, [slots, symbols]."""
        symbols = beliefs.logits.shape[1]
        draws = beliefs.at(np.arange(len(state.canvas)), self.temperature).probabilities
        if self.temperature == 0:
            draws = np.eye(symbols)[beliefs.best]
        share = self._share(state)
        stays = np.eye(symbols)[state.canvas]
        return np.where(state.masked[:, None], share * draws + (1 - share) * stays, stays)

    def _share(self, state: State) -> float:
        """Return the share 1 − s/t; 1 in the last pass."""
        t, s = (1 - i * (1 - self.eps) / self.steps for i in (state.step, state.step + 1))
        return 1.0 if state.step == self.steps - 1 else 1 - s / t

    def _plan(self, state: State) -> tuple[int, ...]:
        return quotas(self.scheduler, int(state.to_fill.sum()), self.steps)

    def _chosen(self, confidence: np.ndarray, quota: int, chance: Chance) -> np.ndarray:
        indices = np.arange(len(confidence))
        if not self.alg_temp or not quota:
            return surest(indices, confidence, quota)
        return chance.weighted_subset(indices, softmax(confidence / self.alg_temp), quota)


# Fast-dLLM: each pass writes all slots of which the predictor is sure.
#
#     c(1) >= c(2) >= … the confidences softmax(logits)[x0] of the masked slots of the leftmost open block
#     threshold   writes the surest, and every slot with c >= threshold
#     factor      writes the longest prefix with c(n) >= 1 − factor/(n + 1), the surest always
#
# `factor` is the rule of the paper, (n + 1)·(1 − c(n)) <= f for all that are written. The published function writes one
# slot more where only the last of the masked slots fails; dllm's counts all slots that pass, prefix or not.


@dataclass(frozen=True)
class FastDllm:
    """The rule Fast-dLLM, with either a `threshold` or a `factor`; passes go on until no slot is masked."""

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
        width = self.block_length
        slots = np.flatnonzero(state.masked if width is None else leftmost_block(state.masked, width))
        of_slots = beliefs.at(slots)
        symbols = of_slots.draw(self.temperature, chance)
        confidence = of_slots.probability(symbols)
        order = surest(np.arange(len(slots)), confidence, len(slots))
        chosen = order[: self._count(comparable(confidence[order]))]
        return state.written(slots[chosen], symbols[chosen])

    def _count(self, falling: np.ndarray) -> int:
        """Return how many of the confidences, the largest first, are large enough."""
        if self.threshold is not None:
            passing = falling >= self.threshold
        else:
            assert self.factor is not None
            passing = falling >= 1 - self.factor / (np.arange(len(falling)) + 2)
        passing[0] = True
        return int(np.argmin(np.append(passing, False)))


# EB, the entropy-bounded sampler: as many slots as a budget of entropy allows.
#
#     slots in the order of an error: entropy, −confidence or −margin
#     writes the longest prefix U with  Σ_{i in U} H_i − max_{i in U} H_i <= γ
#
# The largest entropy is not counted: the entropies of the other slots bound the loss of an independent draw. So a pass
# always writes one slot beyond those that are decided. This is right for a law, but wrong if an undecided slot is a
# computation that is not yet done.


@dataclass(frozen=True)
class EntropyBound:
    """The rule EB: write as many slots as an entropy of `gamma` allows, not counting the largest entropy."""

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
        scores = {
            "entropy": lambda: -of_slots.entropy,
            "confidence": lambda: of_slots.probability(of_slots.best),
            "margin": lambda: of_slots.margin,
        }[self.order]()
        order = surest(np.arange(len(slots)), scores, len(slots))
        entropy = of_slots.entropy[order]
        within = np.cumsum(entropy) - np.maximum.accumulate(entropy) <= self.gamma
        chosen = order[: max(1, int(np.argmin(np.append(within, False))))]
        return state.written(slots[chosen], of_slots.at(chosen).draw(self.temperature, chance))


# Bisection: every pass writes the middle of each gap between written slots.
#
#     ⌈log2(N + 1)⌉ passes for N masked slots
#
# For a first-order Markov chain this samples exactly: slots of different gaps are independent given the slots between
# them. `exact_passes` says for which chains no exact write-once sampler takes fewer passes.


@dataclass(frozen=True)
class Bisection:
    """The rule that writes the middle slot of every gap in each pass."""

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
