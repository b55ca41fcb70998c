"""Law × N × samplers × budgets → KL and total variation as functions of the number of passes."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from unmask.samplers.laws.conditionals import LawPredictor
from unmask.samplers.laws.distance import Distance, exact_distance, sampled_distance
from unmask.samplers.laws.enumeration import TooMany, exact_law
from unmask.samplers.laws.law import Law
from unmask.samplers.passes.sample import masks, sample
from unmask.samplers.passes.state import Sampler
from unmask.samplers.zoo import Entry

BATCH = 512
SHARPNESS: dict[str, Any] = {"temperature": 1.0, "tau": 1.0}
"""Samplers draw from the conditionals as they are, unless their name says otherwise."""


@dataclass(frozen=True)
class LawRun:
    """A sampler at one budget; `passes` is the mean."""

    steps: int | None
    passes: float
    distance: Distance

    def to_json(self) -> dict[str, Any]:
        return {"steps": self.steps, "passes": self.passes, **self.distance.to_json()}


@dataclass(frozen=True)
class LawResult:
    sampler: str
    remasking: str
    runs: tuple[LawRun, ...]

    def to_json(self) -> dict[str, Any]:
        return {"sampler": self.sampler, "remasking": self.remasking, "runs": [run.to_json() for run in self.runs]}


@dataclass(frozen=True, eq=False)
class Bench:
    """A law at one length: the truth, and what samples from its conditionals."""

    law: Law
    length: int

    def __post_init__(self) -> None:
        self.law.check_length(self.length)
        _ = self.truth  # too many strings are refused here

    @cached_property
    def truth(self) -> np.ndarray:
        """P_N of every string, in order."""
        return self.law.probabilities(self.law.strings(self.length))

    @cached_property
    def predictor(self) -> LawPredictor:
        return LawPredictor(self.law)

    def numbers(self, strings: np.ndarray) -> np.ndarray:
        """Which string of the order each is."""
        return strings @ (len(self.law.alphabet) ** np.arange(self.length)[::-1])

    def run(self, sampler: Sampler, steps: int | None, *, runs: int, seed: int) -> LawRun:
        """Enumerated where that is possible, else sampled."""
        try:
            law = exact_law(self.predictor, sampler, self.length)
        except TooMany:
            return self.sampled(sampler, steps, runs=runs, seed=seed)
        written = np.zeros(len(self.truth))
        written[self.numbers(law.canvases)] = law.probabilities
        return LawRun(steps, law.passes, exact_distance(self.truth, written))

    def sampled(self, sampler: Sampler, steps: int | None, *, runs: int, seed: int) -> LawRun:
        counts, passes = np.zeros(len(self.truth), dtype=np.int64), 0
        for number, first in enumerate(range(0, runs, BATCH)):
            blank = masks(self.predictor, min(BATCH, runs - first), self.length)
            found = sample(self.predictor, sampler, blank, seed=seed + (number << 32))
            counts += np.bincount(self.numbers(found.sequences), minlength=len(counts))
            passes += int(found.passes.sum())
        return LawRun(steps, passes / runs, sampled_distance(self.truth, counts))


def law_budgets(slots: int) -> tuple[int, ...]:
    """One slot per pass, and every other number of passes that an even quota tells apart."""
    return tuple(sorted({-(-slots // k) for k in range(1, slots + 1)}, reverse=True))


def compare(
    bench: Bench, entries: Iterable[Entry], budgets: Iterable[int], *, runs: int = 4096, seed: int = 0
) -> Iterator[LawResult]:
    """Every sampler at every budget."""
    budgets = tuple(budgets)
    for entry in entries:
        sampler = entry.make(**SHARPNESS)
        made = [
            bench.run(within, steps if entry.takes_steps else None, runs=runs, seed=seed)
            for steps in (budgets if entry.takes_steps else (1,))
            if (within := entry.within(steps, bench.length, **SHARPNESS)) is not None
        ]
        yield LawResult(sampler.label, sampler.remasks, tuple(made))
