"""Masked diffusion inside a parallel chain of thought (thm:cot-can-simulate-mdms).

Statement:    MDM[T, P] ⊆ pCoT[T, T·(L·(F + P) + P)], where L is the depth of the deeper of planner U and predictor S,
              and F the number of given rows: the input, and the begin symbol if there is one. If the input comes
              padded by P symbols, pCoT[T, L·T·(F + P)], which is the paper's price.
Construction: a step has the blocks 0 … L. Block 0 is the given rows and P new ones, every further block has a row for
              each of the F + P rows of the source. Layer l of the source is computed where all rows of the block before
              are already seen (lem:mask-conversion):
              (a) LOOKUP of the source's symbol, at an address that never changes: a given row; or the slot as the last
              block of the step before has written it; in the first step a slot of block 0, which stays m. It is
              embedded for U and S with its position; (b) the layers of U and S side by side: in layer l, row r of
              block b >= l has BOOST for blocks < l and FOCUS on block b - 1; given rows are of every step; (c) SELF
              takes the logits, an MLP decides. The slots of the last block emit the logits of S; where the source
              keeps its slot, B is subtracted twice and the old symbol gains 1. All other rows emit m.
              The slots of block L are the last P symbols of every step, the mdm's last slot is the very last.
              Padded: the last block of a step is block 0 of the next one. Its slots have two roles, hence two streams:
              as queries of their own step they hold the symbol they have looked up, and as keys of the next one, in
              the first layer alone, their own.
Bounds:       T steps of L·(F + P) + P symbols (padded: L·(F + P)), L + 2 layers, the same vocabulary (padded: one
              symbol more), width D_U + D_S (padded: twice that) + O(|Σ| + L + log(N + P)). A model without layers
              counts as L = 1.
Exactness:    bit by bit after every step, for p >= 1 (FOCUS takes three copies for p = 1). The last P symbols of step t
              are the source's canvas after step t. If the source divides by zero, so does the result. Rows of earlier
              steps compute what they computed then, for they see the same symbols; no other row divides by zero.
Deviations:   the paper's positions divide by T, L and P instead of P', F + P; it names the wrong lemma, and lets the
              blocks of both transformers, whose depths differ, pass for L. Its padded input must hold a symbol that is
              not m: the padded form reads words of length N + P, whose last P symbols are ĥ, an input symbol of that
              model (other symbols there make the source start from that canvas), also where its characters are
              given as ranges. As such words are not those of the source's problem, the folder of a padded model names
              none. No filler symbol and, unpadded, no ĥ is needed: addresses are static, so that no row asks whether
              it is written. Given rows could be left out of the last block, F symbols less per step (then the paper's
              price needs no padding where P <= F); but division by zero in them alone would go unnoticed. Causal
              sources pay for `hide_later`, two columns per position.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np

from unmask.expressions import Expression, N, both, choose, n
from unmask.programs.assembly import assemble
from unmask.programs.declarations import OneHot
from unmask.programs.gadgets.attention import boost, focus, focus_copies, itself, lookup
from unmask.programs.gadgets.mlp import no_preference, unchosen, unless_taken
from unmask.programs.program import ONE, ULP, B, HeadBuilder, Program, bits_for, free_name
from unmask.programs.simulation import Simulation, shared_attention, source_positions
from unmask.theorems.alignment import Alignment, layer_copies, slots
from unmask.theorems.theorem import Conversion, SourceSize, Theorem, converted
from unmask.weights.model import Model, Price
from unmask.weights.transformer import Attention

PADDING_NAMES = ("ĥ", "<padding>")


def bound(source: SourceSize, *, padded: bool = False) -> Price:
    depth, further = max(1, source.layers), 0 if padded else source.padding
    fresh = depth * source.rows + further
    address = bits_for(source.rows - further + source.steps * fresh)
    codes = bits_for(source.steps + 1) + bits_for(depth + 1)
    return Price(
        steps=source.steps,
        padding=source.steps * fresh,
        layers=depth + 2,
        width=(2 + padded) * (source.width + address)
        + 4 * source.symbols
        + 2 * codes
        + depth
        + 8
        + source.causal_columns(stays=False),
        symbols=source.symbols + padded,
    )


def mdm_to_pcot(source: Model, *, padded: bool = False) -> Conversion:
    """Return the parallel chain of thought of a masked diffusion model; `padded`: words are followed by P symbols ĥ."""
    layout = _StepBlocks.of(source, padded=padded)
    vocabulary = source.vocabulary
    changes = {}
    if padded:
        padding = free_name(PADDING_NAMES, vocabulary)
        vocabulary = (*vocabulary, padding)
        mask = source.mask or ""
        changes = {
            "length": source.length + source.padding,
            "input_symbols": (*source.input_symbols, padding),
            "characters": _with_character(source.characters, padding),
            "aliases": {**source.aliases, padding: source.aliases.get(mask, mask)},
            "problem": {},
        }
    chain = _ChainProgram(source, layout, vocabulary)
    model = converted(
        source,
        "mdm_to_pcot",
        kind="pcot",
        padding=source.steps * layout.fresh,
        block=layout.fresh,
        vocabulary=vocabulary,
        transformers={"model": assemble(chain.program, source.precision)},
        **changes,
    )
    return Conversion(model, _alignment(source, layout, chain.simulations))


@dataclass(frozen=True)
class _StepBlocks:
    """Where the rows of every step are. Numbers are of this model, expressions hold for every N."""

    source: Model
    padded: bool
    depth: int  # L

    @classmethod
    def of(cls, source: Model, *, padded: bool) -> "_StepBlocks":
        return cls(source, padded, max(1, Price.of(source).layers))

    @property
    def fresh(self) -> int:
        """Return P', the number of rows of a step."""
        return self.depth * self.source.rows + (0 if self.padded else self.source.padding)

    @property
    def start(self) -> int:
        """Return the number of rows before the first step."""
        return self.source.rows - (0 if self.padded else self.source.padding)

    @property
    def length(self) -> int:
        return self.source.length + (self.source.padding if self.padded else 0)

    @property
    def first(self) -> Expression:
        """Return F, the number of given rows."""
        begin = int(self.source.begin is not None)
        return N - self.source.padding + begin if self.padded else N + begin

    @property
    def simulated(self) -> Expression:
        """F + P."""
        return self.first + self.source.padding

    @property
    def begins(self) -> Expression:
        return self.simulated if self.padded else self.first

    @property
    def step(self) -> Expression:
        return (n - self.begins).positive_part() // self.fresh

    @property
    def place(self) -> Expression:
        """Return the row within a step, counting the rows before the first step as part of it."""
        return choose(n < self.begins, n, self.begins + (n - self.begins) % self.fresh)

    @property
    def block(self) -> Expression:
        return self.place // self.simulated

    @property
    def position(self) -> Expression:
        """Return the row of the source for which this row stands."""
        return self.place % self.simulated

    @property
    def emits(self) -> Expression:
        """[a slot of the last block]."""
        return both(self.block.equals(self.depth), self.position >= self.first)

    @property
    def next_one(self) -> Expression:
        """[as a key, a row of block 0 of the next step]."""
        return self.emits if self.padded else n < 0

    @property
    def looked_up(self) -> Expression:
        """Return the row whose symbol this row has before the step."""
        slot = self.position - self.first
        last_slots = self.begins + self.step * self.fresh - self.source.padding
        return choose(both(self.step >= 1, self.position >= self.first), last_slots + slot, self.position)


