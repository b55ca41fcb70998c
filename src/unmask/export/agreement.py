"""Model × forward pass → Agreement: does an exported transformer decide as the model does in F_p?

The words come from the model's problem and its alphabet (`words_to_compare`), the passes from its own run in F_p
(`observe_passes`); a diffusion model is also run in other orders, because published samplers use them.

A row decides if one logit of F_p is above all others (without the mask of a diffusion model). The exported logits must
then have their maximum at the same symbol. The margin is the distance to the second largest logit, in units of F_p's
logits. If logits tie in F_p, the lowest index wins, while floats decide by rounding noise: such rows are counted, not
compared.

A margin below 95 % of that of F_p is refused even if the symbol is correct: attention leaks, and on another word this
leak may change the decision.
"""

import random
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np

from unmask.api import verify_model
from unmask.engines.engine import Engine, Footprint, Session, Watch
from unmask.engines.fast import FastEngine
from unmask.errors import AttendsToNothing, UnmaskError, shortened
from unmask.export.real_transformer import Passes
from unmask.numerics.arithmetic import CERTAIN
from unmask.reasoners.array_medium import RunSetup
from unmask.reasoners.decoding import Tape
from unmask.reasoners.planners import LeftToRight, Uniform
from unmask.reasoners.run_words import steps
from unmask.reasoners.typed_words import read_word
from unmask.weights.kinds import DIFFUSION
from unmask.weights.model import Model
from unmask.weights.transformer import Transformer

SEED = 20


