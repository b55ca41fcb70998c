"""Masked diffusion inside a padded looped transformer (thm:lts-can-simulate-mdms).

Statement:    MDM[T, P] ⊆ PLT[T, P]: every masked diffusion model with T steps and P slots is simulated by a looped
              transformer with T loops and P pads.
Construction: the stream carries the current symbol of every row, one-hot. One loop is one denoising step:
              (a) SELF embeds the symbols for planner U and predictor S. (b) The layers of U and S run side by side.
              (c) SELF adds up the logits and the noise, and ARGMAX decodes them. (d) An MLP takes the drawn symbol or
              the old one. (e) SELF writes it to the symbol register and clears the other registers.
Bounds:       T loops, P pads, max(L_U, L_S) + 4 looped layers, the same vocabulary, width
              2(D_U + D_S) + 6|Σ| + ⌈log2(N + P)⌉ + 6.
Exactness:    bit by bit after every loop, for p >= 1. This includes sampling: the same tape gives the same path.
Deviations:   the predictor does not depend on the planner's decision, so both run at once. The pad is the mask, so the
              vocabulary is the same, and with it the tape. If only one of planner and predictor is causal, the
              conversion needs two more columns per position (`hide_later`).
"""

from dataclasses import dataclass

import numpy as np

from unmask.expressions import N, n
from unmask.programs.assembly import assemble
from unmask.programs.gadgets.attention import clear, itself
from unmask.programs.gadgets.mlp import argmax, conjunction
from unmask.programs.program import B, Columns, Program, bits_for
from unmask.programs.simulation import Simulation, shared_attention, source_positions
from unmask.theorems.alignment import Alignment, layer_copies, register_symbols
from unmask.theorems.theorem import Conversion, SourceSize, Theorem, check_argmax, converted_model
from unmask.weights.model import Model, Price
from unmask.weights.transformer import Noise


def bound(source: SourceSize) -> Price:
    width = 2 * source.width + 6 * source.symbols + bits_for(source.rows) + 6 + source.causal_columns()
    return Price(source.steps, source.padding, source.layers + 4, width, source.symbols)


def mdm_to_plt(source: Model) -> Conversion:
    """Return the looped transformer of a masked diffusion model."""
    check_argmax("mdm_to_plt", len(source.vocabulary))
    step = DenoisingProgram(source)
    step.add_step()
    program, (planner, predictor) = step.program, step.noise
    program.loop = (0, len(program.layers))
    program.noise = Noise(tuple(planner.tolist()), tuple(predictor.tolist()))
    program.read_out(np.arange(len(source.vocabulary)), step.symbol, B)
    transformers = {"model": assemble(program, source.precision)}
    model = converted_model(source, "mdm_to_plt", kind="plt", pad=source.mask, mask=None, transformers=transformers)
    return Conversion(model, _alignment(source, step))


@dataclass(frozen=True, eq=False)
class Idle:
    """Flags for a step that some passes skip: `idle` is 1 in all rows of such a pass, `busy` in those of the others."""

    idle: Columns
    busy: Columns


