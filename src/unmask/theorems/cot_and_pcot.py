"""Chain of thought and parallel chain of thought (prop:cot-as-pcot)."""

from dataclasses import dataclass
from functools import partial

import numpy as np

from unmask.expressions import Expression, N, both, choose, n
from unmask.programs.assembly import assemble, assemble_all
from unmask.programs.gadgets.attention import boost, focus, focus_copies, hide, lookup
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
from unmask.theorems.theorem import Conversion, ConversionSource, SourceSize, Theorem, converted, programs_at
from unmask.traces.trace import Trace
from unmask.weights.model import Model, Price
from unmask.weights.size_limits import check_steps

STREAM = "model"
"""The register that holds the stream of the source."""


def cot_to_pcot_bound(source: SourceSize) -> Price:
    width = 2 * source.width + 2 * bits_for(source.rows) + 2
    return Price(source.steps, source.steps, source.layers + 1, width, source.symbols + 1)


def cot_to_pcot_programs(source: ConversionSource) -> dict[str, Program]:
    """The program of every N for a source, whatever its weights and the number of its steps."""
    given = source.transformers["model"]
    mask = len(source.symbols)
    vocabulary = (*source.symbols, free_name(SPECIAL_NAMES["mask"], source.symbols))

    program = program_in_length(vocabulary, len(vocabulary), N + source.begin + source.steps, "causal")
    masked = program.register("masked")
    here = program.code("here", n)
    before = program.code("row before", (n - 1).positive_part())
    simulation = Simulation.of(program, given, STREAM, source_positions(given, n))
    final = program.register("final", column_labels(given))
    simulation.embed_symbols(program)
    program.embed(mask, masked)

    def guard(head: HeadBuilder) -> None:
        boost(head, masked)

    for number in range(simulation.depth):
        simulation.layer(number, program.layer(), guard)
    lookup(program.layer(), before, here).copy(simulation.work, final)
    simulation.read_out(program, final)
    program.read_out(mask, program.one, -B)  # the last symbol: it loses even a tie at -B
    return {"model": program}


