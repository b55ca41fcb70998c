"""Masked diffusion without editing: a new block of slots for every step (thm:mdms-can-simulate-emdms).

Statement:    MDM[T, P] ⊆ sMDM[T, T·P]: every masked diffusion model is one whose planner never chooses a written slot.
Construction: T blocks of P slots; step t writes block t whole, with the state of the source after its step t. What is
              still masked there is written as the proxy ĥ, a new symbol.
              Planner, one layer: LOOKUP of the same slot one block back; current = masked here and not there, in the
              first block = masked here.
              Predictor: the same LOOKUP brings the symbol of that slot, embedded for U and S with its position, ĥ as
              m (rows of the input and of the first block look at themselves); ignored = slot and not current. The
              layers of U and S side by side, where every head has BOOST and HIDE of the ignored rows. SELF takes U's
              logits as soon as U is done, an MLP decides. The logits are those of S; where the source keeps its slot,
              B is subtracted twice and the old symbol, or ĥ, gains 1.
Bounds:       T steps, T·P slots, 1 symbol more, max(L_U + 1, L_S) + 1 layers (the planner 1),
              width D_U + D_S + O(|Σ| + log(N + T·P)).
Exactness:    bit by bit after every step, for p >= 1; block t is the source's canvas after step t, up to ĥ = m. If the
              source divides by zero, so does the result; ignored rows never do.
Deviations:   the paper lets the predictor copy what the planner keeps, but it cannot write m, and a slot with m would
              look unwritten: hence ĥ. The first block has no block before it; flags say which one it is, so that no
              input row is needed (N = 0). Ignoring "identical positions to the right" is not needed. Causal sources
              stay causal where there is an input or begin symbol, which ignored rows can always see; else, and in
              company of an unmasked one, `hide_later` makes them causal.
"""

from dataclasses import dataclass

import numpy as np

from unmask.programs.assemble import assemble
from unmask.programs.attention import boost, eq, hide
from unmask.programs.buffers import itself
from unmask.programs.coefficients import ONE, B
from unmask.programs.decisions import left_as_it_is, unchosen
from unmask.programs.expressions import Expression, N, both, choose, n
from unmask.programs.logic import conjunction
from unmask.programs.program import Columns, Flag, HeadBuilder, LayerBuilder, Program, SignedBits, bits_for
from unmask.programs.select_block import planner_logits
from unmask.programs.simulation import Simulation, shared_attention, source_positions
from unmask.programs.vocabulary import free_name
from unmask.theorems.theorem import Conversion, Price, Theorem, converted, refuse_if_huge
from unmask.traces.alignment import Alignment, Copy, slots
from unmask.weights.model import Model
from unmask.weights.transformer import Transformer

STILL_MASKED = ("ĥ", "<still-masked>")
"""Names for the proxy of the mask."""


def bound(source: Model) -> Price:
    U, S = (len(source.transformers[name].layers) for name in ("planner", "predictor"))
    return Price(source.steps, source.steps * source.padding, max(U + 1, S) + 1)


def mdm_to_smdm(source: Model) -> Conversion:
    """The mask-dominated model of a masked diffusion model."""
    vocabulary = (*source.vocabulary, free_name(STILL_MASKED, source.vocabulary))
    mask = source.mask or ""
    predictor, simulations = _predictor(source, vocabulary)
    model = converted(
        source,
        "mdm_to_smdm",
        kind="smdm",
        padding=source.steps * source.padding,
        vocabulary=vocabulary,
        aliases={**source.aliases, vocabulary[-1]: source.aliases.get(mask, mask)},
        transformers={"planner": _planner(source, vocabulary), "predictor": predictor},
    )
    return Conversion(model, _alignment(source, simulations))


@dataclass(frozen=True, eq=False)
class _Start:
    """The first layer of planner and predictor: its head looks one block back, its MLP finds the current block."""

    program: Program
    one: Columns
    here: Columns
    layer: LayerBuilder
    look_back: HeadBuilder
    is_current: np.ndarray  # hidden units, of which at most one is 1

    @classmethod
    def of(cls, source: Model, vocabulary: tuple[str, ...], outputs: int) -> "_Start":
        rows, first = source.rows + (source.steps - 1) * source.padding, _first_slot(source)
        earliest = n < first + source.padding
        program = Program(vocabulary, outputs, source.length, rows)
        one = program.register("one", declaration=Flag(n >= 0))
        here = program.register("here", bits_for(rows), SignedBits(n))
        back = program.register("one block back", bits_for(rows), SignedBits(choose(earliest, n, n - source.padding)))
        first_block = program.register("first block", declaration=Flag(both(n >= first, earliest)))
        elsewhere = program.register("not the first block", declaration=Flag(choose(n >= first, 1 - earliest, 1)))
        masked, before = program.register("masked"), program.register("masked one block back")
        program.embed(source.token[source.mask or ""], masked)

        layer = program.layer()
        look_back = layer.head()
        eq(look_back, back, here, one)
        look_back.copy(masked, before)
        later = conjunction(layer.mlp, masked, [[before[0], first_block[0]]])
        at_first = conjunction(layer.mlp, masked, [elsewhere])
        return cls(program, one, here, layer, look_back, np.concatenate([later, at_first]))


