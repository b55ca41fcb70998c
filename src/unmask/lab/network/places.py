"""Task × steps → Places: what the rows of a batch are told, row b in step steps[b]."""

import numpy as np
import torch
from torch import Tensor

from unmask.lab.network.encodings import codes
from unmask.lab.network.network import Places
from unmask.lab.settings.shape import Encoding
from unmask.lab.tasks.layout import NOBODY
from unmask.lab.tasks.task import Task


class PlaceTable:
    """The places of a task in all of its steps, ready to be taken by batch."""

    def __init__(self, task: Task, encoding: Encoding, device: torch.device | str = "cpu") -> None:
        pointers = task.pointers
        rows = pointers.shape[1]
        operands = pointers[..., None] == np.arange(rows)
        assert not operands[pointers == NOBODY].any()
        self.codes = torch.from_numpy(codes(encoding, pointers)).to(device)
        self.operands = torch.from_numpy(np.moveaxis(operands, 2, 1).astype(np.float32)).to(device)
        self.visible = torch.ones(rows, rows, dtype=torch.bool, device=device).tril() if task.causal else None
        self._steady = bool((pointers == pointers[:1]).all())

    def at(self, steps: Tensor | int, rows: int | None = None, first: int = 0) -> Places:
        """Of the rows [first, rows) alone, as readers of the rows before `rows`."""
        if self._steady or isinstance(steps, int):
            step = 0 if self._steady else int(steps)
            code, operands = self.codes[step : step + 1], self.operands[step : step + 1]
        else:
            code, operands = self.codes[steps], self.operands[steps]
        visible = self.visible
        if rows is not None:
            code, operands = code[:, first:rows], operands[:, :, first:rows, :rows]
            visible = None if visible is None else visible[first:rows, :rows]
        return Places(code, operands, visible)
