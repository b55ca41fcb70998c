"""Is a predictor right in every partially masked context? (assumption:perfect-approximation)

A task is a finite law over complete canvases. Its contexts are all ways to mask some slots of a canvas that
has a positive chance; the true conditional of a masked slot is the law's, given what is not masked. A
predictor is perfect if its conditional is the true one at every masked slot of every context.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np

from unmask.engines.engine import Engine
from unmask.numerics.gumbel_law import gumbel_law
from unmask.reasoners.decoding import decode
from unmask.reasoners.frame import Frame
from unmask.weights.model import Model

Canvas = tuple[str, ...]
Law = Mapping[str, Fraction]
Conditionals = Callable[[Canvas], Mapping[int, Law]]
"""A partially masked canvas → the law of every masked slot."""


@dataclass(frozen=True)
class Imperfection:
    """A context in which a predictor is wrong."""

    context: Canvas
    slot: int
    predicted: dict[str, Fraction]
    true: dict[str, Fraction]


@dataclass(frozen=True)
class Task:
    """A law over complete canvases, for one input."""

    law: Mapping[Canvas, Fraction]
    mask: str

    def contexts(self) -> Iterator[Canvas]:
        """Every partially masked canvas with at least one mask that the task can show, each once."""
        seen: set[Canvas] = set()
        for canvas, chance in self.law.items():
            if not chance:
                continue
            for hidden in product((True, False), repeat=len(canvas)):
                context = tuple(self.mask if h else s for s, h in zip(canvas, hidden, strict=True))
                if any(hidden) and context not in seen:
                    seen.add(context)
                    yield context

    def conditionals(self, context: Canvas) -> dict[int, dict[str, Fraction]]:
        """P(slot i = s | context) for every masked slot i."""
        fits = {
            canvas: chance
            for canvas, chance in self.law.items()
            if chance and all(c in (self.mask, s) for c, s in zip(context, canvas, strict=True))
        }
        whole = sum(fits.values())
        laws: dict[int, dict[str, Fraction]] = {i: {} for i, c in enumerate(context) if c == self.mask}
        for canvas, chance in fits.items():
            for i, law in laws.items():
                law[canvas[i]] = law.get(canvas[i], Fraction(0)) + chance / whole
        return laws


def perfect(predictor: Conditionals, conditionals: Conditionals, contexts: Iterator[Canvas]) -> list[Imperfection]:
    """Every context and slot in which the predictor's law is not the true one; empty means perfect."""
    wrong = []
    for context in contexts:
        predicted, true = predictor(context), conditionals(context)
        for slot, law in true.items():
            ours = {s: p for s, p in predicted[slot].items() if p}
            if ours != {s: p for s, p in law.items() if p}:
                wrong.append(Imperfection(context, slot, ours, dict(law)))
    return wrong


def model_conditionals(model: Model, word: Sequence[int], *, engine: Engine, sampled: bool = False) -> Conditionals:
    """What the predictor of a masked diffusion model says of each masked slot.

    Deterministically, all mass is on the decoded symbol; sampled, it is the exact law of Gumbel-max.
    """
    name = "model" if model.kind == "topk" else "predictor"
    mask = model.token[model.mask or ""]

    def laws(context: Canvas) -> dict[int, dict[str, Fraction]]:
        frame = Frame(model, np.array([word], dtype=np.int64).reshape(1, -1), engine)
        session = frame.session(name)
        canvas = np.array([[model.token[s] for s in context]])
        logits = session.read(frame.before(canvas), (frame.first_row, model.rows))[0]
        return {i: law(logits[i]) for i, s in enumerate(context) if s == model.mask}

    def law(logits: np.ndarray) -> dict[str, Fraction]:
        if not sampled:
            return {model.vocabulary[int(decode(logits[None], model.precision, without=mask)[0])]: Fraction(1)}
        others = [s for i, s in enumerate(model.vocabulary) if i != mask]
        return dict(zip(others, gumbel_law(np.delete(logits, mask).tolist(), model.precision), strict=True))

    return laws
