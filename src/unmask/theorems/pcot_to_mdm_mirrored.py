"""Chains of thought inside masked diffusion with two copies of every row (beside thm:mdms-can-simulate-cot).

Statement:    pCoT[T, P] ⊆ MDM[T, N + 2P + 3]: every parallel chain of thought is a masked diffusion model with unmasked
              attention that takes as many steps; its last P slots are, after step t, the first t blocks of the chain.
              N counts the begin symbol. Likewise CoT[T] ⊆ MDM[T, N + 2T + 3] (`cot_to_mdm_mirrored`).
Construction: the given rows and the last P slots are the rows of the chain in order. Between them are a sentinel, a
              mirror of all N + P rows in falling order, and two more sentinels; these N + P + 3 slots stay masked. One
              layer copies the embeddings into the mirror. `programs.mirrored_rows` then simulates every layer of the
              chain on both copies: a causal head sees its prefix block by block, and both copies of a row end with the
              stream of the chain. The planner takes the masked output slots whose block before is written. A chain of
              thought predicts a symbol in the row before it: one more layer lets a slot LOOKUP that row.
Bounds:       T steps, N + 2P + 3 slots, one symbol more, 1 layer of the planner. For a chain with H heads per layer:
              1 + L·(3m + 3) layers, where m = 2, 7, 15 for p = 1, 2, 3 is the most keys that are heard where Z < B;
              max(11, g)·H·K heads in a layer, where K = ⌈log2(N + P + 1)⌉ and exp takes g + 1 values;
              width (H + 2)·D + O(H·(4^p + log(N + P))). At fixed p: O(log N) heads, O(1) layers, O(log N) width.
              A chain of thought costs one layer, D and ⌈log2(2N + 2T + 3)⌉ columns more.
Exactness:    bit by bit: after every step and every layer of the chain, both copies of each row that the chain has
              read so far hold the chain's stream; for p >= 1. It divides by zero if and only if the source does.
Deviations:   not a construction of the paper, which takes (N + P)² slots. `pcot_to_mdm` takes
              (N + P)(⌈log2(N + P)⌉ - 1) + P slots, one head per head and one layer per layer. Here heads and layers pay
              for the slots. docs/paper/our-results.md has the argument, and a lower bound for heads times copies.
"""

import numpy as np

from unmask.expressions import Expression, N, both, choose, constant, n
from unmask.numerics.arithmetic import Precision
from unmask.programs.assembly import assemble_all
from unmask.programs.declarations import SignedBits
from unmask.programs.gadgets.attention import eq, hide, lookup
from unmask.programs.gadgets.mlp import conjunction
from unmask.programs.mirrored_rows import SENTINELS, MirroredRows
from unmask.programs.planner_programs import planner_logits, select_block
from unmask.programs.program import Columns, Edges, LayerBuilder, Program, bits_for, free_name
from unmask.programs.score_tables import ScoreTables
from unmask.programs.simulation import Simulation, column_labels, source_positions
from unmask.theorems.alignment import Alignment, StreamCopy, slots
from unmask.theorems.pcot_to_mdm import MASKS
from unmask.theorems.theorem import Conversion, SourceSize, Theorem, converted
from unmask.weights.model import Model, Price


def bound(source: SourceSize) -> Price:
    one_by_one = source.kind == "cot"
    tables = ScoreTables(Precision(source.precision))
    numbers, rows, heads = tables.precision, 2 * source.rows + SENTINELS, source.model.heads
    bits = bits_for(source.rows + 1)
    search = source.width + numbers.bound + 2 * numbers.one + 3 + 28 * bits
    predictor = 2 * source.width + 2 * bits_for(rows) + 7 * bits + 12 + heads * search
    predictor += source.width + bits_for(rows) - bits - 2 if one_by_one else 0
    return Price(
        steps=source.steps,
        padding=source.rows + SENTINELS + source.padding,
        layers=1 + source.layers * (3 * tables.heard + 3) + one_by_one,
        width=max(predictor, 2 * bits_for(rows) + 5),
        symbols=source.symbols + 1,
    )


def most_heads(source: SourceSize) -> int:
    """The most heads of a layer of the predictor."""
    tables = ScoreTables(Precision(source.precision))
    return max(2, source.model.heads * bits_for(source.rows + 1) * max(11, len(tables.growth)))


def chain_to_mdm_mirrored(source: Model) -> Conversion:
    """The masked diffusion model of a chain of thought, parallel or not."""
    mask = free_name(MASKS, source.vocabulary)
    predictor, work, ends = _predictor(source, mask)
    model = converted(
        source,
        f"{source.kind}_to_mdm_mirrored",
        kind="mdm",
        padding=source.rows + SENTINELS + source.padding,
        vocabulary=(*source.vocabulary, mask),
        mask=mask,
        block=None,
        transformers=assemble_all({"planner": _planner(source, mask), "predictor": predictor}, source.precision),
    )
    return Conversion(model, _alignment(source, model, work, ends))


def _program(source: Model, mask: str, outputs: int) -> tuple[Program, Expression, Expression]:
    """A program over both copies, how many rows are given, and how many rows the chain has."""
    given = source.rows - source.padding
    rows = 2 * source.rows + SENTINELS
    program = Program((*source.vocabulary, mask), outputs, source.length, rows)
    return program, N + (given - source.length), N + (source.rows - source.length)


