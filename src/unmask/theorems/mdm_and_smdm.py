"""Masked diffusion with and without editing (thm:mdms-can-simulate-emdms, app:editing-mdms)."""

from dataclasses import dataclass

import numpy as np

from unmask.expressions import N, both, choose, n
from unmask.programs.assembly import assemble_all
from unmask.programs.gadgets.attention import boost, hide, itself, lookup
from unmask.programs.gadgets.mlp import conjunction, unchosen, unless_taken
from unmask.programs.instance import programs_at
from unmask.programs.planner_programs import planner_logits
from unmask.programs.program import (
    ONE,
    B,
    Columns,
    HeadBuilder,
    LayerBuilder,
    Program,
    bits_for,
    free_name,
    program_in_length,
)
from unmask.programs.simulation import Simulation, shared_attention, source_positions
from unmask.theorems.alignment import Alignment, layer_copies, slots
from unmask.theorems.theorem import Conversion, ConversionSource, SourceSize, Theorem, converted_model
from unmask.weights.model import Model, Price
from unmask.weights.transformer import Attention

STILL_MASKED = ("ĥ", "<still-masked>")
"""Names for the proxy of the mask."""


def mdm_to_smdm_bound(source: SourceSize) -> Price:
    rows = source.rows + (source.steps - 1) * source.padding
    causal = source.causal_columns(stays=source.rows > source.padding)
    U, S = (source.transformers[name].layers for name in ("planner", "predictor"))
    return Price(
        steps=source.steps,
        padding=source.steps * source.padding,
        layers=max(U + 1, S) + 1,
        width=2 * source.width + 3 * source.symbols + 2 * bits_for(rows) + 11 + causal,
        symbols=source.symbols + 1,
    )


def mdm_to_smdm(source: Model) -> Conversion:
    """Return the model without editing: a new block of slots for every step (thm:mdms-can-simulate-emdms).

    Statement:    MDM[T, P] ⊆ sMDM[T, T·P]: every masked diffusion model is simulated by one whose planner never chooses
                  a written slot.
    Construction: T blocks of P slots. Step t writes the whole block t, with the state of the source after its step t. A
                  slot that is still masked there is written as the proxy ĥ, a new symbol. Planner, one layer: LOOKUP of
                  the same slot one block back. A slot is current if it is masked and that slot is not; in the first
                  block, if it is masked. Predictor: the same LOOKUP brings the symbol of that slot, embedded for U and
                  S with its position, and ĥ as m. (Input rows and rows of the first block look at themselves.) A slot
                  is ignored if it is not current. The layers of U and S run side by side, and every head has BOOST and
                  HIDE of the ignored rows. After the last layer of U, SELF takes its logits, and an MLP decides. The
                  logits are those of S. If the source keeps its slot, B is subtracted twice and the old symbol, or ĥ,
                  gains 1.
    Bounds:       T steps, T·P slots, 1 symbol more, max(L_U + 1, L_S) + 1 layers (the planner 1), width 2(D_U + D_S) +
                  3|Σ| + 2⌈log2(N + T·P)⌉ + 11; two columns more per row for a causal source that cannot stay causal.
    Exactness:    bit by bit after every step, for p >= 1; block t is the source's canvas after step t, up to ĥ = m. If
                  the source divides by zero, so does the result; ignored rows never do.
    Deviations:   in the paper the predictor copies the slots that the planner keeps. But a predictor cannot write m,
                  and a slot with m would look unwritten: hence ĥ. The first block has no previous block. Flags mark it,
                  so that no input row is needed (N = 0). Ignoring "identical positions to the right" is not needed. A
                  causal source stays causal if there is an input or begin symbol, which ignored rows can always see.
                  Without one, or if the other transformer is unmasked, `hide_later` makes it causal.
    """
    programs = programs_at(mdm_to_smdm_programs(ConversionSource.of(source)), source.length)
    vocabulary, mask = programs["predictor"].symbols, source.mask or ""
    simulations = {name: Simulation(t, programs["predictor"].columns(name)) for name, t in source.transformers.items()}
    model = converted_model(
        source,
        "mdm_to_smdm",
        kind="smdm",
        padding=source.steps * source.padding,
        vocabulary=vocabulary,
        aliases={**source.aliases, vocabulary[-1]: source.aliases.get(mask, mask)},
        transformers=assemble_all(programs, source.precision),
    )
    return Conversion(model, _alignment(source, simulations))


