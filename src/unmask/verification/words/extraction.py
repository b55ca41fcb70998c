"""Model of any kind → the network of finite variables that it computes, exactly, from its weights alone.

    Model ──symbolic execution──▶ Network: letters → … → the symbol in each slot after T steps

The loops are those of `reasoners`, over the medium `Tables`; a forward pass is `SymbolicPass`. For every word the
network has the value that the model computes. Registers, problem and provenance are not read.

`failures` are the cases in which a run ends in an error: a row attends to nothing, or the planner of an smdm edits a
written slot. On such words the rest of the network has no meaning.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from unmask.errors import UnmaskError
from unmask.limits import foresee, stage
from unmask.reasoners.decoding import confidence, decode
from unmask.reasoners.loops import Moment, canvases
from unmask.verification.words.network import Cases, Network, TooManyCases
from unmask.verification.words.symbolic_heads import HeadView, Reading, SymbolicRow
from unmask.verification.words.symbolic_layers import EmptyAttention, SymbolicTransformer, Token
from unmask.weights.model import Model


@dataclass(eq=False)
class Readers:
    """Lists of rows by identity, with the rows that read each; the lists that hold a row."""

    _lists: dict[int, tuple[list[int], set[int]]] = field(default_factory=dict)  # a list is kept, and so its identity
    _holding: dict[int, list[int]] = field(default_factory=dict)

    @classmethod
    def of(cls, readings: Iterable[tuple[int, Reading]]) -> "Readers":
        readers = cls()
        for row, reading in readings:
            readers.add(row, reading)
        return readers

    def add(self, row: int, reading: Reading) -> None:
        for rows in reading:
            if rows is None:
                continue
            if id(rows) not in self._lists:
                self._lists[id(rows)] = rows, set()
                for read in rows:
                    self._holding.setdefault(read, []).append(id(rows))
            self._lists[id(rows)][1].add(row)

    def of_any(self, rows: Iterable[int]) -> set[int]:
        """All rows that read, or once read, one of these."""
        lists = {name for row in rows for name in self._holding.get(row, ())}
        return set().union(*(self._lists[name][1] for name in lists))


@dataclass(frozen=True, eq=False)
class _Passed:
    """The states of a pass: tokens, and per layer the rows before it.

    Rows are stored as far as scores need them and in full, with what each of them reads.
    """

    tokens: list[Token]
    stages: list[list[SymbolicRow]]
    views: list[list[HeadView]]
    readings: list[list[Reading]]
    full: list[dict[int, SymbolicRow]] = field(default_factory=list)
    full_readings: list[dict[int, Reading]] = field(default_factory=list)
    readers: dict[tuple[bool, int], Readers] = field(default_factory=dict)
    """(in full, number of the layer) → who reads whom, or once read whom; made where it is asked for."""


class SymbolicPass:
    """Passes of one transformer. `layers` are applied in order, a loop unrolled; rows are cut after `cuts` of them.

    `nothing` receives the cases in which some row attends to nothing. A row that is what it was in the last pass, and
    reads rows that are what they were, is what it was after the layer: only the others are looked at.
    """

    def __init__(
        self,
        symbolic: SymbolicTransformer,
        layers: Sequence[int],
        nothing: list[EmptyAttention],
        *,
        cuts: Sequence[int] = (),
    ) -> None:
        self._symbolic, self._layers, self._nothing, self._cuts = symbolic, list(layers), nothing, set(cuts)
        self._last: _Passed | None = None
        self.cut_to: dict[tuple[bool, int, int], Cases] = {}  # (scores alone, number of the layer, row) → its cases

    def run(self, tokens: list[Token], asked: Sequence[int]) -> list[SymbolicRow]:
        """The rows asked for, after all layers."""
        last = self._last
        if last is not None and (self._cuts or len(last.tokens) != len(tokens)):
            last = None
        passed = self._scores(tokens, None if self._symbolic.causal else last)
        wanted = self._read_by(asked, passed, last)
        passed.full.append(self._embedded(wanted, tokens, last, full=True))
        for u, i in enumerate(stage("layers in full", self._layers)):
            self._symbolic.prepare(i, list(passed.full[u].values()))
            passed.full.append(self._in_full(u, passed, last))
        self._last = passed
        return [passed.full[-1][k] for k in asked]

    def _scores(self, tokens: list[Token], last: _Passed | None) -> _Passed:
        """Forward: every row at every stage, as far as scores go; each layer's heads and the rows they meet."""
        symbolic = self._symbolic
        known = self._known(tokens) if symbolic.causal else 0
        embedded = self._embedded(range(len(tokens)), tokens, last, full=False)
        passed = _Passed(tokens, [[embedded[k] for k in range(len(tokens))]], [], [])
        for u, i in enumerate(stage("layers", self._layers)):
            if last is None or (places := self._again(u, i, passed, last)) is None:
                places = self._afresh(u, i, passed, known)
            rows, readings, after = passed.stages[u], passed.readings[u], passed.stages[u + 1]
            readers = passed.readers.get((False, u))
            for k in stage("rows", places):
                readings[k] = symbolic.reads(i, k, rows[k], passed.views[u], full=False)
                after[k] = self._layer(u, k, rows, readings[k], full=False)
                if readers is not None:
                    readers.add(k, readings[k])
        return passed

    def _again(self, u: int, i: int, passed: _Passed, last: _Passed) -> Collection[int] | None:
        """Take over a layer from the last pass; return the rows that are to be computed again.

        None if the heads see other rows than they saw: then every row is.
        """
        rows = passed.stages[u]
        changed = {k for k, row in enumerate(rows) if row is not last.stages[u][k]}
        if not self._symbolic.views_unchanged(i, last.views[u], rows, changed):
            return None
        passed.views.append(last.views[u])
        passed.readings.append(list(last.readings[u]))
        passed.stages.append(list(last.stages[u + 1]))
        readers = last.readers.get((False, u)) or Readers.of(enumerate(last.readings[u]))
        passed.readers[False, u] = readers
        return sorted(changed | readers.of_any(changed))

    def _afresh(self, u: int, i: int, passed: _Passed, known: int) -> Collection[int]:
        """Begin a layer whose first `known` rows are those of the last pass; return the others."""
        rows = passed.stages[u]
        passed.views.append(self._symbolic.views(i, rows))
        before = self._last if known else None
        readings = [] if before is None else before.readings[u][:known]
        after = [] if before is None else before.stages[u + 1][:known]
        passed.readings.append([*readings, *([[]] * (len(rows) - known))])
        passed.stages.append([*after, *rows[known:]])
        return range(known, len(rows))

    def _embedded(
        self, places: Collection[int], tokens: list[Token], last: _Passed | None, *, full: bool
    ) -> dict[int, SymbolicRow]:
        """Some rows before the first layer; where the token is what it was, so is the row."""
        kept: dict[int, SymbolicRow] = {}
        if last is not None:
            before = last.full[0] if full else dict(enumerate(last.stages[0]))
            kept = {k: before[k] for k in places if k in before and tokens[k] is last.tokens[k]}
        return kept | self._symbolic.embed({k: tokens[k] for k in places if k not in kept}, full=full)

    def _read_by(self, asked: Sequence[int], passed: _Passed, last: _Passed | None) -> set[int]:
        """Backward: the rows that the rows asked for depend on; per layer, what each of those still wanted reads."""
        wanted = set(asked)
        passed.full_readings.extend({} for _ in self._layers)
        for u in range(len(self._layers) - 1, -1, -1):
            same = last is not None and last.views[u] is passed.views[u]
            before = last.full_readings[u] if last is not None and same else {}
            rows, views, reading = passed.stages[u], passed.views[u], passed.full_readings[u]
            if last is not None and before:
                old = last.stages[u]
                reading.update({k: before[k] for k in wanted if k in before and rows[k] is old[k]})
            for k in stage("rows that are read", sorted(wanted - reading.keys())):
                reading[k] = self._symbolic.reads(self._layers[u], k, rows[k], views, full=True)
            wanted |= {j for read in reading.values() for rows_read in read for j in rows_read or ()}
        return wanted

    def _in_full(self, u: int, passed: _Passed, last: _Passed | None) -> dict[int, SymbolicRow]:
        """The wanted rows after the u-th layer."""
        rows, readings = passed.full[u], passed.full_readings[u]
        after: dict[int, SymbolicRow] = {}
        if last is not None:
            before, read_before = last.full[u], last.full_readings[u]
            changed = {k for k, row in rows.items() if row is not before.get(k)}
            read_anew = {k: read for k, read in readings.items() if read is not read_before.get(k)}
            readers = passed.readers[True, u] = last.readers.get((True, u)) or Readers.of(read_before.items())
            affected = changed | readers.of_any(changed) | read_anew.keys()
            after = {k: last.full[u + 1][k] for k in readings if k not in affected}
            for k, read in read_anew.items():
                readers.add(k, read)
        for k in stage("rows", sorted(readings.keys() - after.keys())):
            after[k] = self._layer(u, k, rows, readings[k], full=True)
        return after

    def _layer(
        self, u: int, place: int, rows: list[SymbolicRow] | dict[int, SymbolicRow], read: Reading, *, full: bool
    ) -> SymbolicRow:
        """A row after the u-th layer of the run, from the rows before it."""
        others = [None if some is None else [rows[j] for j in some] for some in read]
        row = self._symbolic.layer(self._layers[u], place, rows[place], others, full=full, nothing=self._nothing)
        if u not in self._cuts:
            return row
        row = self._symbolic.cut(row)
        self.cut_to[not full, u, place] = row.cases
        return row

    def logits(self, row: SymbolicRow) -> np.ndarray:
        """out·h in each case, [cases, outputs]."""
        return self._symbolic.logits(row)

    def _known(self, tokens: list[Token]) -> int:
        """How many rows at the start are as they were in the last pass; causal rows see nothing behind them."""
        before = [] if self._last is None else self._last.tokens
        count = 0
        while count < min(len(tokens), len(before)) and tokens[count] is before[count]:
            count += 1
        return count


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

    Slots may be passed one at a time, so that one is written before the next is computed.
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
        self._nothing: dict[str, list[EmptyAttention]] = {}
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
        requested: Choices | None = None,
    ) -> list[Labelled | None]:
        """None for a slot that is taken in no case."""
        if name not in self._passes:
            self._passes[name] = self._pass(name, range(len(self._model.transformers[name].layers)))
        whole = self._input + tokens
        places = range(len(whole) - last, len(whole))
        if requested is not None:
            places = [place for place, taken in zip(places, requested.slots, strict=True) if taken.labels.any()]
        symbolic = self._passes[name]
        logits = {
            place: Labelled(row.cases, symbolic.logits(row))
            for place, row in zip(places, symbolic.run(whole, places), strict=True)
        }
        return [logits.get(place) for place in range(len(whole) - last, len(whole))]

    def decode(self, logits: Sequence[Labelled | None], *, without: int | None = None) -> list[Labelled | None]:
        return [None if row is None else self._decoded(row, without) for row in logits]

    def chosen_slots(self, decisions: Sequence[Labelled | None]) -> Choices:
        return Choices([slot for slot in self.decode(decisions) if slot is not None])

    def require_masked(self, step: int, choice: Choices, canvas: list[Token]) -> Choices:  # noqa: ARG002
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
                basis, (take, new, kept_symbols) = self._merged([taken, symbol, Labelled(old.cases, old.symbols)])
                if choice.masks_alone_in is not None:
                    self._report_edits(choice.masks_alone_in, slot, basis, (take == 1) & (kept_symbols != self._mask))
                symbol = Labelled(*self.network.cases(basis, np.where(take == 1, new, kept_symbols)))
            token = self._token(symbol)
            after[slot] = old if token.same(old) else token
        return after

    def joined(self, left: list[Token], right: list[Token]) -> list[Token]:
        return left + right

    def as_tokens(self, symbols: Sequence[Labelled | None]) -> list[Token]:
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
        """Logits that are the same objects as before are decoded once."""
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


