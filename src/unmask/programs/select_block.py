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

from unmask.programs.attention import eq
from unmask.programs.coefficients import B
from unmask.programs.expressions import Expression, N, choose, constant, n
from unmask.programs.logic import conjunction
from unmask.programs.program import Columns, Flag, LayerBuilder, Program, SignedBits, bits_for


def row_of_previous_block(block: int) -> Expression:
    """n - P in every block but the first, 0 before."""
    return choose(n < N + block, 0, n - block)


def select_block(
    layer: LayerBuilder,
    masked: Columns,
    *,
    own: Columns,
    previous: Columns,
    one: Columns,
    before: Columns,
    chosen: Columns,
) -> None:
    """chosen = [masked here, and not in the row `previous`], which is fetched into `before`."""
    head = layer.head()
    eq(head, previous, own, one)
    head.copy(masked, before)
    layer.mlp.write(conjunction(layer.mlp, masked, [before]), chosen)


def planner_logits(program: Program, chosen: Columns, one: Columns) -> None:
    """Keep: B·one - B·chosen; take: B·chosen."""
    program.read_out(0, one, B)
    program.read_out(0, chosen, -B)
    program.read_out(1, chosen, B)


def block_planner(symbols: tuple[str, ...], mask: str, *, length: int, block: int, blocks: int) -> Program:
    """The whole planner."""
    assert length >= 1, "the first block looks at an input symbol, so there must be one"
    program = Program(symbols, outputs=2, length=length, rows=length + block * blocks)
    bits = bits_for(program.rows)
    one = program.register("one", declaration=Flag(constant(1)))
    own = program.register("own", bits, SignedBits(n))
    previous = program.register("previous", bits, SignedBits(row_of_previous_block(block)))
    masked, before, chosen = (program.register(name) for name in ("masked", "before", "chosen"))
    program.embed(symbols.index(mask), masked)
    select_block(program.layer(), masked, own=own, previous=previous, one=one, before=before, chosen=chosen)
    planner_logits(program, chosen, one)
    return program
