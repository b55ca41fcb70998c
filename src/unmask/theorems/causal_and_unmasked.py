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
    StreamLocation,
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
    """Return the causal transformer of an unmasked one, with L·N pads (lem:mask-conversion).

    Statement:    an unmasked transformer of L layers that reads N rows is simulated by a causal transformer of L + 1
                  layers that reads the same rows and L·N pads. The last N rows end with the source's final streams.
    Construction: rows (b, r) = (n div N, n mod N) for b = 0 … L. A first layer copies the embedding of input row r to
                  all rows (b, r). Then layer l runs on the blocks b >= l: a row takes its query from itself and its
                  keys, by FOCUS, from the whole block b - 1, which causal attention can see. After layer l the blocks
                  b >= l have the source's stream after layer l. Blocks b < l have finished, and BOOST prevents their
                  queries from dividing by zero.
    Bounds:       L·N pads, L + 1 layers, width 2D + L + O(log N + log L).
    Exactness:    bit by bit after every layer, for p >= 1 (FOCUS takes three copies for p = 1). The conversion divides
                  by zero if and only if the source does.
    Deviations:   the lemma says L layers and L(N - 1) pads, with the result in rows (L - 1)N … LN. For L = 1 these are
                  the input rows, and the first one sees only itself. Also, pads hold □, so a layer must first copy the
                  symbols to them. With L(N - 1) pads, windows of N rows would meet the keys in another order, and sums
                  in F_p depend on the order. The block of row n is n div N, not n div L.
    """
    check_source_rows("unmasked_to_causal", source, rows, "unmasked")
    depth, symbols = len(source.layers), source.embed.shape[0]
    blocks = depth + 1
    copies = focus_copies(source.precision.p)

    program = Program((*map(str, range(symbols)), "□"), source.out.shape[0], rows, rows * blocks, "causal")
    block, row = n // N, n % N
    position = program.code("row", row, bits_for(rows))
    padding = program.flag("pad", n >= N)
    own_block = program.code("block", block, bits_for(blocks))
    block_before = program.code("block before", (block - 1).positive_part(), bits_for(blocks))
    finished = program.register("finished before layer", blocks, Thermometer(block))
    inputs = Simulation.of(program, source, "given", source_positions(source, row, n < N))
    simulation = Simulation.of(program, source, "work")
    inputs.embed_symbols(program)

    copy = program.layer().head()
    eq(copy, position, position)
    hide(copy, padding, copies=1)
    copy.copy(inputs.work, simulation.work)
    for number in range(depth):

        def guard(head: HeadBuilder, layer: int = number + 1) -> None:
            boost(head, finished[layer])
            focus(head, block_before, own_block, copies=copies)

        simulation.layer(number, program.layer(), guard)
    simulation.read_out(program, simulation.work)

    transformer = assemble(program, source.precision)
    locations = []
    for layer in range(depth + 1):
        unfinished = np.arange(rows * layer, program.rows)
        locations.append(StreamLocation(layer, layer + 1, (unfinished % rows, unfinished), simulation.work))
    last = StreamLocation(depth, depth + 1, (np.arange(rows), np.arange(rows * depth, program.rows)), simulation.work)
    return TransformerConversion(transformer, rows, symbols, (*locations, last))


UNMASKED_TO_CAUSAL = TransformerTheorem(
    "unmasked_to_causal", "lem:mask-conversion", unmasked_to_causal, unmasked_to_causal_bound
)


def causal_to_unmasked_bound(source: TransformerSize, rows: int) -> Price:
    width = 2 * source.width + 3 * bits_for(rows) + 3
    return Price(0, rows * (bits_for(rows) - 1), source.layers + 1, width, source.symbols + 1)


def causal_to_unmasked(source: Transformer, rows: int) -> TransformerConversion:
    """Return the unmasked transformer of a causal one, with N log N rows (lem:unmask-conversion-fp).

    Statement:    a causal transformer of L layers that reads N rows is simulated by an unmasked transformer of L + 1
                  layers that reads the same rows and N(⌈log2 N⌉ - 1) pads (none for N <= 2). The first N rows, and
                  every further block of N rows, end with the source's final streams.
    Construction: ⌈log2 N⌉ copies of every row (`simulation.CausalCopies`); the rows themselves are the first copies.
                  One layer copies the embeddings to the pads. Then each layer of the source is one layer.
    Bounds:       N·max(0, ⌈log2 N⌉ - 1) <= N(N - 1) pads, L + 1 layers, width 2D + O(log N).
    Exactness:    bit by bit in every copy of every row after every layer, for p >= 1. The conversion divides by zero if
                  and only if the source does.
    Deviations:   the paper takes N(N - 1) pads and 2L + 1 layers, and says in a footnote that a better construction
                  would still be quadratic. `causal_to_unmasked_by_blocks` is its construction, repaired. Here the
                  number of copies of a row is the number of bits of N instead of N. No row sees too many rows, so no
                  stream must be corrected after a layer. No row is idle, so none needs BOOST.
    """
    check_source_rows("causal_to_unmasked", source, rows, "causal")
    symbols = source.embed.shape[0]
    program = Program((*map(str, range(symbols)), "□"), source.out.shape[0], rows, rows * bits_for(rows))
    padding = program.flag("pad", n >= N)
    earlier = CausalCopies.of(program, N, rows)
    inputs = Simulation.of(program, source, "given", source_positions(source, earlier.simulated, n < N))
    simulation = Simulation.of(program, source, "work")
    inputs.embed_symbols(program)

    copy = program.layer().head()
    eq(copy, earlier.position, earlier.position)
    hide(copy, padding, copies=1)
    copy.copy(inputs.work, simulation.work)

    def guard(head: HeadBuilder) -> None:
        earlier.see_earlier(head, copies=focus_copies(source.precision.p))

    for number in range(simulation.depth):
        simulation.layer(number, program.layer(), guard)
    simulation.read_out(program, simulation.work)

    transformer = assemble(program, source.precision)
    locations = [
        StreamLocation(layer, layer + 1, rows_of_copies(rows), simulation.work) for layer in range(simulation.depth + 1)
    ]
    result = StreamLocation(simulation.depth, simulation.depth + 1, (np.arange(rows), np.arange(rows)), simulation.work)
    return TransformerConversion(transformer, rows, symbols, (*locations, result))


