"""Cells → one paragraph: how much was run, how long it took and what made it, and what of the presets was not."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from unmask.lab.report.summary import Cells
from unmask.lab.sweep.presets import PRESETS, preset


def facts(cells: Cells) -> str:
    results = {cell["key"]: cell["result"] for cell in cells if "result" in cell}
    parts = []
    for name in PRESETS:
        wanted = [cell.key for cell in preset(name)]
        ran = [results[key] for key in wanted if key in results]
        parts.append(f"`{name}` {len(ran)} of {len(wanted)} in {_minutes(ran)} CPU minutes")
    trained = sum("right" in result for result in results.values())
    return (
        f"{trained} runs, {_minutes(results.values())} CPU minutes of training on one thread of a busy two-core "
        f"machine. Cells that were run: {', '.join(parts)}. Seeds count from 0; a cell that is *not run* says so."
        f"{_makers(results.values())}"
    )


def _minutes(results: Iterable[dict[str, Any]]) -> str:
    return f"{sum(result.get('cpu_seconds', 0) for result in results) / 60:.0f}"


def _makers(results: Iterable[dict[str, Any]]) -> str:
    """Which versions made the cells, as far as they say."""
    makers = Counter(", ".join(f"{n} {v}" for n, v in result.get("made_by", {}).items()) for result in results)
    unsaid = makers.pop("", 0)
    told = [f"{count} were made by {maker}" for maker, count in sorted(makers.items())]
    return f" Of the cells {'; '.join([*told, f'{unsaid} do not say by what'])}." if told else ""
