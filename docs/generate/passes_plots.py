"""Write the plots of docs/background/passes.md: prices of schedules, and what editing buys (`make passes-plots`)."""

from fractions import Fraction
from pathlib import Path

from unmask import compile_problem
from unmask.api import sample_law
from unmask.samplers import write_once_distance
from unmask.samplers.line_plot import Point, Series
from unmask.samplers.pass_schedules import ScheduleReport
from unmask.samplers.report_page import report_plot
from unmask.samplers.string_law import read_law

ROOT = Path(__file__).parents[2]
PICTURES = ROOT / "docs" / "pictures"


def schedule_plot() -> str:
    """Expected KL against the number of passes, for strings of long runs at N = 64."""
    law = read_law(str(ROOT / "examples" / "laws" / "runs.json"))
    by_name: dict[str, list[Point]] = {}
    for passes in (1, 2, 4, 8, 16, 32, 64):
        for schedule in ScheduleReport.of(law, 64, passes).schedules:
            point = Point(schedule.passes, round(schedule.kl, 4))
            if schedule.name != "even" and point not in by_name.setdefault(schedule.name, []):
                by_name[schedule.name].append(point)
    return report_plot([Series(name, tuple(points)) for name, points in by_name.items()], "expected KL in nats")


def uniform_distance(length: int) -> Fraction:
    """Total variation distance of the two-pass sampler from the uniform law on strings of even parity, p = 4."""
    law = sample_law(compile_problem("coins:even-parity", "mdm", length=length, precision=4))
    share = Fraction(1, 2 ** (length - 1))
    return sum((abs(chance - share) for chance in law.values()), Fraction(0)) / 2


def parity_plot() -> str:
    """Distance from uniform strings of even parity in two passes: with editing, and written once with fair coins."""
    edits = tuple(Point(n, round(float(uniform_distance(n)), 4)) for n in range(2, 9))
    once = tuple(Point(n, float(write_once_distance(n))) for n in range(2, 6))
    series = [Series("slots rewritten (mdm, from weights)", edits), Series("written once, best with fair coins", once)]
    return report_plot(series, "total variation distance", x_name="length", logarithmic=False)


if __name__ == "__main__":
    (PICTURES / "passes_schedules.svg").write_text(schedule_plot(), encoding="utf-8")
    (PICTURES / "passes_parity.svg").write_text(parity_plot(), encoding="utf-8")
