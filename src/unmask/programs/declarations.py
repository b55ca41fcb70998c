"""Declarations: the values of a register in the table of positions, as formulas in the position n and the length N.

Every declaration returns its block of the table, [positions, width], for one N, some positions, and one precision.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from unmask.expressions import Expression
from unmask.numerics.arithmetic import Precision
from unmask.weights.matrices import Positions


class Declaration(Protocol):
    """The values of one register in the table of positions."""

    def block(self, width: int, length: int, positions: np.ndarray, precision: Precision) -> np.ndarray: ...


@dataclass(frozen=True)
class SignedBits:
    """The bits of an expression as ±1, highest first; if `only` is 0, the code is 0."""

    expression: Expression
    only: Expression | None = None

    def block(self, width: int, length: int, positions: np.ndarray, precision: Precision) -> np.ndarray:
        values = self.expression.at_positions(length, positions)[:, None]
        assert not np.any(values >> width), "a code is negative or needs more bits"
        return _where(self.only, _signed_bits(values, width, precision), length, positions)


@dataclass(frozen=True)
class OneHot:
    """1 in the column of the expression's value; all 0 if `only` is 0 or no column has that value."""

    expression: Expression
    only: Expression | None = None

    def block(self, width: int, length: int, positions: np.ndarray, precision: Precision) -> np.ndarray:
        values = self.expression.at_positions(length, positions)[:, None]
        return _where(self.only, np.where(values == np.arange(width), precision.one, 0), length, positions)


@dataclass(frozen=True)
class Thermometer:
    """1 in every column whose number is larger than the expression's value."""

    expression: Expression

    def block(self, width: int, length: int, positions: np.ndarray, precision: Precision) -> np.ndarray:
        return np.where(np.arange(width) > self.expression.at_positions(length, positions)[:, None], precision.one, 0)


@dataclass(frozen=True)
class AllBut:
    """1 in every column except that of the expression's value."""

    expression: Expression

    def block(self, width: int, length: int, positions: np.ndarray, precision: Precision) -> np.ndarray:
        return np.where(np.arange(width) != self.expression.at_positions(length, positions)[:, None], precision.one, 0)


@dataclass(frozen=True)
class Flag:
    """1 if the expression is not 0, else 0."""

    expression: Expression

    def block(self, width: int, length: int, positions: np.ndarray, precision: Precision) -> np.ndarray:
        values = self.expression.at_positions(length, positions)
        return np.where(values != 0, precision.one, 0)[:, None].repeat(width, axis=1)


@dataclass(frozen=True, eq=False)
class TableRows:
    """Row `row` of a table of integers of F_p, for the positions of the source of a conversion; 0 if `only` is 0."""

    table: Positions
    row: Expression
    only: Expression | None = None

    def block(self, width: int, length: int, positions: np.ndarray, precision: Precision) -> np.ndarray:  # noqa: ARG002
        return _where(self.only, self.table[self.row.at_positions(length, positions)], length, positions)


@dataclass(frozen=True, eq=False)
class TableBits:
    """The signed bits of entry `row` of a table of numbers, for example the addresses of a circuit's gates."""

    table: np.ndarray
    row: Expression

    def block(self, width: int, length: int, positions: np.ndarray, precision: Precision) -> np.ndarray:
        return _signed_bits(self.table[self.row.at_positions(length, positions)][:, None], width, precision)


@dataclass(frozen=True, eq=False)
class TableFlag:
    """1 if entry `row` of a table is not 0, else 0."""

    table: np.ndarray
    row: Expression

    def block(self, width: int, length: int, positions: np.ndarray, precision: Precision) -> np.ndarray:
        flags = self.table[self.row.at_positions(length, positions)][:, None]
        return np.where(flags, precision.one, 0).repeat(width, axis=1)


def _signed_bits(values: np.ndarray, width: int, precision: Precision) -> np.ndarray:
    return np.where(values >> np.arange(width - 1, -1, -1) & 1, precision.one, -precision.one)


def _where(only: Expression | None, block: np.ndarray, length: int, positions: np.ndarray) -> np.ndarray:
    """The block, with 0 in the rows where `only` is 0."""
    return block if only is None else np.where(only.at_positions(length, positions)[:, None] != 0, block, 0)