CAUSAL_TO_UNMASKED = TransformerTheorem(
    "causal_to_unmasked", "lem:unmask-conversion-fp", causal_to_unmasked, causal_to_unmasked_bound
)


def causal_to_unmasked_by_blocks_bound(source: TransformerSize, rows: int) -> Price:
    width = 2 * source.width + bits_for(rows * rows) + 2 * bits_for(rows) + 4
    return Price(0, rows * (rows - 1), 2 * source.layers + 1, width, source.symbols + 1)


def causal_to_unmasked_by_blocks(source: Transformer, rows: int) -> TransformerConversion:
    """Return the unmasked transformer of a causal one as in the paper, repaired (lem:unmask-conversion-fp).

    Statement:    a causal transformer of L layers that reads N rows is simulated by an unmasked transformer of 2L + 1
                  layers that reads the same rows and N(N - 1) pads. The last N rows, and every other block, end with
                  the source's final streams. (`causal_to_unmasked` needs only N log N rows and L + 1 layers; this
                  construction serves for comparison.)
    Construction: rows (b, r) = (n div N, n mod N). A layer copies the embedding of input r to all rows (b, r). Then
                  there are two layers for each layer of the source:
                    (sim)  the source's heads, restricted by FOCUS to their own block and by HIDE to the rows r <= b:
                           row (b, b) sees what the causal row b sees, and the rows r < b see too many rows;
                    (fix)  every row (b, r) copies the stream of row (r, r) to the other one of two buffers.
                  Rows r > b are inactive: no row sees them, and BOOST prevents them from dividing by zero.
    Bounds:       N(N - 1) pads, 2L + 1 layers, width 2D + O(log N).
    Exactness:    bit by bit after every fix, in every row, for p >= 1. The conversion divides by zero if and only if
                  the source does.
    Deviations:   the printed proof fails in these steps. The copy penalises keys n' <= N; it must penalise keys n' > N.
                  The footnote penalises the rows with b >= r; it must penalise those with b < r, and it must subtract B
                  twice: for p <= 2 FOCUS may leave a score of 2^(p-1), whose exponential is not 0 after one
                  subtraction. The fix looks for b; it must look for r, and it must penalise the keys off the diagonal.
                  Overwriting a row clips, unless there are two buffers. Inactive rows divide by zero without BOOST. The
                  proof once says N² pads; N(N - 1) is correct.
    """
    check_source_rows("causal_to_unmasked_by_blocks", source, rows, "causal")
    symbols, bits = source.embed.shape[0], bits_for(rows)
    program = Program((*map(str, range(symbols)), "□"), source.out.shape[0], rows, rows * rows)
    block, row = n // N, n % N
    row_code = program.code("own", n)
    block_code = program.code("block", block, bits)
    row_in_block = program.code("row", row, bits)
    padding = program.flag("pad", n >= N)
    inactive = program.flag("inactive", row > block)
    off_diagonal = program.flag("off the diagonal", row.equals(block).equals(0))
    simulation = Simulation.of(program, source, "first buffer", source_positions(source, row, n < N))
    buffers = Buffers(simulation.work, program.register("second buffer", column_labels(source)))
    simulation.embed_symbols(program)

    def copy_streams(layer: LayerBuilder, buffers: Buffers, hidden: Columns) -> Buffers:
        """Let every row copy the stream of the row that has the same r and is not `hidden`."""
        gather = layer.head()
        eq(gather, row_in_block, row_in_block)
        hide(gather, hidden, copies=1)
        return overwrite(gather, itself(layer, row_code), buffers.current, buffers)

    def guard(head: HeadBuilder) -> None:
        boost(head, inactive)
        focus(head, block_code, block_code, copies=focus_copies(source.precision.p))
        hide(head, inactive)

    buffers = copy_streams(program.layer(), buffers, padding)
    streams = [buffers.current]
    for number in range(simulation.depth):
        simulation.layer(number, program.layer(), guard, buffers.current)
        buffers = copy_streams(program.layer(), buffers, off_diagonal)
        streams.append(buffers.current)
    simulation.read_out(program, buffers.current)

    transformer = assemble(program, source.precision)
    every = np.arange(program.rows)
    locations = [
        StreamLocation(layer, 2 * layer + 1, (every % rows, every), stream) for layer, stream in enumerate(streams)
    ]
    result = StreamLocation(simulation.depth, len(program.layers), (np.arange(rows), every[-rows:]), buffers.current)
    return TransformerConversion(transformer, rows, symbols, (*locations, result))


CAUSAL_TO_UNMASKED_BY_BLOCKS = TransformerTheorem(
    "causal_to_unmasked_by_blocks",
    "lem:unmask-conversion-fp",
    causal_to_unmasked_by_blocks,
    causal_to_unmasked_by_blocks_bound,
)
