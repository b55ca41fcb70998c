"""Rows by code: a join without comparing every query with every key."""

import numpy as np


class CodeIndex:
    """`rows` sorted by code, in order within a code; codes lie in 0 … space - 1."""

    def __init__(self, codes: np.ndarray, rows: np.ndarray, space: int) -> None:
        self._sorted = self._starts = self._counts = None
        if space > 4 * rows.size + 1024:
            order = np.argsort(codes, kind="stable")
            self._sorted, self.rows = codes[order], rows[order]
            return
        self._counts = np.bincount(codes, minlength=space)
        self._starts = np.cumsum(self._counts) - self._counts
        if self._counts.max(initial=0) <= 1:
            self.rows = np.empty_like(rows)
            self.rows[self._starts[codes]] = rows
        else:
            self.rows = rows[np.argsort(codes, kind="stable")]

    def find(self, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(start, count): the rows of a code are rows[start : start + count]."""
        if self._sorted is None:
            assert self._starts is not None
            assert self._counts is not None
            return self._starts[codes], self._counts[codes]
        start = np.searchsorted(self._sorted, codes)
        return start, np.searchsorted(self._sorted, codes, side="right") - start
