"""Report → one HTML page: passes against accuracy, step maps as pictures, every outcome with its explanation."""

import shlex
from collections.abc import Sequence
from html import escape

from unmask.bench.run_checks import CHECKS, FAILED, MeasuredRun, Report
from unmask.samplers.line_plot import Point, Series
from unmask.samplers.report_page import ReportTable, html_report, report_plot

CELL_PIXELS = 16


def bench_page(report: Report, flags: Sequence[str] = ()) -> str:
    """Return the page; `flags` are the further arguments of `unmask bench run`, for the command that repeats it."""
    columns = ("check", "model", "result", "what was found", "seconds")
    rows = tuple(
        (outcome.check, outcome.model, outcome.status, outcome.message, f"{outcome.seconds:.2f}")
        for outcome in report.outcomes
    )
    explained = {outcome.check for outcome in report.failures[:1]}
    failed = [(name, message) for name, status, message in report.rows() if status.startswith(FAILED)]
    other_failures = [f"{name}: {message}" for name, message in failed if name not in explained]
    facts = [report.summary() + ".", *first_failure(report, flags), *other_failures]
    models = list(dict.fromkeys(run.model for run in report.runs))
    series = [
        Series(name, tuple(Point(run.passes, run.right) for run in report.runs if run.model == name)) for name in models
    ]
    pictures = [("Right slots of the first word", report_plot(series, "right slots"))] if series else []
    for name in models:
        first = next(run for run in report.runs if run.model == name)
        if first.step_map is not None:
            pictures.append((f"{name}, steps = {first.steps}: the pass that wrote each slot", step_picture(first)))
    return html_report(f"checks of {report.sampler}", facts, pictures, ReportTable(columns, rows, columns[:4]))


def first_failure(report: Report, flags: Sequence[str]) -> list[str]:
    """Return the first failure, its class of bugs, and the command that reproduces it; empty if no check failed."""
    if not report.failures:
        return []
    first = report.failures[0]
    bugs = next(check.bugs for check in CHECKS if check.name == first.check)
    command = ["unmask", "bench", "run", "--sampler", report.sampler, "--models", first.model, "--check", first.check]
    return [
        f"First failure: {first.check} on {first.model}: {first.message}.",
        f"Bugs of this class: {bugs}.",
        f"To repeat it: {shlex.join([*command, *flags])}",
    ]


def step_picture(run: MeasuredRun) -> str:
    """Draw one cell per slot with the number of its pass; later passes are darker."""
    steps = run.step_map or []
    latest, side = max((*steps, 1)), CELL_PIXELS - 1
    cells = []
    for slot, step in enumerate(steps):
        x, y = slot % 32 * CELL_PIXELS, slot // 32 * CELL_PIXELS
        title = f"slot {slot}: " + (f"pass {step}" if step else "not written")
        opacity = round(0.15 + 0.6 * step / latest, 2) if step else 0
        cells.append(
            f'<g class="c0"><title>{escape(title)}</title><rect x="{x}" y="{y}" width="{side}" height="{side}" '
            f'fill="currentColor" fill-opacity="{opacity}" stroke="currentColor"/></g>'
            f'<text class="mid" x="{x + CELL_PIXELS / 2}" y="{y + CELL_PIXELS - 4}">{step or "–"}</text>'
        )
    width, height = min(len(steps), 32) * CELL_PIXELS, -(-len(steps) // 32) * CELL_PIXELS
    return (
        f'<svg viewBox="-1 -1 {width + 2} {height + 2}" width="{1.5 * width:g}" role="img" '
        f'aria-label="passes of the slots" xmlns="http://www.w3.org/2000/svg">{"".join(cells)}</svg>'
    )