def _planner(source: Model, vocabulary: tuple[str, ...]) -> Transformer:
    start = _Start.of(source, vocabulary, 2)
    current = start.program.register("current")
    start.layer.mlp.write(start.is_current, current)
    planner_logits(start.program, current, start.one)
    return assemble(start.program, source.precision)


def _predictor(source: Model, vocabulary: tuple[str, ...]) -> tuple[Transformer, dict[str, Simulation]]:
    size, mask, first = len(source.vocabulary), source.token[source.mask or ""], _first_slot(source)
    simulated = source.rows
    start = _Start.of(source, vocabulary, size + 1)
    program, one = start.program, start.one
    position = choose(n < first, n, first + (n - first) % source.padding)
    slot = program.register("slot", declaration=Flag(n >= first))
    ignored = program.register("ignored")
    symbol = program.register("symbol", source.vocabulary)
    standing = program.register("symbol one block back", source.vocabulary)
    tables = {
        name: program.register(f"{name} positions", t.width, source_positions(t, position))
        for name, t in source.transformers.items()
    }
    simulations = {name: Simulation.of(program, t, name) for name, t in source.transformers.items()}
    U, S = simulations["planner"], simulations["predictor"]
    decision = program.register("decision", ("keep", "take"))
    not_chosen = program.register("not chosen", 2)
    kept = program.register("kept", source.vocabulary)
    # an ignored row of a causal model must see something: a row before all slots
    shared = shared_attention(program, [U.source, S.source], position, simulated, causal=simulated > source.padding)
    refuse_if_huge("mdm_to_smdm", rows=program.rows, width=program.width)

    program.embed(np.arange(size), symbol)
    program.embed(size, symbol[mask])
    start.look_back.copy(symbol, standing)
    for name, simulation in simulations.items():
        simulation.embed_in(start.look_back, symbol, tables[name])
    mlp = start.layer.mlp
    mlp.write(conjunction(mlp, slot, [[]]), ignored)
    mlp.write(start.is_current, ignored, -ONE)

    for number in range(max(U.depth + 1, S.depth)):
        layer = program.layer()
        for simulation in (U, S):

            def guard(head: HeadBuilder, kind=simulation.source.attention) -> None:
                boost(head, ignored, one)
                shared.guard[kind](head)
                hide(head, ignored, one)

            simulation.layer(number, layer, guard)
        if number == U.depth:
            U.logits_in(itself(layer, start.here, one), decision)
            unchosen(layer.mlp, decision, not_chosen)
            left_as_it_is(layer.mlp, decision, standing, kept)

    S.read_out(program, S.work)
    program.read_out(size, one, -B)  # the last symbol: it loses even a tie at -B
    for column in not_chosen:
        program.read_out(np.arange(size + 1), column, -B)
    program.read_out(np.where(np.arange(size) == mask, size, np.arange(size)), kept, ONE)
    return assemble(program, source.precision, attention=shared.kind), simulations


def _first_slot(source: Model) -> Expression:
    return N + int(source.begin is not None)


def _alignment(source: Model, simulations: dict[str, Simulation]) -> Alignment:
    every, block = np.arange(source.rows), np.arange(source.padding)
    first = source.rows - source.padding

    def rows(t: int) -> tuple[np.ndarray, np.ndarray]:
        return every, np.where(every < first, every, every + t * source.padding)

    copies = tuple(
        Copy(
            source=f"steps.{{t}}.{name}.layers.{number}.residual",
            converted=f"steps.{{t}}.predictor.layers.{number + 1}.residual",
            rows=rows,
            columns=simulation.work,
        )
        for name, simulation in simulations.items()
        for number in range(simulation.depth)
    )
    return Alignment(slots(lambda t: block + t * source.padding), copies)


THEOREM = Theorem("mdm_to_smdm", "thm:mdms-can-simulate-emdms", "mdm", "smdm", mdm_to_smdm, bound)
