import json

import msgspec
import pytest
from lab_page import RESULTS

from lab.small import small
from unmask.errors import FolderError
from unmask.lab import sweep as sweeping
from unmask.lab.presets import PRESETS, SweepCell, preset, run_cell, run_preset
from unmask.lab.settings import LabError
from unmask.lab.sweep import Results, read_results, sweep, workers_within

distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.filterwarnings("ignore")  # of Dask and its event loops


def cell(framework="tree", **more):
    return SweepCell("main", small(framework, steps=4, evaluate_every=2, **more), ("operands", "longer"))


@pytest.fixture(scope="module")
def scheduler():
    """One of ours, in this process, with two workers that are reached by address."""
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, protocol="tcp", dashboard_address="127.0.0.1:0"
    ) as cluster:
        yield cluster.scheduler_address


def test_a_sweep_on_a_scheduler_by_address(scheduler, tmp_path):
    """A cell that fails leaves the others; what is done is not done again, and what failed is."""
    results = Results(tmp_path / "results")
    cells = [cell("tree"), cell("cot", problem="group:Q8"), cell("scan")]
    finished = list(sweep(cells, results, scheduler=scheduler))
    assert {d.cell.key for d in finished} == {c.key for c in cells}
    assert [results.is_done(c) for c in cells] == [True, False, True]
    stored = {c["key"]: c for c in read_results(results.folder / "results.json")}
    assert "'Q8' is not the name of a group" in stored[cells[1].key]["error"]
    assert stored[cells[0].key]["result"]["steps"] == 4
    assert stored[cells[0].key]["config"]["framework"] == "tree"
    assert [d.cell.key for d in sweep(cells, results, scheduler=scheduler)] == [cells[1].key]


def test_cells_are_begun_in_order(scheduler, tmp_path, monkeypatch):
    monkeypatch.setattr(sweeping, "at_once", lambda _: 1)
    cells = [cell(seed=seed) for seed in range(3)]
    assert [d.cell for d in sweep(cells, Results(tmp_path), scheduler=scheduler)] == cells


def test_a_scheduler_that_does_not_answer(tmp_path, monkeypatch):
    """One sentence, and nothing is made."""
    monkeypatch.setattr("unmask.lab.sweep.PATIENCE", 1)
    with pytest.raises(LabError, match=r"no Dask scheduler answers at tcp://127.0.0.1:9 .*; start one, or leave"):
        list(sweep([cell()], Results(tmp_path), scheduler="tcp://127.0.0.1:9"))
    with pytest.raises(LabError, match="no Dask scheduler answers at nowhere at all"):
        list(sweep([cell()], Results(tmp_path), scheduler="nowhere at all"))
    assert not list(tmp_path.iterdir())


def test_no_more_workers_than_the_memory_has_parts_for():
    assert workers_within(8, 4 << 30) == 5
    assert workers_within(2, 4 << 30) == 2
    with pytest.raises(LabError, match="a worker of the sweep needs 700 MB, but the limit is 512 MB; raise it"):
        workers_within(2, 512 << 20)


def test_a_scheduler_that_goes_away(scheduler):
    with distributed.Client(scheduler) as client:
        future = client.submit(sum, [1, 2], pure=False)
        assert sweeping.outcome_from(future) == 3
        future.cancel()
        with pytest.raises(LabError, match="the connection to the Dask scheduler was lost; finished cells are stored"):
            sweeping.outcome_from(future)


def test_a_cell_goes_on_where_it_was_killed(tmp_path):
    """Its folder is that of `train`, kept until the cell is done."""
    whole = run_cell(cell())
    seen = []

    def stop(moment):
        seen.append(moment)
        raise KeyboardInterrupt

    from unmask.lab.training import train

    with pytest.raises(KeyboardInterrupt):
        train(cell().config, tmp_path / "run", told=stop)
    resumed = run_cell(cell(), tmp_path / "run")
    assert not (tmp_path / "run").exists()
    assert seen[0].step == 2
    assert resumed["right"] == whole["right"]
    assert [step for step, _ in resumed["curve"]] == [2, 4]


def test_a_key_tells_cells_apart_and_stays():
    assert cell().key != cell(seed=1).key
    assert cell().key == "main-Z2-4-tree-s0-" + cell().key[-10:]
    assert msgspec.structs.replace(cell(), measures=()).key != cell().key


@pytest.mark.parametrize("name", PRESETS)
def test_presets(name):
    """Steps end a run; the guard of seconds is ten minutes for 2,000 batches of 32, and grows no faster than these."""
    cells = preset(name)
    assert len({c.key for c in cells}) == len(cells)
    for c in cells:
        assert c.config.steps <= 4000
        assert c.config.cpu_seconds <= 600 * c.config.batch / 32 * max(1, c.config.steps / 2000)


