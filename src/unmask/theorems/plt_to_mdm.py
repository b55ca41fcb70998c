"""A padded looped transformer inside masked diffusion (thm:emdms-can-simulate-fplts, with lem:idenitity-dump).

Statement:    PLT[T, P] ⊆ MDM[T, (N + P)·D + ⌈log2 T⌉ + 1]: every looped transformer of width D is a masked diffusion
              model that takes one step per loop and keeps the residual stream of all N + P rows in its slots. Its
              alphabet does not depend on N and T, its width only by logarithms.
Construction: the alphabet is that of the source and F_p; slot (r, d) holds entry d of row r as after the last loop,
              the last slots the answers, one for each row that the source decodes. The planner takes every slot in
              every step. The predictor
              (`simulation.looped_in_slots`) reads the stored stream, or takes the initial one where nothing is stored
              yet, runs the looped layers on it, stores the result, and answers by the final layers.
Bounds:       max(T, 1) steps, (F + P)·D + k slots with k answers and F = N, or N + 1 with a begin symbol; 3 layers
              more than the source; 4 if it has no final layers; 1 more for the single-head read (D > 32) if it has no
              initial layers. 2^(2p+1) symbols more, whatever N and T are. If final layers attend, ⌈log2 T⌉ slots
              and 2·⌈log2 T⌉ + 9 columns more for the clock. Width O(D + |Σ| + 4^p + log(N + P) + log T); a causal
              source costs two columns per row, which is not logarithmic.
              Stochastic: T + 1 steps, one more slot per row and noise column.
Exactness:    bit by bit after every loop, for p >= 1; Z = 0 in the same loop. For p >= 2 no tape can change
              what a deterministic source's conversion writes: its logits are ±B.
              Stochastic sources: exact without a tape. With one, noise slots draw what the next loop adds, so that
              the first step only stores the initial stream; the source, given what the slots drew as its noise, takes
              the same path bit by bit. The same tape gives another path, since addresses differ.
Law:          not exactly that of a stochastic source. A noise slot draws a number of noise within d of its law, in
              total variation: d < 0.296, 0.0991, 0.0234, 0.0117 for p = 1, 2, 3, 4 (`simulation.noise_slots`, computed
              exactly). The (N + P)·C·T numbers of a run, with C noisy columns, are drawn independently, so that the
              laws of its paths and answers are within 1 - (1 - d)^((N + P)·C·T); `unmask convert` prints both.
Deviations:   only N rows are given but N + P are to be hosted; the answer needs a slot of its own (+ 1); the stream
              is in F_p, not in {0, 1}; the proof ends with T·P·D slots. The initial layers must run once, the final
              ones after the last loop, but there is no clock: the initial stream is let through where nothing is
              stored yet, the answer rewritten in every step as if it were the last. That is still wrong where a
              final layer divides by zero on the stream of an earlier loop, which the source never does; if final
              layers attend, a binary counter in ⌈log2 T⌉ slots (`simulation.binary_clock`) tells when the answer is
              due, and earlier steps BOOST.
"""

import numpy as np

from unmask.programs.language.assemble import assemble_all
from unmask.programs.language.builders import Columns
from unmask.programs.language.program import bits_for
from unmask.programs.simulation.binary_clock import clock_slots
from unmask.programs.simulation.looped_in_slots import Predictor, planner
from unmask.programs.simulation.looped_shape import MOST_HEADS, Alphabet, Shape
from unmask.programs.simulation.noise_slots import noise_distance
from unmask.theorems.alignment import Alignment, Copy, Stored, slots
from unmask.theorems.law import Law
from unmask.theorems.size import Size
from unmask.theorems.theorem import Conversion, Theorem, check_argmax, converted
from unmask.traces.trace import Trace
from unmask.weights.model import Model
from unmask.weights.price import Price

COMPUTED = 3
"""The largest p for which the distance of a noise slot from the noise is computed on the way."""


