"""Regular languages by a tree of products: one slot per node, which holds an element of the transition monoid.

`tree_planner` and `tree_predictor` are the masked diffusion model (thm:regular-languages-in-mdm-efficient),
`tree_levels` is the parallel chain of thought. All sizes and positions are expressions in N. A length is either
N itself, for the layout of every N from 2 on, or a constant.

Queue (masked diffusion). Slot j = 0 … N-2 is at position N + j and multiplies the entries 2j and 2j + 1 of a queue:
first the N inputs, beginning with the last 2c of them (c = N - 2^⌊log2 N⌋), then the slots. So after the first c slots
the queue holds 2^⌊log2 N⌋ products in the order of the word, and a perfect tree follows: depth ⌈log2 N⌉, root in slot
N - 2. The paper's layout lacks the rotation and multiplies in a rotated order unless N is a power of two.

Levels (looped transformer, parallel chain of thought). Entry i of a level multiplies the entries 2i and 2i + 1 of the
level before; an entry that does not exist is the identity.

Composition (one node):
    MLP 1   missing_g = ReLU(1 - Σ over triples (l, r, g) of ReLU(left_l + right_r - 1))       [g is not a feature]
    MLP 2   element_f = ReLU(gate - Σ over g in result(f) of missing_g - blocks)
            accepted  = Σ over disjuncts of ReLU(gate - Σ present missing - blocks), exclusive; rejected likewise
Least p: 2 (left + right = 2 must fit). Everything is 0 or 1, and a sum of exclusive units never exceeds 1.
"""

from dataclasses import dataclass

import numpy as np

from unmask.expressions import Expression, N, both, choose, constant, log2_above, n, power_of_two_below
from unmask.programs.gadgets.attention import clear, itself, lookup
from unmask.programs.gadgets.mlp import conjunction
from unmask.programs.planner_programs import fetch_absence, readiness_planner
from unmask.programs.program import (
    ONE,
    B,
    Coefficient,
    Columns,
    HeadBuilder,
    LayerBuilder,
    MlpBuilder,
    Program,
    Vocabulary,
    program_in_length,
)
from unmask.programs.regular.monoid_codes import Coding, Disjunct, Products, symbols_with_elements
from unmask.weights.transformer import Attention


@dataclass(frozen=True)
class ProductTree:
    """A tree of products: its rows, the positions of the two factors of a row, and how rows are written."""

    rows: Expression
    capacity: Expression  # the number of rows that can be addressed
    factors: tuple[Expression, Expression]
    waits: bool  # a row may be read before it is written
    attention: Attention


LEAST_TREE_LENGTH = 2
"""The least length for which a layout in N is valid."""


def has_products(length: Expression) -> bool:
    """Return True if there are factors to multiply: for N itself, and for constants from 2 on."""
    return length.operator != "constant" or length.value >= LEAST_TREE_LENGTH


def tree_steps(length: int) -> int:
    """⌈log2 N⌉, and 0 for N <= 1."""
    return log2_above(N).at(length)


def least_steps(length: Expression, hops: int = 1) -> Expression:
    """⌈log2 N / h⌉, at least 1."""
    if not has_products(length):
        return constant(1)
    levels = log2_above(length)
    return levels if hops == 1 else (levels + (hops - 1)) // hops


def queue_slots(length: Expression) -> Expression:
    """The number of slots: N - 1 products, the last one the answer; one slot if there is nothing to multiply."""
    return length - 1 if has_products(length) else constant(1)


def queue_child(length: Expression, side: int) -> Expression:
    """The position of a slot's left (0) or right (1) factor; a row without factors points to itself."""
    return n if length.is_constant(0) else choose(n < N, n, queue_factor(n - N, side))


def queue_tree(length: Expression) -> ProductTree:
    """Masked diffusion: N letters and a slot per product."""
    rows = length + queue_slots(length)
    factors = queue_child(length, 0), queue_child(length, 1)
    return ProductTree(rows, rows, factors, waits=has_products(length), attention="unmasked")


