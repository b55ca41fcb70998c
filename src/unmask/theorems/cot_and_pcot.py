"""Chain of thought and parallel chain of thought (prop:cot-as-pcot)."""

from dataclasses import dataclass
from functools import partial

import numpy as np

from unmask.expressions import Expression, N, both, choose, n
from unmask.programs.assembly import assemble, assemble_all
from unmask.programs.gadgets.attention import boost, focus, focus_copies, hide, lookup
from unmask.programs.instance import programs_at
from unmask.programs.program import (
    SPECIAL_NAMES,
    B,
    Columns,
    HeadBuilder,
    Program,
    bits_for,
    free_name,
    program_in_length,
)
from unmask.programs.simulation import Simulation, column_labels, source_positions
from unmask.theorems.alignment import Alignment, layer_copies, slots
from unmask.theorems.theorem import Conversion, ConversionSource, SourceSize, Theorem, converted_model
from unmask.traces.trace import Trace
from unmask.weights.model import Model, Price
from unmask.weights.size_limits import check_steps

STREAM = "model"
"""The register of the source's stream."""


def cot_to_pcot_bound(source: SourceSize) -> Price:
    width = 2 * source.width + 2 * bits_for(source.rows) + 2
    return Price(source.steps, source.steps, source.layers + 1, width, source.symbols + 1)


def cot_to_pcot_programs(source: ConversionSource) -> dict[str, Program]:
    """Return the program in N for any source."""
    transformer = source.transformers["model"]
    mask = len(source.symbols)
    vocabulary = (*source.symbols, free_name(SPECIAL_NAMES["mask"], source.symbols))

    program = program_in_length(vocabulary, len(vocabulary), N + source.begin + source.steps, "causal")
    masked = program.register("masked")
    row_code = program.code("here", n)
    before = program.code("row before", (n - 1).positive_part())
    simulation = Simulation.of(program, transformer, STREAM, source_positions(transformer, n))
    final = program.register("final", column_labels(transformer))
    simulation.embed_symbols(program)
    program.embed(mask, masked)

    def guard(head: HeadBuilder) -> None:
        boost(head, masked)

    for number in range(simulation.depth):
        simulation.layer(number, program.layer(), guard)
    lookup(program.layer(), before, row_code).copy(simulation.work, final)
    simulation.read_out(program, final)
    program.read_out(mask, program.one, -B)  # the last symbol: it loses even a tie at -B
    return {"model": program}


def cot_to_pcot(source: Model) -> Conversion:
    """Return the parallel chain of thought of a chain of thought, one symbol per step (prop:cot-as-pcot, first half).

    Statement:    CoT[T] ⊆ pCoT[T, T]: a chain of thought is a parallel one whose blocks have one symbol.
    Construction: the rows before the mask are those of the source. They cannot see the mask, since attention is causal.
                  In one more layer every row LOOKUPs the row before it. Then the mask row has the stream of the
                  source's last row, and the logits are computed from it. The mask row itself has BOOST: it may attend
                  to any row, but must not divide by zero.
    Bounds:       T steps, T symbols (P' = 1), L + 1 layers, one symbol more, width 2D + 2⌈log2(N + T)⌉ + 2.
    Exactness:    bit by bit, for p >= 1.
    Deviations:   none. The source always has a row to read: an input row or its begin symbol.
    """
    programs = programs_at(cot_to_pcot_programs(ConversionSource.of(source)), source.length)
    program = programs["model"]
    simulation = Simulation(source.transformers["model"], program.columns(STREAM))
    model = converted_model(
        source,
        "cot_to_pcot",
        kind="pcot",
        block=1,
        vocabulary=program.symbols,
        mask=program.symbols[-1],
        transformers=assemble_all(programs, source.precision),
    )
    return Conversion(model, _chain_alignment(source, simulation))


