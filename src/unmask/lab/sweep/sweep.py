"""Cells × cluster → results: in order, each by itself; what is done is kept, and what fails leaves the others."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from unmask.lab.settings.config import LabError
from unmask.lab.sweep.cell import Cell, run_cell
from unmask.lab.sweep.cluster import client_of
from unmask.lab.sweep.results import Results


@dataclass(frozen=True)
class Done:
    """A cell that is over, one way or the other."""

    cell: Cell
    outcome: dict[str, Any]


def sweep(
    cells: Sequence[Cell],
    results: Results,
    *,
    scheduler: str | None = None,
    workers: int = 1,
    memory: int | None = None,
) -> Iterator[Done]:
    """Those that are not done yet, as they end. Checkpoints are kept where workers see the same folder: here."""
    wanted = [cell for cell in cells if not results.done(cell)]
    if not wanted:
        results.make()
        results.assemble()
        return
    with client_of(scheduler, workers, memory) as client:
        from distributed import as_completed

        results.make()
        waiting = iter(wanted)
        running = as_completed()
        cells: dict[Any, Cell] = {}

        def begin(cell: Cell) -> None:
            folder = None if scheduler is not None else results.run_folder(cell)
            future = client.submit(outcome_of, cell, folder, key=cell.key, pure=False)
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
            yield Done(cell, outcome)


def outcome_from(future: Any) -> dict[str, Any]:
    """What came back; a worker that was lost is an error of its cell, a scheduler that was lost is the end."""
    if future.status in ("cancelled", "lost"):
        raise LabError(
            "the connection to the Dask scheduler was lost; finished cells are stored, so run the same command again"
        )
    return {"error": str(future.exception())} if future.status == "error" else future.result()


def at_once(client: Any) -> int:
    """As many cells as there are threads, so that they are begun in order."""
    return max(1, sum(client.nthreads().values()))


def outcome_of(cell: Cell, folder: Path | None) -> dict[str, Any]:
    """What a worker does; an error of ours is an outcome, any other says its name."""
    try:
        return {"result": run_cell(cell, folder)}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}
