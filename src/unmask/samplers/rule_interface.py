"""What a sampler rule sees and may do: predictor, beliefs, chance, state, quotas and blocks.

A rule is a `Sampler`. In each pass it gets the `State` of one row and the predictor's `Beliefs` about it, asks
`Chance` for all randomness, and returns the next state. `quotas` says how many slots each pass of a schedule writes.

A sampler does more than a planner, which only chooses slots (`reasoners/planners.py`): it also draws the symbols, and
it may mask or change slots that are written. `PlannedSampler` (`write_once_rules`) makes a sampler of a planner.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from math import ceil
from typing import Literal, Protocol, TypeGuard, runtime_checkable

import numpy as np

from unmask.errors import UnmaskError, shortened
from unmask.numerics.array_types import Float, Int

# Parameters of samplers, checked when one is made.


LARGEST_COUNT = 100_000
"""The largest number of steps, of slots, and of slots of a block: a plan may list all passes."""
SMALLEST_NUMBER, LARGEST_NUMBER = 1e-6, 1e6
"""The range of temperatures and factors."""


class SamplerError(UnmaskError):
    """Raised for an unknown sampler or an invalid parameter."""


def check_count(sampler: str, name: str, value: int | None, least: int = 1) -> None:
    """Raise if a parameter is not an integer from `least` to LARGEST_COUNT; None is allowed."""
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= LARGEST_COUNT:
        text = shortened(repr(value))
        raise SamplerError(f"{name} of {sampler} must be an integer from {least} to {LARGEST_COUNT:,}, not {text}")


def check_number(sampler: str, name: str, value: float | None, most: float = LARGEST_NUMBER) -> None:
    """Raise unless the value is 0 or from SMALLEST_NUMBER to `most`, so that no division and no product overflows."""
    if value is None:
        return
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not (value == 0 or SMALLEST_NUMBER <= value <= most):  # nan is not in any range
        text = shortened(repr(value))
        raise SamplerError(
            f"{name} of {sampler} must be 0 or a number from {SMALLEST_NUMBER:f} to {most:,.10g}, not {text}"
        )


def check_choice(sampler: str, name: str, value: str, choices: tuple[str, ...]) -> None:
    """Raise if a parameter is not one of the choices."""
    if value not in choices:
        raise SamplerError(f"{name} of {sampler} must be one of {', '.join(choices)}, not {shortened(repr(value))}")


# Predictor: canvas → the logits of every slot. This is all that a sampler knows about a model.
#
#     logits(canvas)[b, i, a]       a larger logit is a likelier symbol; the mask's column is −∞
#     p(slot i holds a) = softmax over a
#
# A predictor is bound to its other input: row b of the canvas belongs to its b-th word or prompt.


@runtime_checkable
class Predictor(Protocol):
    """The interface of a predictor: a mask, symbols and logits."""

    @property
    def mask_id(self) -> int:
        """Return the token of a slot that is not written."""
        ...

    @property
    def vocabulary(self) -> tuple[str, ...]:
        """Return token id → symbol, including the mask."""
        ...

    def logits(self, canvas: Int[np.ndarray, "batch slots"]) -> Float[np.ndarray, "batch slots symbols"]: ...


def without_mask(logits: np.ndarray, mask_id: int) -> np.ndarray:
    """Return the logits as floats, with −∞ for the mask, so that it is never predicted."""
    logits = np.array(logits, dtype=np.float64)
    logits[..., mask_id] = -np.inf
    return logits


def softmax(logits: np.ndarray) -> np.ndarray:
    """Return exp(l − max) / Σ exp(l − max) along the last axis; −∞ becomes 0."""
    exps = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return exps / exps.sum(axis=-1, keepdims=True)


# Chance: the only source of randomness of a sampler, so that a run can be drawn, replayed or enumerated.


class Chance(Protocol):
    """The random choices that a rule may ask for."""

    def symbols(self, probabilities: np.ndarray) -> np.ndarray:
        """Draw one symbol per row of [rows, symbols], independently."""
        ...

    def coins(self, probabilities: np.ndarray) -> np.ndarray:
        """Draw True with these probabilities, independently."""
        ...

    def subset(self, slots: np.ndarray, count: int) -> np.ndarray:
        """Draw `count` of the slots; all subsets are equally likely."""
        ...

    def weighted_subset(self, slots: np.ndarray, weights: np.ndarray, count: int) -> np.ndarray:
        """Draw `count` of the slots one by one, each in proportion to its weight among those that are left."""
        ...

    def uniforms(self, shape: tuple[int, ...]) -> np.ndarray:
        """Draw numbers from [0, 1): a continuum, which cannot be enumerated."""
        ...


class Drawn:
    """A source of chance that uses a NumPy generator."""

    def __init__(self, generator: np.random.Generator) -> None:
        self.generator = generator

    def symbols(self, probabilities: np.ndarray) -> np.ndarray:
        edges = probabilities.cumsum(axis=-1)
        ticks = self.generator.random(len(probabilities))[:, None] * edges[:, -1:]
        likely = probabilities.shape[-1] - 1 - np.argmax(probabilities[:, ::-1] > 0, axis=-1)
        return np.minimum((ticks >= edges).sum(axis=-1), likely)  # rounding may give the last edge

    def coins(self, probabilities: np.ndarray) -> np.ndarray:
        return self.generator.random(len(probabilities)) < probabilities

    def subset(self, slots: np.ndarray, count: int) -> np.ndarray:
        return self.generator.choice(slots, size=min(count, len(slots)), replace=False)

    def weighted_subset(self, slots: np.ndarray, weights: np.ndarray, count: int) -> np.ndarray:
        # sorted exponential times with these rates have exactly this law
        times = self.generator.exponential(size=len(slots)) / np.where(weights > 0, weights, 1)
        order = np.argsort(np.where(weights > 0, times, np.inf), kind="stable")
        return slots[order[: min(count, int((weights > 0).sum()))]]

    def uniforms(self, shape: tuple[int, ...]) -> np.ndarray:
        return self.generator.random(shape)


# Beliefs: one row of a predictor's logits, and how sure it is of each slot.
#
# probability   p of a symbol                    LLaDA, Dream maskgit_plus, Fast-dLLM
# margin        p(1st) − p(2nd)                   Dream topk_margin
# entropy       −Σ p log p                        Dream entropy, EB


@dataclass(frozen=True, eq=False)
class Beliefs:
    """The predictor's logits for one canvas, [slots, symbols]."""

    logits: np.ndarray

    @cached_property
    def probabilities(self) -> np.ndarray:
        return softmax(self.logits)

    @cached_property
    def best(self) -> np.ndarray:
        """Return the likeliest symbol of each slot; the lowest token wins a tie."""
        return self.logits.argmax(axis=-1)

    def at(self, slots: np.ndarray, temperature: float = 1.0) -> "Beliefs":
        """Return the beliefs about some slots, with logits / temperature; 0 leaves the logits as they are."""
        logits = self.logits[slots]
        return Beliefs(logits / temperature if temperature not in (0, 1) else logits)

    def draw(self, temperature: float, chance: Chance) -> np.ndarray:
        """Draw a symbol per slot from softmax(logits / temperature); at 0 take the likeliest."""
        if temperature == 0:
            return self.best
        return chance.symbols(self.probabilities if temperature == 1 else softmax(self.logits / temperature))

    def probability(self, symbols: np.ndarray) -> np.ndarray:
        """Return p of these symbols, one per slot."""
        return np.take_along_axis(self.probabilities, symbols[:, None], axis=-1)[:, 0]

    @cached_property
    def margin(self) -> np.ndarray:
        top = np.sort(self.probabilities, axis=-1)
        return top[:, -1] - top[:, -2]

    @cached_property
    def entropy(self) -> np.ndarray:
        p = self.probabilities
        return -np.sum(p * np.log(np.where(p > 0, p, 1)), axis=-1)


