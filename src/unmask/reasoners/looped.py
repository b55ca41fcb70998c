"""Padded looped transformer (kind plt).

    w · □^P → layers [0, l1) once, [l1, l2) T times, the rest once → the last rows decode to the answers

Stochastic: noise from the tape is added to the listed columns before each of the T loops. (The paper adds it
after each loop, so that the first loop has none and the last noise is never read; def:stochastic-looped-transformer.)
"""

from unmask.budget import stage
from unmask.reasoners.medium import Choice, Logits, Medium, Residual, Symbols, Tokens


def looped(medium: Medium[Tokens, Logits, Symbols, Choice, Residual]) -> Tokens:
    """The answers alone: one row each, the last `outputs` rows in order."""
    model = medium.model
    first, last, count = model.loop
    residual = medium.embed(medium.copies(model.pad, model.padding))
    residual = medium.layers("initial", residual, 0, first)
    for step in stage("loops", range(model.steps)):
        residual = medium.layers(step, medium.noisy(step, residual), first, last)
    residual = medium.layers("final", residual, last, count)
    return medium.written(medium.decode(medium.last_rows(residual, model.answer_rows)))
