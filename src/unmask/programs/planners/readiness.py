"""The planner that writes a slot as soon as what it reads is written, for every tree of slots.

Statement:    a slot is chosen if it is masked and none of the rows that it reads is.
Construction: one LOOKUP per row that is read brings whether it is masked:
                  take = ReLU(masked - Σ_i masked of child i)
Bounds:       one layer, a head per child, one hidden unit; width O(log rows). Least p: 1.
Exactness:    exact. The logits are ±B: no noise can turn the decision round.
"""

import numpy as np

from unmask.programs.gadgets.lookup import lookup
from unmask.programs.language.builders import Columns, LayerBuilder
from unmask.programs.language.coefficients import ONE
from unmask.programs.language.positions import Expression, n
from unmask.programs.language.program import Program, Size, program_for
from unmask.programs.language.vocabulary import Vocabulary
from unmask.programs.planners.logits import symmetric_planner_logits


def readiness_planner(
    vocabulary: Vocabulary,
    length: Size,
    rows: Size,
    children: tuple[Expression | np.ndarray, ...],
    *,
    room: int | None = None,
) -> Program:
    """Choose a masked slot once no row that one of `children`, formulas or tables, names is masked.

    Addresses count to `rows`, or to `room`, which is no less.
    """
    program = program_for(vocabulary.symbols, 2, length, rows)
    masked = program.register("masked")
    program.embed(vocabulary["mask"], masked)
    take = program.register("take", 2)
    layer = program.layer()
    unit = layer.mlp.units(1)
    layer.mlp.read(unit, masked)
    if children:
        here = program.code("here", n, room=room)
        for i, child in enumerate(children):
            layer.mlp.read(unit, _masked_child(program, layer, i, child, here, masked, room), -ONE)
    layer.mlp.write(unit, take)
    symmetric_planner_logits(program, take)
    return program


def _masked_child(
    program: Program,
    layer: LayerBuilder,
    i: int,
    child: Expression | np.ndarray,
    here: Columns,
    masked: Columns,
    room: int | None,
) -> Columns:
    """Whether the row that child i names is masked."""
    address = program.code(f"address {i}", child, room=room)
    fetched = program.register(f"masked {i}")
    lookup(layer, address, here).copy(masked, fetched)
    return fetched
