"""The rows of repeated squaring, R ← R·R over ∨ and ∧, for a matrix R of v·v bits that is kept in place.

    rows 0 … v² - 1                 the input A, row by row
    then v³ rows (i, j, k)          products R[i,k] ∧ R[k,j], never written
    then v² rows (i, j)             the entries of R, those of i = 0 last, so that R[0, v-1] is the very last

R starts as A with 1 on the diagonal; after t squarings R[i,j] says whether a path of at most 2^t edges leads from i
to j. All positions are formulas in n and N with v = √N.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unmask.programs.gadgets.equal import eq
from unmask.programs.gadgets.hide import hide
from unmask.programs.gadgets.logic import conjunction, nor
from unmask.programs.gadgets.lookup import lookup
from unmask.programs.language.builders import Columns, LayerBuilder, MlpBuilder
from unmask.programs.language.positions import Expression, N, both, choose, n
from unmask.programs.language.program import Program


def squarings(vertices: int) -> int:
    """⌈log2 v⌉: a path visits no vertex twice, so that it has fewer than v edges."""
    return (vertices - 1).bit_length()


def squaring_slots(vertices: int) -> int:
    return vertices**2 + vertices**3


@dataclass(frozen=True, eq=False)
class SquaringRegisters:
    """Codes and flags of the rows; `zero` says in the row of an entry that it is 0."""

    here: Columns
    given_address: Columns  # of an entry: its bit of the input
    factor_addresses: list[Columns]  # of a product: its two entries
    entry: Columns  # of a product: the entry that it belongs to; of an entry: itself
    is_entry: Columns
    no_product: Columns
    diagonal: Columns
    given: Columns
    zero: Columns
    factor_is_zero: Columns
    product: Columns
    share: Columns


def squaring_registers(program: Program, vertices: int) -> SquaringRegisters:
    """All registers; the rows that an address does not concern read themselves."""
    v = vertices
    first_entry = N + v**3
    is_entry, is_product = n >= first_entry, both(n >= N, n < first_entry)
    i, j, k = (n - N) // v**2, (n - N) // v % v, (n - N) % v
    own = n - first_entry
    own_i, own_j = v - 1 - own // v, own % v

    def number(row: Expression, column: Expression) -> Expression:
        return (v - 1 - row) * v + column

    program.registers["one"] = ("0",)  # as the other flags of these programs, which folders name by a number
    factors = [first_entry + number(i, k), first_entry + number(k, j)]
    return SquaringRegisters(
        here=program.code("here", n),
        given_address=program.code("input address", choose(is_entry, own_i * v + own_j, n)),
        factor_addresses=[
            program.code(f"factor {side} address", choose(is_product, factor, n)) for side, factor in enumerate(factors)
        ],
        entry=program.code("entry", choose(is_entry, own, choose(is_product, number(i, j), 0))),
        is_entry=program.flag("is an entry", is_entry, 1),
        no_product=program.flag("no product", choose(is_product, 0, 1), 1),
        diagonal=program.flag("on the diagonal", both(is_entry, own_i.equals(own_j)), 1),
        given=program.register("given 0"),
        zero=program.register("zero", 2),
        factor_is_zero=program.register("factor is zero", 2),
        product=program.register("product"),
        share=program.register("share of products", 2),
    )


def multiply(layer: LayerBuilder, registers: SquaringRegisters) -> None:
    """product = ¬(left factor is 0) ∧ ¬(right factor is 0)."""
    for address, target in zip(registers.factor_addresses, registers.factor_is_zero, strict=True):
        lookup(layer, address, registers.here).copy(registers.zero[0], target)
    layer.mlp.write(nor(layer.mlp, [registers.factor_is_zero]), registers.product)


def gather(layer: LayerBuilder, registers: SquaringRegisters) -> None:
    """An entry attends to its products, all alike: its share is 0 or at least 2^-p (lem:detection)."""
    head = layer.head()
    eq(head, registers.entry, registers.entry)
    hide(head, registers.no_product, copies=1)
    head.copy(registers.product, registers.share)


def load(mlp: MlpBuilder, registers: SquaringRegisters, *, unless: Sequence[Columns] = ()) -> None:
    """An entry is 0 where its bit of the input is, except on the diagonal, and `unless` it is flagged."""
    unit = conjunction(mlp, registers.given, [np.concatenate([registers.diagonal, *unless])])
    mlp.write(unit, registers.zero)


def look_up_input(layer: LayerBuilder, registers: SquaringRegisters, bit_is_zero: Columns) -> None:
    """given = [the bit of the input is 0]."""
    lookup(layer, registers.given_address, registers.here).copy(bit_is_zero, registers.given)
