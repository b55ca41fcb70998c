"""Masked diffusion: planner and predictor fill a canvas of masks (kinds mdm, smdm, topk).

    y⁽⁰⁾ = m^P
    u    = planner(w · y),  x = predictor(w · y)
    y'_i = x_i  where u_i = 1,  y_i  elsewhere                    T times

The predictor can never write the mask: its row of `out` is left out of the argmax. `smdm` is mask-dominated:
a planner that chooses a written slot is an error. `topk` has one transformer: with k, the k slots of the
largest maximal logit are chosen; without, every slot whose maximal logit is above -B. Under sampling the
symbols are drawn, but a slot's confidence is that of the logits without noise.
"""

from collections.abc import Callable, Iterator

import numpy as np

from unmask.errors import EditsWrittenSlot
from unmask.reasoners.decoding import confidence, decode
from unmask.reasoners.frame import Frame, Step
from unmask.reasoners.planners import Confidence, Situation
from unmask.reasoners.tape import OTHER, PLANNER

Planned = Callable[[int, np.ndarray], np.ndarray]
"""(step, canvas) → the chosen slots, by the model's own planner."""


def masked_diffusion(frame: Frame) -> Iterator[Step]:
    """T steps with the model's own planner; with a planner from outside, until no slot is masked."""
    model = frame.model
    mask = model.token[model.mask or ""]
    name = "model" if model.kind == "topk" else "predictor"
    session = frame.session(name)
    plan = None if frame.planner or model.kind == "topk" else _own_planner(frame)
    slots = (frame.first_row, model.rows)
    canvas = frame.copies(model.mask, model.padding)
    step = 0
    while step < model.steps if frame.planner is None else bool((canvas == mask).any()):
        chosen = plan(step, canvas) if plan else None
        watch = frame.watching(f"steps.{step}.{name}")
        logits = session.read(frame.before(canvas), slots, watch=watch)
        if chosen is None:
            chosen = _by_confidence(frame, step, canvas == mask, confidence(logits, frame.precision, without=mask))
        noise = frame.noise(step, OTHER, slots, len(model.vocabulary))
        symbols = decode(logits, frame.precision, noise=noise, without=mask)
        canvas = np.where(chosen, symbols, canvas)
        yield Step(canvas, chosen)
        step += 1


def _own_planner(frame: Frame) -> Planned:
    model = frame.model
    session = frame.session("planner")
    slots = (frame.first_row, model.rows)
    mask = model.token[model.mask or ""]

    def plan(step: int, canvas: np.ndarray) -> np.ndarray:
        watch = frame.watching(f"steps.{step}.planner")
        decisions = session.read(frame.before(canvas), slots, watch=watch)
        chosen = decode(decisions, frame.precision, noise=frame.noise(step, PLANNER, slots, 2)) == 1
        if model.kind == "smdm" and (chosen & (canvas != mask)).any():
            word, slot = np.argwhere(chosen & (canvas != mask))[0]
            raise EditsWrittenSlot(step=step, slot=int(slot), symbol=model.vocabulary[canvas[word, slot]])
        return chosen

    return plan


def _by_confidence(frame: Frame, step: int, masked: np.ndarray, sure: np.ndarray) -> np.ndarray:
    """A planner from outside, or the rule of a topk model, whose slots compete whether masked or not."""
    if frame.planner is not None:
        return frame.planner.choose(Situation(step, frame.first_row, masked, sure, frame.precision))
    if frame.model.k is None:
        return sure > -frame.precision.bound
    everywhere = np.ones_like(masked)
    return Confidence(frame.model.k).choose(Situation(step, frame.first_row, everywhere, sure, frame.precision))
