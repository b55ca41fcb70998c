"""Chains of thought inside masked diffusion with three slots more (a variant of thm:mdms-can-simulate-cot).

Statement:    pCoT[T, P] ⊆ MDM[T, P + 3]: every parallel chain of thought is simulated by a masked diffusion model with
              unmasked attention and the same number of steps. After step t its last P slots hold the first t blocks of
              the chain. Likewise CoT[T] ⊆ MDM[T, T + 3] (`cot_to_mdm_mirrored`). So CoT[log N] ⊆ MDM[log N, N] for all
              N with ⌈log2 N⌉ + 3 <= N, that is, for N >= 6. (For N <= 5 a table of all words of length N needs one step
              and one slot.)
Construction: the input rows and the last P slots are the rows of the chain, in order. The three slots between them stay
              masked. Every row has, in other columns, the stream of a second row of the chain, so that the rows of the
              chain also occur in reverse order. `programs.mirrored_rows` then simulates each layer of the chain: a
              causal head sees its prefix block by block. The planner chooses the masked output slots whose previous
              block is written. A chain of thought predicts each symbol in the row before it, so one more layer lets a
              slot LOOKUP that row.
Bounds:       T steps, P + 3 slots, one symbol more, 1 layer of the planner. For a chain with H heads per layer:
              1 + L·(3m + 3) layers, where m is the largest number of keys with a weight above 0 if Z < B (m = 2, 7, 15
              for p = 1, 2, 3); max(11, g)·H·K + 1 heads in a layer, where K = ⌈log2(N + P + 1)⌉ and exp takes g + 1
              values; width (H + 2)·D + O(H·(4^p + log(N + P))). At fixed p: O(log N) heads, O(1) layers, O(log N)
              width. A chain of thought costs D more columns.
Exactness:    bit by bit, for p >= 1: after every step and every layer of the chain, each row that the chain has read so
              far has the chain's stream. The conversion divides by zero if and only if the source does.
Deviations:   this is not a construction of the paper, which takes (N + P)² slots. `pcot_to_mdm` takes
              (N + P)(⌈log2(N + P)⌉ - 1) + P slots, one head for each head and one layer for each layer. This one has
              fewer slots and more heads and layers. docs/paper/our-results.md has the argument and a lower bound on
              heads times copies.
"""

import numpy as np

from unmask.expressions import Expression, N, choose, constant, n
from unmask.numerics.arithmetic import Precision
from unmask.programs.addressed_rows import ScoreTables
from unmask.programs.assembly import assemble_all
from unmask.programs.declarations import SignedBits
from unmask.programs.gadgets.attention import eq, hide, itself, lookup
from unmask.programs.gadgets.mlp import conjunction
from unmask.programs.mirrored_rows import SPARE, MirroredRows, spare_row
from unmask.programs.program import Columns, Edges, Program, bits_for, free_name
from unmask.programs.simulation import Simulation, column_labels, source_positions
from unmask.theorems.alignment import Alignment, StreamCopy, slots
from unmask.theorems.pcot_to_mdm import MASKS, choose_next_block
from unmask.theorems.theorem import Conversion, SourceSize, Theorem, converted_model
from unmask.weights.model import Model, Price


def bound(source: SourceSize) -> Price:
    one_by_one = source.kind == "cot"
    tables = ScoreTables(Precision(source.precision))
    numbers, rows, heads = tables.precision, source.rows + SPARE, source.model.heads
    bits = bits_for(source.rows + 1)
    search = source.width + numbers.bound + 2 * numbers.one + 3 + 28 * bits
    predictor = 2 * source.width + 2 * bits_for(rows) + 7 * bits + 10 + heads * search
    predictor += source.width + bits_for(rows) if one_by_one else bits + 3
    return Price(
        steps=source.steps,
        padding=source.padding + SPARE,
        layers=1 + source.layers * (3 * tables.most_keys + 3),
        width=max(predictor, 2 * bits_for(rows) + 5),
        symbols=source.symbols + 1,
    )


def most_heads(source: SourceSize) -> int:
    """Return an upper bound on the number of heads of a layer of the predictor."""
    tables, heads = ScoreTables(Precision(source.precision)), source.model.heads
    return max(2, heads + 1, heads * bits_for(source.rows + 1) * max(11, len(tables.growth)) + 1)


def chain_to_mdm_mirrored(source: Model) -> Conversion:
    """Return the masked diffusion model of a chain of thought, parallel or not."""
    mask = free_name(MASKS, source.vocabulary)
    predictor, work, ends = _predictor(source, mask)
    model = converted_model(
        source,
        f"{source.kind}_to_mdm_mirrored",
        kind="mdm",
        padding=source.padding + SPARE,
        vocabulary=(*source.vocabulary, mask),
        mask=mask,
        block=None,
        transformers=assemble_all({"planner": _planner(source, mask), "predictor": predictor}, source.precision),
    )
    return Conversion(model, _alignment(source, model, work, ends))


