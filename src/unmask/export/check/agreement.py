"""Does an exported transformer decide as the model does in F_p? Measured, pass by pass.

A row decides where one logit of F_p is above all others (the mask of a diffusion model left out). There the exported
logits must have their maximum at the same symbol; the margin is the distance to the second, in units of F_p's logits.
Where F_p ties, the lowest index wins there, and noise elsewhere: such rows are counted, not compared.

A margin below 95 % of that of F_p is refused as well, although the symbol is the right one: something leaks, and on
another word it may decide.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from unmask.errors import UnmaskError, shortened
from unmask.export.check.observed import Pass
from unmask.export.real.forward import Passes
from unmask.numerics.exponential import CERTAIN
from unmask.weights.model import DIFFUSION, Model

LEAST_SHARE = 0.95


class Disagreement(UnmaskError):
    """An exported form that would not decide as the model does."""


@dataclass(frozen=True)
class Agreement:
    """What was compared, and how clear the decisions were."""

    words: int
    passes: int
    decisions: int
    ties: int
    least_margin: float | None
    chosen_above: float | None

    def to_json(self) -> dict[str, object]:
        return dict(vars(self))


@dataclass(frozen=True)
class Decisions:
    """The rows of one pass that decide, [batch, rows], the symbol of each, and how clear F_p is about it."""

    clear: np.ndarray
    symbol: np.ndarray
    margin: np.ndarray


def decisions(logits: np.ndarray, without: int | None) -> Decisions:
    """Of F_p's logits."""
    scores = logits.astype(np.int64)
    if without is not None:
        scores[..., without] = np.iinfo(np.int32).min
    second, first = (
        np.sort(scores, axis=-1)[..., -2:].transpose(2, 0, 1) if scores.shape[-1] > 1 else (scores[..., 0],) * 2
    )
    return Decisions(first > second, scores.argmax(axis=-1), first - second)


def mask_of(model: Model, part: str) -> int | None:
    """The token that is left out of the argmax."""
    return model.token[model.mask or ""] if model.kind in DIFFUSION and part != "planner" else None


def least_clear(passes: Sequence[Pass], model: Model, part: str) -> int:
    """The least margin of F_p's own decisions, in units of 2^-p."""
    decided = [decisions(done.logits, mask_of(model, part)) for done in passes]
    return min((int(d.margin[d.clear].min()) for d in decided if d.clear.any()), default=model.precision.bound)


def logit_scale(passes: Sequence[Pass], model: Model, part: str) -> float:
    """The least power of two with which every decision of F_p has a probability of exactly 1.

    The margin of the exported form may be 5 % smaller than that of F_p. After scaling, all other probabilities are 0
    in float32, and their sum is below 2^-54 in float64.
    """
    least = LEAST_SHARE * least_clear(passes, model, part) / model.precision.one
    scale = 1.0
    while scale * least < CERTAIN:
        scale *= 2
    return scale


def compare(
    model: Model, part: str, passes: Sequence[Pass], exported: Passes, *, scale: float = 1.0, form: str = "plain"
) -> Agreement:
    """Every pass through the exported transformer; a decision that differs is an error that says where."""
    tally = _Tally(model, part, form)
    for done in passes:
        logits = exported(done.tokens)[:, done.rows[0] : done.rows[1], : done.logits.shape[-1]]
        tally.take(done, logits.astype(np.float64) / scale)
    if tally.share < LEAST_SHARE:
        raise Disagreement(tally.leak())
    return tally.agreement()


