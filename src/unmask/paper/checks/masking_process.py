"""The forward masking process, which produces the training data of masked diffusion, and perfect predictors.

    w_i stays with probability α(t/T), becomes m with 1 - α(t/T), independently;   α(0) = 1, α(1) = 0

(Eq. "otherwise" of the paper must also require that a symbol that stays is the original one, and the product
runs over the generated positions.)
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np

from unmask.engines.engine import Engine
from unmask.numerics.noise import gumbel_law
from unmask.reasoners.array_medium import RunSetup
from unmask.reasoners.decoding import OTHER, Tape, decode
from unmask.weights.model import Model

Schedule = Callable[[Fraction], Fraction]


def linear(x: Fraction) -> Fraction:
    """Return α(x) = 1 - x."""
    return 1 - x


def polynomial(degree: int) -> Schedule:
    """Return the schedule α(x) = 1 - x^degree, with which symbols stay longer."""

    def alpha(x: Fraction) -> Fraction:
        return 1 - x**degree

    return alpha


def forward_mask(word: Sequence[str], t: int, T: int, *, mask: str, tape: Tape, alpha: Schedule = linear) -> list[str]:
    """Return the word at time t of T; symbol i stays if u_i < α, where u_i is the i-th word of the tape at step t."""
    if not 0 <= t <= T or T < 1:
        raise ValueError(f"the time must satisfy 0 <= t <= T and 1 <= T, not t = {t}, T = {T}")
    chance = alpha(Fraction(t, T))
    if not 0 <= chance <= 1:
        raise ValueError(f"the schedule gives α({t}/{T}) = {chance}, which is not a probability")
    raw = tape.raw(t, OTHER, 0, len(word))
    stays = [int(r) * chance.denominator < chance.numerator << 64 for r in raw]
    return [symbol if keep else mask for symbol, keep in zip(word, stays, strict=True)]


# Does a predictor give the true law in every partially masked context? (assumption:perfect-approximation)
#
# A task is a finite law over complete canvases. Its contexts are all ways to mask some slots of a canvas with a
# positive chance. The true conditional of a masked slot is that of the law, given the other slots. A predictor is
# perfect if its conditional is the true one at every masked slot of every context.


Canvas = tuple[str, ...]
Law = Mapping[str, Fraction]
Conditionals = Callable[[Canvas], Mapping[int, Law]]
"""A partially masked canvas → the law of every masked slot."""


@dataclass(frozen=True)
class Imperfection:
    """A masked slot of a context, at which the law of a predictor is not the true one."""

    context: Canvas
    slot: int
    predicted: dict[str, Fraction]
    true: dict[str, Fraction]


@dataclass(frozen=True)
class CanvasLaw:
    """A law over complete canvases, for one input."""

    law: Mapping[Canvas, Fraction]
    mask: str

    def contexts(self) -> Iterator[Canvas]:
        """Yield every partially masked canvas with at least one mask that can occur in the task, each once."""
        yielded: set[Canvas] = set()
        for canvas, chance in self.law.items():
            if not chance:
                continue
            for hidden in product((True, False), repeat=len(canvas)):
                context = tuple(self.mask if h else s for s, h in zip(canvas, hidden, strict=True))
                if any(hidden) and context not in yielded:
                    yielded.add(context)
                    yield context

    def conditionals(self, context: Canvas) -> dict[int, dict[str, Fraction]]:
        """Return P(slot i = s | context) for every masked slot i."""
        matching = {
            canvas: chance
            for canvas, chance in self.law.items()
            if chance and all(c in (self.mask, s) for c, s in zip(context, canvas, strict=True))
        }
        total = sum(matching.values())
        laws: dict[int, dict[str, Fraction]] = {i: {} for i, c in enumerate(context) if c == self.mask}
        for canvas, chance in matching.items():
            for i, law in laws.items():
                law[canvas[i]] = law.get(canvas[i], Fraction(0)) + chance / total
        return laws


def perfect(predictor: Conditionals, conditionals: Conditionals, contexts: Iterator[Canvas]) -> list[Imperfection]:
    """Return every context and slot at which the predictor's law is not the true one; an empty list means perfect."""
    wrong = []
    for context in contexts:
        predicted, true = predictor(context), conditionals(context)
        for slot, law in true.items():
            possible = {s: p for s, p in predicted[slot].items() if p}
            if possible != {s: p for s, p in law.items() if p}:
                wrong.append(Imperfection(context, slot, possible, dict(law)))
    return wrong


def model_conditionals(model: Model, word: Sequence[int], *, engine: Engine, sampled: bool = False) -> Conditionals:
    """Return the predictor's law of each masked slot, for a masked diffusion model.

    Without `sampled`, the decoded symbol has probability 1. With it, the law is the exact one of Gumbel-max.
    """
    name = "model" if model.kind == "topk" else "predictor"
    mask = model.token[model.mask or ""]

    def laws(context: Canvas) -> dict[int, dict[str, Fraction]]:
        frame = RunSetup(model, np.array([word], dtype=np.int64).reshape(1, -1), engine)
        session = frame.session(name)
        canvas = np.array([[model.token[s] for s in context]])
        logits = session.read(frame.before(canvas), (frame.first_row, model.rows))[0]
        return {i: law(logits[i]) for i, s in enumerate(context) if s == model.mask}

    def law(logits: np.ndarray) -> dict[str, Fraction]:
        if not sampled:
            return {model.vocabulary[int(decode(logits[None], model.precision, without=mask)[0])]: Fraction(1)}
        writable = [s for i, s in enumerate(model.vocabulary) if i != mask]
        return dict(zip(writable, gumbel_law(np.delete(logits, mask).tolist(), model.precision), strict=True))

    return laws
