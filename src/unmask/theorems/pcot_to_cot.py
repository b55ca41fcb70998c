"""Parallel chain of thought as chain of thought, in twice the steps (prop:cot-as-pcot, second half).

Statement:    pCoT[T, P] ⊆ CoT[2P]: a parallel chain of thought is a sequential one with two symbols for each of its.
Construction: for each block of P' symbols the chain first writes P' scratch symbols, whose rows stand for the masks
              of that block, then the P' symbols themselves, each predicted from the scratch row of its position. A
              scratch row sees the given rows, the symbols of earlier blocks, and the scratch rows of its own block up
              to itself; a symbol sees symbols only.
              `answer_only`: of the last block the chain writes the scratch symbols and the very last symbol, which is
              all that acceptance reads (`pcot_to_cot_answer_only`).
Bounds:       2P steps, L + 1 layers, one symbol more, width 2D + 2⌈log2(N + 2P)⌉ + 2⌈log2 T⌉ + 6.
              Nothing to read (N = 0): a begin symbol, which counts as a row and a symbol.
Exactness:    bit by bit, for p >= 2 (FOCUS), with three copies for p = 1.
Deviations:   the paper claims pCoT[T, P] ⊆ CoT[P]. A mask row attends jointly to earlier symbols, to the masks of its
              block and to itself; in a chain of thought that row does not exist when its symbol must be predicted,
              and one row offers one key per softmax, not those of a symbol and of a mask. Whether P steps are enough
              is open (docs/paper/errata.md): the factor 2 is a price we can pay, not one we can prove necessary.
"""

from dataclasses import dataclass

import numpy as np

from unmask.programs.gadgets.boost import boost
from unmask.programs.gadgets.focus import focus, focus_copies
from unmask.programs.gadgets.hide import hide
from unmask.programs.gadgets.lookup import lookup
from unmask.programs.language.assemble import assemble
from unmask.programs.language.builders import Columns, HeadBuilder
from unmask.programs.language.coefficients import B
from unmask.programs.language.positions import Expression, N, both, choose, n
from unmask.programs.language.program import Program, bits_for
from unmask.programs.language.vocabulary import SPECIAL_NAMES, free_name
from unmask.programs.simulation.transformer import Simulation, column_labels, source_positions
from unmask.theorems.alignment import Alignment, layer_copies
from unmask.theorems.size import Size
from unmask.theorems.theorem import Conversion, Theorem, converted
from unmask.traces.trace import Trace
from unmask.weights.limits import check_steps
from unmask.weights.model import Model
from unmask.weights.price import Price

FILLERS = ("…", "<scratch>")


def bound(source: Size, *, answer_only: bool = False) -> Price:
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
    """The chain of thought of a parallel chain of thought; `answer_only` leaves out what only the end would show."""
    layout = _Layout(source, answer_only)
    check_steps(layout.steps)
    vocabulary = (*source.vocabulary, free_name(FILLERS, source.vocabulary))
    if layout.extra:
        vocabulary = (*vocabulary, free_name(SPECIAL_NAMES["begin"], vocabulary))
    program, simulation = _program(source, layout, vocabulary)
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
    return Conversion(model, _alignment(source, simulation, layout))


@dataclass(frozen=True)
class _Layout:
    """Where scratch rows and symbols stand. Numbers are of this model, expressions hold for every N."""

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


def _program(source: Model, layout: _Layout, vocabulary: tuple[str, ...]) -> tuple[Program, Simulation]:
    """The source's layers on scratch rows and symbols; one more layer takes the logits from the scratch row."""
    given, filler = source.transformers["model"], len(source.vocabulary)
    program = Program(vocabulary, len(vocabulary), source.length, layout.rows, "causal")
    here = program.code("here", n)
    origin = program.code("scratch row of the next symbol", layout.origin)
    seen = _Seen.of(program, layout)
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
class _Seen:
    """What a row sees: scratch rows those of their own block, symbols none; and nobody the row that is extra."""

    layout: _Layout
    own_block: Columns
    scratch_block: Columns
    is_scratch: Columns
    is_symbol: Columns
    outsider: Columns

    @classmethod
    def of(cls, program: Program, layout: _Layout) -> "_Seen":
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


def _alignment(source: Model, simulation: Simulation, layout: _Layout) -> Alignment:
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


THEOREM = Theorem("pcot_to_cot", "prop:cot-as-pcot", "pcot", "cot", pcot_to_cot, bound)
