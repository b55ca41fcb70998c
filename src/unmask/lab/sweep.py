"""Cells → results: many training runs on a Dask cluster, stored one by one, so that a sweep can be continued."""

import json
import logging
import re
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, TypeGuard

from unmask.errors import FolderError, UnmaskError
from unmask.files import make_folders, parse_json, read_file, remove_folders, write_file
from unmask.lab.presets import SweepCell, run_cell
from unmask.lab.settings import LabError

# Many runs as one table: a `cell` is a config and its measures, a `preset` a list of cells, `cluster` where
# they run (Dask distributed), `results` what is stored; `sweep` joins these and continues where it was stopped.


# Results: a folder with one file per cell that is done, and results.json, which holds them all.
#
# results.json = {"format": "unmask-lab/1", "cells": [{"key", "table", "config", "measures", "result" | "error"}]}


FORMAT = "unmask-lab/1"
LARGEST_RECORD = 1 << 28  # bytes of the file of a cell, or of all cells
CELLS, RUNS, ALL = "cells", "runs", "results.json"
EARLIER_RECORD = re.compile(rb'\{"key": "')
EARLIER_RESULTS = re.compile(rb'\{"format": "unmask-lab/')


class DamagedRecord(LabError):
    """Raised if the file of a cell is not JSON."""


@dataclass(frozen=True)
class Results:
    """The folder of results. A folder with other content is refused; nothing is created before `make`."""

    folder: Path

    def __post_init__(self) -> None:
        if self.folder.is_dir() and any(self.folder.iterdir()) and not (self.folder / CELLS).is_dir():
            raise FolderError(f"{self.folder} contains files that are not results of the lab; choose another folder")

    def make(self) -> None:
        created: list[Path] = []
        try:
            for name in (CELLS, RUNS):
                make_folders(self.folder / name, created)
        except OSError as error:
            remove_folders(created)
            raise FolderError(
                f"{self.folder} cannot be used for results: {error.strerror}; choose another folder"
            ) from None

    def is_done(self, cell: SweepCell) -> bool:
        """Return whether there is a result; a cell that failed is tried again."""
        path = self._file(cell)
        return path.exists() and "result" in _record(path)

    def run_folder(self, cell: SweepCell) -> Path:
        """Return the folder of a cell's checkpoints during its training."""
        return self.folder / RUNS / cell.key

    def keep(self, cell: SweepCell, outcome: dict[str, Any]) -> None:
        """Store {"result": …} or {"error": …}. An error never replaces a result."""
        if "result" in outcome or not self.is_done(cell):
            record = {"key": cell.key, **cell.to_json(), **outcome}
            write_file(self._file(cell), json.dumps(record).encode(), earlier=EARLIER_RECORD)
        self.assemble()

    def assemble(self) -> None:
        """Write results.json from all cells in the folder."""
        cells = [_record(path) for path in sorted((self.folder / CELLS).glob("*.json"))]
        lines = ",\n".join(json.dumps(cell) for cell in cells)
        content = f'{{"format": "{FORMAT}", "cells": [\n{lines}\n]}}\n'.encode()
        write_file(self.folder / ALL, content, earlier=EARLIER_RESULTS)

    def _file(self, cell: SweepCell) -> Path:
        return self.folder / CELLS / f"{cell.key}.json"


def _record(path: Path) -> dict[str, Any]:
    """Return the content of the file of a cell."""
    try:
        record = parse_json(
            read_file(path, str(path), most=LARGEST_RECORD, error=LabError), str(path), error=DamagedRecord
        )
    except DamagedRecord:
        record = None
    if not is_record(record):
        raise LabError(f"{path} is damaged; remove it to run its cell again")
    return record


def is_record(record: Any) -> TypeGuard[dict[str, Any]]:
    """Return whether this is a cell with a result, or with an error."""
    if not isinstance(record, dict) or not isinstance(record.get("config"), dict):
        return False
    has_names = all(isinstance(record.get(name), str) for name in ("key", "table"))
    result = record.get("result")
    return has_names and (isinstance(record.get("error"), str) or (isinstance(result, dict) and bool(result)))


def read_results(path: Path) -> list[dict[str, Any]]:
    """Return the cells of a results.json."""
    document = parse_json(read_file(path, str(path), most=LARGEST_RECORD, error=LabError), str(path), error=LabError)
    if (
        not isinstance(document, dict)
        or document.get("format") != FORMAT
        or not isinstance(document.get("cells"), list)
    ):
        raise LabError(f'{path} is not a results.json of the lab: it has no "format": "{FORMAT}"')
    for number, record in enumerate(document["cells"]):
        if not is_record(record):
            raise LabError(f"{path} is damaged: its cell {number} has no result; make it with `unmask lab table`")
    return document["cells"]


