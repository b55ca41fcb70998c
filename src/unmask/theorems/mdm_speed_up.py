"""Several steps of masked diffusion in one pass: MDM[cT, P] ⊆ MDM[T, P] for every constant c.

Statement:    for every c >= 1, a masked diffusion model with T steps and P slots is simulated by one with ⌈T/c⌉ steps
              and P slots. So constant factors in the number of steps are meaningless unless the number of layers is
              bounded.
Construction: planner and predictor have the same layers and different outputs. The layers carry the symbol of every
              row, one-hot, and run c denoising steps, each as in `mdm_to_plt`. The predictor outputs the symbol. The
              planner chooses every slot that is not masked at the end. Such a slot is written with its symbol after c
              steps, which may be the symbol that it already has.
              If c does not divide T, the first pass takes only r = T - c·(⌈T/c⌉ - 1) steps: it skips the first c - r of
              its steps. DETECT recognises the first pass because no slot is written. If no slot is written in a later
              pass, it also starts from m^P. Then no step so far has chosen a slot, so no further step will, and the
              number of steps does not matter.
Bounds:       ⌈T/c⌉ steps, P slots, c·(max(L_U, L_S) + 4) layers, the same vocabulary, width
              2(D_U + D_S) + 5|Σ| + ⌈log2(N + P)⌉ + 4 for both, 3 more if c does not divide T.
Exactness:    bit by bit after every step, for p >= 1. Sampling is not covered: one pass has noise for one step only.
Deviations:   the paper has no such statement. The result is not an smdm, since it writes written slots again, with
              their own symbols. Causal sources need two more columns per position (`hide_later`) if c does not divide
              T, because every row has to see all slots.
"""

from dataclasses import replace
from functools import partial

import numpy as np

from unmask.errors import UnmaskError
from unmask.programs.assembly import assemble
from unmask.programs.gadgets.attention import hide
from unmask.programs.gadgets.mlp import conjunction
from unmask.programs.gadgets.whole_layers import detect, everywhere
from unmask.programs.program import B, bits_for
from unmask.theorems.alignment import Alignment, StoredStream
from unmask.theorems.mdm_to_plt import DenoisingProgram, Idle
from unmask.theorems.theorem import Conversion, SourceSize, Theorem, check_argmax, converted_model
from unmask.traces.trace import Trace
from unmask.weights.model import Model, Price

STEM = "mdm_speed_up"
MOST_STEPS = 16
"""The largest number of steps per pass."""


def bound(factor: int, source: SourceSize) -> Price:
    divides = source.steps % factor == 0
    width = 2 * source.width + 5 * source.symbols + bits_for(source.rows) + (4 if divides else 7)
    width += source.causal_columns(stays=divides)
    return Price(-(-source.steps // factor), source.padding, factor * (source.layers + 4), width, source.symbols)


def mdm_speed_up(factor: int, source: Model) -> Conversion:
    """Return the model that takes `factor` steps of the source in one pass."""
    check_argmax(STEM, len(source.vocabulary))
    skipped = -source.steps % factor
    planner, predictor = (_unrolled(source, factor, skipped, outputs) for outputs in (2, None))
    mask, program = source.token[source.mask or ""], planner.program
    program.read_out(0, planner.symbol[[mask]], B)
    program.read_out(1, planner.symbol[planner.writable], B)
    predictor.program.read_out(np.arange(len(source.vocabulary)), predictor.symbol, B)
    both = {"planner": planner, "predictor": predictor}
    transformers = {name: assemble(body.program, source.precision) for name, body in both.items()}
    stem = f"{STEM}:{factor}"
    model = converted_model(source, stem, steps=-(-source.steps // factor), transformers=transformers)
    return Conversion(model, _alignment(source, predictor, factor, skipped))


def _unrolled(source: Model, factor: int, skipped: int, outputs: int | None) -> DenoisingProgram:
    """Return a program that runs `factor` steps; the first pass skips the first `left_out` of them."""
    body = DenoisingProgram(source, outputs=outputs, noisy=False, causal=not skipped)
    program, idle = body.program, None
    if skipped:
        average, busy, first = (program.register(name) for name in ("written slots", "later pass", "first pass"))
        idle = Idle(first, busy)
    for number in range(factor):
        before = len(program.layers)
        body.add_step(idle if number < skipped else None)
        if idle is not None and number == 0:  # the first two layers of the body read other columns
            layer, following = program.layers[before : before + 2]
            head = everywhere(layer)
            hide(head, body.given, copies=1)
            detect(head, layer.mlp, body.symbol[body.writable], average, idle.busy)
            following.mlp.write(conjunction(following.mlp, program.one, [idle.busy]), idle.idle)
    return body


def _alignment(source: Model, body: DenoisingProgram, factor: int, skipped: int) -> Alignment:
    """Return the alignment: step t of the source is step (t + left out) mod c of pass (t + left out) div c."""
    per_step = len(body.program.layers) // factor
    slots = np.arange(source.rows - source.padding, source.rows)

    def stream(trace: Trace, t: int, layer: int) -> np.ndarray:
        number, step = divmod(t + skipped, factor)
        return trace.activations[f"steps.{number}.predictor.layers.{step * per_step + layer}.residual"]

    def canvas(trace: Trace, t: int) -> list[str]:
        number, step = divmod(t + skipped, factor)
        if step == factor - 1:
            return trace.symbols(trace.canvas[number])
        one_hot = stream(trace, t, per_step - 1)[np.ix_(slots, body.symbol)]
        largest = one_hot.argmax(axis=1)
        return [source.vocabulary[k] if row.any() else "?" for row, k in zip(one_hot, largest, strict=True)]

    def simulated(trace: Trace, t: int, name: str, layer: int) -> np.ndarray:
        return stream(trace, t, layer + 1)[:, body.simulations[name].work]

    copies = tuple(
        StoredStream(f"steps.{{t}}.{name}.layers.{layer}.residual", partial(simulated, name=name, layer=layer))
        for name, simulation in body.simulations.items()
        for layer in range(simulation.depth)
    )
    return Alignment(canvas, copies)


def speed_up_by(factor: int) -> Theorem:
    """Return the theorem for one factor c."""
    if not 1 <= factor <= MOST_STEPS:
        raise UnmaskError(f"{STEM} takes 1 … {MOST_STEPS} steps per pass, not {factor}; use for instance {STEM}:2")
    convert, most = partial(mdm_speed_up, factor), partial(bound, factor)
    return Theorem(f"{STEM}:{factor}", "own:mdm-speed-up*", "mdm", "mdm", convert, most)


MDM_SPEED_UP = replace(speed_up_by(2), stem=STEM)
"""Two steps per pass; `mdm_speed_up:3` takes three."""
