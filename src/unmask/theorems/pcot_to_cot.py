"""Parallel chain of thought as chain of thought, in twice the steps (prop:cot-as-pcot, second half).

Statement:    pCoT[T, P] ⊆ CoT[2P]: a parallel chain of thought is a sequential one with two symbols for each of its.
Construction: for each block of P' symbols the chain first writes P' scratch symbols, whose rows stand for the masks
              of that block, then the P' symbols themselves, each predicted from the scratch row of its position. A
              scratch row sees the given rows, the symbols of earlier blocks, and the scratch rows of its own block up
              to itself; a symbol sees symbols only.
Bounds:       2P steps, L + 1 layers, width 2D + O(log(N + P)).
Exactness:    bit by bit, for p >= 2 (FOCUS), with three copies for p = 1.
Deviations:   the paper claims pCoT[T, P] ⊆ CoT[P]. A mask row attends jointly to earlier symbols, to the masks of its
              block and to itself; in a chain of thought that row does not exist when its symbol must be predicted,
              and one row offers one key per softmax, not those of a symbol and of a mask. Whether P steps are enough
              is open (docs/errata.md): the factor 2 is a price we can pay, not one we can prove necessary.
"""

import numpy as np

from unmask.programs.assemble import assemble
from unmask.programs.attention import boost, eq, hide
from unmask.programs.coefficients import HALF, ONE, B
from unmask.programs.expressions import N, both, choose, n
from unmask.programs.program import Columns, Flag, HeadBuilder, Program, SignedBits, bits_for
from unmask.programs.simulation import Simulation, column_labels, source_positions
from unmask.programs.vocabulary import SPECIAL_NAMES, free_name
from unmask.theorems.theorem import Conversion, Price, Theorem, converted, refuse_if_huge
from unmask.traces.alignment import Alignment, Copy, slots
from unmask.weights.model import Model

FILLERS = ("…", "<scratch>")


def bound(source: Model) -> Price:
    return Price(2 * source.padding, 2 * source.padding, Price.of(source).layers + 1)


def pcot_to_cot(source: Model) -> Conversion:
    """The chain of thought of a parallel chain of thought."""
    given = source.transformers["model"]
    block = source.block or 1
    own_begin = int(source.begin is not None)
    extra = int(own_begin + source.length == 0)  # a chain of thought needs a row to start from
    first = own_begin + extra + source.length
    rows = first + 2 * source.padding
    refuse_if_huge("pcot_to_cot", rows=rows, width=2 * given.width)
    filler = len(source.vocabulary)
    vocabulary = (*source.vocabulary, free_name(FILLERS, source.vocabulary))
    if extra:
        vocabulary = (*vocabulary, free_name(SPECIAL_NAMES["begin"], vocabulary))

    program = Program(vocabulary, len(vocabulary), source.length, rows)
    start = N + (own_begin + extra)
    written = n >= start
    number = (n - start) // (2 * block)  # which block a row belongs to
    within = (n - start) % (2 * block)
    scratch = both(written, within < block)
    simulated = choose(written, (start - extra) + (block * number + within % block), n)  # the source's row
    # the symbol of the next row is the source's symbol at that row's place, found in its scratch row
    following = choose(n + 1 >= start, n + 1, start)
    next_within = (following - start) % (2 * block)
    emits = next_within >= block
    origin = choose(emits, following - block, n)

    one = program.register("one", declaration=Flag(n >= 0))
    bits = bits_for(rows)
    here = program.register("here", bits, SignedBits(n))
    origin_code = program.register("scratch row of the next symbol", bits, SignedBits(choose(origin < rows, origin, n)))
    numbers = bits_for(max(1, source.steps))
    in_range = choose(written, choose(number < source.steps, number, 0), 0)
    own_block = program.register("block", numbers, SignedBits(in_range))
    key_block = program.register("block of a scratch row", numbers, SignedBits(in_range, only=scratch))
    is_scratch = program.register("scratch", declaration=Flag(scratch))
    is_symbol = program.register("symbol", declaration=Flag(1 - scratch))
    outsider = program.register("outsider", declaration=Flag(n < extra))
    simulation = Simulation.of(program, given, "model", source_positions(given, simulated, only=n >= extra))
    final = program.register("final", column_labels(given))
    fills = program.register("the next symbol is scratch", 2, Flag(1 - emits))
    simulation.embed_symbols(program)
    _embed_as(program, simulation, source.token[source.mask or ""], filler)

    copies = 2 if given.precision.p > 1 else 3

    def guard(head: HeadBuilder) -> None:
        if extra:
            boost(head, outsider, one)
        same_block(head, own_block, key_block, is_scratch, one, copies)
        for _ in range(2):
            head.column([(is_symbol, -B)], [(is_scratch, ONE)])
        if extra:
            hide_from_others(head, outsider, one)

    for i in range(simulation.depth):
        simulation.layer(i, program.layer(), guard)
    fetch = program.layer().head()
    eq(fetch, origin_code, here, one)
    fetch.copy(simulation.work, final)
    simulation.read_out(program, final)
    program.read_out([filler, *range(filler + 1, len(vocabulary))], one, -B)
    for column in fills:
        program.read_out(filler, column, B)
        program.read_out(np.arange(filler), column, -B)

    transformer = assemble(program, given.precision, attention="causal")
    model = converted(
        source,
        "pcot_to_cot",
        kind="cot",
        block=None,
        steps=2 * source.padding,
        padding=2 * source.padding,
        vocabulary=vocabulary,
        mask=None,
        begin=vocabulary[-1] if extra else source.begin,
        transformers={"model": transformer},
    )
    return Conversion(model, _alignment(source, simulation, extra, block))


