"""A top-k model by threshold as planner and predictor (the converse of thm:single-model-equivalence).

Statement:    a topk model that takes every slot whose largest logit is above -B is an mdm with as many steps and slots.
Construction: the predictor is the model. The planner is the model, a SELF head that takes its logits, and one MLP:
              none = ReLU(1 - Σ_c 2·2^(p-1)·ReLU(l_c + B)) is 1 exactly when no logit is above -B.
Bounds:       T steps, P slots, L + 1 layers.
Exactness:    bit by bit, for p >= 1.
Deviations:   a fixed k has no such converse, and the conversion refuses it. Ranking k of P slots is counting: let slot
              i have a high logit where input bit i is 1 and a low one where it is 0, and one more slot a logit between;
              that slot is written in the first step if and only if fewer than k bits are 1. So with k about half of P
              majority is decided in two steps (tests/theorems/test_topk_counts.py), while a masked diffusion model of
              constantly many steps and fixed precision stays within AC0 (cor:mdms-with-constant-steps).
"""

import numpy as np

from unmask.errors import UnmaskError
from unmask.programs.assemble import assemble
from unmask.programs.buffers import itself
from unmask.programs.coefficients import ONE, TOP, B
from unmask.programs.expressions import n
from unmask.programs.program import Flag, Program, SignedBits, bits_for
from unmask.programs.simulation import Simulation, source_positions
from unmask.theorems.theorem import Conversion, Price, Theorem, converted, refuse_if_huge
from unmask.traces.alignment import Alignment, Copy, slots
from unmask.weights.model import Model


def bound(source: Model) -> Price:
    return Price(source.steps, source.padding, Price.of(source).layers + 1)


def topk_to_mdm(source: Model) -> Conversion:
    """Planner and predictor of a topk model without k; one with k >= P takes every slot and is one too."""
    if source.k is not None and source.k < source.padding:
        raise UnmaskError(
            f"a topk model with k = {source.k} of {source.padding} slots ranks its slots, which is counting: no mdm of "
            "as many steps does that in general; convert one with k null"
        )
    given = source.transformers["model"]
    refuse_if_huge("topk_to_mdm", rows=source.rows, width=2 * given.width)
    mask = source.token[source.mask or ""]
    writable = np.setdiff1d(np.arange(len(source.vocabulary)), [mask])

    program = Program(source.vocabulary, 2, source.length, source.rows)
    one = program.register("one", declaration=Flag(n >= 0))
    here = program.register("here", bits_for(source.rows), SignedBits(n))
    simulation = Simulation.of(program, given, "model", source_positions(given, n))
    logits = program.register("logits", [source.vocabulary[c] for c in writable])
    none = program.register("none above -B")
    simulation.embed_symbols(program)
    for number in range(simulation.depth):
        simulation.layer(number, program.layer())
    decide = program.layer()
    simulation.logits_in(itself(decide, here, one), logits, writable)
    if source.k is None:
        for _ in range(2):
            units = decide.mlp.units(logits.size, bias=B)
            decide.mlp.read(units, logits)
            decide.mlp.write(units, none, -TOP)
        decide.mlp.offset(none, ONE)
    program.read_out(1, one, B)
    program.read_out(1, none, -B)
    program.read_out(0, none, B)

    planner = assemble(program, given.precision, attention=given.attention)
    transformers = {"planner": planner, "predictor": given}
    model = converted(source, "topk_to_mdm", kind="mdm", k=None, transformers=transformers)
    every, rows = np.arange(source.padding), np.arange(source.rows)
    copies = tuple(
        Copy(
            source=f"steps.{{t}}.model.layers.{number}.residual",
            converted=f"steps.{{t}}.planner.layers.{number}.residual",
            rows=lambda _: (rows, rows),
            columns=simulation.work,
        )
        for number in range(simulation.depth)
    )
    return Conversion(model, Alignment(slots(lambda _: every), copies))


THEOREM = Theorem("topk_to_mdm", "thm:single-model-equivalence", "topk", "mdm", topk_to_mdm, bound)
