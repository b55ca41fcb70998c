"""Rows of a model ↔ rows of a stock form: a begin symbol, the order of the slots, spare rows, shifted logits.

    row 0            the begin symbol, where positions are computed from the distance to it (`begin` of `Canvas`)
    rows behind it   the input, then the slots: slot j of the canvas is slot order[j] of the model
    spare rows       up to the largest length; invisible, and their prediction is [EOS]

The order of the slots is free, because a row is what the position table says. In the compiler's own order every slot
reads to its left, so that a causal mask goes unnoticed; in the reversed order it does not.
"""

from dataclasses import dataclass

import numpy as np

from unmask.errors import UnmaskError
from unmask.export.check.agreement import Disagreement
from unmask.export.real.forward import Passes
from unmask.weights.model import DIFFUSION, Model

NAMED_ORDERS = ("heap", "reversed")


@dataclass(frozen=True, eq=False)
class Canvas:
    """What stands in which row; `begin` is the token put before the model's rows, or None.

    `eos` is what spare rows predict; None in a loop, where they are invisible and what they hold may grow.
    """

    rows: int
    max_rows: int
    first_slot: int
    order: tuple[int, ...]
    begin: int | None
    filler: int
    eos: int | None
    shifted: bool = False

    @property
    def before(self) -> int:
        """The number of rows before those of the model: 1 if a begin symbol is put there."""
        return int(self.begin is not None)

    @property
    def permutation(self) -> np.ndarray:
        """Row i of the canvas, without the begin symbol, is this row of the model."""
        return np.append(np.arange(self.first_slot), self.first_slot + np.array(self.order, dtype=np.int64))

    @property
    def answer_slot(self) -> int:
        """The slot of the canvas that holds the answer, which is the last slot of the model."""
        return self.order.index(len(self.order) - 1)

    def slots(self, steps: list[list[int]] | None) -> list[list[int]] | None:
        """Slots of the model, step by step → slots of the canvas."""
        return steps and [sorted(self.order.index(slot) for slot in step) for step in steps]

    def tokens(self, tokens: np.ndarray, *, spare: int = 0) -> np.ndarray:
        """Tokens of the model's rows → those of the canvas, with so many spare rows."""
        if tokens.shape[1] == self.rows:
            tokens = tokens[:, self.permutation]
        front = np.full((len(tokens), self.before), 0 if self.begin is None else self.begin)
        return np.hstack([front, tokens, np.full((len(tokens), spare), self.filler)])

    def logits(self, logits: np.ndarray, rows: int) -> np.ndarray:
        """Logits of the canvas → those of the model's rows; shifted ones are one row early."""
        if self.shifted:
            logits = np.concatenate([logits[:, :1], logits[:, :-1]], axis=1)
        logits = logits[:, self.before : self.before + rows]
        return logits[:, np.argsort(self.permutation)] if rows == self.rows else logits

    def exported(self, whole: Passes, outputs: np.ndarray) -> Passes:
        """A pass over canvases → a pass over the model's rows, with the logits of these tokens."""
        return lambda tokens: self.logits(whole(self.tokens(tokens)), tokens.shape[1])[..., outputs]

    def exported_longest(self, whole: Passes, outputs: np.ndarray, form: str) -> Passes:
        """The same on the longest canvas; a spare row that does not predict [EOS] is refused."""
        spare = self.max_rows - self.before - self.rows

        def passes(tokens: np.ndarray) -> np.ndarray:
            canvas = self.tokens(tokens, spare=spare)
            logits = whole(canvas)
            first = canvas.shape[1] - spare - self.shifted
            said = logits[:, first : canvas.shape[1] - self.shifted].argmax(axis=-1)
            if self.eos is not None and (said != self.eos).any():
                raise Disagreement(
                    f"the {form} form predicts a symbol instead of [EOS] in an unused row; please report this model"
                )
            return self.logits(logits, tokens.shape[1])[..., outputs]

        return passes


def slot_order(model: Model, order: str | None) -> tuple[int, ...]:
    """`heap` (the compiler's own), `reversed`, or a list such as 2,0,1 → the slot of the model at each place.

    >>> slot_order(compile_problem("(a|b)*abb", "mdm", length=5), "reversed")
    (3, 2, 1, 0)
    """
    own = tuple(range(model.padding))
    if order is None or order == "heap":
        return own
    if model.kind not in DIFFUSION:
        raise UnmaskError(f"--order is for models with a canvas (mdm, smdm, topk), not for {model.kind}; leave it out")
    if order == "reversed":
        return own[::-1]
    try:
        chosen = tuple(int(part) for part in order.split(","))
    except ValueError:
        raise UnmaskError(
            f"--order {order!r} is neither heap nor reversed nor a list of slots such as 2,0,1; give one of these"
        ) from None
    if sorted(chosen) != list(own):
        raise UnmaskError(
            f"--order must name each of the slots 0 to {model.padding - 1} exactly once; "
            f"the list given has {len(chosen)} entries, {len(set(chosen) & set(own))} of these slots"
        )
    return chosen
