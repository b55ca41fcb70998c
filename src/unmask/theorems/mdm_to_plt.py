"""Masked diffusion inside a padded looped transformer (thm:lts-can-simulate-mdms).

Statement:    MDM[T, P] ⊆ PLT[T, P]: every masked diffusion model is a looped transformer with as many loops as it
              has steps and as many pads as it has slots.
Construction: the stream carries the current symbol of every row, one-hot. One loop is one denoising step:
              (a) SELF embeds the symbols for planner U and predictor S; (b) their layers side by side; (c) SELF takes
              the logits, with the noise, ARGMAX decodes them; (d) the chosen symbol or the old one; (e) SELF puts it
              in place and clears the rest.
Bounds:       T loops, P pads, max(L_U, L_S) + 4 looped layers, width D_U + D_S + O(|Σ| + log(N + P)).
Exactness:    bit by bit after every loop, for p >= 1, sampled too: the same tape gives the same path.
Deviations:   the predictor does not depend on the planner's decision, so both run at once; the pad is the mask, so
              that the vocabulary, and with it the tape, is the same; planner and predictor with different attention
              (one causal, one not) cost two columns per position (`hide_later`).
"""

import numpy as np

from unmask.programs.assemble import assemble
from unmask.programs.attention import clear
from unmask.programs.buffers import itself
from unmask.programs.coefficients import B
from unmask.programs.expressions import N, n
from unmask.programs.logic import argmax, conjunction
from unmask.programs.program import Columns, Flag, MlpBuilder, Program, SignedBits, bits_for
from unmask.programs.simulation import Simulation, shared_attention, source_positions
from unmask.theorems.theorem import Conversion, Price, Theorem, converted, refuse_if_huge
from unmask.traces.alignment import Alignment, Copy, register_symbols
from unmask.weights.model import Model
from unmask.weights.transformer import Noise


def bound(source: Model) -> Price:
    return Price(source.steps, source.padding, Price.of(source).layers + 4)


def mdm_to_plt(source: Model) -> Conversion:
    """The looped transformer of a masked diffusion model."""
    planner, predictor = source.transformers["planner"], source.transformers["predictor"]
    size, mask = len(source.vocabulary), source.token[source.mask or ""]
    rows, first = source.rows, N + int(source.begin is not None)
    refuse_if_huge("mdm_to_plt", rows=rows, width=2 * (planner.width + predictor.width), vocabulary=size)
    writable = np.setdiff1d(np.arange(size), [mask])
    writable_names = [source.vocabulary[c] for c in writable]

    program = Program(source.vocabulary, size, source.length, rows)
    one = program.register("one", declaration=Flag(n >= 0))
    here = program.register("here", bits_for(rows), SignedBits(n))
    slot = program.register("slot", declaration=Flag(n >= first))
    given = program.register("given", declaration=Flag(n < first))
    symbol = program.register("symbol", source.vocabulary)
    tables = [
        program.register(f"{name} positions", t.width, source_positions(t, n))
        for name, t in (("planner", planner), ("predictor", predictor))
    ]
    U, S = Simulation.of(program, planner, "planner"), Simulation.of(program, predictor, "predictor")
    noise = program.register("planner noise", ("keep", "take")), program.register("predictor noise", source.vocabulary)
    decision, logits = program.register("decision", 2), program.register("logits", writable_names)
    plan, drawn = program.register("plan", ("keep", "take")), program.register("drawn", writable_names)
    fresh, kept = program.register("fresh", writable_names), program.register("kept", source.vocabulary)
    shared = shared_attention(program, [planner, predictor], n, rows)
    program.embed(np.arange(size), symbol)

    embed = itself(program.layer(), here, one)
    for simulation, table in ((U, tables[0]), (S, tables[1])):
        simulation.embed_in(embed, symbol, table)
    for number in range(max(U.depth, S.depth)):
        layer = program.layer()
        for simulation in (U, S):
            simulation.layer(number, layer, shared.guard[simulation.source.attention])
    decode = program.layer()
    head = itself(decode, here, one)
    U.logits_in(head, decision)
    head.copy(noise[0], decision)
    S.logits_in(head, logits, writable)
    head.copy(noise[1][writable], logits)
    argmax(decode.mlp, decision, plan)
    argmax(decode.mlp, logits, drawn)
    replace_chosen(program.layer().mlp, symbol[writable], symbol, drawn, plan, slot, given, fresh, kept)
    place = itself(program.layer(), here, one)
    clear(place, symbol, U.work, S.work, *noise, decision, logits, plan, drawn, fresh, kept)
    place.copy(fresh, symbol[writable])
    place.copy(kept, symbol)
    program.read_out(np.arange(size), symbol, B)

    depth = len(program.layers)
    transformer = assemble(
        program,
        planner.precision,
        attention=shared.kind,
        loop=(0, depth),
        noise=Noise(tuple(noise[0].tolist()), tuple(noise[1].tolist())),
    )
    model = converted(source, "mdm_to_plt", kind="plt", pad=source.mask, mask=None, transformers={"model": transformer})
    return Conversion(model, _alignment(source, U, S, symbol, depth))


def replace_chosen(
    mlp: MlpBuilder,
    writable: Columns,
    symbol: Columns,
    drawn: Columns,
    plan: Columns,
    slot: Columns,
    given: Columns,
    fresh: Columns,
    kept: Columns,
) -> None:
    """fresh_c = take ∧ slot ∧ drawn_c;  kept_c = symbol_c ∧ (keep ∨ given). All with one positive literal."""
    assert writable.size == drawn.size == fresh.size
    keep, take = plan[0], plan[1]
    mlp.write(conjunction(mlp, drawn, [[keep, given[0]]] * drawn.size), fresh)
    mlp.write(conjunction(mlp, symbol, [[take, given[0]]] * symbol.size), kept)
    mlp.write(conjunction(mlp, symbol, [[slot[0]]] * symbol.size), kept)


def _alignment(source: Model, U: Simulation, S: Simulation, symbol: Columns, depth: int) -> Alignment:
    every = np.arange(source.rows)
    copies = []
    for name, simulation in (("planner", U), ("predictor", S)):
        for number in range(simulation.depth):
            copies.append(
                Copy(
                    source=f"steps.{{t}}.{name}.layers.{number}.residual",
                    converted=f"steps.{{t}}.model.layers.{number + 1}.residual",
                    rows=lambda t: (every, every),  # noqa: ARG005
                    columns=simulation.work,
                )
            )
    canvas = register_symbols(
        f"steps.{{t}}.model.layers.{depth - 1}.residual",
        every[source.rows - source.padding :],
        symbol,
        source.vocabulary,
    )
    return Alignment(canvas, tuple(copies))


THEOREM = Theorem("mdm_to_plt", "thm:lts-can-simulate-mdms", "mdm", "plt", mdm_to_plt, bound)
