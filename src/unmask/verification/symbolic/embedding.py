"""Embedding: tokens → H⁰ = clip(embed + pos), many rows at once, each in all of its cases."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from unmask.limits import check
from unmask.numerics.compact import Compact
from unmask.verification.symbolic.network import CERTAIN, Cases
from unmask.weights.transformer import Transformer

AT_ONCE = 1 << 10  # rows


@dataclass(frozen=True, eq=False)
class Token:
    """What symbol stands somewhere: symbols[case], over cases of one variable."""

    cases: Cases
    symbols: np.ndarray

    @classmethod
    def certain(cls, symbol: int) -> "Token":
        return cls(CERTAIN, np.array([symbol]))

    def same(self, other: "Token") -> bool:
        return self.cases.same(other.cases) and np.array_equal(self.symbols, other.symbols)


class Embedding:
    """The symbols and positions of a transformer."""

    def __init__(self, transformer: Transformer, compact: Compact) -> None:
        self._symbols = transformer.embed.dense().T.astype(compact.narrow)
        self._positions, self._compact = transformer.positions, compact

    def __call__(self, tokens: Mapping[int, Token], live: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
        """(row, [columns, cases]) of the tokens that stand in some rows; columns that are not live are 0."""
        rows = list(tokens)
        for first in range(0, len(rows), AT_ONCE):
            check()
            some = rows[first : first + AT_ONCE]
            symbols = [tokens[row].symbols for row in some]
            sizes = [part.size for part in symbols]
            positions = self._positions[np.repeat(some, sizes)].T.astype(self._compact.narrow)
            vectors = self._compact.add(self._symbols[:, np.concatenate(symbols)], positions)
            vectors[~live] = 0
            ends = np.cumsum(sizes).tolist()
            for row, size, end in zip(some, sizes, ends, strict=True):
                yield row, vectors[:, end - size : end]
