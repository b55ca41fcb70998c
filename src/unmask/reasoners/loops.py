"""The loops of all kinds of models, over any medium, and the interface of a medium.

    the same loop over          tokens are                       one run of the loop is
    arrays (`array_medium`)     integers, a batch of words       a run
    tables (verification/words) tables over the letters          all words at once
    wires (…/circuits)          one wire per symbol              a circuit
    a network (lab/)            integers, a batch of words       a run of a trained model

A loop decides what is read and written, and in which order. A medium computes it. A loop passes the last rows and slots
only; the medium adds the begin symbol and the input before them.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Generic, Literal, Protocol, TypeVar, runtime_checkable

from unmask.limits import stage
from unmask.weights.kinds import DIFFUSION, Kind

Tokens = TypeVar("Tokens")
"""A string of symbols after the input: the canvas, the pads, what was generated."""

Logits = TypeVar("Logits")
"""out·h of some rows."""

Symbols = TypeVar("Symbols")
"""The symbols to which rows decode, before they are written."""

Choice = TypeVar("Choice")
"""The slots that are chosen."""

Residual = TypeVar("Residual")
"""The residual stream of all rows, between two layers."""

Moment = int | Literal["initial", "final"]
"""The time in a run at which layers are applied: in a step, or before or after all steps."""


@runtime_checkable
class Reasoner(Protocol):
    """The properties of a model that the loops use: its kind, its T and P, and its symbols. `Model` implements it."""

    @property
    def kind(self) -> Kind: ...

    @property
    def steps(self) -> int: ...

    @property
    def padding(self) -> int: ...

    @property
    def block(self) -> int | None: ...

    @property
    def k(self) -> int | None: ...

    @property
    def mask(self) -> str | None: ...

    @property
    def pad(self) -> str | None: ...

    @property
    def token(self) -> Mapping[str, int]: ...

    @property
    def answer_rows(self) -> int:
        """The number of last rows that a looped model decodes."""
        ...

    @property
    def loop(self) -> tuple[int, int, int]:
        """(l1, l2, the number of layers) of a looped model."""
        ...


@runtime_checkable
class Medium(Protocol[Tokens, Logits, Symbols, Choice, Residual]):
    """One run of one model."""

    @property
    def model(self) -> Reasoner: ...

    # every framework

    def copies(self, symbol: str | None, count: int) -> Tokens:
        """Return symbol^count; the count is 0 if the model does not have the symbol."""
        ...

    def read(self, step: int, name: str, tokens: Tokens, last: int, *, requested: Choice | None = None) -> Logits:
        """Run a whole pass of the named transformer over input · tokens. Return the logits of the last rows.

        With `requested`, only the rows of these slots need to be computed.
        """
        ...

    def decode(self, logits: Logits, *, without: int | None = None) -> Symbols:
        """Return the argmax of every row, without the symbol `without`; the lowest index wins a tie."""
        ...

    # masked diffusion

    def chosen_slots(self, decisions: Logits) -> Choice:
        """Return the slots whose planner row decodes to 1."""
        ...

    def require_masked(self, step: int, choice: Choice, canvas: Tokens) -> Choice:
        """Return the same choice; an unmasked slot in it is an error of this step."""
        ...

    def surest(self, logits: Logits, k: int, *, without: int) -> Choice:
        """Return the k slots with the largest maximal logit; the lowest slot wins a tie."""
        ...

    def above_least(self, logits: Logits, *, without: int) -> Choice:
        """Return the slots whose maximal logit is above -B."""
        ...

    def overwrite(self, canvas: Tokens, choice: Choice, symbols: Symbols) -> Tokens:
        """Return x_i where u_i = 1, y_i elsewhere."""
        ...

    # chain of thought

    def joined(self, left: Tokens, right: Tokens) -> Tokens:
        """Return left · right."""
        ...

    def as_tokens(self, symbols: Symbols) -> Tokens:
        """Return symbols as tokens that can be read."""
        ...

    # looped

    def embed(self, tokens: Tokens) -> Residual:
        """Return H⁰ of input · tokens."""
        ...

    def noisy(self, step: int, residual: Residual) -> Residual:
        """Return the stream plus the noise of the tape in the noise columns; without a tape, the stream."""
        ...

    def layers(self, moment: Moment, residual: Residual, first: int, last: int) -> Residual:
        """Return the stream after the layers [first, last)."""
        ...

    def last_rows(self, residual: Residual, count: int) -> Logits:
        """Return the logits of the last `count` rows."""
        ...


# Masked diffusion: planner and predictor fill a canvas of masks (kinds mdm, smdm, topk).
#
#     y⁽⁰⁾ = m^P
#     u    = planner(w · y),  x = predictor(w · y)
#     y'_i = x_i  where u_i = 1,  y_i  elsewhere                    T times
#
# The predictor can never write the mask, because the argmax excludes its row of `out`. `smdm` is mask-dominated:
# a planner that chooses a written slot is an error. `topk` has one transformer: with k, the k slots of the
# largest maximal logit are chosen, whether masked or not; without, every slot whose maximal logit is above -B. Under
# sampling the symbols are drawn, but a slot's confidence is that of the logits without noise.


@dataclass(frozen=True)
class OutsidePlanner(Generic[Tokens, Logits, Choice]):
    """A planner that replaces the model's own: (step, canvas, logits) → the slots to choose. It also ends the run."""

    goes_on: Callable[[Tokens], bool]
    choose: Callable[[int, Tokens, Logits], Choice]