def _program(source: Model, mask: str, outputs: int) -> tuple[Program, Expression, Expression]:
    """Return a program over the rows, the number of input rows, and the number of rows of the chain."""
    input_rows = source.rows - source.padding
    program = Program((*source.vocabulary, mask), outputs, source.length, source.rows + SPARE)
    return program, N + (input_rows - source.length), N + (source.rows - source.length)


def _predictor(source: Model, mask: str) -> tuple[Program, Columns, list[int]]:
    """Return the program, the columns of the chain's stream, and the layers that end with the stream of the chain."""
    transformer = source.transformers["model"]
    size = len(source.vocabulary)
    program, input_rows, count = _program(source, mask, size + 1)
    # a spare row also has the mask as its symbol, but its stream stays 0
    masked = program.register("masked", declaration=SignedBits(constant(0), spare_row(input_rows)))
    rows = MirroredRows.of(program, transformer, input_rows, count, source.rows)
    positions = source_positions(transformer, rows.row, 1 - spare_row(input_rows))
    simulation = Simulation.of(program, transformer, "work", positions)
    simulation.embed_symbols(program)
    program.embed(size, masked)

    ends = []
    unreached = masked
    if source.mask is not None:
        unreached = _embed_chain_masks(source, rows, masked, simulation)
        ends.append(0)
    for number in range(simulation.depth):
        rows.layer(simulation, number, unreached)
        ends.append(len(program.layers) - 1)
    final = simulation.work
    if source.mask is None:
        final, first = program.register("final", column_labels(transformer)), input_rows + SPARE
        row_before = choose(n.equals(first), input_rows - 1, choose(n > first, n - 1, n))
        lookup(program.layer(), program.code("row before", row_before), rows.row_code).copy(simulation.work, final)
    simulation.read_out(program, final)
    return program, simulation.work, ends


def _embed_chain_masks(source: Model, rows: MirroredRows, masked: Columns, simulation: Simulation) -> Columns:
    """Embed masked rows as the chain's mask; return the flag of the rows that the chain has not reached yet.

    The chain has reached a row if the row one block before it is not masked.
    """
    program, block = rows.program, source.block or 1
    embed = simulation.source.embed.take(np.array([source.token[source.mask or ""]]))[0]
    layer = program.layer()
    itself(layer, rows.row_code).value.append(Edges.between(masked, simulation.work, embed))
    first = program.flag("not after the first block", rows.row < rows.start + block)
    earlier = choose(rows.row < rows.start + block, rows.row, rows.row - block)
    row_before = program.code("row a block before", earlier, rows.bits)[::-1]
    before, unreached = program.register("masked a block before"), program.register("unreached")
    head = layer.head()
    eq(head, row_before, rows.address)
    hide(head, rows.spare, copies=1)
    head.copy(masked, before)
    layer.mlp.write(conjunction(layer.mlp, before, [first]), unreached)
    return unreached


def _planner(source: Model, mask: str) -> Program:
    program, _, count = _program(source, mask, 2)
    return choose_next_block(source, program, count + (SPARE - source.padding))


def _alignment(source: Model, model: Model, work: Columns, ends: list[int]) -> Alignment:
    block, input_rows = source.block or 1, source.rows - source.padding

    def read(t: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows that the chain has read; only a parallel chain has already read the rows that it predicts."""
        rows = np.arange(input_rows + (t + (source.mask is not None)) * block)
        return rows, np.where(rows < input_rows, rows, rows + SPARE)

    depth = len(source.transformers["model"].layers)
    states = [*(["embed"] if source.mask else []), *(f"layers.{number}.residual" for number in range(depth))]
    return Alignment(
        slots(lambda t: np.arange(SPARE, model.padding)[: (t + 1) * block]),
        tuple(
            StreamCopy(f"steps.{{t}}.model.{state}", f"steps.{{t}}.predictor.layers.{end}.residual", read, work)
            for state, end in zip(states, ends, strict=True)
        ),
    )


PCOT_TO_MDM_MIRRORED = Theorem(
    "pcot_to_mdm_mirrored", "thm:mdms-can-simulate-cot", "pcot", "mdm", chain_to_mdm_mirrored, bound
)
COT_TO_MDM_MIRRORED = Theorem(
    "cot_to_mdm_mirrored", "thm:mdms-can-simulate-cot", "cot", "mdm", chain_to_mdm_mirrored, bound
)
