"""Masked diffusion: planner and predictor fill a canvas of masks (kinds mdm, smdm, topk).

    y⁽⁰⁾ = m^P
    u    = planner(w · y),  x = predictor(w · y)
    y'_i = x_i  where u_i = 1,  y_i  elsewhere                    T times

The predictor can never write the mask: its row of `out` is left out of the argmax. `smdm` is mask-dominated:
a planner that chooses a written slot is an error. `topk` has one transformer: with k, the k slots of the
largest maximal logit are chosen, whether masked or not; without, every slot whose maximal logit is above -B. Under
sampling the symbols are drawn, but a slot's confidence is that of the logits without noise.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Generic

from unmask.reasoners.medium import Choice, Logits, Medium, Residual, Symbols, Tokens


@dataclass(frozen=True)
class OutsidePlanner(Generic[Tokens, Logits, Choice]):
    """A planner that replaces the model's own: (step, canvas, logits) → the slots to take; it ends the run, too."""

    goes_on: Callable[[Tokens], bool]
    choose: Callable[[int, Tokens, Logits], Choice]


def masked_diffusion(
    medium: Medium[Tokens, Logits, Symbols, Choice, Residual],
    outside: OutsidePlanner[Tokens, Logits, Choice] | None = None,
) -> Iterator[tuple[Tokens, Choice]]:
    """After every step, the canvas and which slots were taken: T steps, or as many as a planner from outside wants."""
    model = medium.model
    mask = model.token[model.mask or ""]
    name = "model" if model.kind == "topk" else "predictor"
    canvas = medium.copies(model.mask, model.padding)
    step = 0
    while step < model.steps if outside is None else outside.goes_on(canvas):
        plan = None if outside or model.kind == "topk" else _planned(medium, step, canvas)
        logits = medium.read(step, name, canvas, model.padding, asked=plan)
        if outside is not None:
            plan = outside.choose(step, canvas, logits)
        choice = _by_confidence(medium, logits, mask) if plan is None else plan
        canvas = medium.overwrite(canvas, choice, medium.decode(logits, without=mask))
        yield canvas, choice
        step += 1


def _planned(medium: Medium[Tokens, Logits, Symbols, Choice, Residual], step: int, canvas: Tokens) -> Choice:
    """u, by the model's own planner."""
    choice = medium.taken(medium.read(step, "planner", canvas, medium.model.padding))
    return medium.masks_alone(step, choice, canvas) if medium.model.kind == "smdm" else choice


def _by_confidence(medium: Medium[Tokens, Logits, Symbols, Choice, Residual], logits: Logits, mask: int) -> Choice:
    """The rule of a topk model, whose slots compete whether masked or not."""
    k = medium.model.k
    return medium.above_least(logits, without=mask) if k is None else medium.surest(logits, k, without=mask)
