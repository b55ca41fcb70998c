"""Cells of results.json → sentences with counts, and the summary of docs/lab/index.md."""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from unmask.lab.presets import PRESETS, preset
from unmask.lab.result_rows import Cells, ResultRow, Spread, rows_of
from unmask.lab.result_tables import (
    GROUP_SIZES,
    THRESHOLD,
    by_steps,
    expected_right,
    layers_of,
    passes_rows,
    recipe,
    share,
    trees,
)
from unmask.lab.tasks import FRAMEWORKS

RIGHT = 0.99  # the share of right answers from which on a planner counts as right


def findings(cells: Cells) -> str | None:
    """Return a list of counts, or None if nothing was run."""
    return "\n".join(f"* {sentence}" for finding in FINDINGS for sentence in finding(cells)) or None


def converged_runs(cells: Cells) -> Iterator[str]:
    """Count, per length and aux, the runs in which each framework converged."""
    kinds: dict[tuple[int, bool], list[ResultRow]] = defaultdict(list)
    for row in rows_of(cells, "main"):
        kinds[row["length"], row.shape["aux"]].append(row)
    for (length, aux), rows in sorted(kinds.items(), key=lambda kind: (kind[0][0], not kind[0][1])):
        parts = []
        for framework in FRAMEWORKS:
            mine = [row for row in rows if row["framework"] == framework]
            if mine:
                runs = ", ".join(f"{row.group} {row.converged}/{row.seeds}" for row in mine)
                parts.append(f"{framework} {sum(r.converged for r in mine)} of {sum(r.seeds for r in mine)} ({runs})")
        yield f"**N = {length}, {'with' if aux else 'without'} aux**, runs that converged: {'; '.join(parts)}."


def other_rates(cells: Cells) -> Iterator[str]:
    """Count whether another rate helps configurations that fail in the main table, in every seed or in some."""
    again: dict[tuple[str, int], bool] = {}
    for cell in _runs(cells, "rates"):
        if "rate" in cell["config"]:
            again[_run(cell)] = again.get(_run(cell), False) or _converged(cell)
    seeds: dict[str, list[bool]] = defaultdict(list)
    for cell in _runs(cells, "main"):
        seeds[_run(cell)[0]].append(_converged(cell))
    failed = [_run(cell) for cell in _runs(cells, "main") if not _converged(cell) and _run(cell) in again]
    for where, some_converged in (("in every seed", False), ("in some seeds", True)):
        tried = [run for run in failed if any(seeds[run[0]]) == some_converged]
        if tried:
            count = sum(again[run] for run in tried)
            yield f"**Other rates**: {count} of {len(tried)} runs are learned where a configuration fails {where}."


def _runs(cells: Cells, table: str) -> list[dict[str, Any]]:
    return [cell for cell in cells if cell["table"] == table and "result" in cell]


def _run(cell: dict[str, Any]) -> tuple[str, int]:
    """Return (task and settings, seed), ignoring the learning rate and the number of steps."""
    ignored = ("seed", "rate", "steps", "cpu_seconds")
    config = {name: value for name, value in cell["config"].items() if name not in ignored}
    return json.dumps(config, sort_keys=True), cell["config"]["seed"]


def _converged(cell: dict[str, Any]) -> bool:
    return cell["result"]["ended"] == "converged"


def attention_to_operands(cells: Cells) -> Iterator[str]:
    """Report how much of the best head's attention goes to the operands, in runs that converged."""
    attention: dict[str, list[float]] = defaultdict(list)
    for row in rows_of(cells, "main"):
        for result in row.results:
            if result["ended"] == "converged" and "operands" in result:
                attention[row["framework"]].append(result["operands"]["best"])
    if attention:
        parts = [
            f"{framework} {share(Spread(tuple(values)).low)} to {share(Spread(tuple(values)).high)}"
            for framework, values in sorted(attention.items())
        ]
        yield f"**Inside**, attention to the operands in runs of the main table that converged: {'; '.join(parts)}."


def waiting_planners(cells: Cells) -> Iterator[str]:
    """Report whether the planners of trees wait for both factors."""
    measured = _waiting(cells)
    if measured:
        on_time, early = ([w["on_time"] for w in measured], [w["written"][1] for w in measured])
        yield (
            f"**Waiting**: in {len(measured)} trees that converged, {share(min(on_time))} to {share(max(on_time))} "
            f"of the slots are written on time; asked about a canvas of no level, they would write {share(min(early))} "
            f"to {share(max(early))} of the slots of which one factor is there."
        )


def _waiting(cells: Cells) -> list[dict[str, Any]]:
    """Return when slots were written, for every tree that converged."""
    return [result["waiting"] for row in trees(cells) for result in row.results if result["ended"] == "converged"]


def levels_of_failed_trees(cells: Cells) -> Iterator[str]:
    """Count the trees that did not converge but learned some level."""
    failed = [r["levels"] for row in trees(cells) for r in row.results if r["ended"] != "converged"]
    if failed:
        some = sum(max(levels) >= RIGHT for levels in failed)
        yield f"**Levels**: of {len(failed)} trees that did not converge, {some} have a level whose products are right."


