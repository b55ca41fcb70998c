"""Planners that need no training, as objects that can drive any predictor (app:planner-centrality).

| name                 | chooses, among the slots that are still masked                                    |
|----------------------|-----------------------------------------------------------------------------------|
| `uniform:K`          | K slots uniformly at random: the reverse of the forward masking process           |
| `confidence:K`       | the K slots with the largest confidence, the lowest slot wins a tie               |
| `threshold:X`        | every slot whose confidence is above X, and always the most confident one         |
| `left-to-right:K`    | the K leftmost slots                                                              |
| `blockwise:W:PLANNER`| what PLANNER chooses within the leftmost block of W slots that has a mask          |

They never write a slot twice: a slot that they do not choose stays masked ("remasking" in the sense of LLaDA). Unlike
the planner of an mdm, they cannot resample a slot. A run with one of them ends when no slot is masked.

A planner only chooses slots. It does so from integers (the largest logit of a slot in F_p) or from floats (the
probability of a slot's likeliest symbol). A `Sampler` (`samplers/rule_interface.py`) is the wider concept: it also
draws the symbols and may mask or edit written slots. `PlannedSampler` makes a sampler of a planner.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from math import floor
from typing import Protocol, runtime_checkable

import numpy as np

from unmask.errors import PlannerError, shortened
from unmask.numerics.array_types import Bool, Float, Int
from unmask.reasoners.decoding import PLANNER, Tape

LONGEST_NAME = 200


@dataclass(frozen=True)
class Situation:
    """The input of a planner before a step: which slots are masked, and the predictor's confidence in each.

    `first_row` is the row of slot 0, where the random numbers of a tape are addressed. `one` is the number 1 in the
    units of `confidence`: 2^p for integers of F_p, 1.0 for floats.
    """

    step: int
    first_row: int
    masked: Bool[np.ndarray, "batch slots"]
    confidence: Int[np.ndarray, "batch slots"] | Float[np.ndarray, "batch slots"]
    one: int | float


@runtime_checkable
class Planner(Protocol):
    """Situation → the chosen slots, [batch, slots]; at least one masked slot of every row that has one."""

    def choose(self, situation: Situation) -> np.ndarray: ...


@dataclass(frozen=True)
class Uniform:
    """k masked slots uniformly at random: those with the smallest random numbers on the planner's tape."""

    k: int
    tape: Tape

    def choose(self, situation: Situation) -> np.ndarray:
        slots = situation.masked.shape[1]
        raw = self.tape.raw(situation.step, PLANNER, 2 * situation.first_row, 2 * slots)[1::2]
        rank = np.argsort(np.argsort(raw, kind="stable"), kind="stable")
        return _smallest(np.broadcast_to(rank, situation.masked.shape), situation.masked, self.k)


@dataclass(frozen=True)
class Confidence:
    """The k masked slots with the highest confidence."""

    k: int

    def choose(self, situation: Situation) -> np.ndarray:
        return choose_surest(situation.confidence, situation.masked, self.k)


@dataclass(frozen=True)
class Threshold:
    """Every masked slot whose confidence is above x, and always the most confident slot."""

    x: Fraction

    def choose(self, situation: Situation) -> np.ndarray:
        limit = self.x * situation.one
        if isinstance(limit, Fraction):  # an integer is above the limit if it is above its floor
            limit = floor(limit)
        above = (situation.confidence > limit) & situation.masked
        return above | choose_surest(situation.confidence, situation.masked, 1)


@dataclass(frozen=True)
class LeftToRight:
    """The k leftmost masked slots."""

    k: int

    def choose(self, situation: Situation) -> np.ndarray:
        return situation.masked & (np.cumsum(situation.masked, axis=-1) <= self.k)


@dataclass(frozen=True)
class Blockwise:
    """Blocks of w slots from left to right, each filled by another planner."""

    w: int
    inner: Planner

    def choose(self, situation: Situation) -> np.ndarray:
        return self.inner.choose(replace(situation, masked=leftmost_block(situation.masked, self.w)))


def parse_planner(text: str, tape: Tape | None) -> Planner:
    """Return the planner of a name such as `uniform:1` or `blockwise:4:confidence:1`.

    Random planners read the tape. Without a tape they are refused.
    """
    name, _, argument = text.partition(":")
    match name:
        case "uniform":
            if tape is None:
                raise PlannerError(
                    f"the planner {shortened(text)!r} is random and cannot be a sampler; use llada:remasking=random"
                )
            return Uniform(_count(text, argument), tape)
        case "confidence":
            return Confidence(_count(text, argument))
        case "left-to-right":
            return LeftToRight(_count(text, argument))
        case "threshold":
            return Threshold(_number(text, argument))
        case "blockwise" if len(text) <= LONGEST_NAME:
            width, _, inner = argument.partition(":")
            return Blockwise(_count(text, width), parse_planner(inner or "confidence:1", tape))
    raise PlannerError(
        f"unknown planner {shortened(text)!r}; use uniform:K, confidence:K, threshold:X, left-to-right:K "
        "or blockwise:W:PLANNER"
    )


def choose_surest(confidence: np.ndarray, among: np.ndarray, k: int) -> np.ndarray:
    """Flag the k slots with the largest confidence among the flagged ones; the lowest slot wins a tie."""
    return _smallest(-confidence, among, k)


def leftmost_block(masked: np.ndarray, width: int) -> np.ndarray:
    """Flag the masked slots of the leftmost block of `width` slots that has one, [..., slots]."""
    block = np.arange(masked.shape[-1]) // width
    return masked & (block == np.argmax(masked, axis=-1)[..., None] // width)


def _smallest(key: np.ndarray, among: np.ndarray, k: int) -> np.ndarray:
    """Flag the k slots with the smallest key among the flagged ones; the lowest slot wins a tie."""
    order = np.lexsort((key, ~among), axis=-1)  # flagged slots first, then by key; the sort is stable
    chosen = np.zeros_like(among)
    np.put_along_axis(chosen, order[..., :k], True, axis=-1)
    return chosen & among


def _count(text: str, argument: str) -> int:
    if argument == "":
        return 1
    if not (argument.isascii() and argument.isdigit()) or len(argument) > 9 or int(argument) < 1:
        raise PlannerError(
            f"the planner {shortened(text)!r} needs a positive integer of at most 9 digits, as in confidence:1"
        )
    return int(argument)


def _number(text: str, argument: str) -> Fraction:
    try:
        if len(argument) > 20 or "e" in argument.lower():
            raise ValueError
        return Fraction(argument)
    except (ValueError, ZeroDivisionError):
        raise PlannerError(f"the planner {shortened(text)!r} needs a number, as in threshold:0.9") from None