class _ChainProgram:
    """The program: registers in the order of the construction, then its layers (a), (b), (c) and the logits."""

    def __init__(self, source: Model, layout: _StepBlocks, vocabulary: tuple[str, ...]) -> None:
        self.source, self.layout = source, layout
        self.mask = source.token[source.mask or ""]
        self.writable = np.setdiff1d(np.arange(len(source.vocabulary)), [self.mask])
        rows = layout.start + source.steps * layout.fresh
        self.program = program = Program(vocabulary, len(vocabulary), layout.length, rows, "causal")
        self.here = program.code("here", n)
        self.address = program.code("looked up", layout.looked_up)
        self._declare_blocks()
        self.symbol = program.register("symbol", source.vocabulary)
        self.standing = program.register("symbol before the step", source.vocabulary)
        self._declare_streams()
        self.decision = program.register("decision", ("keep", "take"))
        self.logits = program.register("logits", self.writable.size)
        self.undecided = program.register("no preference")
        self.not_chosen = program.register("not chosen", 2)
        self.kept = program.register("kept", source.vocabulary)
        self.silent = program.flag("silent", 1 - layout.emits)
        transformers = [simulation.source for simulation in self.simulations.values()]
        self.shared = shared_attention(program, transformers, layout.position, source.rows, causal=False)
        self._embed()
        for number in range(max(simulation.depth for simulation in self.simulations.values())):
            self._simulate(number)
        self._decide()
        self._read_out()

    def _declare_blocks(self) -> None:
        """Declare which block of which step a row reads, and by which it is read; given rows belong to every step."""
        program, layout = self.program, self.layout
        step_bits, block_bits = bits_for(self.source.steps + 1), bits_for(layout.depth + 1)
        next_one, step = layout.next_one, layout.step
        anywhere = 1 - (n < layout.first)
        self.not_given = program.flag("not given", anywhere)
        self.block = program.register("block", layout.depth + 1, OneHot(layout.block))
        self.step_read = program.code("step that is read", step, step_bits, only=anywhere)
        self.block_read = program.code("block that is read", (layout.block - 1).positive_part(), block_bits)
        self.step_for = program.code("step that reads this", choose(next_one, step + 1, step), step_bits, only=anywhere)
        self.block_for = program.code("block, as it is read", choose(next_one, 0, layout.block), block_bits)

    def _declare_streams(self) -> None:
        """Declare the streams of U and S, their positions, and for rows with two roles the streams of the other."""
        program, transformers = self.program, self.source.transformers
        self.tables = {
            name: program.register(f"{name} positions", t.width, source_positions(t, self.layout.position))
            for name, t in transformers.items()
        }
        self.simulations = {name: Simulation.of(program, t, name) for name, t in transformers.items()}
        self.first_keys = {
            name: Simulation.of(program, t, f"{name} for the first layer's keys")
            for name, t in transformers.items()
            if self.layout.padded
        }

    def _embed(self) -> None:
        """(a) LOOKUP of the source's symbol; padded: also of the symbol that stands for a key of the next step."""
        program, layout, size = self.program, self.layout, len(self.source.vocabulary)
        program.embed(np.arange(size), self.symbol)
        embed = program.layer()
        own_symbol = lookup(embed, self.address, self.here)
        self._embed_streams(own_symbol, self.simulations)
        own_symbol.copy(self.symbol, self.standing)
        if layout.padded:
            program.embed(size, self.symbol[self.mask])
            row = program.code("row of the first keys", choose(layout.next_one, n, layout.looked_up))
            self._embed_streams(lookup(embed, row, self.here), self.first_keys)

    def _embed_streams(self, head: HeadBuilder, streams: dict[str, Simulation]) -> None:
        for name, simulation in streams.items():
            simulation.embed_in(head, self.symbol, self.tables[name])

    def _simulate(self, number: int) -> None:
        """(b) one layer of U and S: BOOST for the blocks that are done, FOCUS on the block before."""
        layer, copies = self.program.layer(), focus_copies(self.source.precision.p)
        for name, simulation in self.simulations.items():

            def guard(head: HeadBuilder, kind: Attention = simulation.source.attention) -> None:
                boost(head, self.block[: number + 1])
                focus(head, self.step_read, self.step_for, copies=copies, asks=self.not_given, cares=self.not_given)
                focus(head, self.block_read, self.block_for, copies=copies)
                self.shared.guard[kind](head)

            keys = self.first_keys[name].work if number == 0 and self.layout.padded else None
            simulation.layer(number, layer, guard, keys=keys)

    def _decide(self) -> None:
        """(c) SELF takes the logits, an MLP decides; silent rows keep what they have."""
        layer = self.program.layer()
        head = itself(layer, self.here)
        self.simulations["planner"].logits_in(head, self.decision)
        head.copy(self.silent, self.decision[0], B)
        head.copy(self.silent, self.decision[1], -B)
        self.simulations["predictor"].logits_in(head, self.logits, self.writable)
        unchosen(layer.mlp, self.decision, self.not_chosen)
        unless_taken(layer.mlp, self.decision, self.standing, self.kept)
        no_preference(layer.mlp, self.decision, self.logits, self.undecided)

    def _read_out(self) -> None:
        """The logits of S; -B twice and 1 for the old symbol where the source keeps its slot; m from silent rows."""
        program, predictor, size = self.program, self.simulations["predictor"], len(self.source.vocabulary)
        predictor.read_out(program, predictor.work, without=self.mask)
        program.read_out([self.mask, *range(size, program.outputs)], program.one, -B)
        # else the mask, which a pCoT may write, could win a tie at -B
        program.read_out(self.writable[0], self.undecided, ULP)
        for column in self.not_chosen:
            program.read_out(np.arange(program.outputs), column, -B)
        program.read_out(np.arange(size), self.kept, ONE)
        program.read_out(self.mask, self.silent, B)