def mdm_to_smdm_programs(source: ConversionSource) -> dict[str, Program]:
    """Return the programs in N for any source. The registers of its streams have the names of its transformers."""
    vocabulary = (*source.symbols, free_name(STILL_MASKED, source.symbols))
    return {"planner": _planner(source, vocabulary), "predictor": _BlockPredictor(source, vocabulary).program}


@dataclass(frozen=True, eq=False)
class _LookBack:
    """The first layer of planner and predictor: the head looks one block back, the MLP finds the current block."""

    program: Program
    row_code: Columns
    layer: LayerBuilder
    look_back: HeadBuilder
    is_current: np.ndarray  # hidden units, of which at most one is 1

    @classmethod
    def of(cls, source: ConversionSource, vocabulary: tuple[str, ...], outputs: int) -> "_LookBack":
        first = N + source.begin
        earliest = n < first + source.slots
        program = program_in_length(vocabulary, outputs, first + source.steps * source.slots)
        row_code = program.code("here", n)
        back = program.code("one block back", choose(earliest, n, n - source.slots))
        first_block = program.flag("first block", both(n >= first, earliest))
        elsewhere = program.flag("not the first block", choose(n >= first, 1 - earliest, 1))
        masked, before = program.register("masked"), program.register("masked one block back")
        program.embed(source.mask or 0, masked)

        layer = program.layer()
        look_back = lookup(layer, back, row_code)
        look_back.copy(masked, before)
        later = conjunction(layer.mlp, masked, [[before[0], first_block[0]]])
        at_first = conjunction(layer.mlp, masked, [elsewhere])
        return cls(program, row_code, layer, look_back, np.concatenate([later, at_first]))


def _planner(source: ConversionSource, vocabulary: tuple[str, ...]) -> Program:
    start = _LookBack.of(source, vocabulary, 2)
    current = start.program.register("current")
    start.layer.mlp.write(start.is_current, current)
    planner_logits(start.program, current)
    return start.program