def masked_diffusion(
    medium: Medium[Tokens, Logits, Symbols, Choice, Residual],
    outside: OutsidePlanner[Tokens, Logits, Choice] | None = None,
) -> Iterator[tuple[Tokens, Choice]]:
    """Yield the canvas and the chosen slots after every step: T steps, or until an outside planner ends the run."""
    model = medium.model
    mask = model.token[model.mask or ""]
    name = "model" if model.kind == "topk" else "predictor"
    canvas = medium.copies(model.mask, model.padding)
    step = 0
    while step < model.steps if outside is None else outside.goes_on(canvas):
        plan = None if outside or model.kind == "topk" else _planned(medium, step, canvas)
        logits = medium.read(step, name, canvas, model.padding, requested=plan)
        if outside is not None:
            plan = outside.choose(step, canvas, logits)
        choice = _by_confidence(medium, logits, mask) if plan is None else plan
        canvas = medium.overwrite(canvas, choice, medium.decode(logits, without=mask))
        yield canvas, choice
        step += 1


def _planned(medium: Medium[Tokens, Logits, Symbols, Choice, Residual], step: int, canvas: Tokens) -> Choice:
    """Return u, the choice of the model's own planner."""
    choice = medium.chosen_slots(medium.read(step, "planner", canvas, medium.model.padding))
    return medium.require_masked(step, choice, canvas) if medium.model.kind == "smdm" else choice


def _by_confidence(medium: Medium[Tokens, Logits, Symbols, Choice, Residual], logits: Logits, mask: int) -> Choice:
    """Return the choice of a topk model, in which masked and written slots compete."""
    k = medium.model.k
    return medium.above_least(logits, without=mask) if k is None else medium.surest(logits, k, without=mask)


# Padded looped transformer (kind plt).
#
#     w · □^P → layers [0, l1) once, [l1, l2) T times, the rest once → the last rows decode to the answers
#
# Stochastic: noise from the tape is added to the listed columns before each of the T loops. (The paper adds it
# after each loop, so that the first loop has none and the last noise is never read; def:stochastic-looped-transformer.)


def looped(medium: Medium[Tokens, Logits, Symbols, Choice, Residual]) -> Tokens:
    """Return the answers: the symbols of the last `outputs` rows in order."""
    model = medium.model
    first, last, count = model.loop
    residual = medium.embed(medium.copies(model.pad, model.padding))
    residual = medium.layers("initial", residual, 0, first)
    for step in stage("loops", range(model.steps)):
        residual = medium.layers(step, medium.noisy(step, residual), first, last)
    residual = medium.layers("final", residual, last, count)
    return medium.as_tokens(medium.decode(medium.last_rows(residual, model.answer_rows)))


# Chain of thought, one symbol at a time or a block at a time (kinds cot, pcot).
#
#     cot:   y_t = the last row's symbol after reading  w · y_1 … y_{t-1}                        T steps
#     pcot:  the P' symbols of the last P' rows after reading  w · y_1 … y_{t-1} · m^{P'}        T steps
#
# Both are causal; positions and N do not change while the string grows.


def chain_of_thought(medium: Medium[Tokens, Logits, Symbols, Choice, Residual]) -> Iterator[Tokens]:
    """Yield all symbols generated so far after every step; the last P' (cot: the last one) are new."""
    model = medium.model
    masks = medium.copies(model.mask, model.block or 0)
    generated = medium.copies(None, 0)
    for step in range(model.steps):
        logits = medium.read(step, "model", medium.joined(generated, masks), model.block or 1)
        generated = medium.joined(generated, medium.as_tokens(medium.decode(logits)))
        yield generated


# The kind of a model → its loop, over any medium.


def canvases(medium: Medium[Tokens, Logits, Symbols, Choice, Residual]) -> Iterator[Tokens]:
    """Yield the content of the slots after every step, with the model's own planner if it has one."""
    kind = medium.model.kind
    if kind in DIFFUSION:
        for canvas, _ in masked_diffusion(medium):
            yield canvas
    elif kind == "plt":
        yield looped(medium)
    else:
        yield from chain_of_thought(medium)
