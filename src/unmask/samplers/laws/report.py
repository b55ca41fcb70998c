"""Distances of laws → a document, a table for the terminal, a page."""

from dataclasses import dataclass
from math import isfinite
from typing import Any

from unmask.samplers.laws.measure import Bench, LawResult, LawRun
from unmask.samplers.report.page import Table, page
from unmask.samplers.report.plot import Point, Series, plot


@dataclass(frozen=True, eq=False)
class LawReport:
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
        """A row per sampler: KL and total variation at every budget."""
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
        """A row per sampler and budget."""
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