class _BlockPredictor:
    """The program: the look back, the layers of U and S under HIDE, the logits of S or the old symbol."""

    def __init__(self, source: ConversionSource, vocabulary: tuple[str, ...]) -> None:
        self.source, first = source, N + source.begin
        self.mask = source.mask or 0
        self.start = _LookBack.of(source, vocabulary, len(vocabulary))
        self.program = program = self.start.program
        position = choose(n < first, n, first + (n - first) % source.slots)
        self.slot = program.flag("slot", n >= first)
        self.ignored = program.register("ignored")
        self.symbol = program.register("symbol", source.symbols)
        self.standing = program.register("symbol one block back", source.symbols)
        self.tables = {
            name: program.register(f"{name} positions", t.width, source_positions(t, position))
            for name, t in source.transformers.items()
        }
        self.simulations = {name: Simulation.of(program, t, name) for name, t in source.transformers.items()}
        self.decision = program.register("decision", ("keep", "take"))
        self.not_chosen = program.register("not chosen", 2)
        self.kept = program.register("kept", source.symbols)
        # an ignored row of a causal model must see some row: one before all slots
        transformers, rows, causal = list(source.transformers.values()), 0, True
        if source.rows is not None:
            steps, slots = source.steps.value, source.slots.value
            rows, causal = source.rows + (steps - 1) * slots, source.rows > slots
        self.shared = shared_attention(program, transformers, position, source.rows or 0, causal=causal, rows=rows)
        program.attention = self.shared.kind
        self._look_back()
        planner, predictor = (self.simulations[name].depth for name in ("planner", "predictor"))
        for number in range(max(planner + 1, predictor)):
            self._simulate(number)
        self._read_out()

    def _look_back(self) -> None:
        """Embed the symbol one block back for U and S; compute ignored = slot and not current."""
        size, start = len(self.source.symbols), self.start
        self.program.embed(np.arange(size), self.symbol)
        self.program.embed(size, self.symbol[self.mask])
        start.look_back.copy(self.symbol, self.standing)
        for name, simulation in self.simulations.items():
            simulation.embed_in(start.look_back, self.symbol, self.tables[name])
        mlp = start.layer.mlp
        mlp.write(conjunction(mlp, self.slot, [[]]), self.ignored)
        mlp.write(start.is_current, self.ignored, -ONE)

    def _simulate(self, number: int) -> None:
        """Add one layer of U and S, and the decision in the layer after the last one of U."""
        layer, planner = self.program.layer(), self.simulations["planner"]
        for name in ("planner", "predictor"):
            simulation = self.simulations[name]

            def guard(head: HeadBuilder, kind: Attention = simulation.source.attention) -> None:
                boost(head, self.ignored)
                self.shared.guard[kind](head)
                hide(head, self.ignored)

            simulation.layer(number, layer, guard)
        if number == planner.depth:
            planner.logits_in(itself(layer, self.start.row_code), self.decision)
            unchosen(layer.mlp, self.decision, self.not_chosen)
            unless_taken(layer.mlp, self.decision, self.standing, self.kept)

    def _read_out(self) -> None:
        """Emit the logits of S; if the source keeps its slot, subtract B twice and add 1 to the old symbol, or ĥ."""
        program, predictor, size = self.program, self.simulations["predictor"], len(self.source.symbols)
        predictor.read_out(program, predictor.work)
        program.read_out(size, program.one, -B)  # the last symbol: it loses even a tie at -B
        for column in self.not_chosen:
            program.read_out(np.arange(size + 1), column, -B)
        program.read_out(np.where(np.arange(size) == self.mask, size, np.arange(size)), self.kept, ONE)


def _alignment(source: Model, simulations: dict[str, Simulation]) -> Alignment:
    every, block = np.arange(source.rows), np.arange(source.padding)
    first = source.rows - source.padding

    def rows(t: int) -> tuple[np.ndarray, np.ndarray]:
        return every, np.where(every < first, every, every + t * source.padding)

    copies = [
        copy
        for name, simulation in simulations.items()
        for copy in layer_copies(name, "predictor", simulation, rows, later=1)
    ]
    return Alignment(slots(lambda t: block + t * source.padding), tuple(copies))


MDM_TO_SMDM = Theorem(
    "mdm_to_smdm",
    "thm:mdms-can-simulate-emdms",
    "mdm",
    "smdm",
    mdm_to_smdm,
    mdm_to_smdm_bound,
    programs=mdm_to_smdm_programs,
)


def smdm_to_mdm_bound(source: SourceSize) -> Price:
    width = max(t.width for t in source.transformers.values())
    return Price(source.steps, source.padding, source.layers, width, source.symbols)


def smdm_to_mdm(source: Model) -> Conversion:
    """Return the same model as an mdm (app:editing-mdms).

    Statement:    sMDM[T, P] ⊆ MDM[T, P].
    Construction: the same weights; only the promise that no written slot is chosen is dropped.
    Bounds:       T steps, P slots, the same layers.
    Exactness:    the same run, sampled or not.
    """
    every = np.arange(source.padding)
    return Conversion(converted_model(source, "smdm_to_mdm", kind="mdm"), Alignment(slots(lambda _: every)))


SMDM_TO_MDM = Theorem("smdm_to_mdm", "app:editing-mdms", "smdm", "mdm", smdm_to_mdm, smdm_to_mdm_bound)
