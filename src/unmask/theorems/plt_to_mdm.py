"""A padded looped transformer inside masked diffusion (thm:emdms-can-simulate-fplts, with lem:idenitity-dump).

Statement:    PLT[T, P] ⊆ MDM[T, (N + P)·D + 1]: every looped transformer of width D is a masked diffusion model that
              takes one step per loop and keeps the residual stream of all N + P rows in its slots.
Construction: the alphabet is that of the source and F_p; slot (r, d) holds entry d of row r as after the last loop,
              the last slot the answer. The planner takes every slot in every step. The predictor (see
              programs.looped_in_slots) reads the stored stream, or takes the initial one where nothing is stored
              yet, runs the looped layers on it, stores the result, and answers by the final layers.
Bounds:       max(T, 1) steps, (F + P)·D + 1 slots with F = N, or N + 1 with a begin symbol; 3 layers more
              than the source; 4 if it has no final layers; 1 more for the single-head read (D > 32) if it has no
              initial layers. Symbols: 2^(2p+1) more, and T - 1 for the clock, if there is one.
              Stochastic: T + 1 steps, one more slot per row and noise column.
Exactness:    bit by bit after every loop, for p >= 1; Z = 0 in the same loop. For p >= 2 no tape can change
              what a deterministic source's conversion writes: its logits are ±B.
              Stochastic sources: exact without a tape. With one, noise slots draw what the next loop adds, so that
              the first step only stores the initial stream; the source, given what the slots drew as its noise, takes
              the same path bit by bit. The same tape gives another path, since addresses differ, and laws agree only
              up to the distance of a noise slot's law from that of the noise (see programs.noise_slots).
Deviations:   only N rows are given but N + P are to be hosted; the answer needs a slot of its own (+ 1); the stream
              is in F_p, not in {0, 1}; the proof ends with T·P·D slots. The initial layers must run once, the final
              ones after the last loop, but there is no clock: the initial stream is let through where nothing is
              stored yet, the answer rewritten in every step as if it were the last. That is still wrong where a
              final layer divides by zero on the stream of an earlier loop, which the source never does; if there are
              final layers, the last slot counts the steps until the answer is due, and earlier steps BOOST.
"""

import numpy as np

from unmask.programs.assemble import assemble
from unmask.programs.looped_in_slots import MOST_HEADS, Alphabet, Predictor, Shape, planner
from unmask.programs.program import Columns
from unmask.theorems.theorem import Conversion, Price, Theorem, converted, refuse_if_huge
from unmask.traces.alignment import Alignment, Copy, Stored, slots
from unmask.traces.trace import Trace
from unmask.weights.model import Model


def bound(source: Model) -> Price:
    model, stochastic = source.transformers["model"], source.transformers["model"].noise if source.steps else None
    noise = len(stochastic.planner) + len(stochastic.predictor) if stochastic else 0
    first, last = model.loop or (0, 0)
    more = 3 + int(last == len(model.layers)) + int(model.width > MOST_HEADS and first == 0)
    return Price(
        steps=max(source.steps, 1) + int(noise > 0),
        padding=source.rows * (model.width + noise) + 1,
        layers=len(model.layers) + more,
    )


def plt_to_mdm(source: Model, *, most_heads: int = MOST_HEADS) -> Conversion:
    """The masked diffusion model of a looped transformer; its predictor reads with one head beyond `most_heads`."""
    shape = Shape.of(source, most_heads)
    alphabet = Alphabet.of(source.vocabulary, source.precision, shape.clock)
    rows = source.rows - source.padding + shape.slots
    refuse_if_huge("plt_to_mdm", rows=rows, width=_estimate(source, shape), vocabulary=len(source.vocabulary))
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
        transformers={
            "planner": planner(source, alphabet, rows),
            "predictor": assemble(predictor.program, source.precision),
        },
    )
    return Conversion(model, _alignment(source, shape, alphabet, predictor))


def _estimate(source: Model, shape: Shape) -> int:
    """The columns of the predictor, but for its addresses."""
    planes = 12 * source.precision.p if shape.one_head else 2
    codes = 2 * (source.precision.size + shape.clock) + 3 * len(source.vocabulary)
    later = 2 * shape.rows if source.transformers["model"].attention == "causal" else 0
    return (6 if shape.noise else 5) * shape.width + planes * shape.entries + codes + later


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
        held = trace.canvas[t + delay][:-1].reshape(shape.rows, shape.entries)[:, : shape.width]
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
    answer = slots(lambda t: np.array([shape.slots - 1]), lambda t: shape.steps - 1)  # noqa: ARG005
    return Alignment(answer, tuple(copies))


THEOREM = Theorem("plt_to_mdm", "thm:emdms-can-simulate-fplts", "plt", "mdm", plt_to_mdm, bound)
