"""The exact law of a rule that moves the slots independently, given the canvas: one vector over all canvases.

μ_{t+1}(y) = Σ_x μ_t(x) · Π_i K_x(i, y_i)        K_x the rule's `slotwise` on canvas x
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce
from itertools import combinations, permutations, product
from math import comb, perm
from typing import Protocol, runtime_checkable

import numpy as np

from unmask.samplers.rule_interface import Beliefs, Predictor, Sampler, State
from unmask.samplers.sampling_loop import masks

MOST_DENSE = 7_000  # canvases; a pass takes time and memory proportional to the square


@runtime_checkable
class Slotwise(Protocol):
    """A sampler whose pass draws the slots independently, if `is_slotwise`; it makes a fixed number of passes."""

    @property
    def is_slotwise(self) -> bool: ...

    def slotwise(self, state: State, beliefs: Beliefs) -> np.ndarray: ...

    def finished(self, state: State) -> bool: ...


def dense_size(predictor: Predictor, slots: int) -> int:
    """Return the number of canvases."""
    return len(predictor.vocabulary) ** slots


def slotwise_law(predictor: Predictor, sampler: Slotwise, slots: int) -> tuple[np.ndarray, np.ndarray, int]:
    """Return (canvases that can be written, their probabilities, passes)."""
    canvases = np.array(list(product(range(len(predictor.vocabulary)), repeat=slots)), dtype=np.int64)
    blank = masks(predictor, 1, slots)[0]
    mass = (canvases == blank).all(axis=1).astype(float)
    logits = predictor.logits(canvases)
    step = 0
    while not sampler.finished(State(blank, blank, predictor.mask_id, step=step)):
        after = np.zeros_like(mass)
        for number in np.flatnonzero(mass).tolist():
            state = State(blank, canvases[number], predictor.mask_id, step=step)
            kernel = sampler.slotwise(state, Beliefs(logits[number]))
            after += mass[number] * reduce(lambda joint, row: np.multiply.outer(joint, row).ravel(), kernel)
        mass, step = after, step + 1
    possible = np.flatnonzero(mass)
    return canvases[possible], mass[possible], step


# The exact law of a sampler: every outcome of its random choices, with its probability.
#
#     μ_0 = the blank canvas,    μ_{t+1}(y) = Σ_x μ_t(x) · P(next pass takes x to y)
#
# States with the same future (same canvas, same pass, same memory) are merged, so this is a dynamic program over
# canvases. Within a pass each random choice is made in every possible way, by running the rule again with a longer
# script; `Slotwise` rules, which move the slots independently, are enumerated at once. A rule that asks for
# numbers from a continuum cannot be enumerated.


MOST_BRANCHES = 20_000
LEAST_WEIGHT = 1e-15  # a lighter branch is left out and counted as missing mass


class TooMany(Exception):
    """Raised if there are more outcomes than can be enumerated, or a continuum of them."""


class _Asked(Exception):
    """Raised at a random choice beyond the end of the script, with its possible outcomes."""

    def __init__(self, outcomes: list[tuple[float, np.ndarray]]) -> None:
        self.outcomes = outcomes


class Scripted:
    """A source of chance that reads its answers from a script, and raises `_Asked` at the end of the script."""

    def __init__(self, script: tuple[np.ndarray, ...], most: int) -> None:
        self.script, self.asked, self.most = script, 0, most

    def symbols(self, probabilities: np.ndarray) -> np.ndarray:
        p = probabilities / probabilities.sum(axis=-1, keepdims=True)
        choices = [[(float(row[a]), int(a)) for a in np.flatnonzero(row > 0)] for row in p]
        return self._answer(_count(choices), lambda: _independent(choices))

    def coins(self, probabilities: np.ndarray) -> np.ndarray:
        pairs = [((float(p), 1), (float(1 - p), 0)) for p in np.clip(probabilities, 0, 1)]
        choices = [[pair for pair in both if pair[0] > 0] for both in pairs]
        return self._answer(_count(choices), lambda: _independent(choices)).astype(bool)

    def subset(self, slots: np.ndarray, count: int) -> np.ndarray:
        count = min(count, len(slots))
        ways = comb(len(slots), count)
        return self._answer(ways, lambda: [(1 / ways, np.array(c, int)) for c in combinations(slots.tolist(), count)])

    def weighted_subset(self, slots: np.ndarray, weights: np.ndarray, count: int) -> np.ndarray:
        able = np.flatnonzero(weights > 0)
        count = min(count, len(able))
        return self._answer(perm(len(able), count), lambda: _one_by_one(slots, weights, able, count))

    def uniforms(self, shape: tuple[int, ...]) -> np.ndarray:  # noqa: ARG002
        raise TooMany

    def _answer(self, ways: int, outcomes: Callable[[], list[tuple[float, np.ndarray]]]) -> np.ndarray:
        if self.asked < len(self.script):
            self.asked += 1
            return self.script[self.asked - 1]
        if ways > self.most:
            raise TooMany
        raise _Asked(outcomes())


@dataclass(frozen=True, eq=False)
class ExactLaw:
    """Final canvases and their probabilities; `missing` is the total probability of branches too light to follow."""

    canvases: np.ndarray
    probabilities: np.ndarray
    passes: float
    """Return the mean number of passes."""
    missing: float


def exact_law(predictor: Predictor, sampler: Sampler, slots: int) -> ExactLaw:
    """Return the law of what the sampler writes on a blank canvas; raise TooMany if it cannot be enumerated."""
    if isinstance(sampler, Slotwise) and sampler.is_slotwise and dense_size(predictor, slots) <= MOST_DENSE:
        canvases, probabilities, steps = slotwise_law(predictor, sampler, slots)
        return ExactLaw(canvases, probabilities, steps, 0.0)
    return scripted_law(predictor, sampler, slots)


def scripted_law(predictor: Predictor, sampler: Sampler, slots: int) -> ExactLaw:
    """Return the law by enumerating scripts, for any rule."""
    blank = masks(predictor, 1, slots)[0]
    start = State(blank, blank, predictor.mask_id)
    layer = {start.key: (1.0, start)}
    ended: dict[bytes, float] = {}
    branches, passes = 0, 0.0
    while layer:
        going = []
        for weight, state in layer.values():
            if sampler.finished(state):
                ended[state.canvas.tobytes()] = ended.get(state.canvas.tobytes(), 0.0) + weight
                passes += weight * state.step
            else:
                going.append((weight, state))
        layer = {}
        if not going:
            break
        logits = predictor.logits(np.stack([state.canvas for _, state in going]))
        for (weight, state), row in zip(going, logits, strict=True):
            for chance, after in _outcomes(sampler, state, Beliefs(row), MOST_BRANCHES - branches):
                branches += 1
                if weight * chance < LEAST_WEIGHT:
                    continue
                before = layer.get(after.key, (0.0, after))[0]
                layer[after.key] = (before + weight * chance, after)
    canvases = np.array([np.frombuffer(key, dtype=blank.dtype) for key in ended]).reshape(-1, slots)
    probabilities = np.array(list(ended.values()))
    return ExactLaw(canvases, probabilities, passes, max(0.0, 1 - float(probabilities.sum())))


def _outcomes(sampler: Sampler, state: State, beliefs: Beliefs, most: int) -> Iterator[tuple[float, State]]:
    """Yield (probability, the state after one pass) for every outcome of the random choices."""
    open_scripts: list[tuple[float, tuple[np.ndarray, ...]]] = [(1.0, ())]
    made = 0
    while open_scripts:
        weight, script = open_scripts.pop()
        try:
            after = sampler.next(state, beliefs, Scripted(script, most))
        except _Asked as question:
            open_scripts += [(weight * p, (*script, answer)) for p, answer in question.outcomes]
            if len(open_scripts) > most:
                raise TooMany from None
            continue
        made += 1
        if made > most:
            raise TooMany
        yield weight, after


def _count(choices: list[list[tuple[float, int]]]) -> int:
    ways = 1
    for choice in choices:
        ways *= len(choice)
    return ways


def _independent(choices: list[list[tuple[float, int]]]) -> list[tuple[float, np.ndarray]]:
    return [
        (float(np.prod([p for p, _ in pick])), np.array([a for _, a in pick], dtype=np.int64))
        for pick in product(*choices)
    ]


def _one_by_one(slots: np.ndarray, weights: np.ndarray, able: np.ndarray, count: int) -> list[tuple[float, np.ndarray]]:
    """Return the orders of `count` slots; each slot is drawn in proportion to its weight among those that are left."""
    found = []
    for order in permutations(able.tolist(), count):
        chance, left = 1.0, float(weights[able].sum())
        for slot in order:
            chance *= weights[slot] / left
            left -= weights[slot]
        found.append((float(chance), slots[list(order)]))
    return found
