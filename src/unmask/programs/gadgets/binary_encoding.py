"""From a number spread over symbols to one row's code, in a loop (lem:binary-encoding).

Statement:    on & b_1 … b_K, one layer looped K times leaves (b_1, …, b_K) in the row of b_K.
Construction: reached_l marks the l-th row after an &; it and the bits so far are handed from row to row.
                  heads   gathered ← reached, bits of the row before;   SELF subtracts what was gathered earlier
                  MLP     reached_l += ReLU(gathered reached_(l-1) - reached_l - reached_0)
                          bits_l    += ReLU(gathered reached_(l-1) - not_one - reached_l - reached_0)
                                     + ReLU(gathered bits_l - Σ_j reached_j - gathered reached_K)
Bounds:       K loops of one layer, two heads, 3K hidden units; 4K + 3 columns. Least p: 1.
Exactness:    exact; a row that is reached never changes again, so that further loops and several pointers in one
              string do no harm.
Deviations:   n in [N] takes ⌊log2 N⌋ + 1 bits, not ⌈log2 N⌉. The gathered columns must be cleared in every loop;
              otherwise only the row of b_K is right, and only after exactly K loops. The last term stops bits from
              running past that row in later loops.
"""

from dataclasses import dataclass

import numpy as np

from unmask.programs.gadgets.logic import conjunction
from unmask.programs.gadgets.lookup import clear, itself, lookup
from unmask.programs.language.builders import Columns
from unmask.programs.language.program import Program


@dataclass(frozen=True, eq=False)
class Pointer:
    """reached_l = [the l-th row after an &], l = 0 … K; bits: what has been read so far, the highest bit first."""

    reached: Columns
    bits: Columns


def binary_encoding(
    program: Program, size: int, *, marker: int, digit_one: int, own: Columns, previous: Columns
) -> Pointer:
    """One new layer, to be looped `size` times. Codes `own` of n, unique, and `previous` of max(n - 1, 0)."""
    not_one = program.register("not_one")
    pointer = Pointer(program.register("reached", size + 1), program.register("bits", size))
    before = Pointer(program.register("gathered_reached", size + 1), program.register("gathered_bits", size))
    program.embed(marker, pointer.reached[0])
    program.embed(np.delete(np.arange(len(program.symbols)), digit_one), not_one)

    layer = program.layer()
    gather = lookup(layer, previous, own)
    gather.copy(pointer.reached, before.reached)
    gather.copy(pointer.bits, before.bits)
    clear(itself(layer, own), before.reached, before.bits)

    start, arrived = pointer.reached[0], pointer.reached[1:]
    arrive = conjunction(layer.mlp, before.reached[:-1], [[here, start] for here in arrived])
    digit = conjunction(layer.mlp, before.reached[:-1], [[here, start, *not_one] for here in arrived])
    carry = conjunction(layer.mlp, before.bits, [[*pointer.reached, before.reached[-1]]] * size)
    layer.mlp.write(arrive, arrived)
    layer.mlp.write(digit, pointer.bits)
    layer.mlp.write(carry, pointer.bits)
    return pointer