def surest(slots: np.ndarray, confidence: np.ndarray, count: int) -> np.ndarray:
    """Return `count` of the slots, the most confident first; the lowest slot wins a tie."""
    order = np.argsort(-comparable(confidence), kind="stable")
    return slots[order[:count]]


def comparable(scores: np.ndarray) -> np.ndarray:
    """Round to seven digits, about single precision, so that the rounding noise of a sum does not break a tie."""
    return np.round(scores, 7)


# State and Sampler: the progress of a run, and the rule that makes its next pass.


Remasking = Literal["declines", "masks again", "resamples", "renoises"]
"""What *remasking* means: a slot that is not chosen stays masked (LLaDA); a written slot may become a mask again (P2,
ReMDM); a written slot may take another symbol at once (the paper's planner, LLaDA2.1); there are no masks, and a slot
that is not accepted takes a random symbol (DiffusionGemma)."""


@dataclass(frozen=True, eq=False)
class State:
    """One canvas before a pass: `step` passes were made; `first` is the canvas at the start, `row` its number."""

    first: np.ndarray
    canvas: np.ndarray
    mask_id: int
    row: int = 0
    step: int = 0
    memory: tuple[float, ...] = ()

    @cached_property
    def masked(self) -> np.ndarray:
        return self.canvas == self.mask_id

    @cached_property
    def to_fill(self) -> np.ndarray:
        """Return the slots that were masked at the start; the others are given, and no sampler changes them."""
        return self.first == self.mask_id

    @property
    def full(self) -> bool:
        return not self.masked.any()

    @property
    def key(self) -> tuple[int, bytes, tuple[float, ...]]:
        """Return a key that is equal for states with the same future."""
        return self.step, self.canvas.tobytes(), self.memory

    def written(self, slots: np.ndarray, symbols: np.ndarray) -> "State":
        """Return the state after a pass that writes these slots."""
        canvas = self.canvas.copy()
        canvas[slots] = symbols
        return self.after(canvas)

    def after(self, canvas: np.ndarray, memory: tuple[float, ...] = ()) -> "State":
        return replace(self, canvas=canvas, step=self.step + 1, memory=memory)

    def restarted(self, canvas: np.ndarray, memory: tuple[float, ...] = ()) -> "State":
        """Return the state before the first pass with another canvas; the slots to fill stay the same."""
        return replace(self, canvas=canvas, memory=memory)