def queue_factor(slot: Expression, side: int) -> Expression:
    """The input (below N) or slot (N + its number) that is a factor of a slot, for N >= 1."""
    entry = 2 * slot + side
    return choose(entry < N, (entry - 2 * (N - power_of_two_below(N))) % N, entry)


def loop_child(side: int) -> Expression:
    """Row i of N reads the rows 2i and 2i + 1; those that do not exist are the pad row N, the identity."""
    entry = 2 * n + side
    return choose(both(n < N, entry < N), entry, N)


def level_width(length: Expression) -> Expression:
    """P' = ⌈N/2⌉, at least 1: enough for the first level, which is the widest."""
    return (length + 1) // 2 if has_products(length) else constant(1)


def level_room(length: Expression, rows: Expression) -> Expression:
    """The number of rows that a parallel chain of thought can address: at least `rows`.

    There are about N·(1 + T/2) of them, and T grows like log N; 16·N is enough up to N = 2^30, so that a doubling
    of N adds one bit.
    """
    return choose(16 * length >= rows, 16 * length, rows)


def level_child(length: Expression, steps: Expression, side: int) -> Expression:
    """The position of a factor of row i in block t of a parallel chain of thought; missing ones are the row itself.

    The very last row is the root: entry 0 of its level.
    """
    width = level_width(length)
    level = (n - N) // width
    root = N + (steps * width - 1)
    entry = choose(n.equals(root), side, 2 * ((n - N) % width) + side)
    from_input = choose(entry < N, entry, n)
    from_block = choose(entry < width, N + width * (level - 1) + entry, n)
    return choose(n < N, n, choose(level.equals(0), from_input, from_block))


def level_tree(length: Expression) -> ProductTree:
    """Parallel chain of thought: N letters and a block of products per level; every step finds its factors written."""
    steps = least_steps(length)
    rows = length + steps * level_width(length)
    factors = level_child(length, steps, 0), level_child(length, steps, 1)
    return ProductTree(rows, level_room(length, rows), factors, waits=False, attention="causal")


LEAST_PRECISION = 2


def multiply_features(mlp: MlpBuilder, coding: Coding, left: Columns, right: Columns, missing: Columns) -> None:
    """MLP 1: compute the result features that the product lacks."""
    first, second, third = coding.triples
    units = mlp.units(first.size, bias=-ONE)
    mlp.read(units, left[first])
    mlp.read(units, right[second])
    mlp.write(units, missing[third], -ONE)
    mlp.offset(missing, ONE)


def recognise_elements(
    mlp: MlpBuilder, coding: Coding, missing: Columns, gate: Columns, blocks: list[Columns], *targets: Columns
) -> np.ndarray:
    """MLP 2: return one unit per element, written to every target; `gate` must be 1 and all `blocks` 0."""
    units = mlp.units(coding.size)
    mlp.read(units, gate)
    mlp.read(units[coding.result.element], missing[coding.result.feature], -ONE)
    for block in blocks:
        mlp.read(units, block, -ONE)
    for target in targets:
        mlp.write(units, target)
    return units


def write_disjuncts(
    mlp: MlpBuilder,
    disjuncts: tuple[Disjunct, ...],
    missing: Columns,
    gate: Columns,
    blocks: list[tuple[Columns, Coefficient]],
    target: Columns,
) -> None:
    """MLP 2: one unit per disjunct, at most one of which fires; it is written to all columns of the target.

    A disjunct with an absent feature starts from that feature instead of the gate, so `blocks` must forbid
    everything that the gate forbids.
    """
    units = mlp.units(len(disjuncts))
    for unit, disjunct in zip(units, disjuncts, strict=True):
        mlp.read(unit, gate if disjunct.absent is None else missing[disjunct.absent])
        mlp.read(np.full(len(disjunct.present), unit), missing[list(disjunct.present)], -ONE)
    for columns, weight in blocks:
        mlp.read(units, columns, weight)
    for column in target:
        mlp.write(units, column)


