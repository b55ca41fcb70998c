"""Parallel chain of thought inside masked diffusion (thm:mdms-can-simulate-cot), with P + (N + P) log(N + P) slots.

Statement:    pCoT[T, P] ⊆ MDM[T, P + (N + P)(⌈log2(N + P)⌉ - 1)]: every parallel chain of thought is a masked
              diffusion model with unmasked attention that takes as many steps; its last P slots are, after step t, the
              first t blocks of the chain. N counts the begin symbol.
Construction: the predictor keeps ⌈log2(N + P)⌉ copies of the N + P rows of the chain (`programs.causal_copies`): the
              given rows are the first, the last P slots, where the output is written, are the last, and what lies
              between is workspace that stays masked. One layer copies the embeddings, then every layer of the
              source is one layer; an output slot is a copy of its own row, so it ends with its own logits.
              The planner takes the masked output slots whose block before is written (lem:select-block).
Bounds:       T steps, P + (N + P)·max(0, ⌈log2(N + P)⌉ - 1) <= P + (N + P)² slots, L + 1 layers of the predictor and
              1 of the planner, width 2D + O(log(N + P)).
Exactness:    bit by bit: after every step and every layer, each copy of each row that the chain has read so far holds
              the chain's stream; for p >= 1. It divides by zero if and only if the source does.
Deviations:   the paper takes (N + P)² workspace slots and 2L + 1 layers. It writes the output into the first P slots,
              but the answer is read from the last; it has the chain ignore masks, but the masks of the current block
              are seen by it, and those of later blocks need not be ignored, since it is causal. In F_p they do
              matter in one way: rows of blocks that the chain has not yet reached may divide by zero, so BOOST
              marks them, step by step. A chain may write its own mask, a predictor may not: the mask is a new symbol,
              embedded like the chain's. The first block is told by a flag, so that N = 0 is no exception.
"""

import numpy as np

from unmask.programs.assemble import assemble
from unmask.programs.attention import boost, eq, hide
from unmask.programs.causal_copies import CausalCopies, focus_copies
from unmask.programs.expressions import Expression, N, both, choose, constant, n
from unmask.programs.logic import conjunction
from unmask.programs.program import Columns, Flag, HeadBuilder, Program, SignedBits, bits_for
from unmask.programs.select_block import planner_logits, select_block
from unmask.programs.simulation import Simulation, source_positions
from unmask.programs.vocabulary import SPECIAL_NAMES, free_name
from unmask.theorems.theorem import Conversion, Price, Theorem, converted, refuse_if_huge
from unmask.traces.alignment import Alignment, Copy, slots
from unmask.weights.model import Model
from unmask.weights.transformer import Transformer

MASKS = (*SPECIAL_NAMES["mask"], "m'")
"""Names for the mask of the converted model; the chain's own stays an ordinary symbol."""


def bound(source: Model) -> Price:
    workspace = source.rows * (bits_for(source.rows) - 1)
    return Price(source.steps, source.padding + workspace, Price.of(source).layers + 1)


def pcot_to_mdm(source: Model) -> Conversion:
    """The masked diffusion model of a parallel chain of thought."""
    mask = free_name(MASKS, source.vocabulary)
    predictor, work = _predictor(source, mask)
    model = converted(
        source,
        "pcot_to_mdm",
        kind="mdm",
        padding=source.rows * bits_for(source.rows) - (source.rows - source.padding),
        vocabulary=(*source.vocabulary, mask),
        mask=mask,
        block=None,
        transformers={"planner": _planner(source, mask), "predictor": predictor},
    )
    return Conversion(model, _alignment(source, model, work))


def _program(source: Model, mask: str, outputs: int) -> tuple[Program, Expression, Expression]:
    """A program over all copies, how many rows they copy, and the number of the first output slot."""
    levels = bits_for(source.rows)
    program = Program((*source.vocabulary, mask), outputs, source.length, levels * source.rows)
    count = N + (source.rows - source.length)
    return program, count, count * levels - source.padding