class DenoisingProgram:
    """A program whose stream carries the symbol of every row; `add_step` adds the layers (a) to (e) of one step.

    With `noisy`, the noise of a tape is added to the logits. A planner has `outputs` = 2.
    """

    def __init__(self, source: Model, *, outputs: int | None = None, noisy: bool = True, causal: bool = True) -> None:
        self.source, symbols = source, source.vocabulary
        self.writable = np.setdiff1d(np.arange(len(symbols)), [source.token[source.mask or ""]])
        writable = [symbols[c] for c in self.writable]
        first = N + int(source.begin is not None)
        self.program = program = Program(symbols, outputs or len(symbols), source.length, source.rows)
        self.row_code = program.code("here", n)
        self.slot, self.given = program.flag("slot", n >= first), program.flag("given", n < first)
        self.symbol = program.register("symbol", symbols)
        sources = {name: source.transformers[name] for name in ("planner", "predictor")}
        self.tables = {
            name: program.register(f"{name} positions", t.width, source_positions(t, n)) for name, t in sources.items()
        }
        self.simulations = {name: Simulation.of(program, t, name) for name, t in sources.items()}
        self.noise: list[Columns] = []
        if noisy:
            self.noise = [program.register("planner noise", ("keep", "take"))]
            self.noise.append(program.register("predictor noise", symbols))
        self.decision, self.logits = program.register("decision", 2), program.register("logits", writable)
        self.plan, self.drawn = program.register("plan", ("keep", "take")), program.register("drawn", writable)
        self.fresh, self.kept = program.register("fresh", writable), program.register("kept", symbols)
        self.shared = shared_attention(program, list(sources.values()), n, source.rows, causal=causal)
        program.attention = self.shared.kind
        program.embed(np.arange(len(symbols)), self.symbol)

    def add_step(self, idle: Idle | None = None) -> None:
        """Add the layers of one denoising step; passes that `idle` flags skip it."""
        self._embed()
        self._simulate()
        self._decode()
        self._replace(idle)
        self._write_symbol()

    def _embed(self) -> None:
        """(a) SELF embeds the symbols for planner and predictor."""
        own_row = itself(self.program.layer(), self.row_code)
        for name, simulation in self.simulations.items():
            simulation.embed_in(own_row, self.symbol, self.tables[name])

    def _simulate(self) -> None:
        """(b) The layers of both run side by side."""
        for number in range(max(simulation.depth for simulation in self.simulations.values())):
            layer = self.program.layer()
            for simulation in self.simulations.values():
                simulation.layer(number, layer, self.shared.guard[simulation.source.attention])

    def _decode(self) -> None:
        """(c) SELF adds up the logits and the noise, ARGMAX decodes them."""
        layer = self.program.layer()
        own_row = itself(layer, self.row_code)
        self.simulations["planner"].logits_in(own_row, self.decision)
        self.simulations["predictor"].logits_in(own_row, self.logits, self.writable)
        if self.noise:
            planner, predictor = self.noise
            own_row.copy(planner, self.decision)
            own_row.copy(predictor[self.writable], self.logits)
        argmax(layer.mlp, self.decision, self.plan)
        argmax(layer.mlp, self.logits, self.drawn)

    def _replace(self, idle: Idle | None) -> None:
        """(d) fresh_c = take ∧ slot ∧ drawn_c;  kept_c = symbol_c ∧ (keep ∨ given). Each has one positive literal."""
        mlp, (keep, take) = self.program.layer().mlp, self.plan
        skipped = [] if idle is None else [*idle.idle]
        mlp.write(
            conjunction(mlp, self.drawn, [[keep, *self.given, *skipped]] * self.drawn.size),
            self.fresh,
        )
        mlp.write(conjunction(mlp, self.symbol, [[take, *self.given, *skipped]] * self.symbol.size), self.kept)
        mlp.write(conjunction(mlp, self.symbol, [self.slot] * self.symbol.size), self.kept)
        if idle is not None:
            mlp.write(conjunction(mlp, self.symbol, [[*self.given, *idle.busy]] * self.symbol.size), self.kept)

    def _write_symbol(self) -> None:
        """(e) SELF writes the new symbol to the symbol register and clears the other registers."""
        own_row = itself(self.program.layer(), self.row_code)
        streams = [simulation.work for simulation in self.simulations.values()]
        decoded = [self.decision, self.logits, self.plan, self.drawn, self.fresh, self.kept]
        clear(own_row, self.symbol, *streams, *self.noise, *decoded)
        own_row.copy(self.fresh, self.symbol[self.writable])
        own_row.copy(self.kept, self.symbol)


def _alignment(source: Model, step: DenoisingProgram) -> Alignment:
    every = np.arange(source.rows)
    copies = [
        copy
        for name, simulation in step.simulations.items()
        for copy in layer_copies(name, "model", simulation, lambda _: (every, every), later=1)
    ]
    canvas = register_symbols(
        f"steps.{{t}}.model.layers.{len(step.program.layers) - 1}.residual",
        every[source.rows - source.padding :],
        step.symbol,
        source.vocabulary,
    )
    return Alignment(canvas, tuple(copies))


MDM_TO_PLT = Theorem("mdm_to_plt", "thm:lts-can-simulate-mdms", "mdm", "plt", mdm_to_plt, bound)