def words_to_compare(model: Model, count: int) -> np.ndarray:
    """Return token ids [batch, N]: at most `count` words, half drawn from the problem, half from the alphabet."""
    rng = random.Random(SEED)
    words = [read_word(model, word) for word in _problem_words(model, count - count // 2)]
    letters = [model.token[symbol] for symbol in model.input_symbols]
    for i in range(count // 2):
        # every third word has nearly only one letter, to test averages and long runs
        favoured = rng.choice(letters) if letters else 0
        words.append(
            [favoured if i % 3 == 0 and rng.random() < 0.9 else rng.choice(letters) for _ in range(model.length)]
        )
    return np.unique(np.array(words, dtype=np.int64).reshape(len(words), model.length), axis=0)


def _problem_words(model: Model, count: int) -> list[str]:
    """Return members, non-members and words close to them, as `verify --method sample` draws them."""
    drawn_words: list[str] = []

    def record(words: Iterable[str], _: int) -> Iterator[str]:
        for word in words:
            drawn_words.append(word)
            yield word

    try:
        verify_model(model, method="sample", cases=count, seed=SEED, progress=record)
    except UnmaskError:  # the folder may name no problem or a wrong one: its problem is only a comment
        return []
    return drawn_words


@dataclass(frozen=True, eq=False)
class ObservedPass:
    """tokens [batch, seq], and the logits of the rows [first, last), [batch, rows, outputs]."""

    tokens: np.ndarray
    rows: tuple[int, int]
    logits: np.ndarray


@dataclass
class RecordingEngine:
    """An engine whose sessions record every pass of one transformer."""

    transformer_name: str
    engine: Engine = field(default_factory=FastEngine)
    passes: list[ObservedPass] = field(default_factory=list)
    name: str = "observing"

    def footprint(self, transformer: Transformer, batch: int, *, watched: bool = False) -> Footprint:
        return self.engine.footprint(transformer, batch, watched=watched)

    def session(self, transformer: Transformer, *, name: str = "model") -> Session:
        session = self.engine.session(transformer, name=name)
        return _RecordingSession(session, self.passes) if name == self.transformer_name else session


@dataclass
class _RecordingSession:
    session: Session
    passes: list[ObservedPass]
    tokens: np.ndarray = field(default_factory=lambda: np.zeros((0, 0), dtype=np.int64))

    def read(self, tokens: np.ndarray, rows: tuple[int, int], *, watch: Watch | None = None) -> np.ndarray:
        logits = self.session.read(tokens, rows, watch=watch)
        self.passes.append(ObservedPass(tokens, rows, logits))
        return logits

    def embed(self, tokens: np.ndarray, *, watch: Watch | None = None) -> np.ndarray:
        self.tokens = tokens
        return self.session.embed(tokens, watch=watch)

    def layers(self, residual: np.ndarray, first: int, last: int, *, watch: Watch | None = None) -> np.ndarray:
        return self.session.layers(residual, first, last, watch=watch)

    def logits(self, residual: np.ndarray) -> np.ndarray:
        """Record the logits of a looped model, which are those of the last rows."""
        logits = self.session.logits(residual)
        self.passes.append(
            ObservedPass(self.tokens, (self.tokens.shape[1] - logits.shape[1], self.tokens.shape[1]), logits)
        )
        return logits


def observe_passes(model: Model, transformer_name: str, words: np.ndarray) -> list[ObservedPass]:
    """Return every pass of the named transformer over the words, token ids [batch, N]."""
    engine = RecordingEngine(transformer_name)
    _run(RunSetup(model, words, engine))
    if model.kind in DIFFUSION and transformer_name != "planner":
        third = max(1, model.padding // 3)
        for planner in (LeftToRight(third), Uniform(third, Tape(0))):
            # a conversion may divide by zero on canvases that its own planner never reaches
            with suppress(AttendsToNothing):
                _run(RunSetup(model, words[:8], engine, planner=planner))
    return engine.passes


def _run(setup: RunSetup) -> None:
    for _ in steps(setup):
        pass


SlotOrder = list[list[int]]


def planned_order(model: Model, words: np.ndarray) -> SlotOrder | None:
    """Return the slots that are written in each step; None if they depend on the word or the model has no canvas."""
    if model.kind not in DIFFUSION:
        return None
    order = []
    for step in steps(RunSetup(model, words, FastEngine())):
        if (step.chosen != step.chosen[0]).any():
            return None
        order.append(np.flatnonzero(step.chosen[0]).tolist())
    return order


LEAST_SHARE = 0.95
USE_EXACT = "use --to torch --exact or --to onnx --exact"


class ExportDisagreement(UnmaskError):
    """Raised if an exported form would decide differently from the model."""


@dataclass(frozen=True)
class Agreement:
    """The number of compared words, passes and decisions, and the margins of the decisions."""

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
    """Which rows of a pass decide, [batch, rows], the symbol of each row, and its margin in F_p."""

    clear: np.ndarray
    symbol: np.ndarray
    margin: np.ndarray


def decisions(logits: np.ndarray, without: int | None) -> Decisions:
    """Return the decisions of logits in F_p."""
    scores = logits.astype(np.int64)
    if without is not None:
        scores[..., without] = np.iinfo(np.int32).min
    second, first = (
        np.sort(scores, axis=-1)[..., -2:].transpose(2, 0, 1) if scores.shape[-1] > 1 else (scores[..., 0],) * 2
    )
    return Decisions(first > second, scores.argmax(axis=-1), first - second)


def mask_of(model: Model, transformer_name: str) -> int | None:
    """Return the token that is excluded from the argmax."""
    return model.token[model.mask or ""] if model.kind in DIFFUSION and transformer_name != "planner" else None


def least_clear(passes: Sequence[ObservedPass], model: Model, transformer_name: str) -> int:
    """Return the least margin of the decisions in F_p, in units of 2^-p."""
    decided = [decisions(observed.logits, mask_of(model, transformer_name)) for observed in passes]
    return min((int(d.margin[d.clear].min()) for d in decided if d.clear.any()), default=model.precision.bound)


def logit_scale(passes: Sequence[ObservedPass], model: Model, transformer_name: str) -> float:
    """Return the least power of two with which every decision of F_p has a probability of exactly 1.

    The margin of the exported form may be 5 % smaller than that of F_p. After scaling, all other probabilities are 0
    in float32, and their sum is below 2^-54 in float64.
    """
    least = LEAST_SHARE * least_clear(passes, model, transformer_name) / model.precision.one
    scale = 1.0
    while scale * least < CERTAIN:
        scale *= 2
    return scale


def compare_passes(
    model: Model,
    transformer_name: str,
    passes: Sequence[ObservedPass],
    exported: Passes,
    *,
    scale: float = 1.0,
    form: str = "plain",
) -> Agreement:
    """Run every pass through the exported transformer; raise an error that names the first decision that differs."""
    tally = _DecisionTally(model, transformer_name, form)
    for observed in passes:
        logits = exported(observed.tokens)[:, observed.rows[0] : observed.rows[1], : observed.logits.shape[-1]]
        tally.take(observed, logits.astype(np.float64) / scale)
    if tally.share < LEAST_SHARE:
        raise ExportDisagreement(tally.leak())
    return tally.agreement()


@dataclass
class _DecisionTally:
    """The results of the comparison so far."""

    model: Model
    transformer_name: str
    form: str
    words: set[bytes] = field(default_factory=set)
    passes: int = 0
    decisions: int = 0
    ties: int = 0
    margin: float = np.inf
    share: float = np.inf
    confidences: list[tuple[float, float]] = field(default_factory=list)

    def take(self, observed: ObservedPass, logits: np.ndarray) -> None:
        without = mask_of(self.model, self.transformer_name)
        if without is not None:
            logits[..., without] = -np.inf
        if not np.isfinite(logits.max(axis=-1)).all():
            raise ExportDisagreement(f"the {self.form} form of the {self.transformer_name} overflows; {USE_EXACT}")
        expected = decisions(observed.logits, without)
        differs = expected.clear & (logits.argmax(axis=-1) != expected.symbol)
        if differs.any():
            raise ExportDisagreement(self.difference(observed, logits, differs, expected.symbol))
        self.words.update(row.tobytes() for row in observed.tokens[:, : self.model.rows - self.model.padding])
        self.passes += len(observed.tokens)
        self.decisions += int(expected.clear.sum())
        self.ties += int((~expected.clear).sum())
        if expected.clear.any() and logits.shape[-1] > 1:
            second, first = np.sort(logits[expected.clear], axis=-1)[:, -2:].T
            self.margin = min(self.margin, float((first - second).min()))
            in_units = (first - second) * self.model.precision.one
            self.share = min(self.share, float((in_units / expected.margin[expected.clear]).min()))
        if self.model.kind == "topk":
            self.confidences += _topk_confidences(self.model, observed, logits, without)

    def agreement(self) -> Agreement:
        return Agreement(
            words=len(self.words),
            passes=self.passes,
            decisions=self.decisions,
            ties=self.ties,
            least_margin=None if np.isinf(self.margin) else round(self.margin, 4),
            chosen_above=_threshold_between(self.confidences, self.form) if self.confidences else None,
        )

    def difference(self, observed: ObservedPass, logits: np.ndarray, differs: np.ndarray, symbols: np.ndarray) -> str:
        word, row = (int(i) for i in np.argwhere(differs)[0])
        names = self.model.vocabulary if self.transformer_name != "planner" else ("keep", "take")
        start = self.model.begin is not None
        word_text = " ".join(self.model.symbols(observed.tokens[word, start : start + self.model.length]))
        return (
            f"the {self.form} form of the {self.transformer_name} disagrees with F_{self.model.precision.p}: at row "
            f"{row + observed.rows[0]} of the word {shortened(word_text)!r} it decides "
            f"{names[int(logits[word, row].argmax())]!r}, but F_p decides {names[int(symbols[word, row])]!r}, "
            f"because floats do not round and clip like F_p; {USE_EXACT}"
        )

    def leak(self) -> str:
        return (
            f"the {self.form} form of the {self.transformer_name} agrees with F_{self.model.precision.p} on the "
            f"checked words, but with only {self.share:.0%} of its margin, so it may differ on another word; "
            f"{USE_EXACT}"
        )


def _topk_confidences(
    model: Model, observed: ObservedPass, logits: np.ndarray, without: int | None
) -> list[tuple[float, float]]:
    """Return, for a topk model and each word, the least confidence of chosen slots and the largest of the others."""
    writable = np.arange(logits.shape[-1]) != without
    scores, confidences = observed.logits[..., writable].max(axis=-1), logits[..., writable].max(axis=-1)
    if model.k is None:
        chosen = scores > -model.precision.bound
        return [(confidences[chosen].min(initial=np.inf), confidences[~chosen].max(initial=-np.inf))]
    order = np.argsort(-scores, axis=-1, kind="stable")
    chosen = np.zeros_like(scores, dtype=bool)
    np.put_along_axis(chosen, order[:, : model.k], True, axis=-1)
    for row, picked in zip(confidences, chosen, strict=True):
        if row[picked].min(initial=np.inf) <= row[~picked].max(initial=-np.inf):
            raise ExportDisagreement(
                f"ties of F_{model.precision.p} determine the {model.k} most confident slots, and floats do "
                f"not preserve these ties; {USE_EXACT}"
            )
    return []


def _threshold_between(confidences: list[tuple[float, float]], form: str) -> float:
    """Return a confidence threshold that separates the slots chosen by a topk model without k from the others."""
    chosen, largest_other = min(low for low, _ in confidences), max(high for _, high in confidences)
    if chosen <= largest_other:
        raise ExportDisagreement(
            f"in the {form} form no confidence threshold separates the slots that this topk model chooses "
            f"from the others; {USE_EXACT}"
        )
    low = largest_other if np.isfinite(largest_other) else chosen - 1
    return round(float((chosen + low) / 2), 4)
