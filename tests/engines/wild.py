"""Random transformers whose codes have gaps: rows that ask for nothing in some bits, keys that do not care for some.

A head is what a conversion makes of a head: a source (nothing, a code, random columns, columns that only some tokens
write), then perhaps BOOST for flagged queries, then one or two codes with gaps at any scale and in any number of
copies, then perhaps HIDE. Keys come in few kinds, so that many are alike; values are large and of both signs, so that
sums clip on their way. `missed` has an integer or two one off.
"""

import numpy as np

from engines.aimed import Aim
from engines.planted import SYMBOLS
from unmask.weights.matrices import Matrix
from unmask.weights.transformer import Head, Layer, Mlp, Transformer

ONE, FLAGS, FREE = 0, 2, 4  # one column that is 1; flags of queries and of keys; columns that heads write


class WildPlanter(Aim):
    """Draws transformers from one seed."""

    def __init__(self, seed, p):
        super().__init__(seed, p, "wild")
        self.bits = int(self.rng.integers(1, 5))
        # own code, asked, wanted: with asks and cares
        self.code, self.asks, self.wants, self.cares = (
            1 + FLAGS + self.bits * i + np.arange(self.bits) for i in range(4)
        )
        self.free = int(self.cares[-1]) + 1 + np.arange(FREE)
        self.width = int(self.free[-1]) + 1

    def transformer(self, *, attention=None, rows=None):
        rng = self.rng
        rows = rows or int(rng.integers(4, 40))
        transformer = Transformer(
            precision=self.precision,
            embed=Matrix.of(self._embedding()),
            positions=self._places(rows),
            layers=tuple(self._wild_layer() for _ in range(int(rng.integers(1, 3)))),
            out=Matrix.of(self._random((4, self.width), self.one)),
            attention=attention or str(rng.choice(["unmasked", "causal"])),
        )
        for _ in range(int(rng.integers(1, 3)) if self.chance(0.4) else 0):
            transformer = self._one_off(transformer)
        return transformer

    def _embedding(self):
        table = np.zeros((SYMBOLS, self.width), dtype=np.int64)
        table[:, self.free] = self._random((SYMBOLS, FREE), self.bound)
        if self.chance(0.5):
            table[:, 1] = self.rng.choice([0, self.one], SYMBOLS)
        if self.chance(0.2):
            table[self.rng.integers(SYMBOLS), self.rng.integers(1, self.width)] = self.one
        return table

    def _places(self, rows):
        rng = self.rng
        table = np.zeros((rows, self.width), dtype=np.int64)
        table[:, ONE] = self.one
        table[:, 1:3] = rng.choice([0, self.one], (rows, FLAGS), p=[0.7, 0.3])
        kinds = int(rng.integers(1, 6))
        for code, care, gaps in ((self.code, self.asks, 0.2), (self.wants, self.cares, 0.6)):
            constrained = rng.random((kinds, self.bits)) > (gaps if self.chance(0.7) else 0)
            signs = np.where(rng.integers(0, 2, (kinds, self.bits)), self.one, -self.one)
            kind = np.sort(rng.integers(0, kinds, rows)) if self.chance(0.6) else rng.integers(0, kinds, rows)
            table[:, care], table[:, code] = (constrained * self.one)[kind], (constrained * signs)[kind]
        if self.chance(0.5):
            table[:, self.free] = self._random((rows, FREE), self.bound)
        return table

    def _wild_layer(self):
        mlp = Mlp(
            Matrix.of(self._random((self.width, 3), self.one)),
            self._random(3, self.bound),
            Matrix.of(self._in_free(self._random((3, self.width), self.one))),
            np.zeros(self.width, dtype=np.int64),
        )
        return Layer(tuple(self._wild_head() for _ in range(int(self.rng.integers(1, 3)))), mlp)

    def _in_free(self, matrix):
        matrix[:, : self.free[0]] = 0
        return matrix

    def _wild_head(self):
        rng, columns = self.rng, []

        def column(query, key):
            columns.append((self._form(query), self._form(key)))

        source = rng.choice(["nothing", "code", "random", "small"])
        if source == "code":
            for code, target in zip(self.code, self.wants, strict=True):
                column([(code, self.bound)], [(target, self.one)])
                column([(ONE, self.bound)], [(ONE, -self.one)])
        for _ in range({"random": 2, "small": 1}.get(source, 0)):
            largest = self.one if source == "random" else max(1, self.one // 4)
            columns.append((self._random(self.width, largest, full=1), self._random(self.width, largest, full=1)))
        for _ in range(int(rng.integers(0, 3))):
            column([(1, self.bound)], [(ONE, self.one)])
        scale = int(rng.choice([self.bound, self.bound // 2, (self.bound + 1) // 2, rng.integers(1, self.bound + 1)]))
        all_ones = np.full(self.bits, ONE)
        asks, cares = (matrix if self.chance(0.7) else all_ones for matrix in (self.asks, self.cares))
        for _ in range(int(rng.integers(1, 4))):
            for code, ask, target, care in zip(self.code, asks, self.wants, cares, strict=True):
                column([(code, scale)], [(target, self.one)])
                column([(ask, scale)], [(care, -self.one)])
        for _ in range(int(rng.integers(0, 3))):
            column([(ONE, -self.bound)], [(2, self.one)])
        query, key = (np.array(matrix).T for matrix in zip(*columns, strict=True))
        value = self._in_free(self._random((self.width, self.width), 2 * self.one - 1))
        return Head(Matrix.of(query), Matrix.of(key), Matrix.of(value))

    def _form(self, pairs):
        vector = np.zeros(self.width, dtype=np.int64)
        for column, weight in pairs:
            vector[column] = weight
        return vector