def _predictor(source: Model, mask: str) -> tuple[Program, Columns, list[int]]:
    """The chain's transformer on both copies of its rows, its stream, and after which layers it holds the chain's."""
    transformer = source.transformers["model"]
    size = len(source.vocabulary)
    program, given, count = _program(source, mask, size + 1)
    rows = MirroredRows.of(program, source.precision, given, count, source.rows)
    # a sentinel holds a mask, too, but its stream stays 0
    masked = program.register("masked", declaration=SignedBits(constant(0), rows.sentinel))
    read = Simulation.of(program, transformer, "given", source_positions(transformer, rows.row, 1 - rows.sentinel))
    simulation = Simulation.of(program, transformer, "work")

    read.embed_symbols(program)
    program.embed(size, masked)

    last = given + count
    origin = choose(both(n > given, n <= last), choose(rows.row < given, rows.row, rows.row + count + SENTINELS), n)
    layer = program.layer()
    head = lookup(layer, program.code("where the row is read", origin), rows.own)
    head.copy(read.work, simulation.work)
    if source.mask is None:
        head.copy(masked, rows.unreached)
    else:
        _masks_of_the_chain(source, rows, layer, masked, simulation)

    ends = [0]
    for number in range(simulation.depth):
        rows.layer(simulation, number)
        ends.append(len(program.layers) - 1)
    final = simulation.work
    if source.mask is None:
        final, first = program.register("final", column_labels(transformer)), last + SENTINELS
        row_before = choose(n.equals(first), given - 1, choose(n > first, n - 1, n))
        lookup(program.layer(), program.code("row before", row_before), rows.own).copy(simulation.work, final)
    simulation.read_out(program, final)
    return program, simulation.work, ends


def _masks_of_the_chain(
    source: Model, rows: MirroredRows, layer: LayerBuilder, masked: Columns, simulation: Simulation
) -> None:
    """A masked row has the stream of the chain's mask; the chain has reached it if no row a block before is masked."""
    program, block = rows.program, source.block or 1
    embed = simulation.source.embed.take(np.array([source.token[source.mask or ""]]))[0]
    layer.heads[0].value.append(Edges.between(masked, simulation.work, embed))
    first = program.flag("not after the first block", rows.row < rows.start + block)
    earlier = choose(rows.row < rows.start + block, rows.row, rows.row - block)
    row_before = program.code("row a block before", earlier, rows.bits)[::-1]
    before = program.register("masked a block before")
    head = layer.head()
    eq(head, row_before, rows.address)
    hide(head, rows.not_original, copies=1)
    head.copy(masked, before)
    layer.mlp.write(conjunction(layer.mlp, before, [first]), rows.unreached)


def _planner(source: Model, mask: str) -> Program:
    """Select the masked output slots whose previous block is written; a flag marks the first block."""
    block = source.block or 1
    program, _, count = _program(source, mask, 2)
    output = count * 2 + SENTINELS - source.padding
    own = program.code("own", n)
    previous = program.code("a block before", choose(n < output + block, n, n - block))
    later = program.flag("not in the first block", both(n >= output, n < output + block).equals(0))
    masked, before, chosen = (program.register(name) for name in ("masked", "before", "chosen"))
    program.embed(len(source.vocabulary), masked)
    layer = program.layer()
    # a row that looks at itself is never chosen here: workspace, and the first block, which is added below
    select_block(layer, masked, own=own, previous=previous, before=before, chosen=chosen)
    layer.mlp.write(conjunction(layer.mlp, masked, [later]), chosen)
    planner_logits(program, chosen)
    return program


def _alignment(source: Model, model: Model, work: Columns, ends: list[int]) -> Alignment:
    block, rows, given = source.block or 1, source.rows, source.rows - source.padding

    def copies(t: int) -> tuple[np.ndarray, np.ndarray]:
        """Both copies of the rows that the chain has read; a chain of thought has not read what it predicts."""
        read = np.arange(given + (t + (source.mask is not None)) * block)
        originals = np.where(read < given, read, read + rows + SENTINELS)
        return np.concatenate([read, read]), np.concatenate([originals, given + rows - read])

    depth = len(source.transformers["model"].layers)
    states = ["embed", *(f"layers.{number}.residual" for number in range(depth))]
    return Alignment(
        slots(lambda t: np.arange(model.padding - source.padding, model.padding)[: (t + 1) * block]),
        tuple(
            StreamCopy(f"steps.{{t}}.model.{state}", f"steps.{{t}}.predictor.layers.{end}.residual", copies, work)
            for state, end in zip(states, ends, strict=True)
        ),
    )


PCOT_TO_MDM_MIRRORED = Theorem(
    "pcot_to_mdm_mirrored", "thm:mdms-can-simulate-cot", "pcot", "mdm", chain_to_mdm_mirrored, bound
)
COT_TO_MDM_MIRRORED = Theorem(
    "cot_to_mdm_mirrored", "thm:mdms-can-simulate-cot", "cot", "mdm", chain_to_mdm_mirrored, bound
)