def same_block(head: HeadBuilder, own: Columns, key: Columns, is_scratch: Columns, one: Columns, copies: int) -> None:
    """FOCUS on the own block among scratch keys; keys that are no scratch rows, whose code is 0, are untouched."""
    for _ in range(copies):
        for a, b in zip(own, key, strict=True):
            head.column([(a, HALF)], [(b, ONE)])
            head.column([(one, HALF)], [(is_scratch, -ONE)])


def hide_from_others(head: HeadBuilder, outsider: Columns, one: Columns) -> None:
    """HIDE the row that the source does not have; it still sees itself, boosted to B + B before."""
    hide(head, outsider, one)
    for _ in range(3):
        head.column([(outsider, B)], [(outsider, ONE)])


def _embed_as(program: Program, simulation: Simulation, symbol: int, alias: int) -> None:
    """Another symbol with the embedding of `symbol`."""
    embed = simulation.source.embed
    same = embed.row == symbol
    program.embed(np.full(int(same.sum()), alias), simulation.work[embed.column[same]], embed.value[same])


def _alignment(source: Model, simulation: Simulation, extra: int, block: int) -> Alignment:
    first = source.rows - source.padding

    def place(position: np.ndarray) -> np.ndarray:
        """The slot of the converted model that holds slot `position` of the source."""
        return (position // block) * 2 * block + block + position % block

    def rows(t: int) -> tuple[np.ndarray, np.ndarray]:
        given, earlier, masks = np.arange(first), np.arange(t * block), np.arange(t * block, (t + 1) * block)
        theirs = [given + extra, first + extra + place(earlier), first + extra + place(masks) - block]
        return np.arange(first + (t + 1) * block), np.concatenate(theirs)

    def step(t: int) -> int:
        return 2 * block * (t + 1) - 1

    copies = tuple(
        Copy(
            source=f"steps.{{t}}.model.layers.{i}.residual",
            converted=f"steps.{{last}}.model.layers.{i}.residual",
            rows=rows,
            columns=simulation.work,
            step=step,
        )
        for i in range(simulation.depth)
    )
    return Alignment(slots(lambda t: place(np.arange((t + 1) * block)), step), copies)


THEOREM = Theorem("pcot_to_cot", "prop:cot-as-pcot", "pcot", "cot", pcot_to_cot, bound)
