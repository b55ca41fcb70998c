"""Causal attention inside unmasked attention (lem:unmask-conversion-fp), with N log N rows.

Statement:    a causal transformer of L layers that reads N rows is an unmasked transformer of L + 1 layers that reads
              them and N(⌈log2 N⌉ - 1) pads (none for N <= 2); the first N rows, and every further block of N, end with
              the source's final representations.
Construction: ⌈log2 N⌉ copies of every row (`simulation.causal_copies`), the rows themselves are the first. One layer
              copies the embeddings into the pads, then every source layer is one layer.
Bounds:       N·max(0, ⌈log2 N⌉ - 1) <= N(N - 1) pads, L + 1 layers, width 2D + O(log N).
Exactness:    bit by bit in every copy of every row after every layer, for p >= 1; it divides by zero if and only if
              the source does.
Deviations:   the paper takes N(N - 1) pads and 2L + 1 layers; a footnote has it that a better construction would still
              be quadratic. Its own, repaired, is `causal_to_unmasked_by_blocks`. Here each row stands once per bit of
              its number instead of once per row, no row sees too much, so that nothing must be put right after a
              layer, and none is idle, so that nothing must be kept from dividing by zero.
"""

import numpy as np

from unmask.programs.gadgets.equal import eq
from unmask.programs.gadgets.focus import focus_copies
from unmask.programs.gadgets.hide import hide
from unmask.programs.language.assemble import assemble
from unmask.programs.language.builders import HeadBuilder
from unmask.programs.language.positions import N, n
from unmask.programs.language.program import Program, bits_for
from unmask.programs.simulation.causal_copies import CausalCopies, rows_of_copies
from unmask.programs.simulation.transformer import Simulation, source_positions
from unmask.theorems.size import TransformerSize
from unmask.theorems.theorem import Held, TransformerConversion, TransformerTheorem, check_source_rows
from unmask.weights.price import Price
from unmask.weights.transformer import Transformer


def bound(source: TransformerSize, rows: int) -> Price:
    width = 2 * source.width + 3 * bits_for(rows) + 3
    return Price(0, rows * (bits_for(rows) - 1), source.layers + 1, width, source.symbols + 1)


def causal_to_unmasked(source: Transformer, rows: int) -> TransformerConversion:
    """The unmasked transformer that does on `rows` rows and its pads what the causal source does on the rows."""
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
    held = [Held(layer, layer + 1, rows_of_copies(rows), simulation.work) for layer in range(simulation.depth + 1)]
    result = Held(simulation.depth, simulation.depth + 1, (np.arange(rows), np.arange(rows)), simulation.work)
    return TransformerConversion(transformer, rows, symbols, (*held, result))


THEOREM = TransformerTheorem("causal_to_unmasked", "lem:unmask-conversion-fp", causal_to_unmasked, bound)
