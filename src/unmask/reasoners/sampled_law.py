"""Model × word → the exact probability of every final canvas of sampling.

A pass of a masked diffusion model draws each slot independently: the planner's choice and the predictor's symbol are
Gumbel-max over the logits, whose law over all tapes is a rational number (`gumbel_law`). So the law of the canvas after
T passes follows from the logits of every canvas that is reached, without sampling.
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np

from unmask.engines.engine import Engine
from unmask.errors import TooLarge, UnmaskError
from unmask.numerics.noise import gumbel_law
from unmask.reasoners.array_medium import RunSetup
from unmask.weights.model import Model

MOST_CANVASES = 1 << 14

Tokens = tuple[int, ...]


def sampled_law(model: Model, word: Sequence[int] = (), *, engine: Engine) -> dict[Tokens, Fraction]:
    """Return the probability of every final canvas, as token ids of the slots, without aliases."""
    if model.kind not in ("mdm", "smdm"):
        raise UnmaskError(f"--law is computed for mdm and smdm, not for {model.kind}; convert the model to mdm")
    mask = model.token[model.mask or ""]

    @cache
    def chances(logits: tuple[int, ...], left_out: int | None) -> list[tuple[int, Fraction]]:
        symbols = [i for i in range(len(logits)) if i != left_out]
        law = gumbel_law([logits[i] for i in symbols], model.precision)
        return [(i, chance) for i, chance in zip(symbols, law, strict=True) if chance]

    def slot_law(token: int, planner: np.ndarray, predictor: np.ndarray) -> dict[int, Fraction]:
        take = dict(chances(tuple(planner.tolist()), None)).get(1, Fraction(0))
        law = {token: 1 - take} if take < 1 else {}
        if take:
            if model.kind == "smdm" and token != mask:
                raise UnmaskError("the planner of this smdm selects an unmasked slot; the model is not an smdm")
            for symbol, chance in chances(tuple(predictor.tolist()), mask):
                law[symbol] = law.get(symbol, Fraction(0)) + take * chance
        return law

    law: dict[Tokens, Fraction] = {(mask,) * model.padding: Fraction(1)}
    for _ in range(model.steps):
        canvases = list(law)
        setup = RunSetup(model, np.array([word] * len(canvases), dtype=np.int64).reshape(len(canvases), -1), engine)
        rows = (setup.first_row, model.rows)
        states = setup.before(np.array(canvases))
        read = {name: setup.session(name).read(states, rows) for name in ("planner", "predictor")}
        after: dict[Tokens, Fraction] = {}
        for i, canvas in enumerate(canvases):
            slots = [slot_law(token, read["planner"][i][j], read["predictor"][i][j]) for j, token in enumerate(canvas)]
            for outcome in product(*(slot.items() for slot in slots)):
                tokens = tuple(token for token, _ in outcome)
                chance = law[canvas]
                for _, factor in outcome:
                    chance *= factor
                after[tokens] = after.get(tokens, Fraction(0)) + chance
                if len(after) > MOST_CANVASES:
                    raise TooLarge(f"more than {MOST_CANVASES:,} canvases can be reached; sample this model instead")
        law = after
    return law
