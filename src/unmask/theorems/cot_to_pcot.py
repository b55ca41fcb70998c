"""Chain of thought as parallel chain of thought with one symbol per step (prop:cot-as-pcot, first half).

Statement:    CoT[T] ⊆ pCoT[T, T]: a chain of thought is a parallel one whose blocks have one symbol.
Construction: the rows before the mask are those of the source, which cannot see the mask: attention is causal. One
              more layer lets every row LOOKUP the row before it, so that the mask row holds what the source's last
              row holds, and the logits are read from there. The mask row itself is BOOSTed: it may attend anywhere,
              but must not divide by zero.
Bounds:       T steps, T symbols (P' = 1), L + 1 layers, width 2D + O(log(N + T)).
Exactness:    bit by bit, for p >= 1.
Deviations:   none; the source always has a row to read (an input or its begin symbol).
"""

import numpy as np

from unmask.programs.assemble import assemble
from unmask.programs.attention import boost, eq
from unmask.programs.coefficients import B
from unmask.programs.expressions import n
from unmask.programs.program import Flag, HeadBuilder, Program, SignedBits, bits_for
from unmask.programs.simulation import Simulation, column_labels, source_positions
from unmask.programs.vocabulary import SPECIAL_NAMES, free_name
from unmask.theorems.theorem import Conversion, Price, Theorem, converted, refuse_if_huge
from unmask.traces.alignment import Alignment, Copy, slots
from unmask.weights.model import Model


def bound(source: Model) -> Price:
    return Price(source.steps, source.steps, Price.of(source).layers + 1)


def cot_to_pcot(source: Model) -> Conversion:
    """The parallel chain of thought of a chain of thought."""
    given = source.transformers["model"]
    refuse_if_huge("cot_to_pcot", rows=source.rows, width=2 * given.width)
    mask = len(source.vocabulary)
    vocabulary = (*source.vocabulary, free_name(SPECIAL_NAMES["mask"], source.vocabulary))

    program = Program(vocabulary, len(vocabulary), source.length, source.rows)
    one = program.register("one", declaration=Flag(n >= 0))
    masked = program.register("masked")
    here = program.register("here", bits_for(source.rows), SignedBits(n))
    before = program.register("row before", bits_for(source.rows), SignedBits((n - 1).positive_part()))
    simulation = Simulation.of(program, given, "model", source_positions(given, n))
    final = program.register("final", column_labels(given))
    simulation.embed_symbols(program)
    program.embed(mask, masked)

    def guard(head: HeadBuilder) -> None:
        boost(head, masked, one)

    for number in range(simulation.depth):
        simulation.layer(number, program.layer(), guard)
    fetch = program.layer().head()
    eq(fetch, before, here, one)
    fetch.copy(simulation.work, final)
    simulation.read_out(program, final)
    program.read_out(mask, one, -B)  # the last symbol: it loses even a tie at -B

    transformer = assemble(program, given.precision, attention="causal")
    model = converted(
        source,
        "cot_to_pcot",
        kind="pcot",
        block=1,
        vocabulary=vocabulary,
        mask=vocabulary[mask],
        transformers={"model": transformer},
    )
    return Conversion(model, _alignment(source, simulation))


def _alignment(source: Model, simulation: Simulation) -> Alignment:
    first = source.rows - source.padding
    copies = tuple(
        Copy(
            source=f"steps.{{t}}.model.layers.{number}.residual",
            converted=f"steps.{{t}}.model.layers.{number}.residual",
            rows=lambda t: (np.arange(first + t), np.arange(first + t)),
            columns=simulation.work,
        )
        for number in range(simulation.depth)
    )
    return Alignment(slots(lambda t: np.arange(t + 1)), copies)


THEOREM = Theorem("cot_to_pcot", "prop:cot-as-pcot", "cot", "pcot", cot_to_pcot, bound)
