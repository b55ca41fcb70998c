"""Planner and predictor as one transformer that unmasks where it is sure (thm:single-model-equivalence).

Statement:    every masked diffusion model is a single transformer that writes the slots whose largest logit is above
              -B, and those are the slots that the planner chooses.
Construction: planner U and predictor S run side by side, each on its own columns, embeddings and positions included.
              One more layer: SELF takes the logits of both; an MLP tells whether the slot is unchosen, in two columns,
              and whether it is chosen though every symbol has the logit -B. The logits are those of S, minus B, minus
              B where the slot is unchosen; in the degenerate case the lowest symbol is lifted by 2^-p.
Bounds:       T steps, P slots, the same vocabulary, max(L_U, L_S) + 1 layers, width
              D_U + D_S + |Σ| + ⌈log2(N + P)⌉ + 5; two columns more per row if only one of U and S is causal.
Exactness:    bit by bit, for p >= 1 and any source. At chosen slots the logits are those of the predictor, so that
              its law is, too; only in the degenerate case one logit of the law is 2^-p higher. Under a tape the
              symbols of chosen slots are drawn alike; the choice is that of the planner without noise.
Deviations:   k cannot be a constant, as planners choose any number of slots: the rule is the threshold above -B, or
              k_t = how many the planner chooses. Subtracting B once, as printed, leaves an unchosen slot with the
              logit B at 0, above a chosen slot whose logits are negative. A chosen slot whose logits are all -B,
              which no subtraction can tell from an unchosen one, is told apart by an MLP.
"""

import numpy as np

from unmask.programs.gadgets.decisions import no_preference, unchosen
from unmask.programs.gadgets.lookup import itself
from unmask.programs.language.assemble import assemble
from unmask.programs.language.coefficients import ULP, B
from unmask.programs.language.positions import n
from unmask.programs.language.program import Program, bits_for
from unmask.programs.simulation.transformer import Simulation, shared_attention, source_positions
from unmask.theorems.alignment import Alignment, layer_copies, slots
from unmask.theorems.size import Size
from unmask.theorems.theorem import Conversion, Theorem, converted
from unmask.weights.model import Model
from unmask.weights.price import Price

SUBTRACTIONS = 2


def bound(source: Size) -> Price:
    width = source.width + source.symbols + bits_for(source.rows) + 5 + source.causal_columns()
    return Price(source.steps, source.padding, source.layers + 1, width, source.symbols)


def planner_and_predictor_to_topk(source: Model) -> Conversion:
    """The single transformer of a masked diffusion model; its k is what the planner chooses."""
    planner, predictor = source.transformers["planner"], source.transformers["predictor"]
    size, rows = len(source.vocabulary), source.rows
    writable = np.setdiff1d(np.arange(size), [source.token[source.mask or ""]])

    program = Program(source.vocabulary, size, source.length, rows)
    here = program.code("here", n)
    U, S = (
        Simulation.of(program, transformer, name, source_positions(transformer, n))
        for name, transformer in (("planner", planner), ("predictor", predictor))
    )
    decision, logits = program.register("decision", ("keep", "take")), program.register("logits", writable.size)
    not_chosen = program.register("not chosen", SUBTRACTIONS)
    undecided = program.register("no preference")
    shared = shared_attention(program, [planner, predictor], n, rows)
    program.attention = shared.kind

    for simulation in (U, S):
        simulation.embed_symbols(program)
    for number in range(max(U.depth, S.depth)):
        layer = program.layer()
        for simulation in (U, S):
            simulation.layer(number, layer, shared.guard[simulation.source.attention])
    decide = program.layer()
    head = itself(decide, here)
    U.logits_in(head, decision)
    S.logits_in(head, logits, writable)
    unchosen(decide.mlp, decision, not_chosen)
    no_preference(decide.mlp, decision, logits, undecided)
    S.read_out(program, S.work)
    for column in not_chosen:
        program.read_out(np.arange(size), column, -B)
    program.read_out(writable[0], undecided, ULP)

    model = converted(
        source,
        "planner_and_predictor_to_topk",
        kind="topk",
        k=None,
        transformers={"model": assemble(program, source.precision)},
    )
    return Conversion(model, _alignment(source, {"planner": U, "predictor": S}))


def _alignment(source: Model, simulations: dict[str, Simulation]) -> Alignment:
    every, canvas = np.arange(source.rows), np.arange(source.padding)
    copies = [
        copy
        for name, simulation in simulations.items()
        for copy in layer_copies(name, "model", simulation, lambda _: (every, every))
    ]
    return Alignment(slots(lambda _: canvas), tuple(copies))


THEOREM = Theorem(
    "planner_and_predictor_to_topk",
    "thm:single-model-equivalence",
    "mdm",
    "topk",
    planner_and_predictor_to_topk,
    bound,
)
