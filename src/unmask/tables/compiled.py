"""LookUps: an extraction as a list of flat tables, each indexed by variables that come before it.

value_v = table_v[((value_a · |b| + value_b) · |c| + value_c) …]           for all words of a block at once
"""

from dataclasses import dataclass

import numpy as np

from unmask.verification.words.extraction import Extraction
from unmask.verification.words.network import Network, Variable

SYMBOL = np.int32
AT_ONCE = 1 << 14  # words of a block: a column of it stays in the cache


@dataclass(frozen=True, eq=False)
class _LookUp:
    """One variable: table[index], the index made of its parents' values and sizes."""

    number: int
    parents: tuple[int, ...]
    sizes: tuple[int, ...]
    table: np.ndarray

    @classmethod
    def of(
        cls, network: Network, number: int, parents: tuple[int, ...], table: np.ndarray, kind: type = np.int64
    ) -> "_LookUp":
        """Values of variables are indices, which NumPy wants in its own type."""
        sizes = tuple(network.variables[u].size for u in parents)
        return cls(number, parents, sizes, np.ascontiguousarray(table.reshape(-1), dtype=kind))

    def __call__(self, values: dict[int, np.ndarray], count: int) -> np.ndarray:
        if not self.parents:
            return np.broadcast_to(self.table, (count,))
        index = values[self.parents[0]]
        for u, size in zip(self.parents[1:], self.sizes[1:], strict=True):
            index = index * size
            index += values[u]
        return self.table.take(index)


@dataclass(frozen=True, eq=False)
class _Switch:
    """One variable that its first parent chooses: of each branch, the words for which it is chosen."""

    number: int
    variable: Variable

    def __call__(self, values: dict[int, np.ndarray], count: int) -> np.ndarray:
        del count
        return self.variable.of(values).astype(np.int64)


class LookUps:
    """What the slots hold at the end, or some of them, for many words at once."""

    def __init__(self, extraction: Extraction, *, last: int | None = None) -> None:
        """`last`: only so many slots at the end are asked for."""
        network = extraction.network
        slots = extraction.slots if last is None else extraction.slots[-last:]
        self._letters = list(network.letters)
        self._slots = [_LookUp.of(network, -1, t.cases.variables, t.symbols[t.cases.index], SYMBOL) for t in slots]
        self._failures = [
            _LookUp.of(network, -1, f.cases.variables, f.labels[f.cases.index]) for f in extraction.failures
        ]
        wanted = {u for part in (*self._slots, *self._failures) for u in part.parents}
        self._variables: list[_LookUp | _Switch] = []
        for v in network.below(sorted(wanted)):
            variable = network.variables[v]
            if variable.table is not None:
                self._variables.append(_LookUp.of(network, v, variable.parents, variable.table))
            elif variable.letter is None:
                self._variables.append(_Switch(v, variable))

    def __call__(self, words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(symbols [words, slots], does the run fail) of words [words, N] of input symbols' numbers."""
        symbols = np.empty((len(self._slots), len(words)), dtype=SYMBOL)
        fails = np.zeros(len(words), dtype=bool)
        for first in range(0, len(words), AT_ONCE):
            part = slice(first, first + AT_ONCE)
            columns = np.ascontiguousarray(words[part].T, dtype=np.int64)
            count = columns.shape[1]
            values = dict(zip(self._letters, columns, strict=True))
            for look_up in self._variables:
                values[look_up.number] = look_up(values, count)
            for i, look_up in enumerate(self._slots):
                symbols[i, part] = look_up(values, count)
            for look_up in self._failures:
                fails[part] |= look_up(values, count).astype(bool)
        return symbols.T, fails