def fetch_features(head: HeadBuilder, coding: Coding, side: str, element: Columns, target: Columns) -> None:
    """Value map: from one column per element to the features of that element."""
    pairs = coding.left if side == "left" else coding.right
    head.copy(element[pairs.element], target[pairs.feature])


SIDES = ("left", "right")


def product_node(
    products: Products, vocabulary: Vocabulary, tree: ProductTree, *, own_slot: bool = False, hops: int = 1
) -> Program:
    """Return the program of every row of a tree: it multiplies the products in two other rows.

        layer 1   LOOKUP both factors; MLP: which features their product lacks, and whether both were there
        layer 2   MLP: the element with these features, or in the last row accept/reject

    Logits: the chosen symbol B, all others -B, which no noise can reverse. With `waits`, a row is undecided while
    one of its factors is masked: the symbols that it may hold tie at 0, the others have -B. With `own_slot` (a topk
    model) it is also undecided after it is written. In both cases every symbol then has -B.

    With h hops these two layers come h times. All but the last time, a masked row that has a product is *filled*: it is
    read as that product from then on.

        layer 1   besides, `fills` = masked ∧ ¬filled ∧ both factors were there; SELF clears results of the hop before
        layer 2   besides, `filled` += fills, and the codes of the product are added to those of the row, where fills

    The mask is then embedded as no element, so that the codes of a row that is filled are 0 before. Heads are summed
    before the residual stream is added: new - old lies in {-1, 0, 1}, so clearing and fetching share a layer.
    """
    assert hops == 1 or tree.waits, "a tree whose factors are always written has nothing to fill"
    program = program_in_length(vocabulary.symbols, len(vocabulary.symbols), tree.rows, tree.attention)
    registers = _ProductRegisters.of(program, products, tree, hops)
    undecided = [(flag, -ONE) for flag in registers.absent] if tree.waits else []
    if own_slot:
        undecided += [(program.one, -ONE), (registers.masked, ONE)]
    _embed(program, products, vocabulary, registers)
    for hop in range(hops):
        layer = program.layer()
        _multiply(layer, products, registers)
        if hop:
            clear(itself(layer, registers.row_code), *registers.of_one_hop)
        if hop < hops - 1:
            _fill(layer.mlp, program.layer().mlp, products, registers)
    unit = layer.mlp.units(1, bias=ONE)
    for flag, weight in undecided:
        layer.mlp.read(unit, flag, weight)
    layer.mlp.write(unit, registers.ready)
    _answer(program.layer().mlp, products, registers, undecided)
    _read_out(program, products, vocabulary, registers)
    if own_slot:
        program.read_out(vocabulary.all_tokens, program.one, -B)
    else:
        _suppress(program, vocabulary, products.symbol_of, registers)
    return program


