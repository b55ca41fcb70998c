"""A top-k model by threshold as planner and predictor (the converse of thm:single-model-equivalence).

Statement:    a topk model that takes every slot whose largest logit is above -B is an mdm with as many steps and slots.
Construction: the predictor is the model. The planner is the model, a SELF head that takes its logits, and one MLP:
              none = ReLU(1 - Σ_c 2·2^(p-1)·ReLU(l_c + B)) is 1 exactly when no logit is above -B.
Bounds:       T steps, P slots, L + 1 layers, the same vocabulary, width D + |Σ| + ⌈log2(N + P)⌉ + 1.
Exactness:    bit by bit, for p >= 1.
Deviations:   a fixed k has no such converse, and the conversion refuses it. Ranking k of P slots is counting: let slot
              i have a high logit where input bit i is 1 and a low one where it is 0, and one more slot a logit between;
              that slot is written in the first step if and only if fewer than k bits are 1. So with k about half of P
              majority is decided in two steps (`majority_by_topk`), while a masked diffusion model of
              constantly many steps and fixed precision stays within AC0 (cor:mdms-with-constant-steps).
"""

import numpy as np

from unmask.errors import UnmaskError
from unmask.programs.gadgets.lookup import itself
from unmask.programs.language.assemble import assemble
from unmask.programs.language.coefficients import ONE, TOP, B
from unmask.programs.language.positions import n
from unmask.programs.language.program import Program, bits_for
from unmask.programs.simulation.transformer import Simulation, source_positions
from unmask.theorems.alignment import Alignment, layer_copies, slots
from unmask.theorems.size import Size
from unmask.theorems.theorem import Conversion, Theorem, converted
from unmask.weights.model import Model
from unmask.weights.price import Price


def bound(source: Size) -> Price:
    width = source.width + source.symbols + bits_for(source.rows) + 1
    return Price(source.steps, source.padding, source.layers + 1, width, source.symbols)


def topk_to_mdm(source: Model) -> Conversion:
    """Planner and predictor of a topk model without k; one with k >= P takes every slot and is one too."""
    if source.k is not None and source.k < source.padding:
        raise UnmaskError(
            f"a topk model with k = {source.k} of {source.padding} slots ranks its slots, and in general no mdm "
            "with the same number of steps can do that; convert a model whose k is null"
        )
    given = source.transformers["model"]
    mask = source.token[source.mask or ""]
    writable = np.setdiff1d(np.arange(len(source.vocabulary)), [mask])

    program = Program(source.vocabulary, 2, source.length, source.rows, given.attention)
    here = program.code("here", n)
    simulation = Simulation.of(program, given, "model", source_positions(given, n))
    logits = program.register("logits", [source.vocabulary[c] for c in writable])
    none = program.register("none above -B")
    simulation.embed_symbols(program)
    for number in range(simulation.depth):
        simulation.layer(number, program.layer())
    decide = program.layer()
    simulation.logits_in(itself(decide, here), logits, writable)
    if source.k is None:
        for _ in range(2):
            units = decide.mlp.units(logits.size, bias=B)
            decide.mlp.read(units, logits)
            decide.mlp.write(units, none, -TOP)
        decide.mlp.offset(none, ONE)
    program.read_out(1, program.one, B)
    program.read_out(1, none, -B)
    program.read_out(0, none, B)

    transformers = {"planner": assemble(program, given.precision), "predictor": given}
    model = converted(source, "topk_to_mdm", kind="mdm", k=None, transformers=transformers)
    every, rows = np.arange(source.padding), np.arange(source.rows)
    copies = layer_copies("model", "planner", simulation, lambda _: (rows, rows))
    return Conversion(model, Alignment(slots(lambda _: every), copies))


THEOREM = Theorem("topk_to_mdm", "thm:single-model-equivalence", "topk", "mdm", topk_to_mdm, bound)
