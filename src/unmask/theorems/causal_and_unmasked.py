"""Causal and unmasked attention inside each other (lem:mask-conversion, lem:unmask-conversion-fp)."""

import numpy as np

from unmask.expressions import N, n
from unmask.programs.assembly import assemble
from unmask.programs.declarations import Thermometer
from unmask.programs.gadgets.attention import boost, eq, focus, focus_copies, hide, itself
from unmask.programs.gadgets.whole_layers import Buffers, overwrite
from unmask.programs.program import Columns, HeadBuilder, LayerBuilder, Program, bits_for
from unmask.programs.simulation import CausalCopies, Simulation, column_labels, rows_of_copies, source_positions
from unmask.theorems.theorem import (
    HeldStream,
    TransformerConversion,
    TransformerSize,
    TransformerTheorem,
    check_source_rows,
)
from unmask.weights.model import Price
from unmask.weights.transformer import Transformer


def unmasked_to_causal_bound(source: TransformerSize, rows: int) -> Price:
    blocks = source.layers + 1
    width = 2 * source.width + blocks + bits_for(rows) + 2 * bits_for(blocks) + 2
    return Price(0, source.layers * rows, source.layers + 1, width, source.symbols + 1)


def unmasked_to_causal(source: Transformer, rows: int) -> TransformerConversion:
    """Return the causal transformer that computes on rows and pads what an unmasked one computes (lem:mask-conversion).

    Statement:    an unmasked transformer of L layers that reads N rows is a causal transformer of L + 1 layers that
                  reads them and L·N pads; the last N rows end with the source's final representations.
    Construction: rows (b, r) = (n div N, n mod N) for b = 0 … L. A first layer copies the embedding of input row r into
                  every row (b, r). Layer l then runs on the blocks b >= l: a row takes its query from itself and its
                  keys, by FOCUS, from the whole block b - 1, which causal attention lets it see. After layer l the
                  blocks b >= l hold the source's stream after layer l. Blocks b < l have finished; BOOST keeps their
                  queries from dividing by zero.
    Bounds:       L·N pads, L + 1 layers, width 2D + L + O(log N + log L).
    Exactness:    bit by bit after every layer, for p >= 1 (FOCUS three times at p = 1); it divides by zero if and only
                  if the source does.
    Deviations:   the lemma says L layers and L(N - 1) pads, with the result in rows (L - 1)N … LN. For L = 1 that is
                  the input itself, whose first row sees nothing but itself; and pads hold □, so that somebody must
                  first bring them their symbol. With L(N - 1) pads, windows of N rows would meet the keys in another
                  order, and sums in F_p depend on it. The block of row n is n div N, not n div L.
    """
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
        held.append(HeldStream(layer, layer + 1, (there % rows, there), simulation.work))
    last = HeldStream(depth, depth + 1, (np.arange(rows), np.arange(rows * depth, program.rows)), simulation.work)
    return TransformerConversion(transformer, rows, symbols, (*held, last))


UNMASKED_TO_CAUSAL = TransformerTheorem(
    "unmasked_to_causal", "lem:mask-conversion", unmasked_to_causal, unmasked_to_causal_bound
)


def causal_to_unmasked_bound(source: TransformerSize, rows: int) -> Price:
    width = 2 * source.width + 3 * bits_for(rows) + 3
    return Price(0, rows * (bits_for(rows) - 1), source.layers + 1, width, source.symbols + 1)


def causal_to_unmasked(source: Transformer, rows: int) -> TransformerConversion:
    """Return the unmasked transformer of a causal one, with N log N rows (lem:unmask-conversion-fp).

    Statement:    a causal transformer of L layers that reads N rows is an unmasked transformer of L + 1 layers that
                  reads them and N(⌈log2 N⌉ - 1) pads (none for N <= 2); the first N rows, and every further block of N,
                  end with the source's final representations.
    Construction: ⌈log2 N⌉ copies of every row (`simulation.causal_copies`), the rows themselves are the first. One
                  layer copies the embeddings into the pads, then every source layer is one layer.
    Bounds:       N·max(0, ⌈log2 N⌉ - 1) <= N(N - 1) pads, L + 1 layers, width 2D + O(log N).
    Exactness:    bit by bit in every copy of every row after every layer, for p >= 1; it divides by zero if and only if
                  the source does.
    Deviations:   the paper takes N(N - 1) pads and 2L + 1 layers; a footnote has it that a better construction would
                  still be quadratic. Its own, repaired, is `causal_to_unmasked_by_blocks`. Here each row occurs once
                  per bit of its number instead of once per row, no row sees too much, so that nothing must be put right
                  after a layer, and none is idle, so that nothing must be kept from dividing by zero.
    """
    check_source_rows("causal_to_unmasked", source, rows, "causal")
    symbols = source.embed.shape[0]
    program = Program((*map(str, range(symbols)), "□"), source.out.shape[0], rows, rows * bits_for(rows))
    padding = program.flag("pad", n >= N)
    earlier = CausalCopies.of(program, N, rows)
    given = Simulation.of(program, source, "given", source_positions(source, earlier.simulated, n < N))
    simulation = Simulation.of(program, source, "work")
    given.embed_symbols(program)

    copy = program.layer().head()
    eq(copy, earlier.position, earlier.position)
    hide(copy, padding, copies=1)
    copy.copy(given.work, simulation.work)

    def guard(head: HeadBuilder) -> None:
        earlier.see_earlier(head, copies=focus_copies(source.precision.p))

    for number in range(simulation.depth):
        simulation.layer(number, program.layer(), guard)
    simulation.read_out(program, simulation.work)

    transformer = assemble(program, source.precision)
    held = [
        HeldStream(layer, layer + 1, rows_of_copies(rows), simulation.work) for layer in range(simulation.depth + 1)
    ]
    result = HeldStream(simulation.depth, simulation.depth + 1, (np.arange(rows), np.arange(rows)), simulation.work)
    return TransformerConversion(transformer, rows, symbols, (*held, result))


