"""Parallel chain of thought inside masked diffusion, with two copies of every row (beside thm:mdms-can-simulate-cot).
"""

import numpy as np

from unmask.expressions import Expression, N, both, choose, n
from unmask.programs.assembly import assemble_all
from unmask.programs.declarations import TableRows
from unmask.programs.gadgets.attention import eq, hide, lookup
from unmask.programs.gadgets.mlp import conjunction
from unmask.programs.mirrored_rows import SENTINELS, MirroredRows
from unmask.programs.planner_programs import planner_logits, select_block
from unmask.programs.program import Columns, Program, bits_for, free_name
from unmask.programs.simulation import Simulation
from unmask.theorems.alignment import Alignment, StreamCopy, slots
from unmask.theorems.pcot_to_mdm import MASKS
from unmask.theorems.theorem import Conversion, SourceSize, Theorem, converted
from unmask.weights.model import Model, Price


def pcot_to_mdm_mirrored(source: Model) -> Conversion:
    """The masked diffusion model of a parallel chain of thought."""
    mask = free_name(MASKS, source.vocabulary)
    predictor, work, ends = _predictor(source, mask)
    model = converted(
        source,
        "pcot_to_mdm_mirrored",
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
    size, block = len(source.vocabulary), source.block or 1
    chain_mask = source.token[source.mask or ""]
    program, given, count = _program(source, mask, size + 1)
    masked = program.register("masked")
    rows = MirroredRows.of(program, source.precision, given, count, source.rows)
    first = program.flag("not after the first block", rows.row < given + block)
    earlier = choose(rows.row < given + block, rows.row, rows.row - block)
    row_before = program.code("row a block before", earlier, rows.bits)[::-1]
    before = program.register("masked a block before")
    # a sentinel holds a mask, too; its position takes the embedding back
    table = np.vstack(
        [transformer.positions[np.arange(source.rows)], -transformer.embed.take(np.array([chain_mask]))]
    )
    place = choose(rows.sentinel, source.rows, rows.row)
    read = Simulation.of(program, transformer, "given", TableRows(table, place))
    simulation = Simulation.of(program, transformer, "work")

    read.embed_symbols(program)
    read.embed_as(program, chain_mask, size)
    program.embed(size, masked)

    last = given + count
    origin = choose(both(n > given, n <= last), choose(rows.row < given, rows.row, rows.row + count + SENTINELS), n)
    layer = program.layer()
    lookup(layer, program.code("where the row is read", origin), rows.own).copy(read.work, simulation.work)
    head = layer.head()
    eq(head, row_before, rows.address)
    hide(head, rows.not_original, copies=1)
    head.copy(masked, before)
    layer.mlp.write(conjunction(layer.mlp, before, [first]), rows.unreached)

    ends = [0]
    for number in range(simulation.depth):
        rows.layer(simulation, number)
        ends.append(len(program.layers) - 1)
    simulation.read_out(program, simulation.work)
    return program, simulation.work, ends


def _planner(source: Model, mask: str) -> Program:
    """Masked output slots whose block before is written; the first block is told by a flag."""
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
        """Both copies of the rows that the chain has read."""
        read = np.arange(given + (t + 1) * block)
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
