"""The planner that unmasks block after block (lem:select-block).

Statement:    N symbols and T blocks of P slots, the first t of them written: one layer chooses block t + 1.
Construction: a row looks P rows back, and is chosen if it is masked and that row is not:
                  chosen = ReLU(masked - masked of row n - P),        logits (B·one - B·chosen, B·chosen)
              Rows of the input and of the first block look at row 0 instead, an input symbol, never masked.
Bounds:       one layer, one head, one hidden unit; width O(log N). Least p: 1. N >= 1.
Exactness:    exact, if blocks are written whole and never with the mask.
Deviations:   row n - P of the paper does not exist for n < P, and for N < P it makes the first block wait for
              itself; the paper's □ and m are one symbol here, the mask.
"""

from unmask.programs.gadgets.logic import conjunction
from unmask.programs.gadgets.lookup import lookup
from unmask.programs.language.builders import Columns, LayerBuilder
from unmask.programs.language.positions import Expression, N, choose, n
from unmask.programs.language.program import Program
from unmask.programs.planners.logits import planner_logits


def row_of_previous_block(block: int) -> Expression:
    """n - P in every block but the first, 0 before."""
    return choose(n < N + block, 0, n - block)


def select_block(
    layer: LayerBuilder, masked: Columns, *, own: Columns, previous: Columns, before: Columns, chosen: Columns
) -> None:
    """chosen = [masked here, and not in the row `previous`], which is fetched into `before`."""
    lookup(layer, previous, own).copy(masked, before)
    layer.mlp.write(conjunction(layer.mlp, masked, [before]), chosen)


def block_planner(symbols: tuple[str, ...], mask: str, *, length: int, block: int, blocks: int) -> Program:
    """The whole planner."""
    assert length >= 1, "the first block looks at an input symbol, so there must be one"
    program = Program(symbols, outputs=2, length=length, rows=length + block * blocks)
    own = program.code("own", n)
    previous = program.code("previous", row_of_previous_block(block))
    masked, before, chosen = (program.register(name) for name in ("masked", "before", "chosen"))
    program.embed(symbols.index(mask), masked)
    select_block(program.layer(), masked, own=own, previous=previous, before=before, chosen=chosen)
    planner_logits(program, chosen)
    return program
