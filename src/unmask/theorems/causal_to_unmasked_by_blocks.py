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

from unmask.programs.assemble import assemble
from unmask.programs.attention import boost, eq, focus, hide
from unmask.programs.buffers import Buffers, itself, overwrite
from unmask.programs.causal_copies import focus_copies
from unmask.programs.expressions import N, constant, n
from unmask.programs.program import Columns, Flag, HeadBuilder, LayerBuilder, Program, SignedBits, bits_for
from unmask.programs.simulation import Simulation, column_labels, source_positions
from unmask.theorems.theorem import (
    Held,
    Price,
    TransformerConversion,
    TransformerTheorem,
    check_source_rows,
    refuse_if_huge,
)
from unmask.weights.transformer import Transformer


def bound(source: Transformer, rows: int) -> Price:
    return Price(0, rows * (rows - 1), 2 * len(source.layers) + 1)


def causal_to_unmasked_by_blocks(source: Transformer, rows: int) -> TransformerConversion:
    """The unmasked transformer that does on `rows` rows and its pads what the causal source does on the rows."""
    check_source_rows("causal_to_unmasked_by_blocks", source, rows, "causal")
    symbols, bits = source.embed.shape[0], bits_for(rows)
    program = Program((*map(str, range(symbols)), "□"), source.out.shape[0], rows, rows * rows)
    block, row = n // N, n % N
    one = program.register("one", declaration=Flag(constant(1)))
    own = program.register("own", bits_for(program.rows), SignedBits(n))
    of_block = program.register("block", bits, SignedBits(block))
    of_row = program.register("row", bits, SignedBits(row))
    padding = program.register("pad", declaration=Flag(n >= N))
    inactive = program.register("inactive", declaration=Flag(row > block))
    off_diagonal = program.register("off the diagonal", declaration=Flag(row.equals(block).equals(0)))
    simulation = Simulation.of(program, source, "first buffer", source_positions(source, row, n < N))
    buffers = Buffers(simulation.work, program.register("second buffer", column_labels(source)))
    refuse_if_huge("causal_to_unmasked_by_blocks", rows=program.rows, width=program.width)
    simulation.embed_symbols(program)

    def take_over(layer: LayerBuilder, buffers: Buffers, others: Columns) -> Buffers:
        """Every row takes over the stream of the row with its r that `others` does not flag."""
        gather = layer.head()
        eq(gather, of_row, of_row, one)
        hide(gather, others, one, copies=1)
        return overwrite(gather, itself(layer, own, one), buffers.current, buffers)

    def guard(head: HeadBuilder) -> None:
        boost(head, inactive, one)
        focus(head, of_block, of_block, one, copies=focus_copies(source.precision.p))
        hide(head, inactive, one)

    every = np.arange(program.rows)
    held = []
    buffers = take_over(program.layer(), buffers, padding)
    held.append(Held(0, 1, (every % rows, every), buffers.current))
    for number in range(simulation.depth):
        simulation.layer(number, program.layer(), guard, buffers.current)
        buffers = take_over(program.layer(), buffers, off_diagonal)
        held.append(Held(number + 1, 2 * number + 3, (every % rows, every), buffers.current))
    simulation.read_out(program, buffers.current)
    result = Held(simulation.depth, len(program.layers), (np.arange(rows), every[-rows:]), buffers.current)
    return TransformerConversion(assemble(program, source.precision), rows, symbols, (*held, result))


THEOREM = TransformerTheorem(
    "causal_to_unmasked_by_blocks", "lem:unmask-conversion-fp", causal_to_unmasked_by_blocks, bound
)