def cot_to_pcot(source: Model) -> Conversion:
    """Return the parallel chain of thought of a chain of thought, one symbol per step (prop:cot-as-pcot, first half).

    Statement:    CoT[T] ⊆ pCoT[T, T]: a chain of thought is a parallel one whose blocks have one symbol.
    Construction: the rows before the mask are those of the source, which cannot see the mask: attention is causal. One
                  more layer lets every row LOOKUP the row before it, so that the mask row holds what the source's last
                  row holds, and the logits are read from there. The mask row itself is BOOSTed: it may attend anywhere,
                  but must not divide by zero.
    Bounds:       T steps, T symbols (P' = 1), L + 1 layers, one symbol more, width 2D + 2⌈log2(N + T)⌉ + 2.
    Exactness:    bit by bit, for p >= 1.
    Deviations:   none; the source always has a row to read (an input or its begin symbol).
    """
    made = programs_at(cot_to_pcot_programs(ConversionSource.of(source)), source.length)
    program = made["model"]
    simulation = Simulation(source.transformers["model"], program.columns(STREAM))
    model = converted(
        source,
        "cot_to_pcot",
        kind="pcot",
        block=1,
        vocabulary=program.symbols,
        mask=program.symbols[-1],
        transformers=assemble_all(made, source.precision),
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
    """Two symbols for each; of the last block only the scratch symbols and one more, if the answer is enough."""
    return 2 * padding - (block - 1 if answer_only else 0)


def pcot_to_cot(source: Model, *, answer_only: bool = False) -> Conversion:
    """Return the chain of thought of a parallel one, in twice the steps (prop:cot-as-pcot, second half).

    Statement:    pCoT[T, P] ⊆ CoT[2P]: a parallel chain of thought is a sequential one with two symbols for each of
                  its.
    Construction: for each block of P' symbols the chain first writes P' scratch symbols, whose rows stand for the masks
                  of that block, then the P' symbols themselves, each predicted from the scratch row of its position. A
                  scratch row sees the given rows, the symbols of earlier blocks, and the scratch rows of its own block
                  up to itself; a symbol sees symbols only. `answer_only`: of the last block the chain writes the
                  scratch symbols and the very last symbol, which is all that acceptance reads
                  (`pcot_to_cot_answer_only`).
    Bounds:       2P steps, L + 1 layers, one symbol more, width 2D + 2⌈log2(N + 2P)⌉ + 2⌈log2 T⌉ + 6. Nothing to read
                  (N = 0): a begin symbol, which counts as a row and a symbol.
    Exactness:    bit by bit, for p >= 2 (FOCUS), with three copies for p = 1.
    Deviations:   the paper claims pCoT[T, P] ⊆ CoT[P]. A mask row attends jointly to earlier symbols, to the masks of
                  its block and to itself; in a chain of thought that row does not exist when its symbol must be
                  predicted, and one row offers one key per softmax, not those of a symbol and of a mask. P steps
                  are enough for P' = 1 and for T = O(log N), with more heads and layers (`pcot_to_cot_hosted`).
    """
    layout = _ScratchLayout(source, answer_only)
    check_steps(layout.steps)
    vocabulary = (*source.vocabulary, free_name(FILLERS, source.vocabulary))
    if layout.extra:
        vocabulary = (*vocabulary, free_name(SPECIAL_NAMES["begin"], vocabulary))
    program, simulation = _scratch_program(source, layout, vocabulary)
    model = converted(
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
    """Where scratch rows and symbols are. Numbers are of this model, expressions hold for every N."""

    source: Model
    answer_only: bool

    @property
    def steps(self) -> int:
        return chain_steps(self.source.padding, self.block, answer_only=self.answer_only)

    @property
    def block(self) -> int:
        """P'."""
        return self.source.block or 1

    @property
    def own_begin(self) -> int:
        return int(self.source.begin is not None)

    @property
    def extra(self) -> int:
        """1 where there is nothing to read: a chain of thought needs a row to start from."""
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
        """Which block a written row belongs to."""
        return (n - self.start) // (2 * self.block)

    @property
    def own_block(self) -> Expression:
        """The same for every row, 0 where it belongs to none."""
        return choose(self.written, choose(self.number < self.source.steps, self.number, 0), 0)

    @property
    def within(self) -> Expression:
        return (n - self.start) % (2 * self.block)

    @property
    def scratch(self) -> Expression:
        return both(self.written, self.within < self.block)

    @property
    def simulated(self) -> Expression:
        """The source's row that this row stands for."""
        place = self.block * self.number + self.within % self.block
        return choose(self.written, (self.start - self.extra) + place, n)

    @property
    def following(self) -> Expression:
        """The row of the symbol that is emitted here."""
        return choose(n + 1 >= self.start, n + 1, self.start)

    @property
    def emits(self) -> Expression:
        """[the next symbol is one of the source's, no scratch]."""
        return (self.following - self.start) % (2 * self.block) >= self.block

    @property
    def origin(self) -> Expression:
        """The scratch row of the next symbol, the own row where the next symbol is scratch itself."""
        origin = choose(self.emits, self.following - self.block, n)
        if self.answer_only:  # the last row is the answer, right after the scratch row of its position
            origin = choose((n + 2).equals(self.start + self.steps), n, origin)
        return choose(origin < self.rows, origin, n)


def _scratch_program(source: Model, layout: _ScratchLayout, vocabulary: tuple[str, ...]) -> tuple[Program, Simulation]:
    """The source's layers on scratch rows and symbols; one more layer takes the logits from the scratch row."""
    given, filler = source.transformers["model"], len(source.vocabulary)
    program = Program(vocabulary, len(vocabulary), source.length, layout.rows, "causal")
    here = program.code("here", n)
    origin = program.code("scratch row of the next symbol", layout.origin)
    seen = _VisibleRows.of(program, layout)
    simulation = Simulation.of(
        program, given, "model", source_positions(given, layout.simulated, only=n >= layout.extra)
    )
    final = program.register("final", column_labels(given))
    fills = program.flag("the next symbol is scratch", 1 - layout.emits, 2)
    simulation.embed_symbols(program)
    simulation.embed_as(program, source.token[source.mask or ""], filler)

    for number in range(simulation.depth):
        simulation.layer(number, program.layer(), seen.restrict)
    lookup(program.layer(), origin, here).copy(simulation.work, final)
    simulation.read_out(program, final)
    program.read_out(np.arange(filler, len(vocabulary)), program.one, -B)
    for column in fills:
        program.read_out(filler, column, B)
        program.read_out(np.arange(filler), column, -B)
    return program, simulation


@dataclass(frozen=True, eq=False)
class _VisibleRows:
    """Return which rows a row sees: scratch rows see those of their block, symbols none, and no row the extra one."""

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
        """The columns that follow those of the source."""
        if self.layout.extra:
            boost(head, self.outsider)
        copies = focus_copies(self.layout.source.precision.p)
        focus(head, self.own_block, self.scratch_block, copies=copies, cares=self.is_scratch)
        hide(head, self.is_scratch, of=self.is_symbol)
        if self.layout.extra:
            # the row that the source does not have still sees itself, boosted to B + B before
            hide(head, self.outsider)
            boost(head, self.outsider, copies=3, on=self.outsider)


def _scratch_alignment(source: Model, simulation: Simulation, layout: _ScratchLayout) -> Alignment:
    first, block, extra = source.rows - source.padding, layout.block, layout.extra

    def place(position: np.ndarray) -> np.ndarray:
        """The slot of the converted model that holds slot `position` of the source."""
        return (position // block) * 2 * block + block + position % block

    def rows(t: int) -> tuple[np.ndarray, np.ndarray]:
        given, earlier, masks = np.arange(first), np.arange(t * block), np.arange(t * block, (t + 1) * block)
        theirs = [given + extra, first + extra + place(earlier), first + extra + place(masks) - block]
        return np.arange(first + (t + 1) * block), np.concatenate(theirs)

    def step(t: int) -> int:
        return min(2 * block * (t + 1), layout.steps) - 1

    def canvas(trace: Trace, t: int) -> list[str | None]:
        """The symbols of all blocks; of the last one the answer alone, where no more is written."""
        written = trace.symbols(trace.canvas[step(t)])
        shown: list[str | None] = [written[i] for i in place(np.arange(t * block))]
        if layout.answer_only and t == source.steps - 1:
            return [*shown, *[None] * (block - 1), written[-1]]
        return [*shown, *(written[i] for i in place(np.arange(t * block, (t + 1) * block)))]

    copies = layer_copies("model", "model", simulation, rows, step=step)
    return Alignment(canvas, copies)


PCOT_TO_COT = Theorem("pcot_to_cot", "prop:cot-as-pcot", "pcot", "cot", pcot_to_cot, pcot_to_cot_bound)


# Parallel chain of thought as chain of thought, in fewer than twice the steps (beside prop:cot-as-pcot).
#
# Statement:    pCoT[T, P] ⊆ CoT[2P - P' + 1], where P = T·P'; that is P + 1 steps for T = 1. Not a statement of the
#               paper.
# Construction: that of `pcot_to_cot`: for each block P' scratch symbols, whose rows stand for the masks, then the P'
#               symbols. Nobody reads the symbols of the last block but for the answer, which is the last one. So the
#               last block is P' scratch symbols and the answer, predicted from the scratch row right before it.
# Bounds:       2P - P' + 1 steps, L + 1 layers, one symbol more, width 2D + 2⌈log2(N + 2P)⌉ + 2⌈log2 T⌉ + 6.
# Exactness:    bit by bit, for p >= 1 (three copies of FOCUS at p = 1): every stream of every step, every block but the
#               last, and the answer. The other symbols of the last block are not written.
# Deviations:   the paper claims CoT[P]; see `pcot_to_cot_hosted`.


PCOT_TO_COT_ANSWER_ONLY = Theorem(
    "pcot_to_cot_answer_only",
    "prop:cot-as-pcot",
    "pcot",
    "cot",
    partial(pcot_to_cot, answer_only=True),
    partial(pcot_to_cot_bound, answer_only=True),
)
