"""Parallel chain of thought inside masked diffusion (thm:mdms-can-simulate-cot), with P + (N + P) log(N + P) slots.

Statement:    pCoT[T, P] ⊆ MDM[T, P + (N + P)(⌈log2(N + P)⌉ - 1)]: every parallel chain of thought is simulated by a
              masked diffusion model with unmasked attention and the same number of steps. After step t its last P slots
              hold the first t blocks of the chain. N counts the begin symbol.
Construction: the predictor has ⌈log2(N + P)⌉ copies of the N + P rows of the chain (`simulation.CausalCopies`). The
              input rows come first. The output is written to the last P slots. The slots between them are workspace and
              stay masked. One layer copies the embeddings, then each layer of the source is one layer. An output slot
              is itself a copy of its row, so it ends with the logits of that row. The planner chooses the masked output
              slots whose previous block is written (lem:select-block).
Bounds:       T steps, P + (N + P)·max(0, ⌈log2(N + P)⌉ - 1) <= P + (N + P)² slots, L + 1 layers of the predictor and
              1 of the planner, one symbol more, width 2D + 4⌈log2(N + P)⌉ + 7.
Exactness:    bit by bit, for p >= 1: after every step and every layer, each copy of a row that the chain has read so
              far has the chain's stream. The conversion divides by zero if and only if the source does.
Deviations:   the paper takes (N + P)² workspace slots and 2L + 1 layers. It writes the output to the first P slots, but
              the answer is read from the last slots. In the paper the chain ignores masks. In fact it sees the masks of
              the current block, and it need not ignore those of later blocks, because it is causal. In F_p later masks
              matter in one way: rows of blocks that the chain has not reached yet may divide by zero, so they BOOST. A
              chain may write its own mask and a predictor may not, so the mask is a new symbol with the embedding of
              the chain's mask. A flag marks the first block, so N = 0 needs no special case.
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
from unmask.theorems.theorem import Conversion, SourceSize, Theorem, converted_model
from unmask.weights.model import Model, Price

MASKS = (*SPECIAL_NAMES["mask"], "m'")
"""Names for the mask of the converted model; the chain's own mask becomes an ordinary symbol."""


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
    model = converted_model(
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
    """Return a program over all copies, the number of rows that are copied, and the row of the first output slot."""
    levels = bits_for(source.rows)
    program = Program((*source.vocabulary, mask), outputs, source.length, levels * source.rows)
    count = N + (source.rows - source.length)
    return program, count, count * levels - source.padding


def _predictor(source: Model, mask: str) -> tuple[Program, Columns]:
    """Return the chain's transformer on every copy of its rows, and the columns of its stream."""
    transformer = source.transformers["model"]
    size, block = len(source.vocabulary), source.block or 1
    program, count, output = _program(source, mask, size + 1)
    input_rows = N + int(source.begin is not None)
    masked = program.register("masked")
    earlier = CausalCopies.of(program, count, source.rows)
    row = earlier.simulated
    written = choose(n < input_rows, 1, n >= output)  # the rows that the chain reads: input and output
    workspace = program.flag("workspace", written.equals(0))
    first = program.flag("not after the first block", row < input_rows + block)
    row_before = program.code("row a block before", choose(row < input_rows + block, row, row - block), earlier.levels)
    before, unreached = program.register("masked a block before"), program.register("unreached")
    read = Simulation.of(program, transformer, "given", source_positions(transformer, row, written))
    simulation = Simulation.of(program, transformer, "work")

    read.embed_symbols(program)
    read.embed_as(program, source.token[source.mask or ""], size)
    program.embed(size, masked)

    layer = program.layer()
    for address, columns, target in (
        (earlier.position, read.work, simulation.work),
        (row_before, masked, before),
    ):
        head = layer.head()
        eq(head, address, earlier.position)
        hide(head, workspace, copies=1)
        head.copy(columns, target)
    layer.mlp.write(conjunction(layer.mlp, before, [first]), unreached)

    def guard(head: HeadBuilder) -> None:
        boost(head, unreached)
        earlier.see_earlier(head, copies=focus_copies(transformer.precision.p))

    for number in range(simulation.depth):
        simulation.layer(number, program.layer(), guard)
    simulation.read_out(program, simulation.work)
    return program, simulation.work


def _planner(source: Model, mask: str) -> Program:
    program, _, output = _program(source, mask, 2)
    return choose_next_block(source, program, output)


def choose_next_block(source: Model, program: Program, output: Expression) -> Program:
    """Make a program the planner that chooses the masked output slots whose previous block is written.

    The output slots start at row `output`.
    """
    block = source.block or 1
    row_code = program.code("own", n)
    previous = program.code("a block before", choose(n < output + block, n, n - block))
    later = program.flag("not in the first block", both(n >= output, n < output + block).equals(0))
    masked, before, chosen = (program.register(name) for name in ("masked", "before", "chosen"))
    program.embed(len(source.vocabulary), masked)
    layer = program.layer()
    # this never chooses a row that looks at itself: workspace, and the first block, which the next line adds
    select_block(layer, masked, row_code=row_code, previous=previous, before=before, chosen=chosen)
    layer.mlp.write(conjunction(layer.mlp, masked, [later]), chosen)
    planner_logits(program, chosen)
    return program


def _alignment(source: Model, model: Model, work: Columns) -> Alignment:
    block, rows, input_rows = source.block or 1, source.rows, source.rows - source.padding

    def copies(t: int) -> tuple[np.ndarray, np.ndarray]:
        copied = np.arange(model.rows)
        copied = copied[copied % rows < input_rows + (t + 1) * block]
        return copied % rows, copied

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
