"""Cell: one run and what is measured of it → one record of results.json."""

import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import msgspec

from unmask.lab.settings.config import Config
from unmask.lab.settings.shape import Shape

LONGER_WORDS, PLANNED_WORDS = 100, 200
SIGNAL_BATCHES = 32


class Cell(msgspec.Struct, frozen=True):
    """`table` says where it is shown; `measures` are among longer, operands, planners and signal.

    longer     accuracy at two and four times the length it was trained at
    operands   how much attention goes to the right operands, and of a tree, whether its planner waits for them and
               which of its levels are right
    planners   every planner on the trained predictor
    signal     the pull on attention that was kept uniform for the steps of the config; nothing else is measured then
    """

    table: str
    config: Config
    measures: tuple[str, ...] = ("operands",)

    @property
    def key(self) -> str:
        """A name that is readable and, by its hash, its own."""
        config = self.config
        digest = hashlib.sha256(json.dumps(self.to_json(), sort_keys=True).encode()).hexdigest()[:10]
        problem = "".join(c if c.isalnum() else "-" for c in config.problem.removeprefix("group:"))[:24]
        return f"{self.table}-{problem}-{config.length}-{config.framework}-s{config.seed}-{digest}"

    def to_json(self) -> dict[str, Any]:
        return {"table": self.table, "config": settings(self.config), "measures": list(self.measures)}


def settings(config: Config) -> dict[str, Any]:
    """What is not the default, and what names the run."""
    shown = {"problem": config.problem, "length": config.length, "framework": config.framework, "seed": config.seed}
    shape = {n: v for n, v in msgspec.to_builtins(config.shape).items() if v != getattr(Shape(), n)}
    plain = Config()
    rest = {
        n: getattr(config, n)
        for n in config.__struct_fields__
        if n != "shape" and getattr(config, n) != getattr(plain, n)
    }
    return {**shown, **rest, "cpu_seconds": config.cpu_seconds, "shape": shape}


def run_cell(cell: Cell, folder: Path | None = None) -> dict[str, Any]:
    """Train, measure, and forget the weights; a folder keeps checkpoints until the cell is done."""
    import torch

    torch.set_num_threads(1)
    if "signal" in cell.measures:
        return _signal(cell)
    from unmask.lab.training.train import train

    run = train(cell.config, folder)
    result = run.to_json()
    history = result.pop("history")
    result["curve"] = [[moment["step"], moment["right"]] for moment in history]
    measured = _measured(cell, run)
    if folder is not None:
        from unmask.lab.training.checkpoint import remove

        remove(folder)
    return {**result, **measured}


def _measured(cell: Cell, run: Any) -> dict[str, Any]:
    from unmask.lab.evaluation.accuracy import accuracy
    from unmask.lab.evaluation.planners import planned
    from unmask.lab.inside.levels import right_by_level
    from unmask.lab.inside.operands import operand_attention
    from unmask.lab.inside.waiting import waiting
    from unmask.lab.tasks.layout import PLACES
    from unmask.lab.tasks.words import Stream

    trained, found = run.trained, {}
    if "operands" in cell.measures:
        seen = operand_attention(trained, seed=cell.config.seed)
        if seen is not None:
            found["operands"] = {"best": seen.best, "uniform": seen.uniform, "mass": seen.mass.round(4).tolist()}
        waited = waiting(trained, seed=cell.config.seed)
        if waited is not None:
            found["waiting"] = asdict(waited)
            found["levels"] = right_by_level(trained, seed=cell.config.seed)
    if "longer" in cell.measures and run.progress.ended == "converged":
        found["longer"] = {}
        for length in (2 * trained.length, 4 * trained.length):
            at = trained.at_length(length)
            if at.task.rows <= PLACES:
                judged = accuracy(at, LONGER_WORDS, seed=cell.config.seed, stream=Stream.judging)
                found["longer"][str(length)] = judged.right
    if "planners" in cell.measures:
        found["planners"] = planned(trained, count=PLANNED_WORDS, seed=cell.config.seed)
    return found


def _signal(cell: Cell) -> dict[str, Any]:
    from unmask.lab.inside.signals import pull_on_uniform_attention
    from unmask.lab.training.maker import maker

    pull = pull_on_uniform_attention(cell.config, batches=SIGNAL_BATCHES)
    return {"signal": asdict(pull), "made_by": maker()}
