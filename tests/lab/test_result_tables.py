"""results.json → tables and plots; nothing is said that it does not hold."""

import json
import subprocess
import sys

import msgspec
import pytest
from lab_findings import facts, findings

from unmask.errors import FolderError
from unmask.lab.presets import preset
from unmask.lab.result_plots import write_report
from unmask.lab.result_rows import Spread, rows_of
from unmask.lab.result_tables import TABLES, main
from unmask.lab.settings import Config, Shape


def cell(table, framework, seed, result, *, length=16, problem="group:S3", shape=None, **more):
    config = {"problem": problem, "length": length, "framework": framework, "seed": seed, "cpu_seconds": 60.0}
    return {
        "key": f"{table}-{seed}",
        "table": table,
        "config": {**config, **more, "shape": shape or {}},
        "result": result,
    }


def ran(right, seconds=10.0, ended="converged", **more):
    return {"right": right, "cpu_seconds": seconds, "ended": ended, "steps": 100, "chance": 1 / 6, **more}


PLANNED = [
    {"planner": name, "right": right, "passes": passes, "words": 200}
    for name, right, passes in (("oracle", 1.0, 4.0), ("uniform k=1", 0.2, 15.0), ("threshold 0.9", 1.0, 2.0))
]
UNLEARNED = [{**entry, "right": 0.1, "passes": 15.0} for entry in PLANNED]
WAITING = {"early": 0.125, "on_time": 0.875, "late": 0.0, "written": [0.0, 0.5, 1.0]}
OPERANDS = {"best": 0.75, "uniform": 0.03, "mass": [[[0.75, 0.7]]]}
INSIDE = {"operands": OPERANDS, "waiting": WAITING}
CELLS = [
    cell(
        "main",
        "tree",
        0,
        ran(1.0, 10, operands=OPERANDS, waiting=WAITING, levels=[0.5, 1.0], longer={"32": 0.5, "64": 0.25}),
        shape={"aux": True},
    ),
    cell("main", "tree", 1, ran(0.5, 30, "seconds"), shape={"aux": True}),
    cell("main", "cot", 0, ran(0.25, 60, "seconds")),
    cell("beta", "tree", 0, ran(1.0), shape={"beta": 4.0, "encoding": "none", "layers": 1}),
    cell("loop", "looped", 0, ran(0.125), supervision="end"),
    cell("depth", "cot", 0, ran(1.0), shape={"layers": 1}),
    cell("depth", "scan", 0, ran(1.0), shape={"layers": 1}),
    cell("rates", "direct", 0, ran(0.15), rate=0.0005),
    cell("budgets", "cot", 0, ran(0.5, ended="steps"), factors=3, rate=0.001),
    cell("budgets", "cot", 0, ran(0.75), factors=3, rate=0.004),
    cell("budgets", "cot", 1, ran(1.0), factors=3, rate=0.004),
    cell("budgets", "scan", 0, ran(0.25, ended="steps"), factors=4),
    cell("planners", "tree", 0, ran(1.0, planners=PLANNED), objective="masking", shape={"layers": 1, "beta": 4.0}),
    cell("planners", "tree", 1, ran(0.1, planners=UNLEARNED), objective="masking", shape={"layers": 1, "beta": 4.0}),
    cell("planners", "tree", 0, ran(1.0, planners=PLANNED), objective="masking", length=4, shape={"layers": 1}),
    *(
        cell("signal", "tree", 0, {"signal": {"signal": mass**2, "noise": 1e-6, "mass": mass, "rows": 7}}, length=n)
        for n, mass in ((4, 0.125), (8, 0.0625))
    ),
    {"key": "broken", "table": "main", "config": {}, "error": "ProblemError: no"},
]


def test_seeds_are_one_row():
    (tree,) = (row for row in rows_of(CELLS, "main") if row["framework"] == "tree")
    assert (tree.seeds, tree.converged) == (2, 1)
    assert tree.of("right") == Spread((1.0, 0.5))
    assert (tree.of("right").mean, tree.of("right").low) == (0.75, 0.5)


def test_what_a_config_leaves_out_has_the_default_of_configs():
    (row,) = rows_of([cell("main", "cot", 0, ran(1.0), shape={"layers": 1})], "main")
    assert all(row[name] == getattr(Config(), name) for name in ("objective", "rate", "warmup", "factors"))
    assert row.shape == {**msgspec.to_builtins(Shape()), "layers": 1}


@pytest.mark.parametrize(("length", "layers", "passes"), [(5, 1, 3), (16, 1, 4), (16, 3, 2), (32, 4, 2), (4, 4, 1)])
def test_the_least_passes(length, layers, passes):
    (row,) = rows_of([cell("planners", "tree", 0, ran(1.0), length=length, shape={"layers": layers})], "planners")
    assert row.least_passes == passes


def test_reports_need_no_torch():
    code = "import sys, unmask.lab.result_plots, unmask.lab.presets; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_main_table():
    table = main(CELLS)
    assert "| S3, N = 16 | yes | not run | not run | 0.75 (0.5–1) 1/2, 100, 20 s | not run | not run |" in table
    assert "| S3, N = 16 | no | the same | 0.25 0/1, 100, 60 s | not run | not run | not run |" in table
    assert main([]) is None