def bound(source: Size) -> Price:
    model, p = source.model, source.precision
    noise = model.noise if source.steps else 0
    entries, one_head = model.width + noise, model.width > MOST_HEADS
    steps = max(source.steps, 1) + int(noise > 0)
    clock = clock_slots(steps) if model.final_attends else 0
    padding = source.rows * entries + clock + source.answers
    given = source.rows - source.padding
    addresses = bits_for(given + padding) + 3 * bits_for(source.rows + 1) + bits_for(entries)
    streams = (5 + int(noise > 0)) * model.width + entries
    reader = 4 * p + 12 * p * entries if one_head else 1 + entries
    return Price(
        steps=steps,
        padding=padding,
        layers=model.layers + 3 + int(model.final == 0) + int(one_head and model.initial == 0),
        width=addresses
        + streams
        + reader
        + (2 * clock + 9 if clock else 0)
        + 2 * source.numbers
        + 3 * source.symbols
        + 12
        + source.causal_columns(stays=False),
        symbols=source.symbols + source.numbers + 1,
    )


def plt_to_mdm(source: Model, *, most_heads: int = MOST_HEADS) -> Conversion:
    """The masked diffusion model of a looped transformer; its predictor reads with one head beyond `most_heads`."""
    shape = Shape.of(source, most_heads)
    alphabet = Alphabet.of(source.vocabulary, source.precision)
    rows = source.rows - source.padding + shape.slots
    check_argmax("plt_to_mdm", len(source.vocabulary))
    predictor = Predictor(source, shape, alphabet, rows)
    model = converted(
        source,
        "plt_to_mdm",
        kind="mdm",
        padding=shape.slots,
        steps=shape.steps,
        vocabulary=alphabet.symbols,
        mask=alphabet.symbols[alphabet.mask],
        pad=None,
        transformers=assemble_all(
            {"planner": planner(source, alphabet, rows), "predictor": predictor.program}, source.precision
        ),
    )
    return Conversion(model, _alignment(source, shape, alphabet, predictor))


def _alignment(source: Model, shape: Shape, alphabet: Alphabet, predictor: Predictor) -> Alignment:
    """Hosts hold the stream within a step, the slots after it; a stochastic source is one step behind."""
    given, delay = source.rows - source.padding, int(bool(shape.noise))
    every = np.arange(shape.rows)
    hosts = np.where(every < given, every, given + every * shape.entries)
    initial, stream = predictor.initial.work, predictor.stream.work
    final = len(source.transformers["model"].layers) - shape.final

    def copy(name: str, layer: int, columns: Columns, *, last: bool = False) -> Copy:
        at = f"steps.{{last}}.predictor.layers.{layer}.residual"
        step = (lambda t: shape.steps - 1) if last else (lambda t: t + delay)  # noqa: ARG005
        return Copy(f"{name}.residual", at, lambda t: (every, hosts), columns, step)  # noqa: ARG005

    def stored(trace: Trace, t: int) -> np.ndarray:
        numbers = trace.canvas[t + delay][: shape.rows * shape.entries]
        held = numbers.reshape(shape.rows, shape.entries)[:, : shape.width]
        return held - alphabet.numbers[0] - source.precision.bound

    copies: list[Copy | Stored] = []
    for k in range(shape.initial):
        copies.append(copy(f"initial.model.layers.{k}", shape.expand + k, initial))
    for k in range(shape.loop):
        copies.append(copy(f"steps.{{t}}.model.layers.{shape.initial + k}", shape.before_loop + k, stream))
    for k in range(shape.final):
        after = shape.before_loop + shape.loop + k
        copies.append(copy(f"final.model.layers.{final + k}", after, stream, last=True))
    if shape.loop:
        after_loop = f"steps.{{t}}.model.layers.{shape.initial + shape.loop - 1}.residual"
    else:
        after_loop = f"initial.model.{f'layers.{shape.initial - 1}.residual' if shape.initial else 'embed'}"
    copies.append(Stored(after_loop, stored))
    answer = slots(lambda t: np.arange(shape.slots - shape.answers, shape.slots), lambda t: shape.steps - 1)  # noqa: ARG005
    return Alignment(answer, tuple(copies))


def law(source: Model) -> Law | None:
    """How far what noise slots draw is from the noise of a stochastic source."""
    columns = Size.of(source).model.noise
    if not columns or not source.steps:
        return None
    precision = source.precision
    distance = noise_distance(precision) if precision.p <= COMPUTED else None
    return Law(distance, source.rows * columns * source.steps)


THEOREM = Theorem("plt_to_mdm", "thm:emdms-can-simulate-fplts", "plt", "mdm", plt_to_mdm, bound, law)