@dataclass
class _Tally:
    """What has been compared so far."""

    model: Model
    part: str
    form: str
    words: set[bytes] = field(default_factory=set)
    passes: int = 0
    decisions: int = 0
    ties: int = 0
    margin: float = np.inf
    share: float = np.inf
    sure: list[tuple[float, float]] = field(default_factory=list)

    def take(self, done: Pass, logits: np.ndarray) -> None:
        without = mask_of(self.model, self.part)
        if without is not None:
            logits[..., without] = -np.inf
        if not np.isfinite(logits.max(axis=-1)).all():
            raise Disagreement(
                f"the {self.form} form of the {self.part} overflows; use --to torch --exact or --to onnx --exact"
            )
        right = decisions(done.logits, without)
        wrong = right.clear & (logits.argmax(axis=-1) != right.symbol)
        if wrong.any():
            raise Disagreement(self.difference(done, logits, wrong, right.symbol))
        self.words.update(row.tobytes() for row in done.tokens[:, : self.model.rows - self.model.padding])
        self.passes += len(done.tokens)
        self.decisions += int(right.clear.sum())
        self.ties += int((~right.clear).sum())
        if right.clear.any() and logits.shape[-1] > 1:
            second, first = np.sort(logits[right.clear], axis=-1)[:, -2:].T
            self.margin = min(self.margin, float((first - second).min()))
            in_units = (first - second) * self.model.precision.one
            self.share = min(self.share, float((in_units / right.margin[right.clear]).min()))
        if self.model.kind == "topk":
            self.sure += _confidences(self.model, done, logits, without)

    def agreement(self) -> Agreement:
        return Agreement(
            words=len(self.words),
            passes=self.passes,
            decisions=self.decisions,
            ties=self.ties,
            least_margin=None if np.isinf(self.margin) else round(self.margin, 4),
            chosen_above=_between(self.sure, self.form) if self.sure else None,
        )

    def difference(self, done: Pass, logits: np.ndarray, wrong: np.ndarray, symbols: np.ndarray) -> str:
        word, row = (int(i) for i in np.argwhere(wrong)[0])
        names = self.model.vocabulary if self.part != "planner" else ("keep", "take")
        start = self.model.begin is not None
        shown = " ".join(self.model.symbols(done.tokens[word, start : start + self.model.length]))
        return (
            f"the {self.form} form of the {self.part} disagrees with F_{self.model.precision.p}: at row "
            f"{row + done.rows[0]} of the word {shortened(shown)!r} it decides "
            f"{names[int(logits[word, row].argmax())]!r}, but F_p decides {names[int(symbols[word, row])]!r}, "
            "because floats do not round and clip like F_p; use --to torch --exact or --to onnx --exact"
        )

    def leak(self) -> str:
        return (
            f"the {self.form} form of the {self.part} agrees with F_{self.model.precision.p} on the checked "
            "words, but with "
            f"only {self.share:.0%} of its margin, so it may differ on another word; "
            "use --to torch --exact or --to onnx --exact"
        )


def _confidences(model: Model, done: Pass, logits: np.ndarray, without: int | None) -> list[tuple[float, float]]:
    """Of a topk model: the least confidence of what is chosen, the largest of what is not, per word."""
    writable = np.arange(logits.shape[-1]) != without
    scores, sure = done.logits[..., writable].max(axis=-1), logits[..., writable].max(axis=-1)
    if model.k is None:
        chosen = scores > -model.precision.bound
        return [(sure[chosen].min(initial=np.inf), sure[~chosen].max(initial=-np.inf))]
    order = np.argsort(-scores, axis=-1, kind="stable")
    chosen = np.zeros_like(scores, dtype=bool)
    np.put_along_axis(chosen, order[:, : model.k], True, axis=-1)
    for row, picked in zip(sure, chosen, strict=True):
        if row[picked].min(initial=np.inf) <= row[~picked].max(initial=-np.inf):
            raise Disagreement(
                f"ties of F_{model.precision.p} determine the {model.k} most confident slots, and floats do "
                "not preserve these ties; "
                "use --to torch --exact or --to onnx --exact"
            )
    return []


def _between(sure: list[tuple[float, float]], form: str) -> float:
    """A confidence that tells the slots that a topk model without k chooses from the others."""
    chosen, others = min(low for low, _ in sure), max(high for _, high in sure)
    if chosen <= others:
        raise Disagreement(
            f"in the {form} form no confidence threshold separates the slots that this topk model chooses "
            "from the others; "
            "use --to torch --exact or --to onnx --exact"
        )
    low = others if np.isfinite(others) else chosen - 1
    return round(float((chosen + low) / 2), 4)
