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

from unmask.programs.assemble import assemble
from unmask.programs.attention import boost, eq, focus
from unmask.programs.buffers import itself
from unmask.programs.coefficients import ONE, ULP, B
from unmask.programs.decisions import left_as_it_is, no_preference, unchosen
from unmask.programs.expressions import Expression, N, both, choose, n
from unmask.programs.program import Flag, HeadBuilder, OneHot, Program, SignedBits, bits_for
from unmask.programs.simulation import Simulation, column_labels, shared_attention, source_positions
from unmask.programs.vocabulary import free_name
from unmask.theorems.theorem import Conversion, Price, Theorem, converted, refuse_if_huge
from unmask.traces.alignment import Alignment, Copy, slots
from unmask.weights.model import Model
from unmask.weights.transformer import Transformer

PADDING_NAMES = ("ĥ", "<padding>")


def bound(source: Model, *, padded: bool = False) -> Price:
    layout = _Layout.of(source, padded=padded)
    return Price(source.steps, source.steps * layout.fresh, layout.depth + 2)


def mdm_to_pcot(source: Model, *, padded: bool = False) -> Conversion:
    """The parallel chain of thought of a masked diffusion model; `padded` reads words followed by P symbols ĥ."""
    layout = _Layout.of(source, padded=padded)
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
    transformer, simulations = _transformer(source, layout, vocabulary)
    model = converted(
        source,
        "mdm_to_pcot",
        kind="pcot",
        padding=source.steps * layout.fresh,
        block=layout.fresh,
        vocabulary=vocabulary,
        transformers={"model": transformer},
        **changes,
    )
    return Conversion(model, _alignment(source, layout, simulations))


@dataclass(frozen=True)
class _Layout:
    """Where the rows of every step stand. Numbers are of this model, expressions hold for every N."""

    source: Model
    padded: bool
    depth: int  # L

    @classmethod
    def of(cls, source: Model, *, padded: bool) -> "_Layout":
        return cls(source, padded, max(1, Price.of(source).layers))

    @property
    def fresh(self) -> int:
        """P': how many rows a step has."""
        return self.depth * self.source.rows + (0 if self.padded else self.source.padding)

    @property
    def start(self) -> int:
        """How many rows come before the first step."""
        return self.source.rows - (0 if self.padded else self.source.padding)

    @property
    def length(self) -> int:
        return self.source.length + (self.source.padding if self.padded else 0)

    @property
    def first(self) -> Expression:
        """F, the number of given rows."""
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
        """The row within a step, if the rows before the first step are part of it."""
        return choose(n < self.begins, n, self.begins + (n - self.begins) % self.fresh)

    @property
    def block(self) -> Expression:
        return self.place // self.simulated

    @property
    def position(self) -> Expression:
        """Which row of the source this is."""
        return self.place % self.simulated

    @property
    def emits(self) -> Expression:
        """[a slot of the last block]."""
        return both(self.block.equals(self.depth), self.position >= self.first)

    @property
    def looked_up(self) -> Expression:
        """The row whose symbol this row has before the step."""
        slot = self.position - self.first
        last_slots = self.begins + self.step * self.fresh - self.source.padding
        return choose(both(self.step >= 1, self.position >= self.first), last_slots + slot, self.position)


