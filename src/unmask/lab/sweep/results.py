"""Results: a folder with one file per cell that is done, and results.json, which holds them all.

results.json = {"format": "unmask-lab/1", "cells": [{"key", "table", "config", "measures", "result" | "error"}]}
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard

from unmask.documents import parse
from unmask.errors import FolderError
from unmask.files import read_file
from unmask.lab.settings.config import LabError
from unmask.lab.sweep.cell import Cell
from unmask.writing import make_folders, remove_folders, write_file

FORMAT = "unmask-lab/1"
LARGEST = 1 << 28
CELLS, RUNS, ALL = "cells", "runs", "results.json"
EARLIER_RECORD = re.compile(rb'\{"key": "')
EARLIER_RESULTS = re.compile(rb'\{"format": "unmask-lab/')


class DamagedRecord(LabError):
    """The file of a cell is not JSON."""


@dataclass(frozen=True)
class Results:
    """A folder that holds something else is refused; nothing is made before `make`."""

    folder: Path

    def __post_init__(self) -> None:
        if self.folder.is_dir() and any(self.folder.iterdir()) and not (self.folder / CELLS).is_dir():
            raise FolderError(f"{self.folder} contains files that are not results of the lab; choose another folder")

    def make(self) -> None:
        made: list[Path] = []
        try:
            for name in (CELLS, RUNS):
                make_folders(self.folder / name, made)
        except OSError as error:
            remove_folders(made)
            raise FolderError(
                f"{self.folder} cannot be used for results: {error.strerror}; choose another folder"
            ) from None

    def done(self, cell: Cell) -> bool:
        """Whether there is a result; a cell that failed is tried again."""
        path = self._file(cell)
        return path.exists() and "result" in _record(path)

    def run_folder(self, cell: Cell) -> Path:
        """Where a cell keeps its checkpoints while it is trained."""
        return self.folder / RUNS / cell.key

    def keep(self, cell: Cell, outcome: dict[str, Any]) -> None:
        """`outcome` is {"result": …} or {"error": …}; an error takes no result's place, whoever has made it."""
        if "result" in outcome or not self.done(cell):
            record = {"key": cell.key, **cell.to_json(), **outcome}
            write_file(self._file(cell), json.dumps(record).encode(), earlier=EARLIER_RECORD)
        self.assemble()

    def assemble(self) -> None:
        """results.json, from all cells that the folder holds."""
        cells = [_record(path) for path in sorted((self.folder / CELLS).glob("*.json"))]
        lines = ",\n".join(json.dumps(cell) for cell in cells)
        content = f'{{"format": "{FORMAT}", "cells": [\n{lines}\n]}}\n'.encode()
        write_file(self.folder / ALL, content, earlier=EARLIER_RESULTS)

    def _file(self, cell: Cell) -> Path:
        return self.folder / CELLS / f"{cell.key}.json"


def _record(path: Path) -> dict[str, Any]:
    """What the file of a cell holds."""
    try:
        record = parse(read_file(path, str(path), most=LARGEST, error=LabError), str(path), error=DamagedRecord)
    except DamagedRecord:
        record = None
    if not is_record(record):
        raise LabError(f"{path} is damaged; remove it to run its cell again")
    return record


def is_record(record: Any) -> TypeGuard[dict[str, Any]]:
    """Whether it is a cell with a result, or with an error."""
    if not isinstance(record, dict) or not isinstance(record.get("config"), dict):
        return False
    named = all(isinstance(record.get(name), str) for name in ("key", "table"))
    result = record.get("result")
    return named and (isinstance(record.get("error"), str) or (isinstance(result, dict) and bool(result)))


def read_results(path: Path) -> list[dict[str, Any]]:
    """The cells of a results.json."""
    document = parse(read_file(path, str(path), most=LARGEST, error=LabError), str(path), error=LabError)
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
