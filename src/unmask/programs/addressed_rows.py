"""Heads that find single keys of a simulated head: shared by `mirrored_rows` and `hosted_masks`.

A head of a simulated transformer has scores of any size. `AddressedRows.shift` maps all scores from a threshold on to
one score, and `pin` adds a sentinel row with exp = B, which fixes the sum of exponentials: Z = B. Then a key has the
weight 2^-p if its score reaches the threshold, else 0. Such heads count keys, test whether a block of addresses
contains a key, and read the address of the last key (`walk_over_bits`). `ScoreTables` has the thresholds.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from unmask.expressions import Expression, both
from unmask.numerics.arithmetic import Precision, divide, exp_table
from unmask.programs.gadgets.attention import clear, itself
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
from unmask.weights.transformer import Head, Mlp


def ulps(k: int) -> Coefficient:
    """k·2^-p."""
    return Coefficient("2^-p", k)


@dataclass(frozen=True)
class ScoreTables:
    """Thresholds of scores in F_p: where exp grows, and how large a score must be for a given weight.

    Z is the sum of the exponentials of all keys, clipped at B. A key with the score s has the weight [exp(s)/Z].
    """

    precision: Precision

    def exp(self, score: int) -> int:
        return int(exp_table(self.precision)[score + self.precision.bound])

    @cached_property
    def growth(self) -> list[tuple[int, int]]:
        """(s, exp(s) - exp(s - 2^-p)) for the scores s at which exp grows."""
        steps = [(s, self.exp(s) - self.exp(s - 1)) for s in list(self.precision.numbers())[1:]]
        return [(s, step) for s, step in steps if step]

    @cached_property
    def least(self) -> int:
        """The least score whose weight is 2^-p if Z = B; all lower scores have the weight 0."""
        return self.threshold(self.precision.bound, 1)

    def threshold(self, total: int, level: int) -> int:
        """The least score whose weight is at least level·2^-p if Z = total·2^-p."""
        return int(np.argmax(self._weights[total - 1] >= level)) - self.precision.bound

    @cached_property
    def _weights(self) -> np.ndarray:
        """[exp(s)/z] for z = 2^-p, 2·2^-p, …, B (rows) and every score s (columns)."""
        return divide(exp_table(self.precision), np.arange(1, self.precision.bound + 1)[:, None], self.precision)

    def companion(self, level: int) -> int:
        """The score of a second key that gives a key of score 0 the weight level·2^-p."""
        one, bound = self.precision.one, self.precision.bound
        return next(
            score
            for score in self.precision.numbers()
            if int(divide(one, min(bound, one + self.exp(score)), self.precision)) == level
        )

    @cached_property
    def most_keys(self) -> int:
        """The largest number of keys with a weight above 0 if Z < B."""
        return max(total // self.exp(self.threshold(total, 1)) for total in range(1, self.precision.bound))

    @cached_property
    def jump(self) -> int:
        """[2^-p·B], in units of 2^-p."""
        one, bound = self.precision.one, self.precision.bound
        return (2 * bound + one - 1) // (2 * one)


@dataclass(frozen=True, eq=False)
class AddressedRows:
    """Rows with an address of `bits` signed bits, lowest first. In rows that are not `real`, the address is 0."""

    program: Program
    tables: ScoreTables
    bits: int
    address: Columns
    real: Columns

    def shift(self, head: HeadBuilder, amount: Form) -> None:
        """Map scores of at least -amount to `tables.least`, and all others to less.

        With Z = B, the first kind has the weight 2^-p, the second kind the weight 0.
        """
        one, on = self.program.one, [(self.program.one, ONE)]
        head.column(amount, on)
        for weight in (B, -B, ulps(self.tables.least)):
            head.column([(one, weight)], on)

    def equal(self, head: HeadBuilder, code: Sequence[Form], asks: Sequence[Form]) -> None:
        """EQ after scores of at most 0. Per bit, `code` is ±B and `asks` is -B; if both are 0, any bit matches."""
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
        """See only the keys that agree with `code` above bit k and have `digit` there; none unless `gate` is B."""
        one = [(self.program.one, ONE)]
        for _ in range(copies):
            for b in range(k, self.bits):
                own_bit: Form = [(self.program.one, scale if digit else -scale)] if b == k else code[b]
                head.column(own_bit, [(self.address[b], ONE)])
                head.column([(self.program.one, -scale)], one)
        for _ in range(2 if copies > 1 else 1):
            head.column([(self.program.one, -B), *gate], one)

    def pin(self, head: HeadBuilder, *sentinels: Columns) -> None:
        """Give the rows that these columns flag, the sentinels, the score B: then Z = B, and their weights are 1."""
        for flag in sentinels:
            for _ in range(2):
                head.column([(self.program.one, B)], [(flag, ONE)])

    def thresholds(self, total: Columns, level: int) -> Form:
        """-θ, where θ is the least score whose weight is level·2^-p; column i - 1 of `total` is [Z = i·2^-p]."""
        return [(total, np.array([-self.tables.threshold(i, level) for i in range(1, total.size + 1)]))]


@dataclass(frozen=True, eq=False)
class SimulatedHead:
    """A head of the source, and the registers with which several heads of the program compute its result.

    The result is computed in the register `sum`. The register `empty` flags the rows where the source divides by zero.
    """

    source_head: Head
    columns: dict[str, Columns]

    def __getitem__(self, name: str) -> Columns:
        return self.columns[name]

    def clear(self, head: HeadBuilder, *names: str) -> None:
        """Set registers to 0 in a SELF head."""
        clear(head, *(self[name] for name in names))

    def add_result(self, layer: LayerBuilder, row_code: Columns, stream: Columns) -> None:
        """Add the result to a stream. Divide by zero where the source does."""
        head = itself(layer, row_code)
        head.column([(self["empty"], -B)], [(head.one, ONE)])
        head.copy(self["sum"], stream)


def head_registers(program: Program, g: int, sizes: dict[str, int]) -> dict[str, Columns]:
    """Return the registers of head g of the source by name; all layers of the source share them."""
    columns = {}
    for name, size in sizes.items():
        register = f"head {g}: {name}"
        exists = register in program.registers
        columns[name] = program.columns(register) if exists else program.register(register, size)
    return columns


def keep_zero(layer: LayerBuilder, mlp: Mlp, work: Columns, flag: Columns) -> None:
    """Keep `mlp` from writing to the stream `work` of flagged rows: subtract B twice from each column."""
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
    """For every bit of a number, lowest first, a flag that is 1 if the bit is `digit`."""
    columns = [program.flag(f"{name} {k}", both(only, (number // (1 << k) % 2).equals(digit))) for k in range(bits)]
    return np.concatenate(columns)


def signed_bit(ones: Sequence[int], zeros: Sequence[int], scale: Coefficient = B) -> Form:
    """Return the form: scale if a column of `ones` is set, -scale if one of `zeros` is; at most one of all is set."""
    return [(np.array(ones), scale), (np.array(zeros), -scale)]


WALKS = ("ones last", "zeros last", "zeros")
"""The registers of `walk_over_bits`, each with a column per bit of the address."""

LAST_BITS: dict[tuple[int, int], tuple[bool, bool | None, bool | None]] = {
    (1, 0): (True, None, None),
    (1, 1): (False, False, False),
    (0, 0): (False, True, None),
    (0, 1): (False, False, True),
}
"""(bit, case) → [the first walk ends at B], [at most `jump` keys have a 0], [the second walk ends at B]; None: either.

