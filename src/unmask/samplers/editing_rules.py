"""Rules that change written slots at once: LLaDA2.1, joint threshold, and two that start from random symbols."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unmask.samplers.rule_interface import (
    Beliefs,
    Chance,
    Remasking,
    State,
    block,
    block_count,
    check_count,
    check_number,
    comparable,
    surest,
)

# Thresholds for masks and for written slots, block after block.
#
#     x0_i, p_i              the likeliest symbol of a slot and its probability       temperature > 0: a drawn symbol
#     mask to token          every mask of the block with p > threshold; if those are fewer than `num_to_transfer`,
#                            that number of the surest
#     token to token         every written slot of the block with p > editing_threshold whose symbol is not x0
#     a block ends           when it has no mask and nothing is edited, or after `max_post_steps` passes without a mask
#
# A slot that was given is never edited. With `num_to_transfer` as large as the block, the first pass commits
# everything, and only edits can make it right.


@dataclass(frozen=True)
class Llada21:
    """LLaDA2.1, with the names of dllm's sampler; without an `editing_threshold`, nothing is edited."""

    threshold: float = 0.95
    editing_threshold: float | None = 0.9
    max_post_steps: int = 16
    num_to_transfer: int = 1
    block_length: int | None = None
    temperature: float = 0.0

    remasks: ClassVar[Remasking] = "resamples"
    name: ClassVar[str] = "llada2.1"

    def __post_init__(self) -> None:
        check_number(self.name, "threshold", self.threshold)
        check_number(self.name, "editing_threshold", self.editing_threshold)
        check_count(self.name, "max_post_steps", self.max_post_steps, 0)
        check_count(self.name, "num_to_transfer", self.num_to_transfer)
        check_count(self.name, "block_length", self.block_length)
        check_number(self.name, "temperature", self.temperature)

    @property
    def label(self) -> str:
        several = f" at least {self.num_to_transfer}" if self.num_to_transfer > 1 else ""
        width = f" block {self.block_length}" if self.block_length else ""
        edits = "no editing" if self.editing_threshold is None else f"editing {self.editing_threshold:g}"
        post = f" post {self.max_post_steps}" if self.max_post_steps != 16 else ""
        return f"{self.name} threshold {self.threshold:g} {edits}{post}{several}{width}"

    def finished(self, state: State) -> bool:
        return self._block_and_passes(state)[0] >= block_count(len(state.first), self.block_length)

    def next(self, state: State, beliefs: Beliefs, chance: Chance) -> State:
        number, posted = self._block_and_passes(state)
        in_block = block(len(state.first), self.block_length, number) & state.to_fill
        symbols = beliefs.draw(self.temperature, chance)
        confidence, masked_slots = comparable(beliefs.probability(symbols)), np.flatnonzero(state.masked & in_block)
        count = int((confidence[masked_slots] > self.threshold).sum())
        chosen = surest(
            masked_slots, confidence[masked_slots], count if count >= self.num_to_transfer else self.num_to_transfer
        )
        limit = np.inf if self.editing_threshold is None else self.editing_threshold
        edited = in_block & ~state.masked & (confidence > limit) & (symbols != state.canvas)
        canvas = np.where(edited, symbols, state.canvas)
        canvas[chosen] = symbols[chosen]
        is_unfinished = bool((in_block & (canvas == state.mask_id)).any())
        is_settled = not len(masked_slots) and not edited.any()
        posted = 0 if is_unfinished else posted + 1
        is_over = not is_unfinished and (is_settled or posted > self.max_post_steps or self.editing_threshold is None)
        return state.after(canvas, (number + 1, 0) if is_over else (number, posted))

    def _block_and_passes(self, state: State) -> tuple[int, int]:
        """Return (number of the current block, passes of it in which no slot was masked)."""
        number, posted = map(int, state.memory or (0, 0))
        blocks = block_count(len(state.first), self.block_length)
        while number < blocks and not (block(len(state.first), self.block_length, number) & state.to_fill).any():
            number += 1
        return number, posted


@dataclass(frozen=True)
class JointThreshold:
    """SGLang's JointThreshold: the rule of LLaDA2.1, one mask at least, and a penalty for repeating the left symbol."""

    threshold: float = 0.5
    edit_threshold: float | None = 0.0
    max_post_edit_steps: int = 16
    penalty_lambda: float = 0.0
    block_length: int | None = None

    remasks: ClassVar[Remasking] = "resamples"

    def __post_init__(self) -> None:
        check_number("joint-threshold", "threshold", self.threshold)
        check_number("joint-threshold", "edit_threshold", self.edit_threshold)
        check_count("joint-threshold", "max_post_edit_steps", self.max_post_edit_steps, 0)
        check_number("joint-threshold", "penalty_lambda", self.penalty_lambda)
        check_count("joint-threshold", "block_length", self.block_length)

    @property
    def label(self) -> str:
        edits = "no editing" if self.edit_threshold is None else f"edit {self.edit_threshold:g}"
        return f"joint threshold {self.threshold:g} {edits}"

    @property
    def _rule(self) -> Llada21:
        return Llada21(
            threshold=self.threshold,
            editing_threshold=self.edit_threshold,
            max_post_steps=self.max_post_edit_steps,
            block_length=self.block_length,
        )

    def finished(self, state: State) -> bool:
        return self._rule.finished(state)

    def next(self, state: State, beliefs: Beliefs, chance: Chance) -> State:
        if self.penalty_lambda:
            logits = beliefs.logits.copy()
            logits[np.arange(1, len(logits)), state.canvas[:-1]] -= self.penalty_lambda
            beliefs = Beliefs(logits)
        return self._rule.next(state, beliefs, chance)


