"""Tables as the medium of a loop: all words of a length at once, each slot a `Token` over symbols that are not known.

Every operation is the same integer computation, case by case, so that for every word the network has the values that a
run of that word has. Where a run of some words is no run, the loop goes on and a `Failure` says in which cases.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from unmask.reasoners.decoding import confidence, decode
from unmask.reasoners.loops import Moment
from unmask.verification.symbolic.embedding import Token
from unmask.verification.symbolic.forward import SymbolicPass
from unmask.verification.symbolic.network import Cases, Network, TooManyCases
from unmask.verification.symbolic.rows import Nothing, SymbolicTransformer
from unmask.weights.model import Model


@dataclass(frozen=True, eq=False)
class Failure:
    """labels[case] is true where the run fails, and why."""

    cases: Cases
    labels: np.ndarray
    reason: str


class Labelled(NamedTuple):
    """What something is in each case: a symbol, whether a slot is taken, a row of logits."""

    cases: Cases
    labels: np.ndarray


@dataclass(frozen=True, eq=False)
class Choices:
    """Slot by slot, in which cases it is taken (label 1); where masks alone may be, the step that says so.

    Slots may be told one at a time, so that one is written before the next is looked at.
    """

    slots: Iterable[Labelled]
    masks_alone_in: int | None = None


@dataclass(frozen=True, eq=False)
class Unrolled:
    """A residual stream that is still to be computed: tokens, layers in order, and after which of these rows are cut.

    Which rows matter is known only from the end.
    """

    tokens: list[Token]
    layers: tuple[int, ...] = ()
    cuts: tuple[int, ...] = ()


class Tables:
    """One symbolic run; `network` holds all variables made so far."""

    def __init__(self, model: Model) -> None:
        self._model, self.network = model, Network()
        symbols = np.array([model.token[s] for s in model.input_symbols])
        letters = [self.network.letter(symbols.size) for _ in range(model.length)]
        begin = [] if model.begin is None else [Token.certain(model.token[model.begin])]
        self._input = begin + [Token(cases, symbols) for cases in letters]
        self._passes: dict[str, SymbolicPass] = {}
        self._nothing: dict[str, list[Nothing]] = {}
        self._edits: list[Failure] = []
        self._known_symbols: dict[tuple[int, int, int | None], tuple[Labelled, Labelled]] = {}
        self.cut_rows: dict[tuple[bool, int, int], Cases] = {}

    @property
    def model(self) -> Model:
        return self._model

    def failures(self) -> list[Failure]:
        """Where the run so far fails: rows that attend to nothing, then written slots that a planner edits."""
        nothing = [
            Failure(
                event.cases,
                event.labels,
                f"layer {event.layer}, head {event.head} of the {name}: row {event.row} attends to nothing",
            )
            for name, events in self._nothing.items()
            for event in events
        ]
        return nothing + self._edits

    def copies(self, symbol: str | None, count: int) -> list[Token]:
        return [] if symbol is None else [Token.certain(self._model.token[symbol])] * count

    def read(
        self,
        step: int,  # noqa: ARG002
        name: str,
        tokens: list[Token],
        last: int,
        *,
        asked: Choices | None = None,
    ) -> list[Labelled | None]:
        """None for a slot that is taken in no case."""
        if name not in self._passes:
            self._passes[name] = self._pass(name, range(len(self._model.transformers[name].layers)))
        whole = self._input + tokens
        places = range(len(whole) - last, len(whole))
        if asked is not None:
            places = [place for place, taken in zip(places, asked.slots, strict=True) if taken.labels.any()]
        symbolic = self._passes[name]
        logits = {
            place: Labelled(row.cases, symbolic.logits(row))
            for place, row in zip(places, symbolic.run(whole, places), strict=True)
        }
        return [logits.get(place) for place in range(len(whole) - last, len(whole))]

    def decode(self, logits: Sequence[Labelled | None], *, without: int | None = None) -> list[Labelled | None]:
        return [None if row is None else self._decoded(row, without) for row in logits]

    def taken(self, decisions: Sequence[Labelled | None]) -> Choices:
        return Choices([slot for slot in self.decode(decisions) if slot is not None])

    def masks_alone(self, step: int, choice: Choices, canvas: list[Token]) -> Choices:  # noqa: ARG002
        """Reported by `overwrite`, where choice and canvas meet in one table."""
        return replace(choice, masks_alone_in=step)

    def surest(self, logits: Sequence[Labelled | None], k: int, *, without: int) -> Choices:
        sure = self._confidences(logits, without)
        return Choices(self._among_surest(sure, slot, k) for slot in range(len(sure)))

    def above_least(self, logits: Sequence[Labelled | None], *, without: int) -> Choices:
        sure, least = self._confidences(logits, without), -self._model.precision.bound
        return Choices(self._relabelled(slot, slot.labels > least) for slot in sure)

    def overwrite(self, canvas: list[Token], choice: Choices, symbols: Sequence[Labelled | None]) -> list[Token]:
        """A slot that stays what it was is the same object: what was computed from it holds still."""
        after = list(canvas)
        for slot, (taken, symbol, old) in enumerate(zip(choice.slots, symbols, canvas, strict=True)):
            if symbol is None or not taken.labels.any():
                continue
            if not taken.cases.constant or choice.masks_alone_in is not None:
                basis, (take, new, held) = self._merged([taken, symbol, Labelled(old.cases, old.symbols)])
                if choice.masks_alone_in is not None:
                    self._report_edits(choice.masks_alone_in, slot, basis, (take == 1) & (held != self._mask))
                symbol = Labelled(*self.network.cases(basis, np.where(take == 1, new, held)))
            token = self._token(symbol)
            after[slot] = old if token.same(old) else token
        return after

    def joined(self, left: list[Token], right: list[Token]) -> list[Token]:
        return left + right

    def written(self, symbols: Sequence[Labelled | None]) -> list[Token]:
        return [self._token(symbol) for symbol in symbols if symbol is not None]

    def embed(self, tokens: list[Token]) -> Unrolled:
        return Unrolled(self._input + tokens)

    def noisy(self, step: int, residual: Unrolled) -> Unrolled:  # noqa: ARG002
        return residual

    def layers(self, moment: Moment, residual: Unrolled, first: int, last: int) -> Unrolled:
        """Rows are cut after every turn of the loop, or their tables would grow with it."""
        layers, cuts = (*residual.layers, *range(first, last)), residual.cuts
        if isinstance(moment, int) and last > first:
            cuts = (*cuts, len(layers) - 1)
        return replace(residual, layers=layers, cuts=cuts)

    def last_rows(self, residual: Unrolled, count: int) -> list[Labelled | None]:
        symbolic = self._pass("model", residual.layers, residual.cuts)
        rows = symbolic.run(residual.tokens, range(len(residual.tokens) - count, len(residual.tokens)))
        self.cut_rows = symbolic.cut_to
        return [Labelled(row.cases, symbolic.logits(row)) for row in rows]

    @property
    def _mask(self) -> int:
        return self._model.token[self._model.mask or ""]

    def _pass(self, name: str, layers: Sequence[int], cuts: Sequence[int] = ()) -> SymbolicPass:
        transformer = SymbolicTransformer(self._model.transformers[name], self.network)
        return SymbolicPass(transformer, layers, self._nothing.setdefault(name, []), cuts=cuts)

    def _relabelled(self, old: Labelled, labels: np.ndarray) -> Labelled:
        """Other labels of the same cases; those of one label are one case."""
        return Labelled(*self.network.cases(old.cases.variables, labels[old.cases.index]))

    def _decoded(self, row: Labelled, without: int | None) -> Labelled:
        """Logits that stand where they stood are decoded once."""
        key = id(row.cases), id(row.labels), without
        if key not in self._known_symbols:
            symbols = decode(row.labels, self._model.precision, without=without)
            self._known_symbols[key] = row, self._relabelled(row, symbols)  # kept, so that no other has its names
        return self._known_symbols[key][1]

    def _token(self, symbol: tuple[Cases, np.ndarray]) -> Token:
        cases, symbols = symbol
        return Token(self.network.cut(cases), symbols)

    def _merged(self, parts: list[Labelled]) -> tuple[tuple[int, ...], list[np.ndarray]]:
        """(basis, the label of each part in every assignment)."""
        try:
            basis, case_of = self.network.join([part.cases for part in parts])
        except TooManyCases:
            basis, case_of = self.network.join([self.network.cut(part.cases) for part in parts])
        return basis, [part.labels[case] for part, case in zip(parts, case_of, strict=True)]

    def _report_edits(self, step: int, slot: int, basis: tuple[int, ...], edits: np.ndarray) -> None:
        if edits.any():
            cases, labels = self.network.cases(basis, edits)
            self._edits.append(Failure(cases, labels, f"step {step}: the planner edits slot {slot}, which is written"))

    def _confidences(self, logits: Sequence[Labelled | None], without: int) -> list[Labelled]:
        return [
            self._relabelled(row, confidence(row.labels, self._model.precision, without=without))
            for row in logits
            if row is not None
        ]

    def _among_surest(self, sure: list[Labelled], slot: int, k: int) -> Labelled:
        """Fewer than k slots are surer than this one, or as sure and before it; counted slot by slot.

        A label holds the slot's own confidence and how many beat it so far, at most k.
        """
        beaten = Labelled(sure[slot].cases, sure[slot].labels * (k + 1))
        for rival, other in enumerate(sure):
            if rival == slot:
                continue
            basis, (label, theirs) = self._merged([beaten, other])
            mine, count = label // (k + 1), label % (k + 1)
            ahead = (theirs > mine) | ((theirs == mine) & (rival < slot))
            beaten = Labelled(*self.network.cases(basis, mine * (k + 1) + np.minimum(count + ahead, k)))
        return self._relabelled(beaten, beaten.labels % (k + 1) < k)
