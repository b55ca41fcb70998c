"""Rows with binary addresses, one of which a head finds: the common part of the searches for single keys.

In a head whose scores are cut and shifted, a key has the weight 2^-p if its score reaches a value, else 0, provided
that a row with exp = B fixes Z = B. Such heads count keys, determine whether a block of addresses contains a key, and
read the address of the last key.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unmask.expressions import Expression, both
from unmask.programs.gadgets.mlp import clear_if_none, clear_if_positive, clear_if_some
from unmask.programs.program import (
    NEXT_TO_B,
    ONE,
    B,
    Coefficient,
    Columns,
    Form,
    HeadBuilder,
    LayerBuilder,
    MlpBuilder,
    Program,
)
from unmask.programs.score_tables import ScoreTables, ulps
from unmask.weights.transformer import Mlp


@dataclass(frozen=True, eq=False)
class AddressedRows:
    """Addresses of `bits` signed bits, lowest first; all registers are 0 in rows that are not `real`."""

    program: Program
    tables: ScoreTables
    bits: int
    address: Columns
    real: Columns

    def shift(self, head: HeadBuilder, amount: Form) -> None:
        """Map scores from -amount on to `least`, and lower scores below it: the weight is 2^-p or 0 if Z = B."""
        one, on = self.program.one, [(self.program.one, ONE)]
        head.column(amount, on)
        for weight in (B, -B, ulps(self.tables.least)):
            head.column([(one, weight)], on)

    def equal(self, head: HeadBuilder, code: Sequence[Form], asks: Sequence[Form]) -> None:
        """EQ with forms for the bits of the query: ±B and -B in queries that ask. Scores must be at most 0."""
        for a, ask, key in zip(code, asks, self.address, strict=True):
            head.column(a, [(key, ONE)])
            head.column(ask, [(self.program.one, ONE)])

    def in_block(
        self,
        head: HeadBuilder,
        k: int,
        code: list[Form],
        digit: int,
        gate: Form,
        scale: Coefficient = B,
        copies: int = 1,
    ) -> None:
        """See the keys that agree with `code` above bit k and have `digit` there, if the gate is open."""
        one = [(self.program.one, ONE)]
        for _ in range(copies):
            for b in range(k, self.bits):
                own_bit: Form = [(self.program.one, scale if digit else -scale)] if b == k else code[b]
                head.column(own_bit, [(self.address[b], ONE)])
                head.column([(self.program.one, -scale)], one)
        for _ in range(2 if copies > 1 else 1):
            head.column([(self.program.one, -B), *gate], one)

    def pin(self, head: HeadBuilder, *sentinels: Columns) -> None:
        """Give these rows the score B. Then Z = B, and each has the weight 1."""
        for flag in sentinels:
            for _ in range(2):
                head.column([(self.program.one, B)], [(flag, ONE)])

    def thresholds(self, total: Columns, level: int) -> Form:
        """-θ, where θ is the least score whose weight is level·2^-p; column a - 1 of `total` says that Z = a·2^-p."""
        return [(total, np.array([-self.tables.threshold(a, level) for a in range(1, total.size + 1)]))]


def keep_zero(layer: LayerBuilder, mlp: Mlp, work: Columns, flag: Columns) -> None:
    """Prevent `mlp` from writing to the stream `work` of flagged rows: two units, so that no sum survives."""
    for column in np.unique(mlp.w2.column.tolist() + np.flatnonzero(mlp.b2).tolist()):
        units = layer.mlp.units(2)
        layer.mlp.read(units, np.repeat(flag, 2))
        layer.mlp.write(units, np.repeat(work[column], 2), -B)


def exact_levels(mlp: MlpBuilder, levels: Columns, exact: Columns, none: Columns) -> None:
    """exact_i = [levels_i > 0 and levels_(i+1) = 0], none = [no level is above 0]."""
    for i, column in enumerate(exact):
        clear_if_none(mlp, column, levels[i : i + 1])
        clear_if_some(mlp, column, levels[i + 1 :])
    clear_if_some(mlp, none[0], levels)
    mlp.offset(exact, ONE)
    mlp.offset(none, ONE)


def bit_flags(program: Program, bits: int, name: str, number: Expression, digit: int, only: Expression) -> Columns:
    """For every bit, lowest first, a flag whether it is `digit`."""
    columns = [program.flag(f"{name} {k}", both(only, (number // (1 << k) % 2).equals(digit))) for k in range(bits)]
    return np.concatenate(columns)


def signed_bit(ones: Sequence[int], zeros: Sequence[int], scale: Coefficient = B) -> Form:
    """±scale: the columns in `ones` say that a bit is 1, those in `zeros` that it is 0; at most one is set."""
    return [(np.array(ones), scale), (np.array(zeros), -scale)]


def last_bit(
    mlp: MlpBuilder, column: int, walks: list[int], jump: int, *, ends: bool, few: bool | None, other: bool | None
) -> None:
    """Clear a flag unless [first walk ends at B] = ends, [at most `jump` zeros] = few, [second ends at B] = other.

    `walks` are the columns of the two walks of `find_key`, and of the number of zeros.
    """
    first, second, zeros = ([walk] for walk in walks)
    for walk, at_bound in ((first, ends), (second, other)):
        if at_bound is not None:
            clear_if_positive(mlp, column, walk, *((-ONE, B) if at_bound else (ONE, -NEXT_TO_B)))
    if few is not None:
        clear_if_positive(mlp, column, zeros, *((ONE, ulps(-jump)) if few else (-ONE, ulps(jump + 1))))