def test_the_main_table_has_what_it_promises():
    """All but Z60 and loops at N = 32; and with `rows`, which takes long, all."""
    main = {}
    for name in ("paper", "rows"):
        for c in preset(name):
            if c.table == "main":
                key = c.config.problem, c.config.length, c.config.framework, c.config.shape.aux
                main.setdefault(key, []).append(c.config)
        if name == "paper":
            assert len(main) == 4 * (5 + 4) + 3 * (4 + 3)  # a direct answer fetches nothing: aux is nothing to it
            assert {key[0] for key in main if key[1] == 32} == {"group:S3", "group:A5", "group:Z2"}
    assert len(main) == (4 + 4) * (5 + 4)
    for runs in main.values():
        assert len({run.seed for run in runs}) >= 3
    for problem in ("group:A5", "group:S3"):  # one network, one encoding
        shapes = {run.shape for key, runs in main.items() if key[0] == problem and key[3] for run in runs}
        assert len(shapes) == 1


def kind_of(problem, length, framework, shape):
    return problem, length, framework, shape.get("aux", False)


def test_what_failed_in_the_main_table_is_tried_at_two_other_rates_and_nothing_else():
    """As results.json has it: in a seed in which it failed, on words longer than those of `quick`."""
    tried = {}
    for c in preset("rows"):
        if c.table == "rates":
            kind = kind_of(c.config.problem, c.config.length, c.config.framework, msgspec.to_builtins(c.config.shape))
            tried.setdefault((kind, c.config.seed), set()).add(c.config.rate)
    failed = set()
    for record in read_results(RESULTS):
        config = record["config"]
        if record["table"] == "main" and config["length"] > 8 and record["result"]["ended"] != "converged":
            kind = kind_of(config["problem"], config["length"], config["framework"], config["shape"])
            failed.add((kind, config["seed"]))
    assert len(failed) > 50
    assert tried.keys() <= failed
    assert {kind for kind, _ in tried} == {kind for kind, _ in failed}
    assert all(rates >= {1e-3, 4e-3} for rates in tried.values())


def test_a_preset_that_is_not_there():
    with pytest.raises(LabError, match="unknown preset 'big'; use one of quick, paper, rows, planners, questions"):
        preset("big")
    with pytest.raises(LabError, match="'S4-tree' is neither a file nor a preset"):
        run_preset("S4-tree")
    assert run_preset("A5-scan-32").length == 32


def test_an_error_takes_no_results_place(tmp_path):
    """Two sweeps in one folder may run the same cell."""
    results = Results(tmp_path)
    results.make()
    for outcome in ({"error": "no"}, {"result": {"right": 1.0}}, {"error": "no"}):
        results.keep(cell(), outcome)
    (stored,) = read_results(tmp_path / "results.json")
    assert stored["result"] == {"right": 1.0}


@pytest.mark.parametrize("text", ["", "5", "{}", '{"key": "k", "table": "t", "config": {}, "result": null}', "\udcff"])
def test_a_cell_that_is_damaged(tmp_path, text):
    results = Results(tmp_path)
    results.make()
    path = tmp_path / "cells" / f"{cell().key}.json"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    for use in (lambda: results.is_done(cell()), results.assemble):
        with pytest.raises(LabError, match="is damaged; remove it to run its cell again"):
            use()
    (tmp_path / "results.json").write_text('{"format": "unmask-lab/1", "cells": [{}]}')
    with pytest.raises(LabError, match="is damaged: its cell 0 has no result"):
        read_results(tmp_path / "results.json")


def test_a_folder_of_something_else(tmp_path):
    (tmp_path / "results.json").write_text("mine")
    with pytest.raises(FolderError, match="contains files that are not results of the lab; choose another folder"):
        Results(tmp_path)


@pytest.mark.parametrize("text", ["", "[]", '{"format": "other", "cells": []}', '{"format": "unmask-lab/1"}'])
def test_what_is_no_results_file(tmp_path, text):
    (tmp_path / "results.json").write_text(text)
    with pytest.raises(LabError, match=r"results\.json is "):
        read_results(tmp_path / "results.json")


def test_results_are_json_with_a_line_per_cell(tmp_path):
    results = Results(tmp_path)
    results.make()
    results.keep(cell(), {"result": {"right": 1.0}})
    document = json.loads((tmp_path / "results.json").read_text())
    assert document["cells"][0]["config"]["shape"]["aux"] is True
