"""Cells → one paragraph: how much was run, and what of the presets was not."""

from unmask.lab.report.summary import Cells
from unmask.lab.sweep.presets import PRESETS, preset


def facts(cells: Cells) -> str:
    trained = [cell["result"] for cell in cells if "right" in cell.get("result", {})]
    minutes = sum(result["cpu_seconds"] for result in trained) / 60
    done = {cell["key"] for cell in cells if "result" in cell}
    parts = []
    for name in PRESETS:
        wanted = [cell.key for cell in preset(name)]
        parts.append(f"`{name}` {len(done.intersection(wanted))} of {len(wanted)}")
    return (
        f"{len(trained)} runs, {minutes:.0f} CPU minutes of training on one thread of a busy two-core machine. Cells "
        f"that were run: {', '.join(parts)}. Seeds count from 0; a cell that is *not run* says so."
    )
