"""A row that multiplies the products in two other rows: the predictor of every tree of symbols.

    layer 1   LOOKUP both factors; MLP: which features their product lacks, and whether both were there
    layer 2   MLP: the element with these features, or in the last row accept/reject

Logits: the chosen symbol B, all others -B, which no noise can turn round. With `waits`, a row is undecided while
one of its factors is masked: the symbols that it may hold tie at 0, the others have -B. With `own_slot` (a topk
model) it is also undecided once it is written itself, and then, or while it waits, every symbol has -B.
"""

from unmask.programs.attention import eq
from unmask.programs.coefficients import ONE, B, Coefficient
from unmask.programs.composition import decide, multiply_features, recognise
from unmask.programs.expressions import Expression, n
from unmask.programs.products import Products
from unmask.programs.program import Columns, Flag, Program, SignedBits, bits_for
from unmask.programs.vocabulary import Vocabulary, symbols_with_elements


def product_node(
    products: Products,
    vocabulary: Vocabulary,
    length: int,
    rows: int,
    children: tuple[Expression, Expression],
    *,
    waits: bool,
    own_slot: bool = False,
    room: int = 0,
) -> Program:
    """The program; `children` are the positions of the two factors of each row; addresses count to rows or `room`."""
    coding, bits = products.coding, bits_for(max(rows, room))
    program = Program(vocabulary.symbols, len(vocabulary.symbols), length, rows)
    one = program.register("one", declaration=Flag(n >= 0))
    last = program.register("last row", declaration=Flag(n.equals(rows - 1)))
    inner = program.register("inner row", declaration=Flag(n < rows - 1))
    masked = program.register("masked")
    here = program.register("here", bits, SignedBits(n))
    names = ("left", "right")
    address = [program.register(f"{s} address", bits, SignedBits(c)) for s, c in zip(names, children, strict=True)]
    own = [program.register("as left", coding.left_names), program.register("as right", coding.right_names)]
    factor = [program.register("left", coding.left_names), program.register("right", coding.right_names)]
    absent = [program.register(f"{s} masked") for s in names]
    ready = program.register("ready")
    missing = program.register("missing", coding.result_names)
    product = [program.register(f"product, copy {i}", products.element_names) for i in (1, 2)]
    accepted, rejected = program.register("accepted", 2), program.register("rejected", 2)

    if "mask" in vocabulary.special:
        program.embed(vocabulary["mask"], masked)
    symbols, elements = symbols_with_elements(products, vocabulary)
    for pairs, columns in ((coding.left, own[0]), (coding.right, own[1])):
        place, feature = pairs.of(elements)
        program.embed(symbols[place], columns[feature])

    undecided: list[tuple[Columns, Coefficient]] = [(flag, -ONE) for flag in absent] if waits else []
    if own_slot:
        undecided += [(one, -ONE), (masked, ONE)]
    first = program.layer()
    for side in (0, 1):
        head = first.head()
        eq(head, address[side], here, one)
        head.copy(own[side], factor[side])
        head.copy(masked, absent[side])
    multiply_features(first.mlp, coding, factor[0], factor[1], missing)
    unit = first.mlp.units(1, bias=ONE)
    for flag, weight in undecided:
        first.mlp.read(unit, flag, weight)
    first.mlp.write(unit, ready)

    second = program.layer()
    recognise(second.mlp, coding, missing, ready, [last], *product)
    for disjuncts, target in ((coding.accept, accepted), (coding.reject, rejected)):
        decide(second.mlp, disjuncts, missing, ready, [(inner, -ONE), *undecided], target)

    for columns in product:
        program.read_out(products.symbol_of, columns, B)
    for symbol, columns in ((vocabulary["accept"], accepted), (vocabulary["reject"], rejected)):
        program.read_out(symbol, columns, B)
    if own_slot:
        program.read_out(vocabulary.everything, one, -B)
    else:
        suppress(program, vocabulary, products.symbol_of, one=one, last=last, inner=inner, decided=ready)
    return program


def suppress(
    program: Program,
    vocabulary: Vocabulary,
    written: Columns,
    *,
    one: Columns,
    last: Columns,
    inner: Columns,
    decided: Columns,
) -> None:
    """-B for symbols out of place, and -B for all once a row is decided, from which B twice lifts the chosen one.

    These columns stand before those of the choice, so that the sum runs -B, -B, 0, B.
    """
    verdicts = [vocabulary["accept"], vocabulary["reject"]]
    program.read_out(written, last, -B)
    program.read_out(verdicts, inner, -B)
    for symbols in (written, verdicts):
        program.read_out(symbols, decided, -B)
    others = set(vocabulary.everything.tolist()) - set(written.tolist()) - set(verdicts)
    program.read_out(sorted(others), one, -B)
