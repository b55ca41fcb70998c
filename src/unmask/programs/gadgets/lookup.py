"""LOOKUP: a head that copies any number from the one row that it names; SELF: from its own row.

Statement:    LOOKUP(address, here) copies any linear map of the row whose code `here` is the query's `address`.
Columns:      those of EQ. If one key matches, its score 0 and the -B of all others give the weights 1 and 0.
Bounds:       one head, two columns per bit. Least p: 1.
Exactness:    exact for all numbers of F_p. No row may ask for a code that no row has: it would divide by zero.
Deviations:   none.
"""

from unmask.programs.gadgets.equal import constant_code, eq, match
from unmask.programs.language.builders import Columns, HeadBuilder, LayerBuilder
from unmask.programs.language.coefficients import ONE


def lookup(layer: LayerBuilder, address: Columns, here: Columns) -> HeadBuilder:
    """A head that reads the row whose code `here` is the query's `address`; no two rows share that code."""
    head = layer.head()
    eq(head, address, here)
    return head


def lookup_row(layer: LayerBuilder, row: int, here: Columns) -> HeadBuilder:
    """A head by which all rows read the one row with this code."""
    head = layer.head()
    match(head, constant_code(row, here.size, head.one), here)
    return head


def itself(layer: LayerBuilder, own: Columns) -> HeadBuilder:
    """SELF: a head that reads its own row, by a code that no two rows share."""
    return lookup(layer, own, own)


def clear(head: HeadBuilder, *registers: Columns) -> None:
    """In a SELF head: x ← x - x."""
    for columns in registers:
        head.copy(columns, columns, -ONE)