Exactly one of the four holds, so a bit is stored as two flags for 1 and two for 0.
"""


def walk_over_bits(
    head: HeadBuilder, one_bits: Columns, zero_bits: Columns, start: Columns, walks: Sequence[Columns]
) -> None:
    """Add values to a head from which every address bit of its last key can be read; `walks` are their targets.

    Let jump = [2^-p·B], the value B times the weight of a key. Two walks per bit start at B, the value of the sentinel
    `start`. In the first walk, a 1 adds `jump` and a 0 subtracts 2^-p; in the second, a 0 adds `jump` and a 1 subtracts
    2^-p. The third target counts the keys with a 0. If at most `jump` keys have a 0, the first walk ends at B exactly
    if the last key has a 1. Otherwise fewer than `jump` keys have a 1, and the second walk ends at B exactly if the
    last key has a 0.
    """
    ones_last, zeros_last, zeros = walks
    for target, up, down in ((ones_last, one_bits, zero_bits), (zeros_last, zero_bits, one_bits)):
        head.copy(up, target, B)
        head.copy(down, target, -ONE)
        head.copy(start, target, B)
    head.copy(zero_bits, zeros)


def clear_unless_last_bit(
    mlp: MlpBuilder, column: int, walks: Sequence[Columns], k: int, jump: int, bit: int, case: int
) -> None:
    """Clear a flag unless bit k of the last key is `bit` and this case of `LAST_BITS` holds."""
    first, second, zeros = (walk[k : k + 1] for walk in walks)
    first_at_bound, few_zeros, second_at_bound = LAST_BITS[bit, case]
    for walk, at_bound in ((first, first_at_bound), (second, second_at_bound)):
        if at_bound is not None:
            clear_if_positive(mlp, column, walk, *((-ONE, B) if at_bound else (ONE, -NEXT_TO_B)))
    if few_zeros is not None:
        clear_if_positive(mlp, column, zeros, *((ONE, ulps(-jump)) if few_zeros else (-ONE, ulps(jump + 1))))
