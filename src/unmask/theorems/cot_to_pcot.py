"""Chain of thought as parallel chain of thought with one symbol per step (prop:cot-as-pcot, first half).

Statement:    CoT[T] ⊆ pCoT[T, T]: a chain of thought is a parallel one whose blocks have one symbol.
Construction: the rows before the mask are those of the source, which cannot see the mask: attention is causal. One
              more layer lets every row LOOKUP the row before it, so that the mask row holds what the source's last
              row holds, and the logits are read from there. The mask row itself is BOOSTed: it may attend anywhere,
              but must not divide by zero.
Bounds:       T steps, T symbols (P' = 1), L + 1 layers, one symbol more, width 2D + 2⌈log2(N + T)⌉ + 2.
Exactness:    bit by bit, for p >= 1.
Deviations:   none; the source always has a row to read (an input or its begin symbol).
"""

import numpy as np

from unmask.programs.gadgets.boost import boost
from unmask.programs.gadgets.lookup import lookup
from unmask.programs.language.assemble import assemble_all
from unmask.programs.language.builders import HeadBuilder
from unmask.programs.language.coefficients import B
from unmask.programs.language.positions import N, n
from unmask.programs.language.program import Program, bits_for, program_for
from unmask.programs.language.vocabulary import SPECIAL_NAMES, free_name
from unmask.programs.simulation.transformer import Simulation, column_labels, source_positions
from unmask.theorems.alignment import Alignment, layer_copies, slots
from unmask.theorems.size import Size
from unmask.theorems.source import Source, programs_at
from unmask.theorems.theorem import Conversion, Theorem, converted
from unmask.weights.model import Model
from unmask.weights.price import Price

STREAM = "model"
"""The register that holds the stream of the source."""


def bound(source: Size) -> Price:
    width = 2 * source.width + 2 * bits_for(source.rows) + 2
    return Price(source.steps, source.steps, source.layers + 1, width, source.symbols + 1)


def programs(source: Source) -> dict[str, Program]:
    """The program of every N for a source, whatever its weights and the number of its steps."""
    given = source.transformers["model"]
    mask = len(source.symbols)
    vocabulary = (*source.symbols, free_name(SPECIAL_NAMES["mask"], source.symbols))

    program = program_for(vocabulary, len(vocabulary), N, N + source.begin + source.steps, "causal")
    masked = program.register("masked")
    here = program.code("here", n)
    before = program.code("row before", (n - 1).positive_part())
    simulation = Simulation.of(program, given, STREAM, source_positions(given, n))
    final = program.register("final", column_labels(given))
    simulation.embed_symbols(program)
    program.embed(mask, masked)

    def guard(head: HeadBuilder) -> None:
        boost(head, masked)

    for number in range(simulation.depth):
        simulation.layer(number, program.layer(), guard)
    lookup(program.layer(), before, here).copy(simulation.work, final)
    simulation.read_out(program, final)
    program.read_out(mask, program.one, -B)  # the last symbol: it loses even a tie at -B
    return {"model": program}


def cot_to_pcot(source: Model) -> Conversion:
    """The parallel chain of thought of a chain of thought."""
    made = programs_at(programs(Source.of(source)), source.length)
    program = made["model"]
    simulation = Simulation(source.transformers["model"], program.columns(STREAM))
    model = converted(
        source,
        "cot_to_pcot",
        kind="pcot",
        block=1,
        vocabulary=program.symbols,
        mask=program.symbols[-1],
        transformers=assemble_all(made, source.precision),
    )
    return Conversion(model, _alignment(source, simulation))


def _alignment(source: Model, simulation: Simulation) -> Alignment:
    first = source.rows - source.padding

    def rows(t: int) -> tuple[np.ndarray, np.ndarray]:
        return np.arange(first + t), np.arange(first + t)

    copies = layer_copies("model", "model", simulation, rows)
    return Alignment(slots(lambda t: np.arange(t + 1)), copies)


THEOREM = Theorem("cot_to_pcot", "prop:cot-as-pcot", "cot", "pcot", cot_to_pcot, bound, programs=programs)
