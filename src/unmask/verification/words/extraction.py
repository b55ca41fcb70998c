"""Model of any kind → the network of finite variables that it computes, exactly, from its weights alone.

    Model ──symbolic execution──▶ Network: letters → … → the symbol in each slot after T steps

The loops of `reasoners` run over a `TableMedium`; a forward pass is a `SymbolicPass`. For every word, the network has
the values that the model computes. Registers, problem and provenance are not read.

`failures` are the cases in which a run ends in an error: a row attends to nothing, or the planner of an smdm edits a
written slot. For such words the other variables of the network have no meaning.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from unmask.errors import UnmaskError
from unmask.limits import check_memory, stage
from unmask.reasoners.decoding import confidence, decode
from unmask.reasoners.loops import Moment, canvases
from unmask.verification.words.network import Cases, Network, TooManyCases
from unmask.verification.words.symbolic_heads import HeadView, Reading, SymbolicRow
from unmask.verification.words.symbolic_layers import EmptyAttention, SymbolicTransformer, Token
from unmask.weights.model import Model


@dataclass(eq=False)
class Readers:
    """Which rows read which: rows share lists of the rows they read, so each list is stored once, by its identity."""

    _readers_of_list: dict[int, tuple[list[int], set[int]]] = field(default_factory=dict)
    """id of a list → (the list, which is referenced so that its id stays unique; the rows that read it)"""
    _lists_with_row: dict[int, list[int]] = field(default_factory=dict)
    """row → ids of the lists that contain it"""

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
            if id(rows) not in self._readers_of_list:
                self._readers_of_list[id(rows)] = rows, set()
                for read_row in rows:
                    self._lists_with_row.setdefault(read_row, []).append(id(rows))
            self._readers_of_list[id(rows)][1].add(row)

    def of_any(self, rows: Iterable[int]) -> set[int]:
        """Return all rows that read one of these rows, or read one in an earlier pass."""
        list_ids = {list_id for row in rows for list_id in self._lists_with_row.get(row, ())}
        return set().union(*(self._readers_of_list[list_id][1] for list_id in list_ids))


@dataclass(frozen=True, eq=False)
class _PassState:
    """The results of a pass, layer by layer."""

    tokens: list[Token]
    stages: list[list[SymbolicRow]]
    """[layer]: all rows before the layer, with the columns that scores need."""
    views: list[list[HeadView]]
    readings: list[list[Reading]]
    """[layer][row]: the rows that the heads of the layer read."""
    full: list[dict[int, SymbolicRow]] = field(default_factory=list)
    """[layer]: the rows before the layer that logits depend on, with all their columns."""
    full_readings: list[dict[int, Reading]] = field(default_factory=list)
    readers: dict[tuple[bool, int], Readers] = field(default_factory=dict)
    """(with all columns, layer) → which rows read which, in this pass or an earlier one; computed on request."""


class SymbolicPass:
    """Forward passes of one transformer, one after the other.

    The `layers` are applied in order (a loop is unrolled); after those with an index in `cuts`, rows are cut to one
    variable. `nothing` receives the cases in which a row attends to nothing.

    A pass only recomputes the rows of a layer that changed since the last pass or read a row that changed.
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
        self._last: _PassState | None = None
        self.cut_to: dict[tuple[bool, int, int], Cases] = {}  # (columns for scores only, layer, row) → its cases

    def run(self, tokens: list[Token], row_indices: Sequence[int]) -> list[SymbolicRow]:
        """Return these rows after all layers."""
        last = self._last
        if last is not None and (self._cuts or len(last.tokens) != len(tokens)):
            last = None
        state = self._score_rows(tokens, None if self._symbolic.causal else last)
        needed = self._needed_rows(row_indices, state, last)
        state.full.append(self._embedded(needed, tokens, last, full=True))
        for u, i in enumerate(stage("layers in full", self._layers)):
            self._symbolic.prepare(i, list(state.full[u].values()))
            state.full.append(self._full_rows(u, state, last))
        self._last = state
        return [state.full[-1][k] for k in row_indices]

    def _score_rows(self, tokens: list[Token], last: _PassState | None) -> _PassState:
        """Forwards: compute every row before every layer, with the columns for scores, and the rows that it reads."""
        symbolic = self._symbolic
        unchanged = self._unchanged_prefix(tokens) if symbolic.causal else 0
        embedded = self._embedded(range(len(tokens)), tokens, last, full=False)
        state = _PassState(tokens, [[embedded[k] for k in range(len(tokens))]], [], [])
        for u, i in enumerate(stage("layers", self._layers)):
            if last is None or (row_indices := self._reuse_layer(u, i, state, last)) is None:
                row_indices = self._start_layer(u, i, state, unchanged)
            rows, readings, after = state.stages[u], state.readings[u], state.stages[u + 1]
            readers = state.readers.get((False, u))
            for k in stage("rows", row_indices):
                readings[k] = symbolic.reads(i, k, rows[k], state.views[u], full=False)
                after[k] = self._layer(u, k, rows, readings[k], full=False)
                if readers is not None:
                    readers.add(k, readings[k])
        return state

    def _reuse_layer(self, u: int, i: int, state: _PassState, last: _PassState) -> Collection[int] | None:
        """Copy a layer from the last pass and return the rows that must be computed again.

        None if the keys of the rows changed, so that the layer cannot be reused.
        """
        rows = state.stages[u]
        changed = {k for k, row in enumerate(rows) if row is not last.stages[u][k]}
        if not self._symbolic.views_unchanged(i, last.views[u], rows, changed):
            return None
        state.views.append(last.views[u])
        state.readings.append(list(last.readings[u]))
        state.stages.append(list(last.stages[u + 1]))
        readers = last.readers.get((False, u)) or Readers.of(enumerate(last.readings[u]))
        state.readers[False, u] = readers
        return sorted(changed | readers.of_any(changed))

    def _start_layer(self, u: int, i: int, state: _PassState, unchanged: int) -> Collection[int]:
        """Start a layer whose first `unchanged` rows are those of the last pass; return the other rows."""
        rows = state.stages[u]
        state.views.append(self._symbolic.views(i, rows))
        before = self._last if unchanged else None
        readings = [] if before is None else before.readings[u][:unchanged]
        after = [] if before is None else before.stages[u + 1][:unchanged]
        state.readings.append([*readings, *([[]] * (len(rows) - unchanged))])
        state.stages.append([*after, *rows[unchanged:]])
        return range(unchanged, len(rows))

    def _embedded(
        self, row_indices: Collection[int], tokens: list[Token], last: _PassState | None, *, full: bool
    ) -> dict[int, SymbolicRow]:
        """Return these rows before the first layer; a row whose token has not changed is reused."""
        reused: dict[int, SymbolicRow] = {}
        if last is not None:
            before = last.full[0] if full else dict(enumerate(last.stages[0]))
            reused = {k: before[k] for k in row_indices if k in before and tokens[k] is last.tokens[k]}
        return reused | self._symbolic.embed({k: tokens[k] for k in row_indices if k not in reused}, full=full)

    def _needed_rows(self, row_indices: Sequence[int], state: _PassState, last: _PassState | None) -> set[int]:
        """Backwards: return the rows on which these depend, and store which rows each of them reads in each layer."""
        needed = set(row_indices)
        state.full_readings.extend({} for _ in self._layers)
        for u in range(len(self._layers) - 1, -1, -1):
            same_views = last is not None and last.views[u] is state.views[u]
            readings_before = last.full_readings[u] if last is not None and same_views else {}
            rows, views, reading = state.stages[u], state.views[u], state.full_readings[u]
            if last is not None and readings_before:
                rows_before = last.stages[u]
                unchanged = (k for k in needed if k in readings_before and rows[k] is rows_before[k])
                reading.update({k: readings_before[k] for k in unchanged})
            for k in stage("rows that are read", sorted(needed - reading.keys())):
                reading[k] = self._symbolic.reads(self._layers[u], k, rows[k], views, full=True)
            needed |= {j for read in reading.values() for rows_read in read for j in rows_read or ()}
        return needed

    def _full_rows(self, u: int, state: _PassState, last: _PassState | None) -> dict[int, SymbolicRow]:
        """Return the needed rows after the u-th layer, with all their columns."""
        rows, readings = state.full[u], state.full_readings[u]
        after: dict[int, SymbolicRow] = {}
        if last is not None:
            rows_before, readings_before = last.full[u], last.full_readings[u]
            changed = {k for k, row in rows.items() if row is not rows_before.get(k)}
            new_readings = {k: read for k, read in readings.items() if read is not readings_before.get(k)}
            readers = state.readers[True, u] = last.readers.get((True, u)) or Readers.of(readings_before.items())
            affected = changed | readers.of_any(changed) | new_readings.keys()
            after = {k: last.full[u + 1][k] for k in readings if k not in affected}
            for k, read in new_readings.items():
                readers.add(k, read)
        for k in stage("rows", sorted(readings.keys() - after.keys())):
            after[k] = self._layer(u, k, rows, readings[k], full=True)
        return after

    def _layer(
        self, u: int, index: int, rows: list[SymbolicRow] | dict[int, SymbolicRow], reading: Reading, *, full: bool
    ) -> SymbolicRow:
        """Return a row after the u-th layer of the pass, from the rows before it."""
        read_rows = [None if indices is None else [rows[j] for j in indices] for indices in reading]
        row = self._symbolic.layer(self._layers[u], index, rows[index], read_rows, full=full, nothing=self._nothing)
        if u not in self._cuts:
            return row
        row = self._symbolic.cut(row)
        self.cut_to[not full, u, index] = row.cases
        return row

    def logits(self, row: SymbolicRow) -> np.ndarray:
        """Return out·h in each case, [cases, outputs]."""
        return self._symbolic.logits(row)

    def _unchanged_prefix(self, tokens: list[Token]) -> int:
        """Return the number of first rows that have not changed since the last pass, if attention is causal."""
        before = [] if self._last is None else self._last.tokens
        count = 0
        while count < min(len(tokens), len(before)) and tokens[count] is before[count]:
            count += 1
        return count


