"""Regular languages by masked diffusion in ⌈log2 N⌉ steps (thm:regular-languages-in-mdm-efficient).

Statement:    a regular language is decided by a masked diffusion model with ⌈log2 N⌉ steps and N slots.
Construction: a slot holds the product of a factor of the word, as a symbol. The predictor looks up the two
              factors of a slot and multiplies them; the planner chooses a masked slot as soon as both are written.
              The root emits accept or reject instead of its product.
Bounds:       T = ⌈log2 N⌉ (1 for N <= 1), P = N - 1 (1 for N <= 1); planner 1 layer, predictor 2; width O(log N).
Exactness:    for every N >= 0 and p >= 2. The planner chooses masked slots only: the same weights are an smdm.
Deviations:   the order of the leaves (see `programs.tree`); child addresses are absolute; the answer is emitted by
              the root itself, which saves a slot; m is embedded as the identity, so that N = 0 and N = 1 need no
              case of their own.
"""

from unmask.programs.attention import eq
from unmask.programs.coefficients import ONE, B
from unmask.programs.expressions import Expression, n
from unmask.programs.product_node import product_node
from unmask.programs.products import Products
from unmask.programs.program import Columns, Flag, LayerBuilder, Program, SignedBits, TableBits, bits_for
from unmask.programs.tree import queue_child, queue_slots
from unmask.programs.vocabulary import Vocabulary


def tree_planner(vocabulary: Vocabulary, length: int) -> Program:
    """u = masked ∧ ¬(left factor masked) ∧ ¬(right factor masked)."""
    children = (queue_child(length, 0), queue_child(length, 1)) if length > 1 else ()
    return readiness_planner(vocabulary, length, length + queue_slots(length), n, children)


def readiness_planner(
    vocabulary: Vocabulary,
    length: int,
    rows: int,
    here: Expression,
    children: tuple[Expression | TableBits, ...],
    *,
    room: int = 0,
) -> Program:
    """Choose a masked slot once no row that one of `children`, formulas or tables, names as its `here` is masked.

    Addresses count to `rows`, or to `room` where that is more. The logits are ±B: no noise can turn the decision round.
    """
    program = Program(vocabulary.symbols, 2, length, rows)
    one = program.register("one", declaration=Flag(n >= 0))
    masked = program.register("masked")
    program.embed(vocabulary["mask"], masked)
    take = program.register("take", 2)
    layer = program.layer()
    unit = layer.mlp.units(1)
    layer.mlp.read(unit, masked)
    if children:
        key = program.register("here", bits_for(max(rows, room)), SignedBits(here))
        for i, child in enumerate(children):
            layer.mlp.read(unit, _masked_child(program, layer, key, child, i, one, masked), -ONE)
    layer.mlp.write(unit, take)
    for output, sign in ((1, B), (0, -B)):
        program.read_out(output, one, -sign)
        program.read_out(output, take, sign)
    return program


def _masked_child(
    program: Program,
    layer: LayerBuilder,
    key: Columns,
    child: Expression | TableBits,
    i: int,
    one: Columns,
    masked: Columns,
) -> Columns:
    code = child if isinstance(child, TableBits) else SignedBits(child)
    address = program.register(f"address {i}", key.size, code)
    fetched = program.register(f"masked {i}")
    head = layer.head()
    eq(head, address, key, one)
    head.copy(masked, fetched)
    return fetched


def tree_predictor(products: Products, vocabulary: Vocabulary, length: int, *, own_slot: bool = False) -> Program:
    """The product of a slot's two factors, or accept/reject in the root."""
    return product_node(
        products,
        vocabulary,
        length,
        length + queue_slots(length),
        (queue_child(length, 0), queue_child(length, 1)),
        waits=length > 1,
        own_slot=own_slot,
    )
