"""InformationCurve × K → what a schedule costs, and the best one.

A schedule 0 = n_0 < n_1 < … < n_K = N says how many positions are written after each pass. The positions come in a
random order, the predictor is exact, and the positions of one pass are drawn independently. The only error is that
positions of one pass do not see each other. The size of this error is known exactly:

    E KL(p ‖ q_order) = Σ_k [ (n_k − n_{k−1})·f(n_{k−1}) − (g(n_k) − g(n_{k−1})) ]
                      = Σ_k (n_k − n_{k−1})·f(n_{k−1}) − H(X)

Proof. Given the order, log p − log q is the sum over passes of log p(x_U | x_S) − Σ_{j in U} log p(x_j | x_S), where S
is what was written before and U what is written now. Its mean under p is Σ_{j in U} H(X_j | X_S) − H(X_U | X_S). Now
take the mean over orders: S is a random set of n_{k−1} positions and every j in U is a random position outside it. ∎

A sampler that draws the order itself has the mean of the laws q_order. KL is convex, so its KL is at most this number.

The sum telescopes: only Σ (n_k − n_{k−1})·f(n_{k−1}) depends on the schedule. It is the left Riemann sum of a curve
that never increases. The best cuts are found by dynamic programming over (number of passes, last cut).
"""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from unmask.errors import TooLarge, UnmaskError
from unmask.samplers.exact_passes import bisection_passes, is_linked, least_passes
from unmask.samplers.line_plot import Point, Series
from unmask.samplers.masked_information import InformationCurve, information_curve
from unmask.samplers.report_page import ReportTable, html_report, report_plot
from unmask.samplers.rule_interface import SCHEDULES, quotas
from unmask.samplers.string_law import StringLaw


@dataclass(frozen=True)
class PricedSchedule:
    """A schedule with cuts n_0 … n_K and its expected KL in nats, which is at most `error` off."""

    name: str
    cuts: tuple[int, ...]
    kl: float
    error: float

    @property
    def passes(self) -> int:
        return len(self.cuts) - 1

    @property
    def writes(self) -> tuple[int, ...]:
        """Return how many positions each pass writes."""
        return tuple(b - a for a, b in pairwise(self.cuts))

    def to_json(self) -> dict[str, Any]:
        return {
            "schedule": self.name,
            "passes": self.passes,
            "writes": list(self.writes),
            "kl": self.kl,
            "error": self.error,
        }


def expected_kl(curve: InformationCurve, cuts: tuple[int, ...]) -> float:
    """Return the expected KL of the schedule with these cuts, in nats."""
    check_cuts(cuts, curve.length)
    return sum((b - a) * float(curve.per_position[a]) for a, b in pairwise(cuts)) - curve.entropy


def priced_schedule(name: str, curve: InformationCurve, cuts: tuple[int, ...]) -> PricedSchedule:
    """Return the schedule with its price and its error, which follows from the bounds of f and of the entropy."""
    kl = max(0.0, expected_kl(curve, cuts))
    lower, upper = curve.bounds_per_position
    gap = sum((b - a) * float(upper[a] - lower[a]) for a, b in pairwise(cuts)) + float(
        curve.upper[-1] - curve.lower[-1]
    )
    return PricedSchedule(name, cuts, kl, gap / 2)


def optimal_schedule(curve: InformationCurve, passes: int) -> PricedSchedule:
    """Return a schedule with the least expected KL among those with this number of passes.

    cost(k, n) = min over m < n of cost(k − 1, m) + (n − m)·f(m)
    """
    length = curve.length
    check_passes(passes, length)
    n, m = np.arange(length + 1)[:, None], np.arange(length)[None, :]
    pass_cost = np.where(m < n, (n - m) * curve.per_position[None, :], np.inf)
    cost = np.where(np.arange(length + 1) == 0, 0.0, np.inf)
    choices = []
    for _ in range(passes):
        through = cost[None, :-1] + pass_cost
        choices.append(through.argmin(axis=1))
        cost = through.min(axis=1)
    cuts = [length]
    for choice in reversed(choices):
        cuts.append(int(choice[cuts[-1]]))
    return priced_schedule("optimal", curve, tuple(reversed(cuts)))


def published_schedules(curve: InformationCurve, passes: int) -> list[PricedSchedule]:
    """Return the schedules of `unmask samplers` for these passes; rounding may give fewer, halving has its own."""
    check_passes(passes, curve.length)
    return [priced_schedule(name, curve, (0, *accumulate(quotas(name, curve.length, passes)))) for name in SCHEDULES]