def _chain_alignment(source: Model, simulation: Simulation) -> Alignment:
    first = source.rows - source.padding

    def rows(t: int) -> tuple[np.ndarray, np.ndarray]:
        return np.arange(first + t), np.arange(first + t)

    copies = layer_copies("model", "model", simulation, rows)
    return Alignment(slots(lambda t: np.arange(t + 1)), copies)


COT_TO_PCOT = Theorem(
    "cot_to_pcot", "prop:cot-as-pcot", "cot", "pcot", cot_to_pcot, cot_to_pcot_bound, programs=cot_to_pcot_programs
)


FILLERS = ("…", "<scratch>")


def pcot_to_cot_bound(source: SourceSize, *, answer_only: bool = False) -> Price:
    extra = int(source.rows == source.padding)
    steps = chain_steps(source.padding, source.block, answer_only=answer_only)
    codes = bits_for(source.rows + extra + steps - source.padding) + bits_for(max(1, source.steps))
    return Price(
        steps=steps,
        padding=steps,
        layers=source.layers + 1,
        width=2 * source.width + 2 * codes + 6,
        symbols=source.symbols + 1 + extra,
    )


def chain_steps(padding: int, block: int, *, answer_only: bool) -> int:
    """Return two steps for each symbol; with `answer_only`, all but one symbol of the last block take one."""
    return 2 * padding - (block - 1 if answer_only else 0)


def pcot_to_cot(source: Model, *, answer_only: bool = False) -> Conversion:
    """Return the chain of thought of a parallel one, in twice the steps (prop:cot-as-pcot, second half).

    Statement:    pCoT[T, P] ⊆ CoT[2P]: a parallel chain of thought is simulated by a sequential one that writes two
                  symbols for each symbol.
    Construction: for each block of P' symbols the chain first writes P' scratch symbols, whose rows simulate the masks
                  of that block. Then it writes the P' symbols themselves, each predicted from the scratch row of its
                  position. A scratch row sees the input rows, the symbols of earlier blocks, and the scratch rows of
                  its own block up to itself. A symbol sees only symbols. With `answer_only`, the last block consists of
                  its scratch symbols and the very last symbol, the only one that acceptance depends on
                  (`pcot_to_cot_answer_only`).
    Bounds:       2P steps, L + 1 layers, one symbol more, width 2D + 2⌈log2(N + 2P)⌉ + 2⌈log2 T⌉ + 6. If there is no
                  row to read (N = 0), a begin symbol is added, which counts as a row and a symbol.
    Exactness:    bit by bit, for p >= 1 (FOCUS takes three copies for p = 1).
    Deviations:   the paper claims pCoT[T, P] ⊆ CoT[P]. A mask row attends to earlier symbols, to the masks of its block
                  and to itself in one softmax. In a chain of thought that row does not exist when its symbol must be
                  predicted. A row has only one key per softmax, so it cannot have both that of a symbol and that of a
                  mask. P steps are enough for P' = 1 and for T = O(log N), with more heads and layers
                  (`pcot_to_cot_hosted`).
    """
    layout = _ScratchLayout(source, answer_only)
    check_steps(layout.steps)
    vocabulary = (*source.vocabulary, free_name(FILLERS, source.vocabulary))
    if layout.extra:
        vocabulary = (*vocabulary, free_name(SPECIAL_NAMES["begin"], vocabulary))
    program, simulation = _scratch_program(source, layout, vocabulary)
    model = converted_model(
        source,
        "pcot_to_cot_answer_only" if answer_only else "pcot_to_cot",
        kind="cot",
        block=None,
        outputs=None if source.outputs is None else min(source.outputs, 1 if answer_only else layout.block),
        steps=layout.steps,
        padding=layout.steps,
        vocabulary=vocabulary,
        mask=None,
        begin=vocabulary[-1] if layout.extra else source.begin,
        transformers={"model": assemble(program, source.precision)},
    )
    return Conversion(model, _scratch_alignment(source, simulation, layout))


