"""Masked diffusion as top-k unmasking with one k for all steps: a repair of thm:single-model-equivalence.

Statement:    MDM[T, P] ⊆ top-k[T, 2P] with k = P: every masked diffusion model is a single transformer that writes, in
              every step, the P slots whose largest logits are the largest. Not a statement of the paper.
Construction: P dummy slots stand before the slots of the source. Planner and predictor run side by side, as in
              `planner_and_predictor_to_topk`; nobody sees a dummy (HIDE), and dummies BOOST. Largest logits:
                  unchosen   -B: B is subtracted twice
                  dummy      -B + 2^-p: unchosen, and one symbol is lifted by 2^-p
                  chosen     at least -B + 2·2^-p: that of the predictor; if it were -B + 2^-p, every symbol that has it
                             is lifted by 2^-p, and if it were -B, the lowest symbol is, twice
              So the c chosen slots come first, then P - c dummies, and no unchosen slot is ever written.
Bounds:       T steps, 2P slots, k = P, the same vocabulary, max(L_U, L_S) + 1 layers, width
              D_U + D_S + 2|Σ| + ⌈log2(N + 2P)⌉ + 7; two columns more per row for a causal source that cannot
              stay causal.
Exactness:    bit by bit after every step, for p >= 1: the last P slots are the source's canvas. At chosen slots the
              logits are those of the predictor but in the two lifted cases, in which the argmax is the same.
Deviations:   the paper gives the transformer P slots and one k; slot for slot no constant k follows a planner that
              chooses now more, now fewer slots. Dummies take up the difference. It does not depend on how ties
              between slots are broken: chosen, dummy and unchosen slots are never equally sure, and it does not
              matter which dummies are written.
"""

import numpy as np

from unmask.programs.gadgets.boost import boost
from unmask.programs.gadgets.decisions import barely_preferred, no_preference, unchosen
from unmask.programs.gadgets.hide import hide
from unmask.programs.gadgets.lookup import itself
from unmask.programs.language.assemble import assemble
from unmask.programs.language.builders import HeadBuilder
from unmask.programs.language.coefficients import ULP, B
from unmask.programs.language.positions import N, both, choose, n
from unmask.programs.language.program import Program, bits_for
from unmask.programs.simulation.transformer import Simulation, shared_attention, source_positions
from unmask.theorems.alignment import Alignment, layer_copies, slots
from unmask.theorems.size import Size
from unmask.theorems.theorem import Conversion, Theorem, converted
from unmask.weights.model import Model
from unmask.weights.price import Price
from unmask.weights.transformer import Attention

SUBTRACTIONS = 2


def bound(source: Size) -> Price:
    causal = source.causal_columns(stays=source.rows > source.padding)
    width = source.width + 2 * source.symbols + bits_for(source.rows + source.padding) + 7 + causal
    return Price(source.steps, 2 * source.padding, source.layers + 1, width, source.symbols)


def mdm_to_fixed_k(source: Model) -> Conversion:
    """The single transformer of a masked diffusion model, with P dummy slots and k = P."""
    step = _Step(source)
    model = converted(
        source,
        "mdm_to_fixed_k",
        kind="topk",
        k=source.padding,
        padding=2 * source.padding,
        transformers={"model": assemble(step.program, source.precision)},
    )
    return Conversion(model, _alignment(source, step.simulations))


class _Step:
    """The program: given rows, P dummies, the slots of the source; layers of both, and what they decide."""

    def __init__(self, source: Model) -> None:
        self.source, size = source, len(source.vocabulary)
        self.writable = np.setdiff1d(np.arange(size), [source.token[source.mask or ""]])
        first = N + int(source.begin is not None)
        is_dummy = both(n >= first, n < first + source.padding)
        row = choose(n < first, n, choose(is_dummy, n, n - source.padding))
        self.program = program = Program(source.vocabulary, size, source.length, source.rows + source.padding)
        self.here = program.code("here", n)
        self.dummy = program.flag("dummy", is_dummy)
        self.simulations = {
            name: Simulation.of(program, t, name, source_positions(t, row, is_dummy.equals(0)))
            for name, t in source.transformers.items()
        }
        self.decision = program.register("decision", ("keep", "take"))
        self.logits = program.register("logits", self.writable.size)
        self.not_chosen = program.register("not chosen", SUBTRACTIONS)
        # what lifts a logit stands after what lowers it: sums clip on the way
        self.undecided = program.register("no preference", 2)
        self.barely = program.register("barely preferred", self.writable.size)
        self.lifted = program.flag("dummy, lifted", is_dummy)
        # a dummy of a causal model must see something: a row before all slots
        transformers = list(source.transformers.values())
        causal = source.rows > source.padding
        self.shared = shared_attention(program, transformers, row, source.rows, causal=causal)
        program.attention = self.shared.kind
        self._simulate()
        self._decide()
        self._read_out()

    def _simulate(self) -> None:
        """The layers of U and S, side by side; nobody sees a dummy."""
        for simulation in self.simulations.values():
            simulation.embed_symbols(self.program)
        for number in range(max(simulation.depth for simulation in self.simulations.values())):
            layer = self.program.layer()
            for simulation in self.simulations.values():

                def guard(head: HeadBuilder, kind: Attention = simulation.source.attention) -> None:
                    boost(head, self.dummy)
                    self.shared.guard[kind](head)
                    hide(head, self.dummy)

                simulation.layer(number, layer, guard)

    def _decide(self) -> None:
        """SELF takes the logits of both, an MLP decides; dummies are unchosen."""
        layer = self.program.layer()
        head = itself(layer, self.here)
        self.simulations["planner"].logits_in(head, self.decision)
        head.copy(self.lifted, self.decision[0], B)  # after the logits: whatever they are, keep >= 0 >= take
        head.copy(self.lifted, self.decision[1], -B)
        self.simulations["predictor"].logits_in(head, self.logits, self.writable)
        unchosen(layer.mlp, self.decision, self.not_chosen)
        for flag in self.undecided:
            no_preference(layer.mlp, self.decision, self.logits, np.array([flag]))
        barely_preferred(layer.mlp, self.decision, self.logits, self.barely)

    def _read_out(self) -> None:
        """The logits of S, -B twice where the slot is not chosen, then what is lifted."""
        program, predictor = self.program, self.simulations["predictor"]
        predictor.read_out(program, predictor.work)
        for column in self.not_chosen:
            program.read_out(np.arange(program.outputs), column, -B)
        for column in self.undecided:
            program.read_out(self.writable[0], column, ULP)
        program.read_out(self.writable, self.barely, ULP)
        program.read_out(self.writable[0], self.lifted, ULP)


def _alignment(source: Model, simulations: dict[str, Simulation]) -> Alignment:
    every, canvas, first = np.arange(source.rows), np.arange(source.padding), source.rows - source.padding
    there = np.where(every < first, every, every + source.padding)
    copies = [
        copy
        for name, simulation in simulations.items()
        for copy in layer_copies(name, "model", simulation, lambda _: (every, there))
    ]
    return Alignment(slots(lambda _: canvas + source.padding), tuple(copies))


THEOREM = Theorem("mdm_to_fixed_k", "thm:single-model-equivalence", "mdm", "topk", mdm_to_fixed_k, bound)
