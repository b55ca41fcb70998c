"""Masked diffusion inside a parallel chain of thought (thm:cot-can-simulate-mdms).

Statement:    MDM[T, P] ⊆ pCoT[T, T·(L·(F + P) + P)], where L is the larger depth of planner U and predictor S, and F is
              the number of input rows (the input, and the begin symbol if there is one). If the input is padded by P
              symbols, MDM[T, P] ⊆ pCoT[T, L·T·(F + P)], which is the paper's price.
Construction: a step has the blocks 0 … L. Block 0 consists of the input rows and P new rows. Each further block has a
              row for each of the F + P rows of the source. Layer l of the source is computed in rows that see the whole
              previous block (lem:mask-conversion):
              (a) LOOKUP of the source's symbol, at a static address: an input row; or a slot of the last block of the
              previous step; in the first step a slot of block 0, which stays m. The symbol is embedded for U and S with
              its position. (b) The layers of U and S run side by side. In layer l, row r of block b >= l has FOCUS on
              block b - 1, and blocks < l have BOOST. Input rows belong to every step. (c) SELF takes the logits, and an
              MLP decides. The slots of the last block emit the logits of S. If the source keeps its slot, B is
              subtracted twice and the old symbol gains 1. All other rows emit m.
              The slots of block L are the last P symbols of each step, so the last slot of the mdm comes last.
              Padded: the last block of a step is block 0 of the next step. Its slots have two roles and therefore two
              streams. As queries of their own step they have the symbol that they looked up. As keys of the next step,
              in the first layer only, they have the symbol that they wrote.
Bounds:       T steps of L·(F + P) + P symbols (padded: L·(F + P)), L + 2 layers, the same vocabulary (padded: one
              symbol more), width D_U + D_S (padded: twice that) + O(|Σ| + L + log(N + P)). A model without layers
              counts as L = 1.
Exactness:    bit by bit after every step, for p >= 1 (FOCUS takes three copies for p = 1). The last P symbols of step t
              are the source's canvas after step t. If the source divides by zero, so does the result. Rows of earlier
              steps see the same symbols as before, so they compute the same as before. No other row divides by zero.
Deviations:   the paper's positions divide by T, L and P instead of P' and F + P. It names the wrong lemma, and it uses
              one L for the blocks of both transformers, whose depths differ. Its padded input must hold a symbol other
              than m. So the padded form reads words of length N + P whose last P symbols are ĥ, a new input symbol
              (also if the characters of the source are given as ranges). With other symbols there, the source starts
              from that canvas. Such words are not words of the source's problem, so the folder of a padded model names
              no problem. No filler symbol is needed, and no ĥ in the unpadded form: addresses are static, so no row
              tests whether it is written. The input rows could be left out of the last block, which saves F symbols per
              step (the paper's price then needs no padding if P <= F). But then a division by zero in these rows alone
              would go unnoticed. Causal sources pay for `hide_later`, two columns per position.
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
from unmask.theorems.theorem import Conversion, SourceSize, Theorem, converted_model
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
    """Return the parallel chain of thought of a masked diffusion model.

    With `padded`, it reads words that are followed by P symbols ĥ.
    """
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
    model = converted_model(
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
    """Where the rows of each step are. Integers are for the N of the source, expressions for every N."""

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
        """Return F, the number of input rows."""
        begin = int(self.source.begin is not None)
        return N - self.source.padding + begin if self.padded else N + begin

    @property
    def simulated(self) -> Expression:
        """Return F + P, the number of rows of the source."""
        return self.first + self.source.padding

    @property
    def begins(self) -> Expression:
        """Return the number of rows before the first step, for every N."""
        return self.simulated if self.padded else self.first

    @property
    def step(self) -> Expression:
        """Return the step of a row; rows before the first step count as step 0."""
        return (n - self.begins).positive_part() // self.fresh

    @property
    def row_in_step(self) -> Expression:
        """Return the row within a step; the rows before the first step belong to it."""
        return choose(n < self.begins, n, self.begins + (n - self.begins) % self.fresh)

    @property
    def block(self) -> Expression:
        return self.row_in_step // self.simulated

    @property
    def position(self) -> Expression:
        """Return the row of the source that this row simulates."""
        return self.row_in_step % self.simulated

    @property
    def emits(self) -> Expression:
        """[a slot of the last block]."""
        return both(self.block.equals(self.depth), self.position >= self.first)

    @property
    def in_next_step(self) -> Expression:
        """[the row, as a key, belongs to block 0 of the next step]."""
        return self.emits if self.padded else n < 0

    @property
    def looked_up(self) -> Expression:
        """Return the row from which this row takes its symbol before the step."""
        slot = self.position - self.first
        last_slots = self.begins + self.step * self.fresh - self.source.padding
        return choose(both(self.step >= 1, self.position >= self.first), last_slots + slot, self.position)


class _ChainProgram:
    """The program: the registers in the order of the construction, then the layers (a), (b), (c) and the logits."""

    def __init__(self, source: Model, layout: _StepBlocks, vocabulary: tuple[str, ...]) -> None:
        self.source, self.layout = source, layout
        self.mask = source.token[source.mask or ""]
        self.writable = np.setdiff1d(np.arange(len(source.vocabulary)), [self.mask])
        rows = layout.start + source.steps * layout.fresh
        self.program = program = Program(vocabulary, len(vocabulary), layout.length, rows, "causal")
        self.row_code = program.code("here", n)
        self.address = program.code("looked up", layout.looked_up)
        self._declare_blocks()
        self.symbol = program.register("symbol", source.vocabulary)
        self.symbol_before = program.register("symbol before the step", source.vocabulary)
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
        """Declare the step and block that a row reads, and those that it has as a key.

        Input rows belong to all steps.
        """
        program, layout = self.program, self.layout
        step_bits, block_bits = bits_for(self.source.steps + 1), bits_for(layout.depth + 1)
        moves_on, step = layout.in_next_step, layout.step
        not_input = 1 - (n < layout.first)
        self.not_given = program.flag("not given", not_input)
        self.block = program.register("block", layout.depth + 1, OneHot(layout.block))
        self.step_read = program.code("step that is read", step, step_bits, only=not_input)
        self.block_read = program.code("block that is read", (layout.block - 1).positive_part(), block_bits)
        step_as_key, block_as_key = choose(moves_on, step + 1, step), choose(moves_on, 0, layout.block)
        self.step_as_key = program.code("step that reads this", step_as_key, step_bits, only=not_input)
        self.block_as_key = program.code("block, as it is read", block_as_key, block_bits)

    def _declare_streams(self) -> None:
        """Declare the streams of U and S and their positions; padded: also the streams of the first layer's keys."""
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
        """(a) LOOKUP of the source's symbol; padded: also of the symbol that a row has as a key of the next step."""
        program, layout, size = self.program, self.layout, len(self.source.vocabulary)
        program.embed(np.arange(size), self.symbol)
        embed = program.layer()
        own_symbol = lookup(embed, self.address, self.row_code)
        self._embed_streams(own_symbol, self.simulations)
        own_symbol.copy(self.symbol, self.symbol_before)
        if layout.padded:
            program.embed(size, self.symbol[self.mask])
            row = program.code("row of the first keys", choose(layout.in_next_step, n, layout.looked_up))
            self._embed_streams(lookup(embed, row, self.row_code), self.first_keys)

    def _embed_streams(self, head: HeadBuilder, streams: dict[str, Simulation]) -> None:
        for name, simulation in streams.items():
            simulation.embed_in(head, self.symbol, self.tables[name])

    def _simulate(self, number: int) -> None:
        """(b) One layer of U and S: BOOST for the blocks that have finished, FOCUS on the previous block."""
        layer, copies = self.program.layer(), focus_copies(self.source.precision.p)
        for name, simulation in self.simulations.items():

            def guard(head: HeadBuilder, kind: Attention = simulation.source.attention) -> None:
                boost(head, self.block[: number + 1])
                focus(head, self.step_read, self.step_as_key, copies=copies, asks=self.not_given, cares=self.not_given)
                focus(head, self.block_read, self.block_as_key, copies=copies)
                self.shared.guard[kind](head)

            keys = self.first_keys[name].work if number == 0 and self.layout.padded else None
            simulation.layer(number, layer, guard, keys=keys)

    def _decide(self) -> None:
        """(c) SELF takes the logits, an MLP decides; silent rows keep their symbol."""
        layer = self.program.layer()
        head = itself(layer, self.row_code)
        self.simulations["planner"].logits_in(head, self.decision)
        head.copy(self.silent, self.decision[0], B)
        head.copy(self.silent, self.decision[1], -B)
        self.simulations["predictor"].logits_in(head, self.logits, self.writable)
        unchosen(layer.mlp, self.decision, self.not_chosen)
        unless_taken(layer.mlp, self.decision, self.symbol_before, self.kept)
        no_preference(layer.mlp, self.decision, self.logits, self.undecided)

    def _read_out(self) -> None:
        """Emit the logits of S.

        If the source keeps its slot, subtract B twice and add 1 to the old symbol. Silent rows emit m.
        """
        program, predictor, size = self.program, self.simulations["predictor"], len(self.source.vocabulary)
        predictor.read_out(program, predictor.work, without=self.mask)
        program.read_out([self.mask, *range(size, program.outputs)], program.one, -B)
        # otherwise the mask, which a pCoT may write, could win a tie at -B
        program.read_out(self.writable[0], self.undecided, ULP)
        for column in self.not_chosen:
            program.read_out(np.arange(program.outputs), column, -B)
        program.read_out(np.arange(size), self.kept, ONE)
        program.read_out(self.mask, self.silent, B)


def _with_character(
    characters: tuple[tuple[int, int, str], ...] | None, symbol: str
) -> tuple[tuple[int, int, str], ...] | None:
    """Return the ranges of characters, changed so that the character of the symbol means the symbol."""
    if characters is None or len(symbol) != 1:
        return characters
    code = ord(symbol)
    before = [(first, min(last, code - 1), s) for first, last, s in characters if first < code]
    after = [(max(first, code + 1), last, s) for first, last, s in characters if last > code]
    return (*before, (code, code, symbol), *after)


def _alignment(source: Model, layout: _StepBlocks, simulations: dict[str, Simulation]) -> Alignment:
    every, canvas = np.arange(source.rows), np.arange(source.padding)

    def rows(t: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows of the last block, which has the streams of all layers."""
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
