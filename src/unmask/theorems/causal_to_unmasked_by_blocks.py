"""Causal attention inside unmasked attention, as the paper does it (lem:unmask-conversion-fp), repaired.

Statement:    a causal transformer of L layers that reads N rows is an unmasked transformer of 2L + 1 layers that
              reads them and N(N - 1) pads; the last N rows, and every other block, end with the source's result.
              (`causal_to_unmasked` needs N log N rows and L + 1 layers; this one is here for comparison.)
Construction: rows (b, r) = (n div N, n mod N). A layer copies the embedding of input r into every (b, r). Then, for
              every source layer, two:
                (sim)  the source's heads, restricted by FOCUS to the own block and by HIDE to the rows r <= b: row
                       (b, b) sees what the causal row b sees, the rows r < b see too much;
                (fix)  every row (b, r) takes over the stream of (r, r), into the other of two buffers.
              Rows r > b are inactive: nobody sees them, and BOOST keeps them from dividing by zero.
Bounds:       N(N - 1) pads, 2L + 1 layers, width 2D + O(log N).
Exactness:    bit by bit after every fix, in every row, for p >= 1; it divides by zero if and only if the source does.
Deviations:   the printed proof fails in these places. The copy penalises keys n' <= N, it must be those beyond. The
              footnote penalises the rows with b >= r, it must be the others, and must subtract B twice: for p <= 2
              a score of 2^(p-1), which FOCUS may leave, survives once. The fix asks for b, it must ask for r, and must
              penalise the keys off the diagonal. Overwriting a row clips, unless there are two buffers. Inactive rows
              divide by zero without BOOST. The proof once says N² pads; N(N - 1) is right.
"""

import numpy as np

from unmask.programs.gadgets.boost import boost
from unmask.programs.gadgets.buffers import Buffers, overwrite
from unmask.programs.gadgets.equal import eq
from unmask.programs.gadgets.focus import focus, focus_copies
from unmask.programs.gadgets.hide import hide
from unmask.programs.gadgets.lookup import itself
from unmask.programs.language.assemble import assemble
from unmask.programs.language.builders import Columns, HeadBuilder, LayerBuilder
from unmask.programs.language.positions import N, n
from unmask.programs.language.program import Program, bits_for
from unmask.programs.simulation.transformer import Simulation, column_labels, source_positions
from unmask.theorems.size import TransformerSize
from unmask.theorems.theorem import Held, TransformerConversion, TransformerTheorem, check_source_rows
from unmask.weights.price import Price
from unmask.weights.transformer import Transformer


def bound(source: TransformerSize, rows: int) -> Price:
    width = 2 * source.width + bits_for(rows * rows) + 2 * bits_for(rows) + 4
    return Price(0, rows * (rows - 1), 2 * source.layers + 1, width, source.symbols + 1)


def causal_to_unmasked_by_blocks(source: Transformer, rows: int) -> TransformerConversion:
    """The unmasked transformer that does on `rows` rows and its pads what the causal source does on the rows."""
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
    held = [Held(layer, 2 * layer + 1, (every % rows, every), stream) for layer, stream in enumerate(streams)]
    result = Held(simulation.depth, len(program.layers), (np.arange(rows), every[-rows:]), buffers.current)
    return TransformerConversion(transformer, rows, symbols, (*held, result))


THEOREM = TransformerTheorem(
    "causal_to_unmasked_by_blocks", "lem:unmask-conversion-fp", causal_to_unmasked_by_blocks, bound
)
