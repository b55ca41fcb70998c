"""Planner programs: one that writes a slot as soon as the rows that it reads are written, and one that writes blocks.

A planner has two logits per row, keep and take. It chooses the rows whose second logit is larger.
"""

import numpy as np

from unmask.expressions import Expression, N, choose, n
from unmask.programs.gadgets.attention import clear, itself, lookup
from unmask.programs.gadgets.mlp import conjunction
from unmask.programs.program import ONE, B, Columns, HeadBuilder, LayerBuilder, Program, Vocabulary, program_in_length


def planner_logits(program: Program, chosen: Columns) -> None:
    """Set (keep, take) to (0, B) if a row is chosen, else to (B, 0): keep B·one - B·chosen, take B·chosen."""
    program.read_out(0, program.one, B)
    program.read_out(0, chosen, -B)
    program.read_out(1, chosen, B)


def symmetric_planner_logits(program: Program, chosen_twice: Columns) -> None:
    """Set (keep, take) to (-B, B) if a row is chosen, else to (B, -B): ±(B·chosen + B·chosen - B·one), two columns."""
    for output, sign in ((1, B), (0, -B)):
        program.read_out(output, program.one, -sign)
        program.read_out(output, chosen_twice, sign)


def readiness_planner(
    vocabulary: Vocabulary,
    rows: Expression,
    children: tuple[Expression | np.ndarray, ...],
    *,
    capacity: Expression | None = None,
    hops: int = 1,
) -> Program:
    """Return the planner that chooses a masked slot once all rows that it reads are written.

    `children` are formulas or tables with the address of a row that is read, for every row. Addresses are below `rows`,
    or below `capacity` if it is given (capacity >= rows).

    Statement:    a slot is chosen if it is masked and none of the rows that it reads is. With h hops, a row that one of
                  h - 1 earlier hops would choose counts as written.
    Construction: one LOOKUP per row that is read copies whether it is masked:
                      take = ReLU(masked - Σ_i masked of child i)
                  With h hops there are h such layers. All but the last write `filled`. Where a row is read, `filled`
                  is subtracted from `masked`. A SELF head clears the columns that the layer before has fetched.
    Bounds:       h layers, a head per child (one more from the second layer on), one hidden unit; width O(log rows).
                  Least p: 1.
    Exactness:    exact. The logits are ±B: no noise can reverse the decision.
    """
    program = program_in_length(vocabulary.symbols, 2, rows)
    masked = program.register("masked")
    program.embed(vocabulary["mask"], masked)
    take = program.register("take", 2)
    row_code = program.code("here", n, capacity=capacity) if children else masked
    addresses, fetched = [], []
    for i, child in enumerate(children):
        addresses.append(program.code(f"address {i}", child, capacity=capacity))
        fetched.append(program.register(f"masked {i}"))
    filled = program.register("filled") if hops > 1 else None
    for hop in range(hops):
        layer = program.layer()
        unit = layer.mlp.units(1)
        layer.mlp.read(unit, masked)
        for address, absent in zip(addresses, fetched, strict=True):
            fetch_absence(lookup(layer, address, row_code), masked, filled, absent)
            layer.mlp.read(unit, absent, -ONE)
        if hop and fetched:
            clear(itself(layer, row_code), *fetched)
        if filled is None or hop == hops - 1:
            layer.mlp.write(unit, take)
        else:
            layer.mlp.read(unit, filled, -ONE)
            layer.mlp.write(unit, filled)
    symmetric_planner_logits(program, take)
    return program


def fetch_absence(head: HeadBuilder, masked: Columns, filled: Columns | None, target: Columns) -> None:
    """Copy [the attended row is masked, and no earlier hop has filled it]."""
    head.copy(masked, target)
    if filled is not None:
        head.copy(filled, target, -ONE)


def row_of_previous_block(block: int) -> Expression:
    """n - P in every block except the first; 0 in the first block and in the input."""
    return choose(n < N + block, 0, n - block)


def select_block(
    layer: LayerBuilder, masked: Columns, *, row_code: Columns, previous: Columns, before: Columns, chosen: Columns
) -> None:
    """chosen = [the row is masked, and the row `previous` is not]; `before` receives whether that row is masked."""
    lookup(layer, previous, row_code).copy(masked, before)
    layer.mlp.write(conjunction(layer.mlp, masked, [before]), chosen)


def block_planner(symbols: tuple[str, ...], mask: str, *, length: int, block: int, blocks: int) -> Program:
    """Return the planner that unmasks block after block (lem:select-block).

    Statement:    N symbols and T blocks of P slots, the first t of them written: one layer chooses block t + 1.
    Construction: a row reads the row P rows before it, and is chosen if it is masked and that row is not:
                      chosen = ReLU(masked - masked of row n - P),        logits (B·one - B·chosen, B·chosen)
                  Rows of the input and of the first block read row 0 instead, an input symbol, which is never masked.
    Bounds:       one layer, one head, one hidden unit; width O(log N). Least p: 1. N >= 1.
    Exactness:    exact, if blocks are written whole and never with the mask.
    Deviations:   row n - P of the paper does not exist for n < P, and for N < P it makes the first block wait for
                  itself. The paper's □ and m are one symbol here, the mask.
    """
    assert length >= 1, "the first block reads an input symbol, so N must be at least 1"
    program = Program(symbols, outputs=2, length=length, rows=length + block * blocks)
    row_code = program.code("own", n)
    previous = program.code("previous", row_of_previous_block(block))
    masked, before, chosen = (program.register(name) for name in ("masked", "before", "chosen"))
    program.embed(symbols.index(mask), masked)
    select_block(program.layer(), masked, row_code=row_code, previous=previous, before=before, chosen=chosen)
    planner_logits(program, chosen)
    return program