def _transformer(
    source: Model, layout: _Layout, vocabulary: tuple[str, ...]
) -> tuple[Transformer, dict[str, Simulation]]:
    size, mask, depth = len(source.vocabulary), source.token[source.mask or ""], layout.depth
    writable = np.setdiff1d(np.arange(size), [mask])
    rows, copies = layout.start + source.steps * layout.fresh, 3 if source.precision.p == 1 else 2
    bits, step_bits, block_bits = bits_for(rows), bits_for(source.steps + 1), bits_for(depth + 1)
    given, next_one = n < layout.first, layout.emits if layout.padded else n < 0
    anywhere = 1 - given

    program = Program(vocabulary, len(vocabulary), layout.length, rows)
    one = program.register("one", declaration=Flag(n >= 0))
    here = program.register("here", bits, SignedBits(n))
    address = program.register("looked up", bits, SignedBits(layout.looked_up))
    not_given = program.register("not given", declaration=Flag(anywhere))
    block = program.register("block", depth + 1, OneHot(layout.block))
    step_read = program.register("step that is read", step_bits, SignedBits(layout.step, anywhere))
    block_read = program.register("block that is read", block_bits, SignedBits((layout.block - 1).positive_part()))
    step_for = program.register(
        "step that reads this", step_bits, SignedBits(choose(next_one, layout.step + 1, layout.step), anywhere)
    )
    block_for = program.register("block, as it is read", block_bits, SignedBits(choose(next_one, 0, layout.block)))
    symbol = program.register("symbol", source.vocabulary)
    standing = program.register("symbol before the step", source.vocabulary)
    tables = {
        name: program.register(f"{name} positions", t.width, source_positions(t, layout.position))
        for name, t in source.transformers.items()
    }
    simulations = {name: Simulation.of(program, t, name) for name, t in source.transformers.items()}
    first_keys = {}
    if layout.padded:
        first_keys = {
            name: Simulation(t, program.register(f"{name} for the first layer's keys", column_labels(t)))
            for name, t in source.transformers.items()
        }
    U, S = simulations["planner"], simulations["predictor"]
    decision, logits = program.register("decision", ("keep", "take")), program.register("logits", writable.size)
    undecided = program.register("no preference")
    not_chosen = program.register("not chosen", 2)
    kept = program.register("kept", source.vocabulary)
    silent = program.register("silent", declaration=Flag(1 - layout.emits))
    shared = shared_attention(program, [U.source, S.source], layout.position, source.rows, causal=False)
    own_or_looked_up = (
        program.register("row of the first keys", bits, SignedBits(choose(next_one, n, layout.looked_up)))
        if layout.padded
        else address
    )
    refuse_if_huge("mdm_to_pcot", rows=rows, width=program.width)

    program.embed(np.arange(size), symbol)
    if layout.padded:
        program.embed(size, symbol[mask])
    embed = program.layer()
    for code, streams in ((address, simulations), (own_or_looked_up, first_keys)):
        if streams:
            head = embed.head()
            eq(head, code, here, one)
            for name, simulation in streams.items():
                simulation.embed_in(head, symbol, tables[name])
    embed.heads[0].copy(symbol, standing)

    for number in range(max(U.depth, S.depth)):
        layer = program.layer()
        for name, simulation in simulations.items():

            def guard(head: HeadBuilder, number=number, kind=simulation.source.attention) -> None:
                boost(head, block[: number + 1], one)
                focus(head, step_read, step_for, not_given, copies=copies)
                focus(head, block_read, block_for, one, copies=copies)
                shared.guard[kind](head)

            keys = first_keys[name].work if number == 0 and layout.padded else None
            simulation.layer(number, layer, guard, keys=keys)

    decide = program.layer()
    head = itself(decide, here, one)
    U.logits_in(head, decision)
    head.copy(silent, decision[0], B)
    head.copy(silent, decision[1], -B)
    S.logits_in(head, logits, writable)
    unchosen(decide.mlp, decision, not_chosen)
    left_as_it_is(decide.mlp, decision, standing, kept)
    no_preference(decide.mlp, decision, logits, undecided)

    S.read_out(program, S.work, without=mask)
    program.read_out([mask, *range(size, len(vocabulary))], one, -B)
    program.read_out(writable[0], undecided, ULP)  # else the mask, which a pCoT may write, could win a tie at -B
    for column in not_chosen:
        program.read_out(np.arange(len(vocabulary)), column, -B)
    program.read_out(np.arange(size), kept, ONE)
    program.read_out(mask, silent, B)
    return assemble(program, source.precision, attention="causal"), simulations


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


def _alignment(source: Model, layout: _Layout, simulations: dict[str, Simulation]) -> Alignment:
    every, canvas = np.arange(source.rows), np.arange(source.padding)

    def rows(t: int) -> tuple[np.ndarray, np.ndarray]:
        """The last block holds every state."""
        return every, layout.start + (t + 1) * layout.fresh - source.rows + every

    copies = tuple(
        Copy(
            source=f"steps.{{t}}.{name}.layers.{number}.residual",
            converted=f"steps.{{t}}.model.layers.{number + 1}.residual",
            rows=rows,
            columns=simulation.work,
        )
        for name, simulation in simulations.items()
        for number in range(simulation.depth)
    )
    return Alignment(slots(lambda t: (t + 1) * layout.fresh - source.padding + canvas), copies)


THEOREM = Theorem("mdm_to_pcot", "thm:cot-can-simulate-mdms", "mdm", "pcot", mdm_to_pcot, bound)
PADDED = Theorem(
    "mdm_to_pcot_padded",
    "thm:cot-can-simulate-mdms",
    "mdm",
    "pcot",
    partial(mdm_to_pcot, padded=True),
    partial(bound, padded=True),
)
