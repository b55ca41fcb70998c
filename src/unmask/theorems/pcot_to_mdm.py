"""Parallel chain of thought inside masked diffusion (thm:mdms-can-simulate-cot), with P + (N + P) log(N + P) slots.

Statement:    pCoT[T, P] ⊆ MDM[T, P + (N + P)(⌈log2(N + P)⌉ - 1)]: every parallel chain of thought is a masked
              diffusion model with unmasked attention that takes as many steps; its last P slots are, after step t, the
              first t blocks of the chain. N counts the begin symbol.
Construction: the predictor keeps ⌈log2(N + P)⌉ copies of the N + P rows of the chain (`simulation.causal_copies`): the
              given rows are the first, the last P slots, where the output is written, are the last, and what lies
              between is workspace that stays masked. One layer copies the embeddings, then every layer of the
              source is one layer; an output slot is a copy of its own row, so it ends with its own logits.
              The planner takes the masked output slots whose block before is written (lem:select-block).
Bounds:       T steps, P + (N + P)·max(0, ⌈log2(N + P)⌉ - 1) <= P + (N + P)² slots, L + 1 layers of the predictor and
              1 of the planner, one symbol more, width 2D + 4⌈log2(N + P)⌉ + 7.
Exactness:    bit by bit: after every step and every layer, each copy of each row that the chain has read so far holds
              the chain's stream; for p >= 1. It divides by zero if and only if the source does.
Deviations:   the paper takes (N + P)² workspace slots and 2L + 1 layers. It writes the output into the first P slots,
              but the answer is read from the last; it has the chain ignore masks, but the masks of the current block
              are seen by it, and those of later blocks need not be ignored, since it is causal. In F_p they do
              matter in one way: rows of blocks that the chain has not yet reached may divide by zero, so BOOST
              marks them, step by step. A chain may write its own mask, a predictor may not: the mask is a new symbol,
              embedded like the chain's. A flag marks the first block, so that N = 0 needs no special case.
"""

import numpy as np

from unmask.expressions import Expression, N, both, choose, n
from unmask.programs.assembly import assemble_all
from unmask.programs.gadgets.attention import boost, eq, focus_copies, hide
from unmask.programs.gadgets.mlp import conjunction
from unmask.programs.planner_programs import planner_logits, select_block
from unmask.programs.program import SPECIAL_NAMES, Columns, HeadBuilder, Program, bits_for, free_name
from unmask.programs.simulation import CausalCopies, Simulation, source_positions
from unmask.theorems.alignment import Alignment, StreamCopy, slots
from unmask.theorems.theorem import Conversion, SourceSize, Theorem, converted
from unmask.weights.model import Model, Price

MASKS = (*SPECIAL_NAMES["mask"], "m'")
"""Names for the mask of the converted model; the chain's own stays an ordinary symbol."""


def bound(source: SourceSize) -> Price:
    levels = bits_for(source.rows)
    predictor, planner = 2 * source.width + 4 * levels + 7, 2 * bits_for(source.rows * levels) + 5
    return Price(
        steps=source.steps,
        padding=source.padding + source.rows * (levels - 1),
        layers=source.layers + 1,
        width=max(predictor, planner),
        symbols=source.symbols + 1,
    )


def pcot_to_mdm(source: Model) -> Conversion:
    """Return the masked diffusion model of a parallel chain of thought."""
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
        transformers=assemble_all({"planner": _planner(source, mask), "predictor": predictor}, source.precision),
    )
    return Conversion(model, _alignment(source, model, work))


def _program(source: Model, mask: str, outputs: int) -> tuple[Program, Expression, Expression]:
    """A program over all copies, how many rows they copy, and the number of the first output slot."""
    levels = bits_for(source.rows)
    program = Program((*source.vocabulary, mask), outputs, source.length, levels * source.rows)
    count = N + (source.rows - source.length)
    return program, count, count * levels - source.padding


def _predictor(source: Model, mask: str) -> tuple[Program, Columns]:
    """Return the chain's transformer on every copy of its rows, and the columns of its stream."""
    transformer = source.transformers["model"]
    size, block = len(source.vocabulary), source.block or 1
    program, count, output = _program(source, mask, size + 1)
    given = N + int(source.begin is not None)
    masked = program.register("masked")
    earlier = CausalCopies.of(program, count, source.rows)
    row = earlier.simulated
    written = choose(n < given, 1, n >= output)  # the given rows and the output: what the chain reads
    workspace = program.flag("workspace", written.equals(0))
    first = program.flag("not after the first block", row < given + block)
    row_before = program.code("row a block before", choose(row < given + block, row, row - block), earlier.levels)
    before, unreached = program.register("masked a block before"), program.register("unreached")
    read = Simulation.of(program, transformer, "given", source_positions(transformer, row, written))
    simulation = Simulation.of(program, transformer, "work")

    read.embed_symbols(program)
    read.embed_as(program, source.token[source.mask or ""], size)
    program.embed(size, masked)

    layer = program.layer()
    for wanted, what, where in (
        (earlier.position, read.work, simulation.work),
        (row_before, masked, before),
    ):
        head = layer.head()
        eq(head, wanted, earlier.position)
        hide(head, workspace, copies=1)
        head.copy(what, where)
    layer.mlp.write(conjunction(layer.mlp, before, [first]), unreached)

    def guard(head: HeadBuilder) -> None:
        boost(head, unreached)
        earlier.see_earlier(head, copies=focus_copies(transformer.precision.p))

    for number in range(simulation.depth):
        simulation.layer(number, program.layer(), guard)
    simulation.read_out(program, simulation.work)
    return program, simulation.work


def _planner(source: Model, mask: str) -> Program:
    """Masked output slots whose previous block is written; a flag marks the first block."""
    block = source.block or 1
    program, _, output = _program(source, mask, 2)
    own = program.code("own", n)
    previous = program.code("a block before", choose(n < output + block, n, n - block))
    later = program.flag("not in the first block", both(n >= output, n < output + block).equals(0))
    masked, before, chosen = (program.register(name) for name in ("masked", "before", "chosen"))
    program.embed(len(source.vocabulary), masked)
    layer = program.layer()
    # a row that looks at itself is never chosen here: workspace, and the first block, which is added below
    select_block(layer, masked, row_code=own, previous=previous, before=before, chosen=chosen)
    layer.mlp.write(conjunction(layer.mlp, masked, [later]), chosen)
    planner_logits(program, chosen)
    return program


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
            StreamCopy(f"steps.{{t}}.model.{state}", f"steps.{{t}}.predictor.layers.{i}.residual", copies, work)
            for i, state in enumerate(states)
        ),
    )


PCOT_TO_MDM = Theorem("pcot_to_mdm", "thm:mdms-can-simulate-cot", "pcot", "mdm", pcot_to_mdm, bound)