class Sampler(Protocol):
    """One rule with its parameters: it chooses slots, draws symbols and may edit slots, by `chance` alone."""

    @property
    def label(self) -> str:
        """Return the name and the parameters that distinguish it from other samplers of the same rule."""
        ...

    @property
    def remasks(self) -> Remasking:
        """Return the meaning of *remasking* for this sampler."""
        ...

    def finished(self, state: State) -> bool:
        """Return whether no further pass is made."""
        ...

    def next(self, state: State, beliefs: Beliefs, chance: Chance) -> State:
        """Return the state after one more pass."""
        ...


class NoiseSampler(Protocol):
    """A sampler whose canvas has random symbols instead of masks."""

    def begin(self, state: State, symbols: int, chance: Chance) -> State:
        """Return the state before the first pass; a symbol is a number below `symbols`."""
        ...


def starts_from_noise(sampler: object) -> TypeGuard[NoiseSampler]:
    """Return whether a sampler, or a class of samplers, makes a random canvas before its first pass."""
    return hasattr(sampler, "begin")


# Schedules: how many of m masked slots each pass writes.
#
# even      m // T each, one more in the first m mod T passes                     LLaDA
# linear    α(t) = 1 − t                                                         dllm
# cosine    α(t) = 1 − cos(π/2 · (1 − t))                                        dllm
# halving   ⌈m/2⌉ of the m that are left: 32, 16, 8, 4, 2, 1 of 63
#
# For an α, a pass from t to s writes round(m' · (1 − (1 − α(s)) / (1 − α(t)))) of the m' that are left, and passes that
# write nothing are left out.


SCHEDULES = ("even", "linear", "cosine", "halving")


@lru_cache(maxsize=4096)
def quotas(schedule: str, masked: int, steps: int) -> tuple[int, ...]:
    """Return the number of slots that each pass writes; the sum is `masked`."""
    if schedule == "even":
        share, rest = divmod(masked, steps)
        return tuple(share + (i < rest) for i in range(steps))
    if schedule == "halving":
        return halving(masked)
    return by_alpha({"linear": linear, "cosine": cosine}[schedule], masked, steps)


def linear(t: np.float32) -> np.float32:
    """Return α(t) = 1 − t."""
    return np.float32(1) - t


def cosine(t: np.float32) -> np.float32:
    """Return α(t) = 1 − cos(π/2 · (1 − t))."""
    return np.float32(1) - np.cos(np.float32(np.pi / 2) * (np.float32(1) - t))


def halving(masked: int) -> tuple[int, ...]:
    """Return the quotas of passes that each write half of what is left, rounded up."""
    quotas_so_far = []
    while masked:
        quotas_so_far.append(masked - masked // 2)
        masked //= 2
    return tuple(quotas_so_far)


def by_alpha(alpha: Callable[[np.float32], np.float32], masked: int, steps: int) -> tuple[int, ...]:
    """Return the quotas of a schedule α; the last pass also writes any slots that rounding left.

    α is taken in single precision, as dllm does: it decides which way a half is rounded.
    """
    quotas_so_far, left = [], masked
    masks = [np.float32(1) - alpha(np.float32(i / steps)) for i in range(steps + 1)]
    for i in range(steps, 0, -1):
        quota = left if i == 1 else min(left, round(left * (1 - float(masks[i - 1] / masks[i]))))
        if quota:
            quotas_so_far.append(quota)
        left -= quota
    return tuple(quotas_so_far)


# Blocks: semi-autoregressive generation fills w slots at a time, from left to right.


def block_count(slots: int, width: int | None) -> int:
    """Return the number of blocks; without a width there is one block."""
    return 1 if width is None else max(1, ceil(slots / width))


def block(state_slots: int, width: int | None, number: int) -> np.ndarray:
    """Return which slots belong to a block; the last block may be shorter."""
    if width is None:
        return np.ones(state_slots, dtype=bool)
    slots = np.arange(state_slots)
    return (slots >= number * width) & (slots < (number + 1) * width)
