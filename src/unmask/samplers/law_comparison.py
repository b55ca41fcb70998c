"""How far the law q of a sampler is from the truth p.

    KL(p‖q) = Σ p log(p/q)        in nats; ∞ where a possible string is never written
    TV      = ½ Σ |p − q|
    impossible = q(strings that p excludes)

Sampled, q is estimated from counts c of M runs. TV is that of c/M; its expected error is at most ½ Σ √(q(1 − q)/M),
which is given as the bar. KL takes (c + ½)/(M + S/2) for q, S the number of strings (the estimator of Krichevsky and
Trofimov); its bar is √(Var/M) by the delta method, Var = Σ p²/q − 1.
"""

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from math import inf, isfinite
from typing import Any

import numpy as np

from unmask.samplers.exact_sampler_law import TooMany, exact_law
from unmask.samplers.line_plot import Point, Series
from unmask.samplers.report_page import Table, page, plot
from unmask.samplers.rule_interface import Sampler
from unmask.samplers.sampler_names import Entry
from unmask.samplers.sampling_loop import masks, sample
from unmask.samplers.string_law import Law, LawPredictor


@dataclass(frozen=True)
class Distance:
    """`exact`: enumerated. Otherwise the bars say how far off the estimates may be; `runs` is the number of runs."""

    kl: float
    tv: float
    impossible: float
    exact: bool
    kl_error: float = 0.0
    tv_error: float = 0.0
    runs: int | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object; an infinite KL becomes null."""
        document = asdict(self)
        return {**document, "kl": self.kl if isfinite(self.kl) else None}


def exact_distance(truth: np.ndarray, law: np.ndarray) -> Distance:
    """Return the distance of p and q, which are over the same strings."""
    possible = truth > 0
    p, q = truth[possible], law[possible]
    kl = inf if (q <= 0).any() else float(np.sum(p * np.log(p / q)))
    return Distance(max(0.0, kl), float(np.abs(truth - law).sum() / 2), float(law[~possible].sum()), exact=True)


def sampled_distance(truth: np.ndarray, counts: np.ndarray) -> Distance:
    """Estimate the distance from p over strings and the number of times that each was written."""
    runs = int(counts.sum())
    q = counts / runs
    possible = truth > 0
    smooth = ((counts + 0.5) / (runs + len(counts) / 2))[possible]
    p = truth[possible]
    return Distance(
        kl=float(np.sum(p * np.log(p / smooth))),
        tv=float(np.abs(truth - q).sum() / 2),
        impossible=float(q[~possible].sum()),
        exact=False,
        kl_error=float(np.sqrt(max(0.0, np.sum(p * p / smooth) - 1) / runs)),
        tv_error=float(np.sqrt(q * (1 - q) / runs).sum() / 2),
        runs=runs,
    )


# Law × N × samplers × budgets → KL and total variation as functions of the number of passes.


BATCH = 512
SHARPNESS: dict[str, Any] = {"temperature": 1.0, "tau": 1.0}
"""Samplers draw from the unchanged conditionals, unless their name gives a parameter that changes them."""


@dataclass(frozen=True)
class LawRun:
    """The result of a sampler at one budget; `passes` is the mean."""

    steps: int | None
    passes: float
    distance: Distance

    def to_json(self) -> dict[str, Any]:
        return {"steps": self.steps, "passes": self.passes, **self.distance.to_json()}


@dataclass(frozen=True)
class LawResult:
    """The runs of one sampler, one per budget of passes."""

    sampler: str
    remasking: str
    runs: tuple[LawRun, ...]

    def to_json(self) -> dict[str, Any]:
        return {"sampler": self.sampler, "remasking": self.remasking, "runs": [run.to_json() for run in self.runs]}


@dataclass(frozen=True, eq=False)
class Bench:
    """A law at one length: its true probabilities, and the runs of samplers on its conditionals."""

    law: Law
    length: int

    def __post_init__(self) -> None:
        self.law.check_length(self.length)
        _ = self.truth  # too many strings are refused here

    @cached_property
    def truth(self) -> np.ndarray:
        """Return P_N of every string, in order."""
        return self.law.probabilities(self.law.strings(self.length))

    @cached_property
    def predictor(self) -> LawPredictor:
        return LawPredictor(self.law)

    def numbers(self, strings: np.ndarray) -> np.ndarray:
        """Return the index of each string in that order."""
        return strings @ (len(self.law.alphabet) ** np.arange(self.length)[::-1])

    def run(self, sampler: Sampler, steps: int | None, *, runs: int, seed: int) -> LawRun:
        """Run a sampler: enumerated if possible, otherwise sampled."""
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
    """Return one slot per pass, and every other number of passes for which the even quotas differ."""
    return tuple(sorted({-(-slots // k) for k in range(1, slots + 1)}, reverse=True))


def compare(
    bench: Bench, entries: Iterable[Entry], budgets: Iterable[int], *, runs: int = 4096, seed: int = 0
) -> Iterator[LawResult]:
    """Measure every sampler at every budget."""
    budgets = tuple(budgets)
    for entry in entries:
        sampler = entry.make(**SHARPNESS)
        made = [
            bench.run(within, steps if entry.takes_steps else None, runs=runs, seed=seed)
            for steps in (budgets if entry.takes_steps else (1,))
            if (within := entry.within(steps, bench.length, **SHARPNESS)) is not None
        ]
        yield LawResult(sampler.label, sampler.remasks, tuple(made))


@dataclass(frozen=True, eq=False)
class LawReport:
    """The result of `unmask samplers law:FILE`: every sampler at every budget."""

    bench: Bench
    budgets: tuple[int, ...]
    results: list[LawResult]

    @property
    def title(self) -> str:
        return f"samplers on {self.bench.law.name}, N = {self.bench.length}"

    @property
    def facts(self) -> str:
        possible = int((self.bench.truth > 0).sum())
        return (
            f"{len(self.bench.truth)} strings, {possible} of them possible; KL(truth‖sampler) in nats and total "
            "variation; ± marks what was sampled, all else is exact"
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "law": self.bench.law.name,
            "length": self.bench.length,
            "strings": len(self.bench.truth),
            "budgets": list(self.budgets),
            "samplers": [result.to_json() for result in self.results],
        }

    def summary(self) -> Table:
        """Return a row per sampler: KL and total variation at every budget."""
        columns = (
            "sampler",
            *(f"KL at {b}" for b in self.budgets),
            *(f"TV at {b}" for b in self.budgets),
            "at its own",
        )
        return Table(columns, tuple(self._row(result) for result in self.results), ("sampler", "at its own"))

    def _row(self, result: LawResult) -> tuple[str, ...]:
        by_budget = {run.steps: run for run in result.runs}
        at = [by_budget.get(b) for b in self.budgets]
        own = by_budget.get(None)
        return (
            result.sampler,
            *("" if run is None else _with_bar(run.distance.kl, run.distance.kl_error, run) for run in at),
            *("" if run is None else _with_bar(run.distance.tv, run.distance.tv_error, run) for run in at),
            ""
            if own is None
            else f"KL {_with_bar(own.distance.kl, own.distance.kl_error, own)}, "
            f"TV {_with_bar(own.distance.tv, own.distance.tv_error, own)} in {own.passes:.3g}",
        )

    def everything(self) -> Table:
        """Return a row per sampler and budget."""
        columns = ("sampler", "steps", "passes", "KL", "TV", "impossible", "how")
        rows = tuple(
            (
                result.sampler,
                "" if run.steps is None else str(run.steps),
                f"{run.passes:.3g}",
                _with_bar(run.distance.kl, run.distance.kl_error, run),
                _with_bar(run.distance.tv, run.distance.tv_error, run),
                f"{run.distance.impossible:.4f}",
                "exact" if run.distance.exact else f"{run.distance.runs} runs",
            )
            for result in self.results
            for run in result.runs
        )
        return Table(columns, rows, ("sampler", "how"))

    def page(self) -> str:
        plots = []
        for name, value, error in (("KL(truth‖sampler)", "kl", "kl_error"), ("total variation", "tv", "tv_error")):
            series = [
                Series(
                    result.sampler,
                    tuple(
                        Point(run.passes, getattr(run.distance, value), getattr(run.distance, error))
                        for run in result.runs
                    ),
                )
                for result in self.results
            ]
            plots.append((name, plot(series, name)))
        facts = (
            self.facts + ".",
            "The predictor gives the exact conditionals of the law, so that all error is the sampler's.",
        )
        return page(self.title, facts, plots, self.everything())


def _with_bar(value: float, error: float, run: LawRun) -> str:
    if not isfinite(value):
        return "∞"
    return f"{value:.4f}" if run.distance.exact else f"{value:.2f}±{error:.2f}"
