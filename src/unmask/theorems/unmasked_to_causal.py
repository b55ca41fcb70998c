"""Unmasked attention inside causal attention (lem:mask-conversion).

Statement:    an unmasked transformer of L layers that reads N rows is a causal transformer of L + 1 layers that
              reads them and L·N pads; the last N rows end with the source's final representations.
Construction: rows (b, r) = (n div N, n mod N) for b = 0 … L. A first layer copies the embedding of input row r into
              every row (b, r). Layer l then runs on the blocks b >= l: a row takes its query from itself and its
              keys, by FOCUS, from the whole block b - 1, which causal attention lets it see. After layer l the
              blocks b >= l hold the source's stream after layer l. Blocks b < l have finished; BOOST keeps their
              queries from dividing by zero.
Bounds:       L·N pads, L + 1 layers, width 2D + L + O(log N + log L).
Exactness:    bit by bit after every layer, for p >= 1 (FOCUS three times at p = 1); it divides by zero if and only if
              the source does.
Deviations:   the lemma says L layers and L(N - 1) pads, with the result in rows (L - 1)N … LN. For L = 1 that is the
              input itself, whose first row sees nothing but itself; and pads hold □, so that somebody must first
              bring them their symbol. With L(N - 1) pads, windows of N rows would meet the keys in another order,
              and sums in F_p depend on it. The block of row n is n div N, not n div L.
"""

import numpy as np

from unmask.programs.gadgets.boost import boost
from unmask.programs.gadgets.equal import eq
from unmask.programs.gadgets.focus import focus, focus_copies
from unmask.programs.gadgets.hide import hide
from unmask.programs.language.assemble import assemble
from unmask.programs.language.builders import HeadBuilder
from unmask.programs.language.declarations import Thermometer
from unmask.programs.language.positions import N, n
from unmask.programs.language.program import Program, bits_for
from unmask.programs.simulation.transformer import Simulation, source_positions
from unmask.theorems.size import TransformerSize
from unmask.theorems.theorem import Held, TransformerConversion, TransformerTheorem, check_source_rows
from unmask.weights.price import Price
from unmask.weights.transformer import Transformer


def bound(source: TransformerSize, rows: int) -> Price:
    blocks = source.layers + 1
    width = 2 * source.width + blocks + bits_for(rows) + 2 * bits_for(blocks) + 2
    return Price(0, source.layers * rows, source.layers + 1, width, source.symbols + 1)


def unmasked_to_causal(source: Transformer, rows: int) -> TransformerConversion:
    """The causal transformer that does on `rows` rows and its pads what the unmasked source does on the rows."""
    check_source_rows("unmasked_to_causal", source, rows, "unmasked")
    depth, symbols = len(source.layers), source.embed.shape[0]
    blocks = depth + 1
    copies = focus_copies(source.precision.p)

    program = Program((*map(str, range(symbols)), "□"), source.out.shape[0], rows, rows * blocks, "causal")
    block, row = n // N, n % N
    position = program.code("row", row, bits_for(rows))
    padding = program.flag("pad", n >= N)
    own = program.code("block", block, bits_for(blocks))
    before = program.code("block before", (block - 1).positive_part(), bits_for(blocks))
    finished = program.register("finished before layer", blocks, Thermometer(block))
    given = Simulation.of(program, source, "given", source_positions(source, row, n < N))
    simulation = Simulation.of(program, source, "work")
    given.embed_symbols(program)

    copy = program.layer().head()
    eq(copy, position, position)
    hide(copy, padding, copies=1)
    copy.copy(given.work, simulation.work)
    for number in range(depth):

        def guard(head: HeadBuilder, layer: int = number + 1) -> None:
            boost(head, finished[layer])
            focus(head, before, own, copies=copies)

        simulation.layer(number, program.layer(), guard)
    simulation.read_out(program, simulation.work)

    transformer = assemble(program, source.precision)
    held = []
    for layer in range(depth + 1):
        there = np.arange(rows * layer, program.rows)
        held.append(Held(layer, layer + 1, (there % rows, there), simulation.work))
    last = Held(depth, depth + 1, (np.arange(rows), np.arange(rows * depth, program.rows)), simulation.work)
    return TransformerConversion(transformer, rows, symbols, (*held, last))


THEOREM = TransformerTheorem("unmasked_to_causal", "lem:mask-conversion", unmasked_to_causal, bound)
