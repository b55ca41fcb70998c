"""Cells → one paragraph: what was run, how long it took, which versions made it, and what is missing."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from unmask.lab.report.summary import Cells
from unmask.lab.sweep.presets import PRESETS, preset


def runs(cells: Cells) -> str:
    """Return the number of cells and training runs, and the time they took."""
    results = _results(cells)
    trained = sum("right" in result for result in results.values())
    return (
        f"There are {len(results)} cells: {trained} training runs, and {len(results) - trained} measurements of a "
        f"gradient. They took {_minutes(results.values())} CPU minutes."
    )


def facts(cells: Cells) -> str:
    """Return what was run of each preset, and which versions made it."""
    results = _results(cells)
    parts = []
    for name in PRESETS:
        wanted = [cell.key for cell in preset(name)]
        ran = [results[key] for key in wanted if key in results]
        parts.append(f"`{name}` {len(ran)} of {len(wanted)} in {_minutes(ran)} CPU minutes")
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
