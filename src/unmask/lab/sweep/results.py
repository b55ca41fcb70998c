"""Results: a folder with one file per cell that is done, and results.json, which holds them all.

results.json = {"format": "unmask-lab/1", "cells": [{"key", "table", "config", "measures", "result" | "error"}]}
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unmask.errors import FolderError
from unmask.files import read_file
from unmask.lab.settings.config import LabError
from unmask.lab.sweep.cell import Cell
from unmask.writing import write_file

FORMAT = "unmask-lab/1"
LARGEST = 1 << 28


@dataclass(frozen=True)
class Results:
    folder: Path

    def __post_init__(self) -> None:
        try:
            for name in ("cells", "runs"):
                (self.folder / name).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FolderError(f"{self.folder} cannot hold results: {error.strerror}; choose another folder") from None

    def done(self, cell: Cell) -> bool:
        """Whether there is a result; a cell that failed is tried again."""
        path = self._file(cell)
        return path.exists() and "result" in json.loads(path.read_bytes())

    def run_folder(self, cell: Cell) -> Path:
        """Where a cell keeps its checkpoints while it is trained."""
        return self.folder / "runs" / cell.key

    def keep(self, cell: Cell, outcome: dict[str, Any]) -> None:
        """`outcome` is {"result": …} or {"error": …}."""
        record = {"key": cell.key, **cell.to_json(), **outcome}
        write_file(self._file(cell), json.dumps(record).encode())
        self.assemble()

    def assemble(self) -> None:
        """results.json, from all cells that the folder holds."""
        cells = [json.loads(path.read_bytes()) for path in sorted((self.folder / "cells").glob("*.json"))]
        lines = ",\n".join(json.dumps(cell) for cell in cells)
        write_file(self.folder / "results.json", f'{{"format": "{FORMAT}", "cells": [\n{lines}\n]}}\n'.encode())

    def _file(self, cell: Cell) -> Path:
        return self.folder / "cells" / f"{cell.key}.json"


def read_results(path: Path) -> list[dict[str, Any]]:
    """The cells of a results.json."""
    try:
        document = json.loads(read_file(path, str(path), most=LARGEST, error=LabError))
    except (ValueError, RecursionError):
        raise LabError(f"{path} is not JSON; make it with `unmask lab table`") from None
    if (
        not isinstance(document, dict)
        or document.get("format") != FORMAT
        or not isinstance(document.get("cells"), list)
    ):
        raise LabError(f'{path} is no results.json of the lab: it has no "format": "{FORMAT}"')
    return document["cells"]
