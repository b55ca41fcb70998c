"""Distances of laws and prices of schedules → a document, a table for the terminal, a page."""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from math import isfinite
from typing import Any

from unmask.errors import TooLarge
from unmask.samplers.laws.information import InformationCurve, information_curve
from unmask.samplers.laws.law import Law
from unmask.samplers.laws.least_passes import bisection_passes, is_linked, least_passes
from unmask.samplers.laws.measure import Bench, LawResult, LawRun
from unmask.samplers.laws.schedule import PricedSchedule, check_passes, optimal_schedule, published_schedules
from unmask.samplers.report.page import Table, page
from unmask.samplers.report.plot import Point, Series, plot

SHOWN_WRITES = 16


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


@dataclass(frozen=True, eq=False)
class ScheduleReport:
    """The best schedule of a number of passes beside the published ones.

    `least` is the least number of passes of an exact sampler, None if unknown; `method` says how it is known.
    """

    law: Law
    curve: InformationCurve
    passes: int
    schedules: tuple[PricedSchedule, ...]
    least: int | None
    method: str

    @classmethod
    def of(cls, law: Law, length: int, passes: int) -> "ScheduleReport":
        if length > 0:
            check_passes(passes, length)  # before the curve, which may take long
        curve = information_curve(law, length)
        least, method = None, "unknown"
        if is_linked(law, length):
            least, method = bisection_passes(length), "formula"
        else:
            with suppress(TooLarge):
                least, method = least_passes(law, length), "search"
        return cls(law, curve, passes, tuple(_priced(curve, passes)), least, method)

    @property
    def title(self) -> str:
        return f"schedules for {self.law.name}, N = {self.curve.length}"

    @property
    def facts(self) -> tuple[str, ...]:
        first, last, error = self.curve.per_position[0], self.curve.per_position[-1], self.schedules[0].error
        exactness = f"off by at most {error:.1e}" if error else "exact up to rounding"
        least = {
            "unknown": "unknown (the search is for shorter strings)",
            "formula": f"{self.least} = ⌈log2(N + 1)⌉, reached by `bisection`",
            "search": f"{self.least}, by search over all canvases",
        }[self.method]
        return (
            f"random order, exact predictor; KL in nats, {exactness}",
            f"entropy {self.curve.entropy:.4f}; a masked position has entropy {first:.4f} when nothing is revealed and "
            f"{max(0.0, last):.4f} when all others are",
            f"least number of passes of an exact sampler: {least}",
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "law": self.law.name,
            "length": self.curve.length,
            "passes": self.passes,
            "information": self.curve.per_position.tolist(),
            "error": self.curve.error,
            "entropy": self.curve.entropy,
            "total_correlation": self.curve.total_correlation,
            "dual_total_correlation": self.curve.dual_total_correlation,
            "least_exact_passes": self.least,
            "least_exact_method": self.method,
            "schedules": [one.to_json() for one in self.schedules],
        }

    def summary(self) -> Table:
        """A row per schedule."""
        return _schedule_table(self.schedules, SHOWN_WRITES)

    def page(self) -> str:
        """KL against the number of passes for every schedule, and the information curve."""
        numbers = sorted({1 << i for i in range(self.curve.length.bit_length())} | {self.passes, self.curve.length})
        every = [one for number in numbers for one in _priced(self.curve, number)]
        by_name: dict[str, dict[int, float]] = {}
        for one in every:
            by_name.setdefault(one.name, {})[one.passes] = one.kl
        prices = [Series(name, tuple(Point(k, kl) for k, kl in sorted(at.items()))) for name, at in by_name.items()]
        curve = Series("f(i)", tuple(Point(i, float(y)) for i, y in enumerate(self.curve.per_position)))
        curve_plot = plot([curve], "entropy in nats", x_name="revealed positions", logarithmic=False)
        plots = (
            ("Expected KL(law ‖ sampler)", plot(prices, "expected KL")),
            ("Mean entropy of a masked position, given i revealed ones", curve_plot),
        )
        return page(self.title, self.facts, plots, _schedule_table(every, self.curve.length))


def _priced(curve: InformationCurve, passes: int) -> list[PricedSchedule]:
    return [optimal_schedule(curve, passes), *published_schedules(curve, passes)]


def _schedule_table(schedules: Iterable[PricedSchedule], most: int) -> Table:
    """At most so many passes of each schedule are listed."""
    columns = ("schedule", "passes", "expected KL", "positions written in each pass")
    rows = tuple(
        (
            one.name,
            str(one.passes),
            f"{one.kl:.4f}",
            " ".join(map(str, one.writes[:most])) + (" …" if one.passes > most else ""),
        )
        for one in schedules
    )
    return Table(columns, rows, ("schedule", "positions written in each pass"))
