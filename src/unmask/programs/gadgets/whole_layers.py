"""Gadgets that take a whole layer: DETECT, EMPTY, overwriting by two buffers, and binary encoding in a loop."""

from dataclasses import dataclass

import numpy as np

from unmask.programs.gadgets.attention import clear, hide, itself, lookup
from unmask.programs.gadgets.mlp import conjunction, threshold
from unmask.programs.program import (
    ABOVE_FAINTEST,
    ONE,
    ONE_HALF,
    Columns,
    HeadBuilder,
    LayerBuilder,
    MlpBuilder,
    Program,
)


def everywhere(layer: LayerBuilder) -> HeadBuilder:
    """Return a head that scores 0 on every row: one column of zeros."""
    head = layer.head()
    head.column([], [])
    return head


def detect(head: HeadBuilder, mlp: MlpBuilder, codes: Columns, average: Columns, detected: Columns) -> None:
    """DETECT: detected_σ = [a row that the head sees has codes_σ = 1] (lem:detection).

    Construction: a head that scores 0 on every row it sees copies the symbol's one-hot code; n rows have Z = min(n, B),
                  so each has the weight [1/min(n, B)] >= 2^-p. The MLP of the same layer takes the threshold.
    Bounds:       one head, two hidden units and two columns per symbol. Least p: 1.
    Exactness:    exact for every n: the denominator saturates, so the weights never round to 0.
    Deviations:   none in the construction. Codes must be 0 and 1: a weight of 2^-p rounds 1/2 to 0.
    """
    head.copy(codes, average)
    threshold(mlp, average, detected)


def empty(head: HeadBuilder, mlp: MlpBuilder, sentinel: Columns, share: Columns, alone: Columns) -> None:
    """EMPTY(sentinel): alone = [every row except the sentinel has exponential 0]; then the head would divide by zero.

    Statement:    for every head and every query: `alone` is 1 if no row except the one that `sentinel` flags has an
                  exponential above 0, else 0. The head never divides by zero.
    Construction: the columns come after all others, (-B·one ¦ sentinel) twice and ((B + s)·one ¦ sentinel), where s is
                  the least score whose exponential is not 0. It is 2^-p, so that the sentinel has the weight
                  share = [2^-p/Z]: 1 if it is alone, and at most 1/2 if not, because then Z >= 2·2^-p.
                  h = ReLU(share - 1/2) twice, alone = ReLU(h + h). A later layer can BOOST such queries.
    Bounds:       one head, one sentinel row, three columns, two hidden units; `share` must be 0 before. Several heads
                  may write to one column `alone`, each with its own `share`. It is then the number of heads that see
                  nothing, at most B. Least p: 1.
    Exactness:    exact for every earlier score and any number of rows (`proofs/GadgetEmpty.v`, for every p).
    Deviations:   the paper has no such gadget: with it a model can detect division by zero.
    """
    hide(head, sentinel)
    head.column([(head.one, ABOVE_FAINTEST)], [(sentinel, ONE)])
    head.copy(sentinel, share)
    units = mlp.units(2, bias=-ONE_HALF)
    mlp.read(units, share)
    mlp.write(units, alone)


@dataclass(frozen=True, eq=False)
class Buffers:
    """Two registers for one value: `current` holds it, `other` is 0."""

    current: Columns
    other: Columns

    @property
    def swapped(self) -> "Buffers":
        return Buffers(self.other, self.current)


def overwrite(gather: HeadBuilder, own_row: HeadBuilder, source: Columns, buffers: Buffers) -> Buffers:
    """Replace the current value by `source` of the row that `gather` attends to; `own_row` is a SELF head of the layer.

    Construction: other ← 0 + value of the attended row,  current ← current - current = 0,  then swap.
    Bounds:       two copies of the columns. Least p: 1.
    Deviations:   one buffer is not enough: heads are summed before the residual stream is added, and (-old + new) may
                  clip before + old undoes it. Values in {-1, 0, 1} never clip, so bits may be overwritten in place.
    """
    gather.copy(source, buffers.other)
    clear(own_row, buffers.current)
    return buffers.swapped


@dataclass(frozen=True, eq=False)
class Pointer:
    """reached_l = [this is the l-th row after an &], l = 0 … K; `bits` are those up to this row, highest first."""

    reached: Columns
    bits: Columns


def binary_encoding(
    program: Program, size: int, *, marker: int, digit_one: int, row_code: Columns, previous: Columns
) -> Pointer:
    """Add one layer that is looped `size` = K times: on & b_1 … b_K the row of b_K then holds (b_1, …, b_K).

    `row_code` is the code of row n and `previous` that of row max(n - 1, 0) (lem:binary-encoding).

    Construction: reached_l marks the l-th row after an &; it and the bits so far are passed from row to row.
                      heads   gathered ← reached, bits of the previous row;  SELF subtracts what was gathered earlier
                      MLP     reached_l += ReLU(gathered reached_(l-1) - reached_l - reached_0)
                              bits_l    += ReLU(gathered reached_(l-1) - not_one - reached_l - reached_0)
                                         + ReLU(gathered bits_l - Σ_j reached_j - gathered reached_K)
    Bounds:       K loops of one layer, two heads, 3K hidden units; 4K + 3 columns. Least p: 1.
    Exactness:    exact; a row that is reached never changes again, so further loops and several pointers in one string
                  do no harm.
    Deviations:   n in [N] takes ⌊log2 N⌋ + 1 bits, not ⌈log2 N⌉. The gathered columns must be cleared in every loop;
                  otherwise only the row of b_K is correct, and only after exactly K loops. The last term stops bits
                  from running past that row in later loops.
    """
    not_one = program.register("not_one")
    pointer = Pointer(program.register("reached", size + 1), program.register("bits", size))
    before = Pointer(program.register("gathered_reached", size + 1), program.register("gathered_bits", size))
    program.embed(marker, pointer.reached[0])
    program.embed(np.delete(np.arange(len(program.symbols)), digit_one), not_one)

    layer = program.layer()
    gather = lookup(layer, previous, row_code)
    gather.copy(pointer.reached, before.reached)
    gather.copy(pointer.bits, before.bits)
    clear(itself(layer, row_code), before.reached, before.bits)

    start, arrived = pointer.reached[0], pointer.reached[1:]
    arrive = conjunction(layer.mlp, before.reached[:-1], [[flag, start] for flag in arrived])
    digit = conjunction(layer.mlp, before.reached[:-1], [[flag, start, *not_one] for flag in arrived])
    carry = conjunction(layer.mlp, before.bits, [[*pointer.reached, before.reached[-1]]] * size)
    layer.mlp.write(arrive, arrived)
    layer.mlp.write(digit, pointer.bits)
    layer.mlp.write(carry, pointer.bits)
    return pointer