@dataclass(frozen=True, eq=False)
class Failure:
    """The cases in which a run fails (labels[case] is true), with the reason."""

    cases: Cases
    labels: np.ndarray
    reason: str


class Labelled(NamedTuple):
    """A quantity with one label per case: a symbol, whether a slot is chosen, or a row of logits."""

    cases: Cases
    labels: np.ndarray


@dataclass(frozen=True, eq=False)
class Choices:
    """For each slot, the cases in which it is chosen (label 1).

    `require_masked_in` is the step, if choosing an unmasked slot is an error. `slots` may be a generator, so that a
    slot is written before the next is computed.
    """

    slots: Iterable[Labelled]
    require_masked_in: int | None = None


@dataclass(frozen=True, eq=False)
class Unrolled:
    """A residual stream that is not computed yet: tokens, layers in order, and the indices of layers with a cut.

    It is computed at the end, because only then it is known which rows are needed.
    """

    tokens: list[Token]
    layers: tuple[int, ...] = ()
    cuts: tuple[int, ...] = ()


class TableMedium:
    """The medium of a symbolic run; `network` has all variables so far."""

    def __init__(self, model: Model) -> None:
        self._model, self.network = model, Network()
        symbols = np.array([model.token[s] for s in model.input_symbols])
        letters = [self.network.letter(symbols.size) for _ in range(model.length)]
        begin = [] if model.begin is None else [Token.certain(model.token[model.begin])]
        self._input = begin + [Token(cases, symbols) for cases in letters]
        self._passes: dict[str, SymbolicPass] = {}
        self._nothing: dict[str, list[EmptyAttention]] = {}
        self._edits: list[Failure] = []
        self._decoded_rows: dict[tuple[int, int, int | None], tuple[Labelled, Labelled]] = {}
        self.cut_rows: dict[tuple[bool, int, int], Cases] = {}

    @property
    def model(self) -> Model:
        return self._model

    def failures(self) -> list[Failure]:
        """Return the failures so far: rows that attend to nothing, then written slots that a planner edits."""
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
        """Return the logits of each slot; None for a slot that is never chosen."""
        if name not in self._passes:
            self._passes[name] = self._pass(name, range(len(self._model.transformers[name].layers)))
        all_tokens = self._input + tokens
        row_indices = range(len(all_tokens) - last, len(all_tokens))
        if requested is not None:
            row_indices = [index for index, slot in zip(row_indices, requested.slots, strict=True) if slot.labels.any()]
        symbolic = self._passes[name]
        logits = {
            index: Labelled(row.cases, symbolic.logits(row))
            for index, row in zip(row_indices, symbolic.run(all_tokens, row_indices), strict=True)
        }
        return [logits.get(index) for index in range(len(all_tokens) - last, len(all_tokens))]

    def decode(self, logits: Sequence[Labelled | None], *, without: int | None = None) -> list[Labelled | None]:
        return [None if row is None else self._decoded(row, without) for row in logits]

    def chosen_slots(self, decisions: Sequence[Labelled | None]) -> Choices:
        return Choices([slot for slot in self.decode(decisions) if slot is not None])

    def require_masked(self, step: int, choice: Choices, canvas: list[Token]) -> Choices:  # noqa: ARG002
        """Return the choice; errors are reported by `overwrite`, which joins choice and canvas."""
        return replace(choice, require_masked_in=step)

    def surest(self, logits: Sequence[Labelled | None], k: int, *, without: int) -> Choices:
        confidences = self._confidences(logits, without)
        return Choices(self._among_surest(confidences, slot, k) for slot in range(len(confidences)))

    def above_least(self, logits: Sequence[Labelled | None], *, without: int) -> Choices:
        confidences, least = self._confidences(logits, without), -self._model.precision.bound
        return Choices(self._relabelled(slot, slot.labels > least) for slot in confidences)

    def overwrite(self, canvas: list[Token], choice: Choices, symbols: Sequence[Labelled | None]) -> list[Token]:
        """Write the symbols into the chosen slots; a slot that does not change stays the same object, for caches."""
        after = list(canvas)
        for slot, (chosen, symbol, old) in enumerate(zip(choice.slots, symbols, canvas, strict=True)):
            if symbol is None or not chosen.labels.any():
                continue
            if not chosen.cases.constant or choice.require_masked_in is not None:
                basis, labels = self._joined_labels([chosen, symbol, Labelled(old.cases, old.symbols)])
                is_chosen, new_symbols, old_symbols = labels[0] == 1, labels[1], labels[2]
                if choice.require_masked_in is not None:
                    self._report_edits(choice.require_masked_in, slot, basis, is_chosen & (old_symbols != self._mask))
                symbol = Labelled(*self.network.cases(basis, np.where(is_chosen, new_symbols, old_symbols)))
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
        """Append layers; rows are cut after every turn of the loop, because their tables would grow otherwise."""
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
        """Return other labels for the cases; cases with equal labels are merged."""
        return Labelled(*self.network.cases(old.cases.variables, labels[old.cases.index]))

    def _decoded(self, row: Labelled, without: int | None) -> Labelled:
        """Decode a row of logits; the same objects are decoded once."""
        key = id(row.cases), id(row.labels), without
        if key not in self._decoded_rows:
            symbols = decode(row.labels, self._model.precision, without=without)
            self._decoded_rows[key] = row, self._relabelled(row, symbols)  # `row` is referenced: its ids are a key
        return self._decoded_rows[key][1]

    def _token(self, symbol: tuple[Cases, np.ndarray]) -> Token:
        cases, symbols = symbol
        return Token(self.network.cut(cases), symbols)

    def _joined_labels(self, parts: list[Labelled]) -> tuple[tuple[int, ...], list[np.ndarray]]:
        """Return (basis, the label of each part in every assignment)."""
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

    def _among_surest(self, confidences: list[Labelled], slot: int, k: int) -> Labelled:
        """Return whether fewer than k slots are more confident than this one, or equally confident and before it.

        Slots are counted one by one: a label encodes the slot's confidence and the count so far, at most k.
        """
        beaten = Labelled(confidences[slot].cases, confidences[slot].labels * (k + 1))
        for rival, other in enumerate(confidences):
            if rival == slot:
                continue
            basis, (label, other_confidence) = self._joined_labels([beaten, other])
            own_confidence, count = label // (k + 1), label % (k + 1)
            ahead = (other_confidence > own_confidence) | ((other_confidence == own_confidence) & (rival < slot))
            beaten = Labelled(*self.network.cases(basis, own_confidence * (k + 1) + np.minimum(count + ahead, k)))
        return self._relabelled(beaten, beaten.labels % (k + 1) < k)