# Uniform noise: the canvas starts with random symbols and has no masks; a slot that is not accepted is drawn again.
#
#     DiffusionGemma    in pass i = 0 … T − 1 the temperature is τ = t_min + (t_max − t_min)·(T − i)/T;
#                       x0 ~ softmax(logits / τ); it accepts slots by rising entropy while Σ H − max H <= entropy_bound
#                       (EB's bound), also those that were accepted before: nothing is ever final
#     block refinement  pass i commits all slots with p > threshold, and more of the surest until ⌈(i + 1)·n/T⌉ are;
#                       a committed slot is edited where p > editing_threshold, if there is an editing_threshold


def with_noise(state: State, symbols: int, chance: Chance) -> np.ndarray:
    """Return the canvas with a random symbol, never the mask, in every slot that is to be filled."""
    chances = np.full((len(state.canvas), symbols), 1 / (symbols - 1))
    chances[:, state.mask_id] = 0
    return np.where(state.to_fill, chance.symbols(chances), state.canvas)


@dataclass(frozen=True)
class DiffusionGemma:
    """DiffusionGemma's entropy bound, with the names of `EntropyBoundScheduler` of diffusers."""

    num_inference_steps: int
    entropy_bound: float = 0.1
    t_max: float = 0.8
    t_min: float = 0.4

    remasks: ClassVar[Remasking] = "renoises"

    def __post_init__(self) -> None:
        check_count("diffusion-gemma", "num_inference_steps", self.num_inference_steps)
        for name in ("entropy_bound", "t_max", "t_min"):
            check_number("diffusion-gemma", name, getattr(self, name))

    @property
    def label(self) -> str:
        return f"diffusion-gemma entropy bound {self.entropy_bound:g}"

    def begin(self, state: State, symbols: int, chance: Chance) -> State:
        """Return the state before the first pass."""
        return state.restarted(with_noise(state, symbols, chance))

    def finished(self, state: State) -> bool:
        return state.step >= self.num_inference_steps

    def next(self, state: State, beliefs: Beliefs, chance: Chance) -> State:
        fraction = (self.num_inference_steps - state.step) / self.num_inference_steps
        temperature = self.t_min + (self.t_max - self.t_min) * fraction
        scaled = beliefs.at(np.arange(len(state.canvas)), temperature)
        symbols, slots = scaled.draw(float(temperature > 0), chance), np.flatnonzero(state.to_fill)
        order = surest(slots, -scaled.entropy[slots], len(slots))
        entropy = scaled.entropy[order]
        accepted = order[np.cumsum(entropy) - entropy <= self.entropy_bound]
        canvas = with_noise(state, beliefs.logits.shape[1], chance)
        canvas[accepted] = symbols[accepted]
        return state.after(canvas)


@dataclass(frozen=True)
class BlockRefinement:
    """`BlockRefinementScheduler` of diffusers in its uniform mode; without `editing_threshold` nothing is edited."""

    num_inference_steps: int
    threshold: float = 0.95
    editing_threshold: float | None = 0.9
    temperature: float = 0.0

    remasks: ClassVar[Remasking] = "renoises"

    def __post_init__(self) -> None:
        check_count("block-refinement", "num_inference_steps", self.num_inference_steps)
        check_number("block-refinement", "threshold", self.threshold)
        check_number("block-refinement", "editing_threshold", self.editing_threshold)
        check_number("block-refinement", "temperature", self.temperature)

    @property
    def label(self) -> str:
        edits = "no editing" if not self.editing_threshold else f"editing {self.editing_threshold:g}"
        return f"block refinement threshold {self.threshold:g} {edits}"

    def begin(self, state: State, symbols: int, chance: Chance) -> State:
        """Return the state before the first pass."""
        return state.restarted(with_noise(state, symbols, chance), (0.0,) * len(state.canvas))

    def finished(self, state: State) -> bool:
        return state.step >= self.num_inference_steps

    def next(self, state: State, beliefs: Beliefs, chance: Chance) -> State:
        committed = np.array(state.memory, dtype=bool)
        symbols = beliefs.draw(self.temperature, chance)
        confidence, open_slots = comparable(beliefs.probability(symbols)), np.flatnonzero(state.to_fill & ~committed)
        target = -(-(state.step + 1) * int(state.to_fill.sum()) // self.num_inference_steps)
        needed = max(0, target - int(committed.sum()), int((confidence[open_slots] > self.threshold).sum()))
        newly_committed = np.zeros_like(committed)
        newly_committed[surest(open_slots, confidence[open_slots], needed)] = True
        edited = committed & (symbols != state.canvas) & bool(self.editing_threshold)
        edited &= confidence > (self.editing_threshold or 0)
        canvas = np.where(newly_committed | edited, symbols, state.canvas)
        canvas = np.where(
            committed | newly_committed | ~state.to_fill, canvas, with_noise(state, beliefs.logits.shape[1], chance)
        )
        return state.after(canvas, tuple((committed | newly_committed).astype(float).tolist()))