# Where cells run: a Dask cluster of this machine, or any scheduler that answers at an address.


PATIENCE = 10  # seconds for a scheduler to answer
LEAST_WORKER_MEMORY = 700 << 20  # least bytes of a worker: torch and a cell of the presets take about two thirds of it


@contextmanager
def client_of(scheduler: str | None, workers: int, memory: int | None = None) -> Generator[Any]:
    """Open a client of the scheduler, or of a local cluster of single-threaded processes that ends with the client.

    The workers share the memory in equal parts. A worker that exceeds its part is ended, and its cell fails.
    """
    try:
        import dask
        from distributed import Client, LocalCluster
    except ImportError:
        raise UnmaskError("the sweep needs Dask; install it with `pip install 'unmask[lab]'`") from None
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # errors are reported once, by us
    if scheduler is not None:
        try:
            client = Client(scheduler, timeout=PATIENCE)
        except (OSError, ValueError, TimeoutError) as error:
            reason = " ".join(str(error).split())[:120]
            raise LabError(
                f"no Dask scheduler answers at {scheduler} ({reason}); start one, or leave out --scheduler"
            ) from None
        with client:
            try:
                client.wait_for_workers(1, timeout=PATIENCE)
            except TimeoutError:
                raise LabError(
                    f"the Dask scheduler at {scheduler} has no workers; start `dask worker {scheduler}`"
                ) from None
            yield client
        return
    workers = workers if memory is None else workers_within(workers, memory)
    worker_memory = None if memory is None else memory // workers
    with (
        dask.config.set({"distributed.worker.memory.pause": False}),  # a paused worker would wait forever
        LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            dashboard_address="127.0.0.1:0",
            memory_limit=worker_memory,
            silence_logs=50,
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


def workers_within(workers: int, memory: int) -> int:
    """Return the number of workers, at most as many as the memory has parts."""
    if memory < LEAST_WORKER_MEMORY:
        raise LabError(
            f"a worker of the sweep needs {LEAST_WORKER_MEMORY >> 20} MB, but the limit is {memory >> 20} MB; "
            "raise it with --limit"
        )
    return min(workers, memory // LEAST_WORKER_MEMORY)


# Cells × cluster → results: in order; finished cells are stored, and a failure does not affect the others.


@dataclass(frozen=True)
class FinishedCell:
    """A cell that has finished, with a result or an error."""

    cell: SweepCell
    outcome: dict[str, Any]


def sweep(
    cells: Sequence[SweepCell],
    results: Results,
    *,
    scheduler: str | None = None,
    workers: int = 1,
    memory: int | None = None,
) -> Iterator[FinishedCell]:
    """Run the cells that are not done yet, and yield each as it ends; checkpoints need workers on this machine."""
    remaining = [cell for cell in cells if not results.is_done(cell)]
    if not remaining:
        results.make()
        results.assemble()
        return
    with client_of(scheduler, workers, memory) as client:
        from distributed import as_completed

        results.make()
        waiting = iter(remaining)
        running = as_completed()
        cells: dict[Any, SweepCell] = {}

        def begin(cell: SweepCell) -> None:
            folder = None if scheduler is not None else results.run_folder(cell)
            future = client.submit(cell_outcome, cell, folder, key=cell.key, pure=False)
            cells[future] = cell
            running.add(future)

        for cell in islice(waiting, at_once(client)):
            begin(cell)
        for future in running:
            cell = cells.pop(future)
            outcome = outcome_from(future)
            results.keep(cell, outcome)
            for following in islice(waiting, 1):
                begin(following)
            yield FinishedCell(cell, outcome)


def outcome_from(future: Any) -> dict[str, Any]:
    """Return the outcome of a cell; a lost worker is an error of its cell, a lost scheduler ends the sweep."""
    if future.status in ("cancelled", "lost"):
        raise LabError(
            "the connection to the Dask scheduler was lost; finished cells are stored, so run the same command again"
        )
    return {"error": str(future.exception())} if future.status == "error" else future.result()


def at_once(client: Any) -> int:
    """Return the number of threads: this many cells run at once, so that they start in order."""
    return max(1, sum(client.nthreads().values()))


def cell_outcome(cell: SweepCell, folder: Path | None) -> dict[str, Any]:
    """Run a cell in a worker and return its outcome; an unexpected error is reported with its type."""
    try:
        return {"result": run_cell(cell, folder)}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}