@pytest.mark.parametrize("name", [name for name in TABLES if name not in ("handed", "bits", "gelu")])
def test_every_table_of_what_was_run(name):
    table = TABLES[name][1](CELLS)
    lines = table.splitlines()
    assert len(lines) > 2
    assert len({line.count(" | ") for line in lines if not line.startswith("|---")}) == 1
    assert TABLES[name][1]([]) is None


def test_one_layer_stands_beside_two():
    """The run of the main table that differs in nothing else; where there is none, that is said."""
    table = TABLES["depth"][1](CELLS)
    assert "| cot | 1 1/1, 100, 10 s | 0.25 0/1, 100, 60 s |" in table
    assert "| scan | 1 1/1, 100, 10 s | not run |" in table


def test_the_best_recipe_stands_for_a_number_of_steps():
    """Eight symbols of three factors each; a scan of four factors in three steps."""
    table = TABLES["budgets"][1](CELLS)
    assert "| no | cot | 8 | 3 | bits, 2 layers, rate 0.004 | 0.875 (0.75–1) 2/2, 100, 10 s | 2/3 |" in table
    assert "| scan | 3 | 4 | bits, 2 layers, rate 0.002 | 0.25 0/1, 100, 10 s | 0/1 |" in table


def test_what_tables_say():
    assert "| S3, N = 4 | 0.2 | 0.444 | 1 |" in TABLES["uniform"][1](CELLS)  # 1/6 + 5/6 · 1/3
    assert "| S3, N = 16 | 1 | 1 | 2.00 (2.00–2.00) | 4 | 1 of 2 |" in TABLES["layers"][1](CELLS)
    assert "0.75 | 0.25 | 0.030 | 1 |" in TABLES["operands"][1](CELLS)
    assert "bits + aux, 2 layers | 0.125 | 0.875 | 0 | 0 | 0.5 | 1 | 1 |" in TABLES["waiting"][1](CELLS)
    assert "bits + aux, 2 layers | 1 | 0.5; 1 | 1 |" in TABLES["levels"][1](CELLS)
    assert "bits + aux, 2 layers | 0.5 | 0.25 | 1 |" in TABLES["longer"][1](CELLS)


def test_other_rates_are_counted_by_what_failed():
    """By runs that failed: another seed does not count, nor the rate of the table, nor what was not tried."""
    failed, learned = ran(0.1, ended="steps"), ran(1.0)
    cells = [
        *(cell("main", "tree", seed, failed) for seed in (0, 1)),
        *(cell("main", "cot", seed, failed if seed else learned) for seed in (0, 1)),
        cell("main", "scan", 0, failed),
        cell("rates", "tree", 0, failed, rate=0.001),
        cell("rates", "tree", 0, learned, steps=4000),
        cell("rates", "cot", 0, learned, rate=0.004),
        cell("rates", "looped", 0, learned, rate=0.001),
    ]
    lines = findings(cells)
    assert "0 of 1 runs are learned where a configuration fails in every seed." in lines
    assert "in some seeds" not in lines
    lines = findings(
        [*cells, cell("rates", "cot", 1, failed, rate=0.004), cell("rates", "cot", 1, learned, rate=0.001)]
    )
    assert "1 of 1 runs are learned where a configuration fails in some seeds." in lines
    assert "Other rates" not in findings(cells[:5])


def test_facts_are_counted():
    """A preset by the cells of it that were run, and what made them as far as they say."""
    made_by = {"unmask": "0.2.0", "instructions": "AVX2"}
    results = [ran(1.0, 580.0, made_by=made_by), ran(1.0), ran(1.0)]
    cells = [{"key": c.key, **c.to_json(), "result": r} for c, r in zip(preset("quick"), results, strict=False)]
    lines = facts(cells)
    assert "3 cells: 3 training runs, and 0 measurements of a gradient. They took 10 CPU minutes." in lines
    assert "`quick` 3 of 20 in 10 CPU minutes, `paper` 0 of" in lines
    assert lines.endswith("1 cells were made by unmask 0.2.0, instructions AVX2; 2 do not record it.")
    assert "made by" not in facts(CELLS)


def test_findings_are_counted():
    lines = findings(CELLS)
    assert "**N = 16, with aux**, runs that converged: tree 1 of 2 (S3 1/2)." in lines
    assert "tree 1.6e-02" not in lines  # no other framework beside it
    assert "right in passes: threshold 0.9 (2.0), oracle (4.0)" in lines
    assert "Uniform unmasking** is within 0.244 of its exact law for 2 predictors" in lines
    assert "**Fewer steps, S3, N = 16, without aux**, runs that converged: cot in 8 2 of 3; scan in 3 0 of 1." in lines
    assert findings([]) is None


def test_a_folder_is_written(tmp_path):
    (tmp_path / "results.json").write_text(json.dumps({"format": "unmask-lab/1", "cells": CELLS}))
    written = write_report(tmp_path)
    assert {"table.md", "main.svg", "layers.svg"} <= set(written)
    page = (tmp_path / "table.md").read_text()
    assert "broken: ProblemError: no" in page
    assert "GELU" not in page  # not run, not shown
    assert write_report(tmp_path) == written  # its own files are replaced
    (tmp_path / "layers.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"/>')
    with pytest.raises(FolderError, match=r"layers\.svg exists and is not an earlier output"):
        write_report(tmp_path)