def check_passes(passes: int, length: int) -> None:
    """Raise if a string of this length cannot be written in this number of passes."""
    if not 1 <= passes <= length:
        raise UnmaskError(
            f"--passes is {passes:,} and the strings have {length:,} positions; a pass writes at least one position, "
            f"so choose 1 to {length:,}"
        )


def check_cuts(cuts: tuple[int, ...], length: int) -> None:
    """Raise if the cuts are not increasing from 0 to the length."""
    if not cuts or cuts[0] != 0 or cuts[-1] != length or any(b <= a for a, b in pairwise(cuts)):
        raise UnmaskError(f"a schedule of {length} positions has cuts 0 < … < {length}, not {cuts}")


# Prices of schedules → a document, a table for the terminal, a page.


SHOWN_WRITES = 16


@dataclass(frozen=True, eq=False)
class ScheduleReport:
    """The best schedule of a number of passes beside the published ones.

    `least` is the least number of passes of an exact sampler, None if unknown; `method` says how it is known.
    """

    law: StringLaw
    curve: InformationCurve
    passes: int
    schedules: tuple[PricedSchedule, ...]
    least: int | None
    method: str

    @classmethod
    def of(cls, law: StringLaw, length: int, passes: int) -> "ScheduleReport":
        if length > 0:
            check_passes(passes, length)  # before the curve, whose computation may take long
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
        first, last, error = (
            self.curve.per_position[0],
            self.curve.per_position[-1],
            max(schedule.error for schedule in self.schedules),
        )
        exactness = f"{'exact up to rounding errors of about' if self.curve.exact else 'off by at most'} {error:.0e}"
        if 10 * error > min(schedule.kl for schedule in self.schedules) and not self.curve.exact:
            exactness += " (a shorter --length has sharper bounds)"
        least = {
            "unknown": "unknown (the search is for shorter strings; use a shorter --length)",
            "formula": f"{self.least} = ⌈log2(N + 1)⌉, reached by `bisection`",
            "search": f"{self.least}, by search",
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
            "schedules": [schedule.to_json() for schedule in self.schedules],
        }

    def summary(self) -> ReportTable:
        """Return a row per schedule."""
        return _schedule_table(self.schedules, SHOWN_WRITES)

    def page(self) -> str:
        """Return the page: KL against the number of passes for every schedule, and the information curve."""
        numbers = sorted({1 << i for i in range(self.curve.length.bit_length())} | {self.passes, self.curve.length})
        schedules = [schedule for number in numbers for schedule in _priced(self.curve, number)]
        by_name: dict[str, dict[int, float]] = {}
        for schedule in schedules:
            by_name.setdefault(schedule.name, {})[schedule.passes] = schedule.kl
        prices = [
            Series(name, tuple(Point(k, kl) for k, kl in sorted(by_passes.items())))
            for name, by_passes in by_name.items()
        ]
        curve = Series("f(i)", tuple(Point(i, float(y)) for i, y in enumerate(self.curve.per_position)))
        curve_plot = report_plot([curve], "entropy in nats", x_name="revealed positions", logarithmic=False)
        plots = (
            ("Expected KL(law ‖ sampler)", report_plot(prices, "expected KL")),
            ("Mean entropy of a masked position, given i revealed ones", curve_plot),
        )
        return html_report(self.title, self.facts, plots, _schedule_table(schedules, self.curve.length))


def _priced(curve: InformationCurve, passes: int) -> list[PricedSchedule]:
    return [optimal_schedule(curve, passes), *published_schedules(curve, passes)]


def _schedule_table(schedules: Iterable[PricedSchedule], most: int) -> ReportTable:
    """Return a row per schedule, with the writes of its first `most` passes."""
    columns = ("schedule", "passes", "expected KL", "positions written in each pass")
    rows = tuple(
        (
            schedule.name,
            str(schedule.passes),
            f"{schedule.kl:.4f}" if schedule.kl >= 0.001 or schedule.kl <= schedule.error else f"{schedule.kl:.1e}",
            " ".join(map(str, schedule.writes[:most])) + (" …" if schedule.passes > most else ""),
        )
        for schedule in schedules
    )
    return ReportTable(columns, rows, ("schedule", "positions written in each pass"))