def _with_character(
    characters: tuple[tuple[int, int, str], ...] | None, symbol: str
) -> tuple[tuple[int, int, str], ...] | None:
    """The ranges of characters, where that of the symbol stands for the symbol."""
    if characters is None or len(symbol) != 1:
        return characters
    code = ord(symbol)
    before = [(first, min(last, code - 1), s) for first, last, s in characters if first < code]
    after = [(max(first, code + 1), last, s) for first, last, s in characters if last > code]
    return (*before, (code, code, symbol), *after)


def _alignment(source: Model, layout: _StepBlocks, simulations: dict[str, Simulation]) -> Alignment:
    every, canvas = np.arange(source.rows), np.arange(source.padding)

    def rows(t: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows of the last block, which holds every state."""
        return every, layout.start + (t + 1) * layout.fresh - source.rows + every

    copies = [
        copy
        for name, simulation in simulations.items()
        for copy in layer_copies(name, "model", simulation, rows, later=1)
    ]
    return Alignment(slots(lambda t: (t + 1) * layout.fresh - source.padding + canvas), tuple(copies))


MDM_TO_PCOT = Theorem("mdm_to_pcot", "thm:cot-can-simulate-mdms", "mdm", "pcot", mdm_to_pcot, bound)
MDM_TO_PCOT_PADDED = Theorem(
    "mdm_to_pcot_padded",
    "thm:cot-can-simulate-mdms",
    "mdm",
    "pcot",
    partial(mdm_to_pcot, padded=True),
    partial(bound, padded=True),
)
