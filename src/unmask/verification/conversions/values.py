"""What a column of a row holds: numbers, or something of the source that has a name and any value.

    Cell(s, l, c)    column c of the stream of transformer s after l layers, in the source's row that this row hosts
    Place(s, c)      column c of that row of the source's table of positions
    Logit(s, v)      the logit of v there, after all layers
    ANYTHING         some number of F_p

A number is an integer of F_p, or an array of them, one per case. Sums run in order and clip, as everywhere; that terms
which are 0 never matter, and that 1·x = x, is `require_zeros`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeGuard

import numpy as np

from unmask.numerics.arithmetic import Precision, add, divide, multiply
from unmask.verification.conversions.unknown import Weight
from unmask.verification.lengths.obligations import Ledger, NotShown


@dataclass(frozen=True)
class Cell:
    transformer: str
    layer: int
    column: int


@dataclass(frozen=True)
class Place:
    transformer: str
    column: int


@dataclass(frozen=True)
class Logit:
    transformer: str
    output: int


@dataclass(frozen=True)
class Anything:
    """Some number; nothing is known of it."""


ANYTHING = Anything()
Number = int | np.ndarray
Value = Number | Cell | Place | Logit | Anything
Term = tuple[int | Weight, Value]


def is_number(value: object) -> TypeGuard[Number]:
    return isinstance(value, int | np.integer | np.ndarray)


def is_zero(value: object) -> bool:
    return is_number(value) and not np.any(value)


@dataclass(frozen=True)
class Sums:
    """Inner products and sums of values; `depth` and `width` are the layers and columns of each transformer."""

    precision: Precision
    depth: dict[str, int]
    width: dict[str, int]

    def product(self, terms: Sequence[Term], symbol: int | None) -> Value:
        """SUM of weight·value, in order, in a row that hosts the source's `symbol`."""
        terms = [(w, v) for w, v in terms if not is_zero(w) and not is_zero(v)]
        if all(is_number(w) and is_number(v) for w, v in terms):
            total: Number = 0
            for weight, value in terms:
                total = add(total, multiply(weight, value, self.precision), self.precision)
            return total
        if len(terms) == 1 and self._is_one(terms[0][0]):
            return terms[0][1]
        return self._embedded(terms, symbol) or self._logit(terms) or ANYTHING

    def sum(self, values: Iterable[Value]) -> Value:
        """SUM, in order."""
        return self.product([(self.precision.one, v) for v in values], None)

    def _is_one(self, value: object) -> bool:
        return is_number(value) and np.ndim(value) == 0 and int(value) == self.precision.one

    def _embedded(self, terms: Sequence[Term], symbol: int | None) -> Value | None:
        """The embedding of the hosted symbol, then its place: the stream before the first layer."""
        if symbol is None or len(terms) != 2:
            return None
        (weight, one), (whole, place) = terms
        if not (isinstance(weight, Weight) and self._is_one(one) and self._is_one(whole) and isinstance(place, Place)):
            return None
        here = weight.is_entry(place.transformer, "embed", symbol, place.column)
        return Cell(place.transformer, 0, place.column) if here else None

    def _logit(self, terms: Sequence[Term]) -> Value | None:
        """All columns of the stream after the last layer, in order, each with its entry of one row of `out`."""
        weight, cell = terms[0]
        if not (isinstance(weight, Weight) and isinstance(cell, Cell)):
            return None
        name, depth = cell.transformer, self.depth[cell.transformer]
        if len(terms) != self.width[name]:
            return None
        for column, (w, v) in enumerate(terms):
            if not (isinstance(w, Weight) and w.is_entry(name, "out", weight.row, column)):
                return None
            if v != Cell(name, depth, column):
                return None
        return Logit(name, weight.row)


def require_zeros(precision: Precision, ledger: Ledger) -> None:
    """Terms that are 0 change no sum, a key of exponential 0 has the weight 0, and 1·x = x; for all numbers."""

    def show() -> str:
        every, positive = np.array(precision.numbers()), np.arange(1, precision.bound + 1)
        fails = (
            (add(every, np.zeros_like(every), precision) != every).any(),
            multiply(np.zeros_like(every), every, precision).any(),
            divide(np.zeros_like(positive), positive, precision).any(),
            (multiply(np.full_like(every, precision.one), every, precision) != every).any(),
        )
        if any(fails):
            raise NotShown("0 is not the neutral element, or 1 not that of products")
        return f"{every.size} numbers"

    ledger.settle("zeros: terms and keys that are 0 never matter, and 1·x = x", "enumeration", show)