def _predictor(source: Model, mask: str) -> tuple[Transformer, Columns]:
    """The chain's transformer on every copy of its rows, and the columns of its stream."""
    transformer = source.transformers["model"]
    size, block = len(source.vocabulary), source.block or 1
    program, count, output = _program(source, mask, size + 1)
    given = N + int(source.begin is not None)
    one = program.register("one", declaration=Flag(constant(1)))
    masked = program.register("masked")
    earlier = CausalCopies.of(program, one, count, source.rows)
    row = earlier.simulated
    written = choose(n < given, 1, n >= output)  # the given rows and the output: what the chain reads
    workspace = program.register("workspace", declaration=Flag(written.equals(0)))
    first = program.register("not after the first block", declaration=Flag(row < given + block))
    row_before = program.register(
        "row a block before", earlier.levels, SignedBits(choose(row < given + block, row, row - block))
    )
    before, unreached = program.register("masked a block before"), program.register("unreached")
    read = Simulation.of(program, transformer, "given", source_positions(transformer, row, written))
    simulation = Simulation.of(program, transformer, "work")
    refuse_if_huge("pcot_to_mdm", rows=program.rows, width=program.width)

    read.embed_symbols(program)
    embed, chains_mask = transformer.embed, source.token[source.mask or ""]
    like = embed.row == chains_mask
    program.embed(np.full(int(like.sum()), size), read.work[embed.column[like]], embed.value[like])
    program.embed(size, masked)

    layer = program.layer()
    for wanted, what, where in (
        (earlier.position, read.work, simulation.work),
        (row_before, masked, before),
    ):
        head = layer.head()
        eq(head, wanted, earlier.position, one)
        hide(head, workspace, one, copies=1)
        head.copy(what, where)
    layer.mlp.write(conjunction(layer.mlp, before, [first]), unreached)

    def guard(head: HeadBuilder) -> None:
        boost(head, unreached, one)
        earlier.see_earlier(head, copies=focus_copies(transformer.precision.p))

    for number in range(simulation.depth):
        simulation.layer(number, program.layer(), guard)
    simulation.read_out(program, simulation.work)
    return assemble(program, transformer.precision), simulation.work


def _planner(source: Model, mask: str) -> Transformer:
    """Masked output slots whose block before is written; the first block is told by a flag."""
    block = source.block or 1
    program, _, output = _program(source, mask, 2)
    bits = bits_for(program.rows)
    one = program.register("one", declaration=Flag(constant(1)))
    own = program.register("own", bits, SignedBits(n))
    previous = program.register("a block before", bits, SignedBits(choose(n < output + block, n, n - block)))
    later = program.register(
        "not in the first block", declaration=Flag(both(n >= output, n < output + block).equals(0))
    )
    masked, before, chosen = (program.register(name) for name in ("masked", "before", "chosen"))
    program.embed(len(source.vocabulary), masked)
    layer = program.layer()
    # a row that looks at itself is never chosen here: workspace, and the first block, which is added below
    select_block(layer, masked, own=own, previous=previous, one=one, before=before, chosen=chosen)
    layer.mlp.write(conjunction(layer.mlp, masked, [later]), chosen)
    planner_logits(program, chosen, one)
    return assemble(program, source.precision)


def _alignment(source: Model, model: Model, work: Columns) -> Alignment:
    block, rows, given = source.block or 1, source.rows, source.rows - source.padding

    def copies(t: int) -> tuple[np.ndarray, np.ndarray]:
        there = np.arange(model.rows)
        there = there[there % rows < given + (t + 1) * block]
        return there % rows, there

    depth = len(source.transformers["model"].layers)
    states = ["embed", *(f"layers.{number}.residual" for number in range(depth))]
    return Alignment(
        slots(lambda t: np.arange(model.padding - source.padding, model.padding)[: (t + 1) * block]),
        tuple(
            Copy(f"steps.{{t}}.model.{state}", f"steps.{{t}}.predictor.layers.{i}.residual", copies, work)
            for i, state in enumerate(states)
        ),
    )


THEOREM = Theorem("pcot_to_mdm", "thm:mdms-can-simulate-cot", "pcot", "mdm", pcot_to_mdm, bound)
