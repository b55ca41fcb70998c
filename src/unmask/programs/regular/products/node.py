"""A row that multiplies the products in two other rows: the predictor of every tree of symbols.

    layer 1   LOOKUP both factors; MLP: which features their product lacks, and whether both were there
    layer 2   MLP: the element with these features, or in the last row accept/reject

Logits: the chosen symbol B, all others -B, which no noise can turn round. With `waits`, a row is undecided while
one of its factors is masked: the symbols that it may hold tie at 0, the others have -B. With `own_slot` (a topk
model) it is also undecided once it is written itself, and then, or while it waits, every symbol has -B.
"""

from dataclasses import dataclass

from unmask.programs.gadgets.lookup import lookup
from unmask.programs.language.builders import Columns, LayerBuilder, MlpBuilder
from unmask.programs.language.coefficients import ONE, B, Coefficient
from unmask.programs.language.positions import n
from unmask.programs.language.program import Program, program_for
from unmask.programs.language.vocabulary import Vocabulary
from unmask.programs.regular.products.composition import decide, multiply_features, recognise
from unmask.programs.regular.products.elements import Products
from unmask.programs.regular.products.symbols import symbols_with_elements
from unmask.programs.regular.tree import Tree

SIDES = ("left", "right")


def product_node(products: Products, vocabulary: Vocabulary, tree: Tree, *, own_slot: bool = False) -> Program:
    """The program of every row of a tree."""
    program = program_for(vocabulary.symbols, len(vocabulary.symbols), tree.length, tree.rows, tree.attention)
    registers = _Registers.of(program, products, tree)
    undecided = [(flag, -ONE) for flag in registers.absent] if tree.waits else []
    if own_slot:
        undecided += [(program.one, -ONE), (registers.masked, ONE)]
    _embed(program, products, vocabulary, registers)
    _multiply(program.layer(), products, registers, undecided)
    _answer(program.layer().mlp, products, registers, undecided)
    _read_out(program, products, vocabulary, registers)
    if own_slot:
        program.read_out(vocabulary.everything, program.one, -B)
    else:
        _suppress(program, vocabulary, products.symbol_of, registers)
    return program


@dataclass(frozen=True, eq=False)
class _Registers:
    """Of one row: its place, what it is as a factor, what its own factors are, and their product."""

    last: Columns
    inner: Columns
    masked: Columns
    here: Columns
    address: list[Columns]
    own: list[Columns]
    factor: list[Columns]
    absent: list[Columns]
    ready: Columns
    missing: Columns
    product: list[Columns]
    accepted: Columns
    rejected: Columns

    @classmethod
    def of(cls, program: Program, products: Products, tree: Tree) -> "_Registers":
        coding = products.coding
        features = (coding.left_names, coding.right_names)
        return cls(
            last=program.flag("last row", n.equals(tree.rows - 1)),
            inner=program.flag("inner row", n < tree.rows - 1),
            masked=program.register("masked"),
            here=program.code("here", n, room=tree.room),
            address=[program.code(f"{s} address", f, room=tree.room) for s, f in zip(SIDES, tree.factors, strict=True)],
            own=[program.register(f"as {s}", names) for s, names in zip(SIDES, features, strict=True)],
            factor=[program.register(s, names) for s, names in zip(SIDES, features, strict=True)],
            absent=[program.register(f"{s} masked") for s in SIDES],
            ready=program.register("ready"),
            missing=program.register("missing", coding.result_names),
            product=[program.register(f"product, copy {i}", products.element_names) for i in (1, 2)],
            accepted=program.register("accepted", 2),
            rejected=program.register("rejected", 2),
        )


_Undecided = list[tuple[Columns, Coefficient]]


def _embed(program: Program, products: Products, vocabulary: Vocabulary, registers: _Registers) -> None:
    """Every symbol as a left and as a right factor."""
    if "mask" in vocabulary.special:
        program.embed(vocabulary["mask"], registers.masked)
    symbols, elements = symbols_with_elements(products, vocabulary)
    for pairs, columns in zip((products.coding.left, products.coding.right), registers.own, strict=True):
        place, feature = pairs.of(elements)
        program.embed(symbols[place], columns[feature])


def _multiply(layer: LayerBuilder, products: Products, registers: _Registers, undecided: _Undecided) -> None:
    """Layer 1: what the product of the two factors lacks, and whether the row is to be decided."""
    for side in (0, 1):
        fetch = lookup(layer, registers.address[side], registers.here)
        fetch.copy(registers.own[side], registers.factor[side])
        fetch.copy(registers.masked, registers.absent[side])
    multiply_features(layer.mlp, products.coding, *registers.factor, registers.missing)
    unit = layer.mlp.units(1, bias=ONE)
    for flag, weight in undecided:
        layer.mlp.read(unit, flag, weight)
    layer.mlp.write(unit, registers.ready)


def _answer(mlp: MlpBuilder, products: Products, registers: _Registers, undecided: _Undecided) -> None:
    """Layer 2: the product, or in the last row accept or reject."""
    coding, missing, ready = products.coding, registers.missing, registers.ready
    recognise(mlp, coding, missing, ready, [registers.last], *registers.product)
    for disjuncts, target in ((coding.accept, registers.accepted), (coding.reject, registers.rejected)):
        decide(mlp, disjuncts, missing, ready, [(registers.inner, -ONE), *undecided], target)


def _read_out(program: Program, products: Products, vocabulary: Vocabulary, registers: _Registers) -> None:
    """B twice for the symbol that is chosen."""
    for columns in registers.product:
        program.read_out(products.symbol_of, columns, B)
    program.read_out(vocabulary["accept"], registers.accepted, B)
    program.read_out(vocabulary["reject"], registers.rejected, B)


def _suppress(program: Program, vocabulary: Vocabulary, written: Columns, registers: _Registers) -> None:
    """-B for symbols out of place, and -B for all once a row is decided, from which B twice lifts the chosen one.

    These columns stand before those of the choice, so that the sum runs -B, -B, 0, B.
    """
    program.read_out(written, registers.last, -B)
    program.read_out(vocabulary.verdicts, registers.inner, -B)
    for symbols in (written, vocabulary.verdicts):
        program.read_out(symbols, registers.ready, -B)
    others = set(vocabulary.everything.tolist()) - set(written.tolist()) - set(vocabulary.verdicts.tolist())
    program.read_out(sorted(others), program.one, -B)
