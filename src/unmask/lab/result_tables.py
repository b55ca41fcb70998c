"""Rows → Markdown tables, one function per table; a table without rows is None, and its page says: not run.

.97 (.95–1.0) 3/3, 400, 41 s     mean share of right answers (smallest–largest seed), converged/seeds, mean steps, and
                                 mean CPU seconds
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from unmask.lab.result_rows import Cells, ResultRow, Spread, rows_of
from unmask.lab.task_layouts import TreeLayout
from unmask.lab.tasks import FRAMEWORKS, layout_of_task

# What uniform unmasking costs a one-layer predictor, exactly (thm:perfect-approximation-limitation).
#
#     P(every slot is written after both of its factors) = Π over slots v of 1 / h(v)
#     h(v)  = the number of slots in the tree below v
#     right = P + (1 - P) / |G|
#
# One slot at a time in a uniform order: a slot that is written too early holds a guess, and in a group one guess makes
# the root uniform. h is the hook length of the tree.


def right_order(length: int) -> Fraction:
    """Return the share of orders in which no slot comes before its factors."""
    tree = TreeLayout(length)
    below = np.ones(tree.padding, dtype=np.int64)
    chance = Fraction(1)
    for slot, factors in enumerate(tree.factors):
        below[slot] += sum(below[row - length] for row in factors if row >= length)
        chance /= int(below[slot])
    return chance


def expected_right(length: int, elements: int) -> Fraction:
    """Return the share of right answers over a group, for a predictor that is right if both factors are written."""
    chance = right_order(length)
    return chance + (1 - chance) / elements


NOT_RUN, SAME = "not run", "the same"
GROUP_SIZES = {"Z2": 2, "S3": 6, "A5": 60, "Z60": 60}
THRESHOLD = "threshold 0.9"
LEARNED = 0.95  # share of right answers in the exact order from which on a predictor has learned to multiply
WEIGHTING = {"masking": "", "masking-uniform": ", slots alike", "masking-1/t": ", 1/t"}


def share(value: float) -> str:
    return f"{value:.3f}".rstrip("0").rstrip(".") if value < 1 else "1"


def spread(values: Spread) -> str:
    same = share(values.low) == share(values.high)
    return share(values.mean) + ("" if same else f" ({share(values.low)}–{share(values.high)})")


def outcome(row: ResultRow) -> str:
    """Return the outcome of a row."""
    steps, seconds = row.of("steps").mean, row.of("cpu_seconds").mean
    return f"{spread(row.of('right'))} {row.converged}/{row.seeds}, {steps:.0f}, {seconds:.0f} s"


def markdown(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str | None:
    if not rows:
        return None
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def main(cells: Cells) -> str | None:
    """Return the table with groups, lengths and aux down; frameworks across."""
    rows = rows_of(cells, "main")
    kinds = sorted({(r["length"], not r.shape["aux"], r.group) for r in rows})
    table = []
    for length, bare, group in kinds:
        task_rows = [r for r in rows if (r["length"], not r.shape["aux"], r.group) == (length, bare, group)]
        inapplicable = {"direct": SAME} if bare else {}  # it fetches nothing, so aux does not apply
        entries = []
        for name in FRAMEWORKS:
            outcomes = [outcome(row) for row in task_rows if row["framework"] == name]  # several if their steps differ
            entries.append("; ".join(outcomes) or inapplicable.get(name, NOT_RUN))
        table.append([f"{group}, N = {length}", "no" if bare else "yes", *entries])
    return markdown(["task", "aux", *FRAMEWORKS], table)


def longer(cells: Cells) -> str | None:
    """Return the table of runs that converged at N, tested at 2N and 4N."""
    table = []
    for row in (*rows_of(cells, "main"), *rows_of(cells, "beta")):
        row = row.having("longer")
        if not row.seeds:
            continue
        lengths = [str(f * row["length"]) for f in (2, 4)]
        entries = [
            spread(row.of(lambda result, at=at: result["longer"][at]))
            if all(at in r["longer"] for r in row.results)
            else "no code"
            for at in lengths
        ]
        table.append([f"{row.group}, N = {row['length']}", row["framework"], recipe(row), *entries, str(row.seeds)])
    return markdown(["task", "framework", "recipe", "at 2N", "at 4N", "seeds"], table)


def operands(cells: Cells) -> str | None:
    """Return the table of attention to the right operands; 1 in a compiled model."""
    table = []
    for row in (*rows_of(cells, "main"), *rows_of(cells, "beta")):
        row = row.having("operands")
        if row.seeds:
            best = row.of(lambda result: result["operands"]["best"])
            uniform = row.of(lambda result: result["operands"]["uniform"]).mean
            entries = [recipe(row), spread(row.of("right")), spread(best), f"{1 - best.mean:.2f}", f"{uniform:.3f}"]
            entries.append(str(row.seeds))
            table.append([f"{row.group}, N = {row['length']}", row["framework"], *entries])
    columns = [
        "task",
        "framework",
        "recipe",
        "right",
        "attention to operands",
        "distance",
        "if it were uniform",
        "seeds",
    ]
    return markdown(columns, table)


def waiting(cells: Cells) -> str | None:
    """Return the table of when a network writes the slots of a tree, and what it would write on scattered canvases."""
    table = []
    for row in trees(cells):
        shares = [
            *(spread(row.of(lambda r, when=when: r["waiting"][when])) for when in ("early", "on_time", "late")),
            *(spread(row.of(lambda r, n=n: r["waiting"]["written"][n])) for n in range(3)),
        ]
        table.append([f"{row.group}, N = {row['length']}", recipe(row), *shares, str(row.seeds)])
    columns = ["early", "on time", "late or never", "no factor there", "one", "both"]
    return markdown(["task", "recipe", *columns, "seeds"], table)


def levels(cells: Cells) -> str | None:
    """Return the table of right products in every level of a tree, when the level below is correct."""
    table = []
    for row in trees(cells):
        shares = [spread(row.of(lambda r, t=t: r["levels"][t])) for t in range(len(row.results[0]["levels"]))]
        entries = [recipe(row), spread(row.of("right")), "; ".join(shares), str(row.seeds)]
        table.append([f"{row.group}, N = {row['length']}", *entries])
    return markdown(["task", "recipe", "the answer is right", "level by level", "seeds"], table)


def trees(cells: Cells) -> list[ResultRow]:
    """Return the trees whose levels were measured."""
    rows = (row.having("levels") for row in (*rows_of(cells, "main"), *rows_of(cells, "beta")))
    return [row for row in rows if row.seeds]


def recipe(row: ResultRow) -> str:
    shape = row.shape
    parts = [
        {"bits": "bits", "positions": "own place", "learned": "learned places", "none": "no code"}[shape["encoding"]]
    ]
    if shape["code_scale"] != 1:
        parts[0] += f" × {shape['code_scale']:g}"
    if shape["beta"] is not None:
        handed = "" if shape["handed"] is None else f" for {shape['handed']} of 2 operands"
        parts.append(f"β {shape['beta']:g}{handed}")
    if shape["aux"]:
        parts.append("aux")
    if shape["mlp"] != "bilinear":
        parts.append("GELU")
    return f"{' + '.join(parts)}, {layers_of(row)}"


def layers_of(row: ResultRow) -> str:
    count = row.shape["layers"]
    return f"{count} layer{'s' * (count > 1)}"


def plain_table(table: str) -> Callable[[Cells], str | None]:
    """Return a table with one line per row: task, framework, recipe, outcome."""

    def lines(cells: Cells) -> str | None:
        rows = rows_of(cells, table)
        entries = [[f"{r.group}, N = {r['length']}", r["framework"], recipe(r), outcome(r)] for r in rows]
        return markdown(["task", "framework", "recipe", "outcome"], entries)

    return lines


def depth(cells: Cells) -> str | None:
    """Return the table of one layer compared with the two of the main table, without aux."""
    main_rows = {(r.group, r["length"], r["framework"]): r for r in rows_of(cells, "main") if not r.shape["aux"]}
    table = []
    for row in rows_of(cells, "depth"):
        two_layers = main_rows.get((row.group, row["length"], row["framework"]))
        entries = [outcome(row), NOT_RUN if two_layers is None else outcome(two_layers)]
        table.append([f"{row.group}, N = {row['length']}", row["framework"], *entries])
    return markdown(["task", "framework", "one layer", "two layers (main table)"], table)


def loop(cells: Cells) -> str | None:
    descriptions = {
        "tokens": "symbols between loops",
        "each": "stream, read out after every loop",
        "end": "stream, the end alone",
    }
    rows = rows_of(cells, "loop")
    entries = [[f"{r.group}, N = {r['length']}", descriptions[r["supervision"]], outcome(r)] for r in rows]
    return markdown(["task", "supervision", "outcome"], entries)


def rates(cells: Cells) -> str | None:
    """Return the table of failing configurations at other learning rates; 0.002 is that of the main table."""
    rows = rows_of(cells, "rates")
    entries = [[f"{r.group}, N = {r['length']}", r["framework"], recipe(r), f"{r['rate']:g}", outcome(r)] for r in rows]
    return markdown(["task", "framework", "recipe", "rate", "outcome"], entries)


def budgets(cells: Cells) -> str | None:
    """Return the table of fewer steps with more factors: the best recipe of a common grid, and all runs of the grid."""
    table = []
    for (group, length, aux, framework, steps), rows in by_steps(cells).items():
        best = max(rows, key=lambda r: (r.of("right").mean, -r.of("steps").mean))
        runs = f"{sum(r.converged for r in rows)}/{sum(r.seeds for r in rows)}"
        entries = [str(steps), str(best["factors"]), f"{recipe(best)}, rate {best['rate']:g}", outcome(best), runs]
        table.append([f"{group}, N = {length}", "yes" if aux else "no", framework, *entries])
    columns = ["task", "aux", "framework", "steps", "factors of a step", "best recipe", "its outcome", "all runs"]
    return markdown(columns, table)


def by_steps(cells: Cells) -> dict[tuple[str, int, bool, str, int], list[ResultRow]]:
    """Return (group, N, aux, framework, T of its layout) → its recipes, the most steps first."""
    rows_by_steps: dict[tuple[str, int, bool, str, int], list[ResultRow]] = {}
    for row in rows_of(cells, "budgets"):
        steps = layout_of_task(row["framework"], row["length"], row["factors"]).steps
        rows_by_steps.setdefault((row.group, row["length"], row.shape["aux"], row["framework"], steps), []).append(row)
    return dict(sorted(rows_by_steps.items(), key=lambda item: (*item[0][:4], -item[0][4])))


def planners(cells: Cells) -> str | None:
    """Return the table with planners down, predictors across: share right, in passes."""
    rows = [row for row in predictors(cells) if row["length"] == 16]
    if not rows:
        return None
    columns = [f"{row.group}, {layers_of(row)}{WEIGHTING[row['objective']]}" for row in rows]
    order = [entry["planner"] for entry in rows[0].results[0]["planners"]]
    table = [[name, *(_right_in_passes(row, name) for row in rows)] for name in order]
    return markdown(["planner", *columns], [*table, ["seeds that learned", *map(learned_seeds, rows)]])


def learned_seeds(row: ResultRow) -> str:
    return f"{row.seeds} of {row.seeds + row.left_out}"


def _right_in_passes(row: ResultRow, name: str) -> str:
    return f"{spread(row.of_planner(name, 'right'))} in {row.of_planner(name, 'passes').mean:.1f}"


def layers(cells: Cells) -> str | None:
    """Return the table of passes of a threshold against layers, together with ⌈log2 N / L⌉."""
    table = []
    for row in passes_rows(cells):
        depth = row.shape["layers"]
        passes, right = row.of_planner(THRESHOLD, "passes"), row.of_planner(THRESHOLD, "right")
        entries = [spread(right), f"{passes.mean:.2f} ({passes.low:.2f}–{passes.high:.2f})"]
        entries += [str(row.least_passes), learned_seeds(row)]
        table.append([f"{row.group}, N = {row['length']}", str(depth), *entries])
    return markdown(["task", "layers", "right", "passes", "⌈log2 N / L⌉", "seeds that learned"], table)


def passes_rows(cells: Cells) -> list[ResultRow]:
    return [row for row in predictors(cells) if row["objective"] == "masking"]


def predictors(cells: Cells) -> list[ResultRow]:
    """Return the seeds that have learned to multiply; for the others no planner could be right."""
    rows = [row.having("planners").where(multiplies) for row in rows_of(cells, "planners")]
    order = list(WEIGHTING)
    return sorted(
        (row for row in rows if row.seeds),
        key=lambda r: (r.group, r["length"], r.shape["layers"], order.index(r["objective"])),
    )


def multiplies(result: dict[str, Any]) -> bool:
    return next(e["right"] for e in result["planners"] if e["planner"] == "oracle") >= LEARNED


def uniform(cells: Cells) -> str | None:
    """Return the table of uniform unmasking, one slot at a time: measured, and exact for a predictor of one layer."""
    table = []
    for row in passes_rows(cells):
        if row.shape["layers"] == 1:
            right = row.of_planner("uniform k=1", "right")
            exact = float(expected_right(row["length"], GROUP_SIZES[row.group]))
            table.append([f"{row.group}, N = {row['length']}", spread(right), f"{exact:.3f}", str(row.seeds)])
    return markdown(["task", "measured", "exact", "seeds"], table)


def signal(cells: Cells) -> str | None:
    """Return the table of the pull towards the operands on attention that was kept uniform."""
    table = []
    for row in sorted(rows_of(cells, "signal"), key=lambda row: (row["framework"], row["length"])):
        pull = row.of(lambda result: result["signal"]["signal"])
        mass = row.of(lambda result: result["signal"]["mass"]).mean
        noise = row.of(lambda result: result["signal"]["noise"]).mean
        over_seeds = "–" if pull.error is None else f"{pull.error:.1e}"
        entries = [f"{mass:.4f}", f"{pull.mean:.2e} ({pull.low:.1e}–{pull.high:.1e})", over_seeds, f"{noise:.1e}"]
        table.append([row["framework"], str(row["length"]), *entries, str(row.seeds)])
    columns = ["mass on an operand", "signal", "standard error over seeds", "over words", "seeds"]
    return markdown(["framework", "N", *columns], table)


TABLES: dict[str, tuple[str, Callable[[Cells], str | None]]] = {
    "main": ("Five frameworks, one network, one encoding", main),
    "beta": ("The wiring handed over (β)", plain_table("beta")),
    "loop": ("A loop, three supervisions", loop),
    "rates": ("Other learning rates", rates),
    "longer": ("Longer words than it was trained on", longer),
    "operands": ("Attention to the right operands", operands),
    "levels": ("What of a tree is right", levels),
    "waiting": ("When the slots of a tree are written", waiting),
    "planners": ("Planners on trained predictors, N = 16", planners),
    "layers": ("Passes against layers", layers),
    "uniform": ("Uniform unmasking, one slot at a time", uniform),
    "signal": ("The pull on uniform attention", signal),
    "handed": ("A tree that is handed none, one or both operands", plain_table("handed")),
    "depth": ("One layer instead of two, bits alone", depth),
    "bits": ("Codes beside β", plain_table("bits")),
    "gelu": ("GELU instead of a bilinear MLP", plain_table("gelu")),
    "budgets": ("Fewer steps of more factors", budgets),
}
"""Name → heading and table."""