def longer_words(cells: Cells) -> Iterator[str]:
    """Report accuracy on longer words: with positional codes, and with given operands without codes."""
    for name, is_counted in (
        ("with bits, groups of more than two elements", _has_bits),
        ("with the wiring given and no code", _has_none),
    ):
        shares = [
            value
            for row in (*rows_of(cells, "main"), *rows_of(cells, "beta"))
            if is_counted(row)
            for result in row.having("longer").results
            for value in result["longer"].values()
        ]
        if shares:
            least, most, count = share(min(shares)), share(max(shares)), len(shares)
            yield f"**Longer words**, {name}: {least} to {most} of the answers are right ({count} measurements)."


def _has_bits(row: ResultRow) -> bool:
    return row.shape["encoding"] == "bits" and GROUP_SIZES.get(row.group, 0) > 2


def _has_none(row: ResultRow) -> bool:
    return row.shape["encoding"] == "none"


def attention_signal(cells: Cells) -> Iterator[str]:
    """Compare the signal of one operand with that of two."""
    rows = rows_of(cells, "signal")
    for length in sorted({row["length"] for row in rows}):
        signals = {row["framework"]: row.of(lambda r: r["signal"]["signal"]) for row in rows if row["length"] == length}
        if "tree" in signals and len(signals) > 1:
            one_operand = ", ".join(f"{name} {signals[name].mean:.1e}" for name in ("cot", "scan") if name in signals)
            tree = signals["tree"]
            yield (
                f"**The pull on uniform attention, N = {length}**: {one_operand}; tree {tree.mean:.1e}, "
                f"{'above' if tree.above_zero else 'not above'} three standard errors over seeds."
            )


def controls(cells: Cells) -> Iterator[str]:
    """Count the runs that converged for the controls of `questions`, recipe by recipe."""
    for table, name in (
        ("handed", "Operands handed over"),
        ("depth", "One layer, bits alone"),
        ("bits", "Codes beside β"),
        ("gelu", "GELU"),
    ):
        rows = rows_of(cells, table)
        if rows:
            parts = [
                f"{r.group} N = {r['length']} {r['framework']}, {recipe(r)}: {r.converged}/{r.seeds}" for r in rows
            ]
            yield f"**{name}**, runs that converged: {'; '.join(parts)}."


def fewer_steps(cells: Cells) -> Iterator[str]:
    """Count the runs of the grid that converged, for chain and scan with fewer steps."""
    tasks: dict[str, list[str]] = defaultdict(list)
    for (group, length, aux, framework, steps), rows in by_steps(cells).items():
        runs = f"{sum(r.converged for r in rows)} of {sum(r.seeds for r in rows)}"
        tasks[f"{group}, N = {length}, {'with' if aux else 'without'} aux"].append(f"{framework} in {steps} {runs}")
    for task, parts in tasks.items():
        yield f"**Fewer steps, {task}**, runs that converged: {'; '.join(parts)}."


def passes_of_right_planners(cells: Cells) -> Iterator[str]:
    """Report for every predictor the right planners by passes, and how well the law of layers fits."""
    for row in passes_rows(cells):
        if row["length"] != 16:
            continue
        means: dict[str, tuple[float, float]] = {}
        for entry in row.results[0]["planners"]:
            name = entry["planner"]
            means[name] = row.of_planner(name, "passes").mean, row.of_planner(name, "right").mean
        correct_planners = sorted(
            (passes, name) for name, (passes, share_right) in means.items() if share_right >= RIGHT
        )
        planners = ", ".join(f"{name} ({passes:.1f})" for passes, name in correct_planners) or "none"
        yield f"**{row.group}, {layers_of(row)}**, right in passes: {planners}."
    if follow_law := _follow_law(cells):
        count = f"{sum(follow_law)} of {len(follow_law)}"
        yield f"**Passes of a threshold** are within a half of ⌈log2 N / L⌉ for {count} predictors."


def _follow_law(cells: Cells) -> list[bool]:
    """Return for every predictor whether a threshold takes ⌈log2 N / L⌉ passes, up to one half."""
    return [abs(row.of_planner(THRESHOLD, "passes").mean - row.least_passes) < 0.5 for row in passes_rows(cells)]


def uniform_unmasking(cells: Cells) -> Iterator[str]:
    """Compare uniform unmasking with its exact law, for predictors of one layer."""
    gaps = []
    for row in passes_rows(cells):
        if row.shape["layers"] == 1:
            measured = row.of_planner("uniform k=1", "right").mean
            gaps.append(abs(measured - float(expected_right(row["length"], GROUP_SIZES[row.group]))))
    if gaps:
        count = f"{len(gaps)} predictor{'s' * (len(gaps) > 1)}"
        yield f"**Uniform unmasking** is within {share(max(gaps))} of its exact law for {count}."