CAUSAL_TO_UNMASKED = TransformerTheorem(
    "causal_to_unmasked", "lem:unmask-conversion-fp", causal_to_unmasked, causal_to_unmasked_bound
)


def causal_to_unmasked_by_blocks_bound(source: TransformerSize, rows: int) -> Price:
    width = 2 * source.width + bits_for(rows * rows) + 2 * bits_for(rows) + 4
    return Price(0, rows * (rows - 1), 2 * source.layers + 1, width, source.symbols + 1)


def causal_to_unmasked_by_blocks(source: Transformer, rows: int) -> TransformerConversion:
    """Return the unmasked transformer of a causal one as in the paper, repaired (lem:unmask-conversion-fp).

    Statement:    a causal transformer of L layers that reads N rows is an unmasked transformer of 2L + 1 layers that
                  reads them and N(N - 1) pads; the last N rows, and every other block, end with the source's result.
                  (`causal_to_unmasked` needs N log N rows and L + 1 layers; this one is here for comparison.)
    Construction: rows (b, r) = (n div N, n mod N). A layer copies the embedding of input r into every (b, r). Then, for
                  every source layer, two:
                    (sim)  the source's heads, restricted by FOCUS to the own block and by HIDE to the rows r <= b: row
                           (b, b) sees what the causal row b sees, the rows r < b see too much;
                    (fix)  every row (b, r) takes over the stream of (r, r), into the other of two buffers.
                  Rows r > b are inactive: no row sees them, and BOOST keeps them from dividing by zero.
    Bounds:       N(N - 1) pads, 2L + 1 layers, width 2D + O(log N).
    Exactness:    bit by bit after every fix, in every row, for p >= 1; it divides by zero if and only if the source
                  does.
    Deviations:   the printed proof fails in these places. The copy penalises keys n' <= N, it must be those beyond. The
                  footnote penalises the rows with b >= r, it must be the others, and must subtract B twice: for p <= 2
                  a score of 2^(p-1), which FOCUS may leave, survives once. The fix asks for b, it must ask for r, and
                  must penalise the keys off the diagonal. Overwriting a row clips, unless there are two buffers.
                  Inactive rows divide by zero without BOOST. The proof once says N² pads; N(N - 1) is right.
    """
    check_source_rows("causal_to_unmasked_by_blocks", source, rows, "causal")
    symbols, bits = source.embed.shape[0], bits_for(rows)
    program = Program((*map(str, range(symbols)), "□"), source.out.shape[0], rows, rows * rows)
    block, row = n // N, n % N
    own = program.code("own", n)
    of_block = program.code("block", block, bits)
    of_row = program.code("row", row, bits)
    padding = program.flag("pad", n >= N)
    inactive = program.flag("inactive", row > block)
    off_diagonal = program.flag("off the diagonal", row.equals(block).equals(0))
    simulation = Simulation.of(program, source, "first buffer", source_positions(source, row, n < N))
    buffers = Buffers(simulation.work, program.register("second buffer", column_labels(source)))
    simulation.embed_symbols(program)

    def take_over(layer: LayerBuilder, buffers: Buffers, others: Columns) -> Buffers:
        """Every row takes over the stream of the row with its r that `others` does not flag."""
        gather = layer.head()
        eq(gather, of_row, of_row)
        hide(gather, others, copies=1)
        return overwrite(gather, itself(layer, own), buffers.current, buffers)

    def guard(head: HeadBuilder) -> None:
        boost(head, inactive)
        focus(head, of_block, of_block, copies=focus_copies(source.precision.p))
        hide(head, inactive)

    buffers = take_over(program.layer(), buffers, padding)
    streams = [buffers.current]
    for number in range(simulation.depth):
        simulation.layer(number, program.layer(), guard, buffers.current)
        buffers = take_over(program.layer(), buffers, off_diagonal)
        streams.append(buffers.current)
    simulation.read_out(program, buffers.current)

    transformer = assemble(program, source.precision)
    every = np.arange(program.rows)
    held = [HeldStream(layer, 2 * layer + 1, (every % rows, every), stream) for layer, stream in enumerate(streams)]
    result = HeldStream(simulation.depth, len(program.layers), (np.arange(rows), every[-rows:]), buffers.current)
    return TransformerConversion(transformer, rows, symbols, (*held, result))


CAUSAL_TO_UNMASKED_BY_BLOCKS = TransformerTheorem(
    "causal_to_unmasked_by_blocks",
    "lem:unmask-conversion-fp",
    causal_to_unmasked_by_blocks,
    causal_to_unmasked_by_blocks_bound,
)