@dataclass(frozen=True, eq=False)
class _ProductRegisters:
    """The registers of a row: its position, its value as a factor, its own factors, and their product."""

    last: Columns
    inner: Columns
    masked: Columns
    row_code: Columns
    address: list[Columns]
    as_factor: list[Columns]
    factor: list[Columns]
    absent: list[Columns]
    ready: Columns
    missing: Columns
    product: list[Columns]
    accepted: Columns
    rejected: Columns
    fills: Columns | None
    filled: Columns | None

    @property
    def of_one_hop(self) -> list[Columns]:
        """The registers that the next hop clears."""
        assert self.fills is not None
        return [*self.factor, *self.absent, self.missing, self.fills]

    @classmethod
    def of(cls, program: Program, products: Products, tree: ProductTree, hops: int) -> "_ProductRegisters":
        coding = products.coding
        features = (coding.left_names, coding.right_names)
        return cls(
            last=program.flag("last row", n.equals(tree.rows - 1)),
            inner=program.flag("inner row", n < tree.rows - 1),
            masked=program.register("masked"),
            row_code=program.code("here", n, capacity=tree.capacity),
            address=[
                program.code(f"{s} address", f, capacity=tree.capacity)
                for s, f in zip(SIDES, tree.factors, strict=True)
            ],
            as_factor=[program.register(f"as {s}", names) for s, names in zip(SIDES, features, strict=True)],
            factor=[program.register(s, names) for s, names in zip(SIDES, features, strict=True)],
            absent=[program.register(f"{s} masked") for s in SIDES],
            ready=program.register("ready"),
            missing=program.register("missing", coding.result_names),
            product=[program.register(f"product, copy {i}", products.element_names) for i in (1, 2)],
            accepted=program.register("accepted", 2),
            rejected=program.register("rejected", 2),
            fills=program.register("fills") if hops > 1 else None,
            filled=program.register("filled") if hops > 1 else None,
        )


_Undecided = list[tuple[Columns, Coefficient]]


def _embed(program: Program, products: Products, vocabulary: Vocabulary, registers: _ProductRegisters) -> None:
    """Embed every symbol as a left and as a right factor; a mask that may be filled is not a factor."""
    if "mask" in vocabulary.special:
        program.embed(vocabulary["mask"], registers.masked)
    symbols, elements = symbols_with_elements(products, vocabulary)
    if registers.filled is not None:
        symbols, elements = symbols[symbols != vocabulary["mask"]], elements[symbols != vocabulary["mask"]]
    for pairs, columns in zip((products.coding.left, products.coding.right), registers.as_factor, strict=True):
        index, feature = pairs.of(elements)
        program.embed(symbols[index], columns[feature])


def _multiply(layer: LayerBuilder, products: Products, registers: _ProductRegisters) -> None:
    """Layer 1: both factors, whether they exist, and the features that their product lacks."""
    for side in (0, 1):
        fetch = lookup(layer, registers.address[side], registers.row_code)
        fetch.copy(registers.as_factor[side], registers.factor[side])
        fetch_absence(fetch, registers.masked, registers.filled, registers.absent[side])
    multiply_features(layer.mlp, products.coding, *registers.factor, registers.missing)


def _fill(first: MlpBuilder, second: MlpBuilder, products: Products, registers: _ProductRegisters) -> None:
    """Both layers of a hop that is not the last: a masked row whose factors were there becomes their product."""
    coding, fills, filled = products.coding, registers.fills, registers.filled
    assert fills is not None
    assert filled is not None
    first.write(conjunction(first, registers.masked, [[*filled, *np.concatenate(registers.absent)]]), fills)
    second.write(conjunction(second, fills, [[]]), filled)
    units = recognise_elements(second, coding, registers.missing, fills, [])
    for pairs, columns in zip((coding.left, coding.right), registers.as_factor, strict=True):
        second.write(units[pairs.element], columns[pairs.feature])


def _answer(mlp: MlpBuilder, products: Products, registers: _ProductRegisters, undecided: _Undecided) -> None:
    """Layer 2: the product, or in the last row accept or reject."""
    coding, missing, ready = products.coding, registers.missing, registers.ready
    recognise_elements(mlp, coding, missing, ready, [registers.last], *registers.product)
    for disjuncts, target in ((coding.accept, registers.accepted), (coding.reject, registers.rejected)):
        write_disjuncts(mlp, disjuncts, missing, ready, [(registers.inner, -ONE), *undecided], target)


def _read_out(program: Program, products: Products, vocabulary: Vocabulary, registers: _ProductRegisters) -> None:
    """Add B twice to the logit of the chosen symbol."""
    for columns in registers.product:
        program.read_out(products.symbol_of, columns, B)
    program.read_out(vocabulary["accept"], registers.accepted, B)
    program.read_out(vocabulary["reject"], registers.rejected, B)