@dataclass(frozen=True)
class _ScratchLayout:
    """Where scratch rows and symbols are. Integers are for the N of the source, expressions for every N."""

    source: Model
    answer_only: bool

    @property
    def steps(self) -> int:
        return chain_steps(self.source.padding, self.block, answer_only=self.answer_only)

    @property
    def block(self) -> int:
        """Return P', the number of symbols of a block."""
        return self.source.block or 1

    @property
    def own_begin(self) -> int:
        return int(self.source.begin is not None)

    @property
    def extra(self) -> int:
        """Return 1 if there is no row to read, else 0: a chain of thought needs a row to start from."""
        return int(self.own_begin + self.source.length == 0)

    @property
    def rows(self) -> int:
        return self.own_begin + self.extra + self.source.length + self.steps

    @property
    def start(self) -> Expression:
        return N + (self.own_begin + self.extra)

    @property
    def written(self) -> Expression:
        return n >= self.start

    @property
    def number(self) -> Expression:
        """Return the block of a written row."""
        return (n - self.start) // (2 * self.block)

    @property
    def own_block(self) -> Expression:
        """Return the block of a row, and 0 for rows without a block."""
        return choose(self.written, choose(self.number < self.source.steps, self.number, 0), 0)

    @property
    def within(self) -> Expression:
        return (n - self.start) % (2 * self.block)

    @property
    def scratch(self) -> Expression:
        return both(self.written, self.within < self.block)

    @property
    def simulated(self) -> Expression:
        """Return the source's row that this row simulates."""
        position = self.block * self.number + self.within % self.block
        return choose(self.written, (self.start - self.extra) + position, n)

    @property
    def following(self) -> Expression:
        """Return the row of the symbol that this row predicts."""
        return choose(n + 1 >= self.start, n + 1, self.start)

    @property
    def emits(self) -> Expression:
        """[the next symbol is a symbol of the source, not scratch]."""
        return (self.following - self.start) % (2 * self.block) >= self.block

    @property
    def origin(self) -> Expression:
        """Return the scratch row of the next symbol, or this row if the next symbol is itself scratch."""
        origin = choose(self.emits, self.following - self.block, n)
        if self.answer_only:  # the last row is the answer, right after the scratch row of its position
            origin = choose((n + 2).equals(self.start + self.steps), n, origin)
        return choose(origin < self.rows, origin, n)


def _scratch_program(source: Model, layout: _ScratchLayout, vocabulary: tuple[str, ...]) -> tuple[Program, Simulation]:
    """Return the source's layers on scratch rows and symbols, and one more layer that looks up the scratch row."""
    transformer, filler = source.transformers["model"], len(source.vocabulary)
    program = Program(vocabulary, len(vocabulary), source.length, layout.rows, "causal")
    row_code = program.code("here", n)
    origin = program.code("scratch row of the next symbol", layout.origin)
    visible = _VisibleRows.of(program, layout)
    positions = source_positions(transformer, layout.simulated, only=n >= layout.extra)
    simulation = Simulation.of(program, transformer, "model", positions)
    final = program.register("final", column_labels(transformer))
    fills = program.flag("the next symbol is scratch", 1 - layout.emits, 2)
    simulation.embed_symbols(program)
    simulation.embed_as(program, source.token[source.mask or ""], filler)

    for number in range(simulation.depth):
        simulation.layer(number, program.layer(), visible.restrict)
    lookup(program.layer(), origin, row_code).copy(simulation.work, final)
    simulation.read_out(program, final)
    program.read_out(np.arange(filler, len(vocabulary)), program.one, -B)
    for column in fills:
        program.read_out(filler, column, B)
        program.read_out(np.arange(filler), column, -B)
    return program, simulation


