"""Random transformers with planted structure: patterns that the fast engine detects, and exceptions to them.

A head is a random sequence of column blocks: EQ or FOCUS over bits (any scale, any number of copies), HIDE, BOOST,
and plain random columns. Bits come from positions or from tokens, some rows have a 0 in place of a bit, codes
may be unique or shared by many rows. So lookups, groups, near misses, irregular rows and heads that cannot be
joined all occur, and tokens that change move codes, values, or nothing.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from unmask.numerics.arithmetic import Precision
from unmask.weights.matrices import Matrix
from unmask.weights.transformer import Head, Layer, Mlp, Transformer

SYMBOLS = 5
BLOCKS = {"codes": 0.35, "focus": 0.15, "token": 0.1, "hide": 0.1, "boost": 0.1, "random": 0.2}


@dataclass
class Columns:
    """Which columns of the residual stream hold what."""

    one: int
    address: np.ndarray
    row_code: np.ndarray
    by_token: np.ndarray
    flag: int
    free: np.ndarray

    @property
    def width(self):
        return int(self.free[-1]) + 1


class Planter:
    """Draws transformers from one seed."""

    def __init__(self, seed, p):
        self.rng = np.random.default_rng([seed, p])
        self.precision = Precision(p)
        self.one, self.bound = self.precision.one, self.precision.bound

    def chance(self, share):
        return self.rng.random() < share

    def transformer(self, *, attention=None, rows=None):
        rng = self.rng
        rows = rows or int(rng.integers(1, 20))
        bits = int(rng.integers(1, 6))
        sizes = np.cumsum([0, 1, bits, bits, int(rng.integers(0, 3)), 1, int(rng.integers(2, 6))])
        blocks = [np.arange(a, b) for a, b in pairwise(sizes)]
        columns = Columns(int(blocks[0][0]), blocks[1], blocks[2], blocks[3], int(blocks[4][0]), blocks[5])
        return Transformer(
            precision=self.precision,
            embed=Matrix.of(self._embed(columns)),
            positions=self._positions(columns, rows),
            layers=tuple(self._layer(columns) for _ in range(int(rng.integers(1, 4)))),
            out=Matrix.of(self._random((4, columns.width), self.one)),
            attention=attention or str(rng.choice(["unmasked", "causal"])),
        )

    def _random(self, shape, largest, *, full=2):
        """Entries up to `largest`; `full` of three are not 0."""
        values = self.rng.integers(-largest, largest + 1, shape)
        return np.where(self.rng.integers(0, 3, shape) < full, values, 0)

    def _signed(self, numbers, bits):
        return np.where((numbers[:, None] >> np.arange(bits)[::-1]) & 1, self.one, -self.one)

    def _embed(self, columns):
        table = np.zeros((SYMBOLS, columns.width), dtype=np.int64)
        table[:, columns.free] = self._random((SYMBOLS, columns.free.size), self.bound)
        table[:, columns.by_token] = self._signed(self.rng.integers(0, 4, SYMBOLS), columns.by_token.size)
        if self.chance(0.3):
            table[self.rng.integers(SYMBOLS), columns.flag] = self.one
        if self.chance(0.2):  # tokens disturb a bit of the position
            table[self.rng.integers(SYMBOLS), self.rng.choice(columns.row_code)] = self.rng.choice(
                [self.one, self.bound]
            )
        if self.chance(0.2):
            table[self.rng.integers(SYMBOLS), self.rng.choice(columns.address)] = -self.one
        return table

    def _positions(self, columns, rows):
        rng, bits = self.rng, columns.row_code.size
        table = np.zeros((rows, columns.width), dtype=np.int64)
        table[:, columns.one] = self.one
        row_codes = np.arange(rows) if self.chance(0.7) else rng.integers(0, 1 << bits, rows)
        targets = rng.integers(0, rows, rows) if self.chance(0.7) else np.arange(rows)
        if self.chance(0.6):
            targets = np.minimum(targets, np.arange(rows))  # visible even if causal
        table[:, columns.row_code] = self._signed(row_codes, bits)
        table[:, columns.address] = self._signed(row_codes[targets], bits)
        if self.chance(0.15):
            table[rng.integers(rows), rng.choice(columns.address)] = 0
        if self.chance(0.15):
            table[rng.integers(rows), rng.choice(columns.row_code)] = 0
        if self.chance(0.3):
            table[rng.integers(rows), columns.flag] = self.one
        if self.chance(0.5):
            table[:, columns.free] = self._random((rows, columns.free.size), self.bound, full=1)
        return table

    def _layer(self, columns):
        heads = tuple(self._head(columns) for _ in range(int(self.rng.integers(0, 4))))
        hidden = int(self.rng.choice([0, 2, 5, 30]))
        mlp = Mlp(
            Matrix.of(self._random((columns.width, hidden), int(self.rng.choice([self.one, 2 * self.one - 1])))),
            self.rng.integers(-self.one, self.bound + 1, hidden),
            Matrix.of(self._written(self._random((hidden, columns.width), self.one), columns)),
            self._written(self.rng.integers(-self.bound, self.one + 1, (1, columns.width)), columns)[0],
        )
        return Layer(heads, mlp)

    def _written(self, matrix, columns):
        """Mostly only free columns are written, so that codes last."""
        if not self.chance(0.1):
            matrix[:, : columns.free[0]] = 0
        return matrix

    def _head(self, columns):
        query, key = [], []

        def column(q, k):
            query.append(q)
            key.append(k)

        def form(pairs):
            vector = np.zeros(columns.width, dtype=np.int64)
            for column_index, weight in pairs:
                vector[column_index] = weight
            return vector

        def codes(a, b, scale):
            for x, y in zip(a, b, strict=True):
                column(form([(x, scale)]), form([(y, self.one)]))
                column(form([(columns.one, scale)]), form([(columns.one, -self.one)]))

        def scale():
            scales = [self.bound, self.bound // 2, self.one, self.rng.integers(1, self.bound + 1)]
            return int(self.rng.choice(scales, p=[0.4, 0.3, 0.1, 0.2]))

        for _ in range(int(self.rng.integers(1, 4))):
            block = self.rng.choice(list(BLOCKS), p=list(BLOCKS.values()))
            chosen = scale()
            if block in ("codes", "focus"):
                for _ in range(1 if block == "codes" else int(self.rng.integers(1, 4))):
                    codes(columns.address, columns.row_code, chosen)
            elif block == "token" and columns.by_token.size:
                codes(columns.by_token, columns.by_token, chosen)
            elif block == "hide":
                for _ in range(int(self.rng.integers(1, 3))):
                    column(form([(columns.one, -self.bound)]), form([(columns.flag, self.one)]))
            elif block == "boost":
                for _ in range(int(self.rng.integers(1, 3))):
                    column(form([(columns.flag, self.bound)]), form([(columns.one, self.one)]))
            else:
                small = max(1, self.one // 2)
                column(self._random(columns.width, small, full=1), self._random(columns.width, small, full=1))
        value = self._written(self._random((columns.width, columns.width), 2 * self.one - 1, full=1), columns)
        return Head(Matrix.of(np.array(query).T), Matrix.of(np.array(key).T), Matrix.of(value))


def token_runs(rng, transformer, batch, calls):
    """Tokens of successive calls: some changed, put back, rewritten with themselves, or the words grown."""
    capacity = len(transformer.positions)
    length = capacity if rng.random() < 0.5 else int(rng.integers(1, capacity + 1))
    tokens = rng.integers(0, SYMBOLS, (batch, length))
    history = [tokens]
    for _ in range(calls):
        yield tokens
        move = rng.random()
        if move < 0.2 and history[-1].shape == tokens.shape:
            tokens = history[int(rng.integers(len(history)))]
            if tokens.shape[1] < length:
                tokens = history[-1]
        elif move < 0.5 and length < capacity:
            more = int(rng.integers(1, min(3, capacity - length) + 1))
            length += more
            tokens = np.concatenate([tokens, rng.integers(0, SYMBOLS, (batch, more))], axis=1)
        elif move < 0.9:
            changes = rng.random(tokens.shape) < rng.choice([0.02, 0.2, 0.7])
            tokens = np.where(changes, rng.integers(0, SYMBOLS, tokens.shape), tokens)
        history.append(tokens)