def summary(cells: Cells) -> str | None:
    """Return a table: how many runs of each framework learned the task, by length, with and without aux."""
    kinds: dict[tuple[int, bool], list[ResultRow]] = defaultdict(list)
    for row in rows_of(cells, "main"):
        if row["length"] >= SUMMARISED:
            kinds[row["length"], row.shape["aux"]].append(row)
    if not kinds:
        return None
    columns = sorted(kinds, key=lambda kind: (kind[0], not kind[1]))
    heads = [f"N = {length}, {'with' if aux else 'without'} `aux`" for length, aux in columns]
    lines = [f"| framework | {' | '.join(heads)} |", "|---|" + "--:|" * len(columns)]
    for framework in FRAMEWORKS:
        table_cells = []
        for kind in columns:
            mine = [row for row in kinds[kind] if row["framework"] == framework]
            table_cells.append(f"{sum(r.converged for r in mine)} of {sum(r.seeds for r in mine)}" if mine else "")
        lines.append(f"| `{framework}` | {' | '.join(table_cells)} |")
    return "\n".join(lines)


def key_numbers(cells: Cells) -> str | None:
    """Return a short list: the numbers behind the points of docs/lab/index.md."""
    chosen = (_seeds, _large_groups, other_rates, _one_factor, longer_words, _thresholds)
    return "\n".join(f"- {sentence}" for finding in chosen for sentence in finding(cells)) or None


SUMMARISED = 16
"""Shorter words are in the tables only."""


def _seeds(cells: Cells) -> Iterator[str]:
    seeds = [row.seeds for row in rows_of(cells, "main") if row["length"] >= SUMMARISED]
    if seeds:
        yield f"**Seeds**: {min(seeds)} to {max(seeds)} for each framework, group and length of the table."


def _large_groups(cells: Cells) -> Iterator[str]:
    """Count the runs that learned A5 (not solvable) and Z60 (solvable)."""
    counts = {}
    for group in ("A5", "Z60"):
        rows = [row for row in rows_of(cells, "main") if row.group == group]
        counts[group] = sum(row.converged for row in rows), sum(row.seeds for row in rows)
    if all(total for _, total in counts.values()):
        parts = [f"{learned} of {total} runs on {group}" for group, (learned, total) in counts.items()]
        yield f"**Solvable or not**: {' and '.join(parts)} learned the task."


def _one_factor(cells: Cells) -> Iterator[str]:
    measured = _waiting(cells)
    if measured:
        mean = sum(waiting["written"][1] for waiting in measured) / len(measured)
        yield (
            f"**Waiting**: with one of two factors present, the {len(measured)} trees that learned the task would "
            f"write {share(mean)} of the slots on average."
        )


def _thresholds(cells: Cells) -> Iterator[str]:
    if follow_law := _follow_law(cells):
        count = f"{sum(follow_law)} of {len(follow_law)}"
        yield f"**Passes**: {count} predictors take ⌈log2 N / L⌉ passes with a threshold (± one half)."


FINDINGS: tuple[Callable[[Cells], Iterator[str]], ...] = (
    converged_runs,
    other_rates,
    attention_to_operands,
    waiting_planners,
    levels_of_failed_trees,
    longer_words,
    passes_of_right_planners,
    uniform_unmasking,
    attention_signal,
    controls,
    fewer_steps,
)


# Cells → one paragraph: what was run, how long it took, which versions made it, and what is missing.


def runs(cells: Cells) -> str:
    """Return the number of cells and training runs, and the time they took."""
    results = _results(cells)
    trained = sum("right" in result for result in results.values())
    return (
        f"There are {len(results)} cells: {trained} training runs, and {len(results) - trained} measurements of a "
        f"gradient. They took {_minutes(results.values())} CPU minutes."
    )


def facts(cells: Cells) -> str:
    """Return the number of runs of each preset, and the versions of the packages that made them."""
    results = _results(cells)
    parts = []
    for name in PRESETS:
        keys = [cell.key for cell in preset(name)]
        ran = [results[key] for key in keys if key in results]
        parts.append(f"`{name}` {len(ran)} of {len(keys)} in {_minutes(ran)} CPU minutes")
    return (
        f"{runs(cells)} A measurement of a gradient (table *signal*) does not train a model to the end. So there are "
        f"more cells than runs. Cells by preset: {', '.join(parts)}, on one thread of a busy two-core machine. Seeds "
        f"count from 0.{_makers(results.values())}"
    )


def _results(cells: Cells) -> dict[str, dict[str, Any]]:
    return {cell["key"]: cell["result"] for cell in cells if "result" in cell}


def _minutes(results: Iterable[dict[str, Any]]) -> str:
    return f"{sum(result.get('cpu_seconds', 0) for result in results) / 60:.0f}"


def _makers(results: Iterable[dict[str, Any]]) -> str:
    """Return which versions made the cells, as far as the cells record it."""
    makers = Counter(", ".join(f"{n} {v}" for n, v in result.get("made_by", {}).items()) for result in results)
    unsaid = makers.pop("", 0)
    recorded = [f"{count} cells were made by {maker}" for maker, count in sorted(makers.items())]
    return f" {'; '.join([*recorded, f'{unsaid} do not record it'])}." if recorded else ""