def _suppress(program: Program, vocabulary: Vocabulary, written: Columns, registers: _ProductRegisters) -> None:
    """Set the logit -B for symbols that the row cannot hold, and for all symbols once the row is decided.

    These columns are before those of the choice, so that the sum of the chosen symbol runs -B, -B, 0, B.
    """
    program.read_out(written, registers.last, -B)
    program.read_out(vocabulary.verdicts, registers.inner, -B)
    for symbols in (written, vocabulary.verdicts):
        program.read_out(symbols, registers.ready, -B)
    other_symbols = set(vocabulary.all_tokens.tolist()) - set(written.tolist()) - set(vocabulary.verdicts.tolist())
    program.read_out(sorted(other_symbols), program.one, -B)


def tree_planner(vocabulary: Vocabulary, length: Expression, *, hops: int = 1) -> Program:
    """Return the planner: u = masked ∧ ¬(left factor masked) ∧ ¬(right factor masked).

    A slot that an earlier hop of the same pass fills counts as written.
    """
    tree = queue_tree(length)
    hops = hops if tree.waits else 1
    return readiness_planner(vocabulary, tree.rows, tree.factors if tree.waits else (), hops=hops)


def tree_predictor(
    products: Products, vocabulary: Vocabulary, length: Expression, *, own_slot: bool = False, hops: int = 1
) -> Program:
    """Return the predictor of ⌈log2 N / h⌉ steps: the product of a slot's two factors, or accept/reject in the root.

    Statement:    a regular language is decided by a masked diffusion model with ⌈log2 N⌉ steps and N slots; this is the
                  layout with one slot per node, which the compiler takes for monoids of at most 1,024 elements. With h
                  hops, ⌈log2 N / h⌉ steps are enough: depth is exchanged for steps.
    Construction: a slot holds the product of a factor of the word, as a symbol. The predictor looks up the two factors
                  of a slot and multiplies them; the planner chooses a masked slot as soon as both are written. The root
                  emits accept or reject instead of its product. With h hops both do this h times in one pass, so that
                  h levels of the tree are written at once; a slot that is not written yet is filled within the pass
                  (`product_node`). A slot that is written is trusted and never computed again.
    Bounds:       T = ⌈log2 N / h⌉ (1 for N <= 1), P = N - 1 (1 for N <= 1); planner h layers, predictor 2h; two heads
                  per layer, three if a hop clears results of the hop before; width O(log N), two columns more for
                  h > 1 (planner: one).
    Exactness:    for every N >= 0 and p >= 2. The planner chooses masked slots only: the same weights are an smdm.
    Deviations:   the order of the leaves (see above); child addresses are absolute; the answer is emitted by
                  the root itself, which saves a slot; m is embedded as the identity, so that N = 0 and N = 1 need no
                  case of their own (for h > 1 it is embedded as no element, and these two have one hop).
    """
    tree = queue_tree(length)
    return product_node(products, vocabulary, tree, own_slot=own_slot, hops=hops if tree.waits else 1)


def tree_levels(products: Products, vocabulary: Vocabulary, length: Expression) -> Program:
    """Return the parallel chain of thought of ⌈log2 N⌉ steps.

    Statement:    a regular language is decided by a parallel chain of thought with ⌈log2 N⌉ steps of ⌈N/2⌉ symbols (one
                  per node, for monoids of at most 1,024 elements).
    Construction: step t writes level t of the tree: row i the product of the entries 2i and 2i + 1 of the level before.
                  A factor that does not exist is the row itself, which holds m, the identity. The very last row takes
                  the root's factors and emits accept or reject.
    Bounds:       T = ⌈log2 N⌉ (1 for N <= 1), P' = ⌈N/2⌉ (at least 1), P = T·P'; 2 layers; width O(log N).
    Exactness:    for every N >= 0 and p >= 2.
    """
    return product_node(products, vocabulary, level_tree(length))