ACCEPT, REJECT = "accept", "reject"
PER_ROW = 600  # bytes of an embedded row


@dataclass(frozen=True, eq=False)
class Extraction:
    """The network of a model, with the final slots and the cases in which a run fails."""

    model: Model
    network: Network
    slots: list[Token]
    failures: list[Failure]
    steps: list[list[Token]] = field(default_factory=list)
    """The slots after every step, up to the first step that changes nothing."""
    cut_rows: dict[tuple[bool, int, int], Cases] = field(default_factory=dict)
    """In a loop: (columns for scores only, layer, row) → the cases of the row after the layer."""

    def answer(self, slot: int = -1) -> tuple[Cases, np.ndarray]:
        """Return (cases, the answer in each) of a slot: accept, reject, or `symbol s`, with aliases resolved."""
        model, token = self.model, self.slots[slot]
        meaning = {model.accept: ACCEPT, model.reject: REJECT}
        names = [meaning.get(s, f"symbol {s}") for s in model.plain(model.symbols(token.symbols))]
        numbers = {name: i for i, name in enumerate(dict.fromkeys(names))}
        labels = np.array([numbers[name] for name in names])
        cases, order = self.network.cases(token.cases.variables, labels[token.cases.index])
        return cases, np.array(list(numbers))[order]

    def outcomes(self, words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return (symbols [batch, slots], whether the run fails) for words [batch, N] of input symbols' numbers."""
        variables = {v for table in (*self.slots, *self.failures) for v in table.cases.variables}
        values = self.network.evaluate(words, sorted(variables))

        def case(cases: Cases) -> np.ndarray:
            return np.broadcast_to(cases.index[tuple(values[v] for v in cases.variables)], (len(words),))

        slots = np.stack([token.symbols[case(token.cases)] for token in self.slots], axis=1)
        fails = np.zeros(len(words), dtype=bool)
        for failure in self.failures:
            fails |= failure.labels[case(failure.cases)].astype(bool)
        return slots, fails


def extract(model: Model) -> Extraction:
    """Execute a model on all words of its length at once. Raise early if even the least cost exceeds the limits."""
    check_memory(_least_cost(model), f"the tables of {model.rows:,} rows")
    tables = TableMedium(model)
    try:
        unrolled = stage("extracting steps", canvases(tables), 1 if model.kind == "plt" else model.steps)
        steps = _until_settled(unrolled)
    except TooManyCases as error:
        raise TooManyCases(f"the model does not decompose into small tables: it would need {error}") from None
    return Extraction(model, tables.network, steps[-1], tables.failures(), steps, tables.cut_rows)


def _least_cost(model: Model) -> int:
    """Return a lower bound on the bytes of an extraction: every row is embedded and stored before every layer."""
    total = 0
    for transformer in model.transformers.values():
        first, last = transformer.loop or (0, 0)
        layers = len(transformer.layers) + (last - first) * max(0, model.steps - 1)
        total += model.rows * (PER_ROW + transformer.width + 8 * layers)
    return total + model.length * model.length // 16  # `Variable.support` has one bit per letter


def _until_settled(steps: Iterator[list[Token]]) -> list[list[Token]]:
    """Return the slots after every step, up to the first step that changes nothing: then no later one does."""
    canvases_so_far = [next(steps)]
    for after in steps:
        before = canvases_so_far[-1]
        canvases_so_far.append(after)
        if len(after) == len(before) and all(old is new for old, new in zip(before, after, strict=True)):
            break
    return canvases_so_far


def input_numbers(model: Model, tokens: np.ndarray) -> np.ndarray:
    """Convert token ids of words into numbers of input symbols, which are the values of the network's letters."""
    size = len(model.vocabulary)
    number = np.full(size, -1, dtype=np.min_scalar_type(-size))  # a byte per letter if possible: there are many words
    number[[model.token[s] for s in model.input_symbols]] = np.arange(len(model.input_symbols))
    numbers = number.take(tokens)
    if numbers.min(initial=0) < 0:
        raise UnmaskError("a word contains a symbol that is not an input symbol")
    return numbers