ACCEPT, REJECT = "accept", "reject"
PER_ROW = 600  # bytes of a row that is embedded


@dataclass(frozen=True, eq=False)
class Extraction:
    """The network, the letters' symbols, the final slots, and where a run fails."""

    model: Model
    network: Network
    slots: list[Token]
    failures: list[Failure]
    steps: list[list[Token]] = field(default_factory=list)
    """The slots after every step; the last ones are missing where nothing changes any more."""
    cut_rows: dict[tuple[bool, int, int], Cases] = field(default_factory=dict)
    """In a loop: (as far as scores go, number of the layer, row) → the cases of the row after it."""

    def answer(self, slot: int = -1) -> tuple[Cases, np.ndarray]:
        """(cases, the answer in each) of a slot: accept, reject, or another symbol; aliases applied."""
        model, token = self.model, self.slots[slot]
        meaning = {model.accept: ACCEPT, model.reject: REJECT}
        names = [meaning.get(s, f"symbol {s}") for s in model.plain(model.symbols(token.symbols))]
        numbers = {name: i for i, name in enumerate(dict.fromkeys(names))}
        labels = np.array([numbers[name] for name in names])
        cases, order = self.network.cases(token.cases.variables, labels[token.cases.index])
        return cases, np.array(list(numbers))[order]

    def outcomes(self, words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(symbols of the slots [batch, slots], does the run fail) on words [batch, N] of input symbols' numbers."""
        wanted = {v for part in (*self.slots, *self.failures) for v in part.cases.variables}
        values = self.network.evaluate(words, sorted(wanted))

        def case(cases: Cases) -> np.ndarray:
            return np.broadcast_to(cases.index[tuple(values[v] for v in cases.variables)], (len(words),))

        slots = np.stack([token.symbols[case(token.cases)] for token in self.slots], axis=1)
        fails = np.zeros(len(words), dtype=bool)
        for failure in self.failures:
            fails |= failure.labels[case(failure.cases)].astype(bool)
        return slots, fails


def extract(model: Model) -> Extraction:
    """Execute a model on all words of its length at once; what it takes at least is foreseen, the rest is measured."""
    foresee(_least_cost(model), f"the tables of {model.rows:,} rows")
    tables = Tables(model)
    try:
        unrolled = stage("extracting steps", canvases(tables), 1 if model.kind == "plt" else model.steps)
        steps = _until_settled(unrolled)
    except TooManyCases as error:
        raise TooManyCases(f"the model does not decompose into small tables: it would need {error}") from None
    return Extraction(model, tables.network, steps[-1], tables.failures(), steps, tables.cut_rows)


def _least_cost(model: Model) -> int:
    """Bytes that no extraction stays below: every row is embedded, and every row is at every layer of a pass."""
    total = 0
    for transformer in model.transformers.values():
        first, last = transformer.loop or (0, 0)
        layers = len(transformer.layers) + (last - first) * max(0, model.steps - 1)
        total += model.rows * (PER_ROW + transformer.width + 8 * layers)
    return total + model.length * model.length // 16  # a letter is a bit of the numbers that stand for sets of them


def _until_settled(steps: Iterator[list[Token]]) -> list[list[Token]]:
    """What the slots hold after every step; once no slot changes, none ever will."""
    kept_symbols = [next(steps)]
    for after in steps:
        before = kept_symbols[-1]
        kept_symbols.append(after)
        if len(after) == len(before) and all(old is new for old, new in zip(before, after, strict=True)):
            break
    return kept_symbols


def input_numbers(model: Model, tokens: np.ndarray) -> np.ndarray:
    """Token ids of words → numbers of input symbols, the values of the network's letters."""
    size = len(model.vocabulary)
    number = np.full(size, -1, dtype=np.min_scalar_type(-size))  # words are many: a byte for each letter, if it can be
    number[[model.token[s] for s in model.input_symbols]] = np.arange(len(model.input_symbols))
    numbers = number.take(tokens)
    if numbers.min(initial=0) < 0:
        raise UnmaskError("a word contains a symbol that is not an input symbol")
    return numbers