@dataclass(frozen=True, eq=False)
class _VisibleRows:
    """The rows that are visible: scratch rows see those of their block, symbols see none, no row sees the extra row."""

    layout: _ScratchLayout
    own_block: Columns
    scratch_block: Columns
    is_scratch: Columns
    is_symbol: Columns
    outsider: Columns

    @classmethod
    def of(cls, program: Program, layout: _ScratchLayout) -> "_VisibleRows":
        bits = bits_for(max(1, layout.source.steps))
        return cls(
            layout,
            own_block=program.code("block", layout.own_block, bits),
            scratch_block=program.code("block of a scratch row", layout.own_block, bits, only=layout.scratch),
            is_scratch=program.flag("scratch", layout.scratch),
            is_symbol=program.flag("symbol", 1 - layout.scratch),
            outsider=program.flag("outsider", n < layout.extra),
        )

    def restrict(self, head: HeadBuilder) -> None:
        """Add the columns of the restriction to a head of the source."""
        if self.layout.extra:
            boost(head, self.outsider)
        copies = focus_copies(self.layout.source.precision.p)
        focus(head, self.own_block, self.scratch_block, copies=copies, cares=self.is_scratch)
        hide(head, self.is_scratch, of=self.is_symbol)
        if self.layout.extra:
            # the extra row still sees itself: it was boosted to B + B before
            hide(head, self.outsider)
            boost(head, self.outsider, copies=3, on=self.outsider)


def _scratch_alignment(source: Model, simulation: Simulation, layout: _ScratchLayout) -> Alignment:
    first, block, extra = source.rows - source.padding, layout.block, layout.extra

    def slot_of(position: np.ndarray) -> np.ndarray:
        """Return the slot of the converted model with the symbol of slot `position` of the source."""
        return (position // block) * 2 * block + block + position % block

    def rows(t: int) -> tuple[np.ndarray, np.ndarray]:
        inputs, earlier, masks = np.arange(first), np.arange(t * block), np.arange(t * block, (t + 1) * block)
        converted_rows = [inputs + extra, first + extra + slot_of(earlier), first + extra + slot_of(masks) - block]
        return np.arange(first + (t + 1) * block), np.concatenate(converted_rows)

    def step(t: int) -> int:
        return min(2 * block * (t + 1), layout.steps) - 1

    def canvas(trace: Trace, t: int) -> list[str | None]:
        """Return the symbols of all blocks up to t; with `answer_only`, the last block has only its last symbol."""
        written = trace.symbols(trace.canvas[step(t)])
        earlier: list[str | None] = [written[i] for i in slot_of(np.arange(t * block))]
        if layout.answer_only and t == source.steps - 1:
            return [*earlier, *[None] * (block - 1), written[-1]]
        return [*earlier, *(written[i] for i in slot_of(np.arange(t * block, (t + 1) * block)))]

    copies = layer_copies("model", "model", simulation, rows, step=step)
    return Alignment(canvas, copies)


PCOT_TO_COT = Theorem("pcot_to_cot", "prop:cot-as-pcot", "pcot", "cot", pcot_to_cot, pcot_to_cot_bound)


# Parallel chain of thought as chain of thought, in fewer than twice the steps (a variant of prop:cot-as-pcot).
#
# Statement:    pCoT[T, P] ⊆ CoT[2P - P' + 1], where P = T·P'; that is P + 1 steps for T = 1. Not a statement of the
#               paper.
# Construction: that of `pcot_to_cot`: for each block P' scratch symbols, whose rows simulate the masks, then the P'
#               symbols. In the last block only the answer, its last symbol, is ever read. So the last block consists of
#               P' scratch symbols and the answer, which is predicted from the scratch row before it.
# Bounds:       2P - P' + 1 steps, L + 1 layers, one symbol more, width 2D + 2⌈log2(N + 2P)⌉ + 2⌈log2 T⌉ + 6.
# Exactness:    bit by bit, for p >= 1 (three copies of FOCUS for p = 1): every stream of every step, every block except
#               the last, and the answer. The other symbols of the last block are not written.
# Deviations:   the paper claims CoT[P]; see `pcot_to_cot_hosted`.


PCOT_TO_COT_ANSWER_ONLY = Theorem(
    "pcot_to_cot_answer_only",
    "prop:cot-as-pcot",
    "pcot",
    "cot",
    partial(pcot_to_cot, answer_only=True),
    partial(pcot_to_cot_bound, answer_only=True),
)
