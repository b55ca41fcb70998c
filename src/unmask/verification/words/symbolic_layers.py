"""A transformer over all words at once, row by row and case by case.

A row of the residual stream is a finite set of vectors, with `Cases` that give the vector of each assignment. A layer
applies the integer arithmetic of the engine to every case:

    heads   the output of each, over the cases of the rows that it reads (`symbolic_heads`)
    MLP     case by case
    merge   cases with equal vectors become one; columns that nothing reads later are dropped

Scores are needed at every row, because a row that attends to nothing is an error. The other columns of a row are
computed only if a logit depends on them.
"""

import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import NamedTuple

import numpy as np

from unmask.engines.prepared_weights import Projection, SparseProduct, without_zero_scores
from unmask.engines.visible_keys import Places
from unmask.limits import check
from unmask.numerics.compact import Compact
from unmask.verification.transformer_layer import CaseVectors, SomeColumns
from unmask.verification.words.network import CERTAIN, Cases, Network, ResultCache, TooManyCases, distinct, pattern_of
from unmask.verification.words.symbolic_heads import HeadView, Reading, SymbolicHead, SymbolicRow, merged, stacked
from unmask.weights.matrices import Matrix
from unmask.weights.transformer import Head, Layer, Transformer

AT_ONCE = 1 << 10  # rows


@dataclass(frozen=True, eq=False)
class Token:
    """The symbol at one place: symbols[case], over cases of one variable."""

    cases: Cases
    symbols: np.ndarray

    @classmethod
    def certain(cls, symbol: int) -> "Token":
        return cls(CERTAIN, np.array([symbol]))

    def same(self, other: "Token") -> bool:
        return self.cases.same(other.cases) and np.array_equal(self.symbols, other.symbols)


class Embedding:
    """The symbols and positions of a transformer."""

    def __init__(self, transformer: Transformer, compact: Compact) -> None:
        self._symbols = transformer.embed.dense().T.astype(compact.narrow)
        self._positions, self._compact = transformer.positions, compact

    def __call__(self, tokens: Mapping[int, Token], live: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
        """(row, [columns, cases]) of the tokens that are in some rows; columns that are not live are 0."""
        rows = list(tokens)
        for first in range(0, len(rows), AT_ONCE):
            check()
            some = rows[first : first + AT_ONCE]
            symbols = [tokens[row].symbols for row in some]
            sizes = [part.size for part in symbols]
            positions = self._positions[np.repeat(some, sizes)].T.astype(self._compact.narrow)
            vectors = self._compact.add(self._symbols[:, np.concatenate(symbols)], positions)
            vectors[~live] = 0
            ends = np.cumsum(sizes).tolist()
            for row, size, end in zip(some, sizes, ends, strict=True):
                yield row, vectors[:, end - size : end]


@dataclass(frozen=True, eq=False)
class Live:
    """Masks over columns: before[l] at the input of layer l (and after the last), within[l] after its heads."""

    before: list[np.ndarray]
    within: list[np.ndarray]


def live_for_scores(transformer: Transformer) -> Live:
    return _live(transformer, np.zeros(transformer.width, dtype=bool))


def live_for_all(transformer: Transformer) -> Live:
    last = np.zeros(transformer.width, dtype=bool)
    last[transformer.out.column] = True
    return _live(transformer, last)


def _live(transformer: Transformer, last: np.ndarray) -> Live:
    count = len(transformer.layers)
    first, end = transformer.loop or (0, 0)
    before, within = [last.copy() for _ in range(count + 1)], [last.copy() for _ in range(count)]
    # each round takes in what the loop's start reads, which is live at its end; without a loop one round is enough
    for _ in range(1 if first == end else count * transformer.width + 1):
        known = [mask.copy() for mask in before]
        for i in range(count - 1, -1, -1):
            if i + 1 == end > first:
                before[end] |= before[first]
            within[i], before[i] = _through(transformer.layers[i], before[i + 1])
        if all(np.array_equal(old, new) for old, new in zip(known, before, strict=True)):
            break
    return Live(before, within)


def _through(layer: Layer, after: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(live after the heads, live before the layer) from what is live after it."""
    within = after | _used(layer.mlp.w1, _used(layer.mlp.w2, after))
    before = within.copy()
    for head in layer.heads:
        before |= _used(head.wv, within)
        before[head.wq.row] = before[head.wk.row] = True
    return within, before


def _used(matrix: Matrix, columns: np.ndarray) -> np.ndarray:
    """The rows of a matrix that some of its columns read, as masks."""
    result = np.zeros(matrix.shape[0], dtype=bool)
    result[matrix.row[columns[matrix.column]]] = True
    return result


class Projections:
    """[Wq | Wk | Wq' | Wk' | …] of some heads; `places[h]` says where Q and K of head h hold each column of a score."""

    def __init__(self, heads: Sequence[Head], compact: Compact, width: int) -> None:
        parts = [matrix for head in map(without_zero_scores, heads) for matrix in (head.wq, head.wk)]
        self._product = Projection(_beside(parts, width), compact, np.arange(width))
        self._rows: list[np.ndarray] = []
        local, first = [], 0
        for matrix in parts:
            place = self._product.score_rows[first : first + matrix.shape[1]]
            rows, where = np.unique(place, return_inverse=True)
            self._rows.append(rows)
            local.append(where)
            first += matrix.shape[1]
        self.places: list[Places] = list(zip(local[::2], local[1::2], strict=True))

    def __call__(self, vectors: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """(Q, K) of every head, [columns, cases]."""
        product = self._product(vectors, slice(0, vectors.shape[1]))
        parts = [product[rows] for rows in self._rows]
        return list(zip(parts[::2], parts[1::2], strict=True))


def _beside(parts: Sequence[Matrix], height: int) -> Matrix:
    """Matrices of one height, one beside the other."""
    if not parts:
        return Matrix.zeros((height, 0))
    ends = np.cumsum([matrix.shape[1] for matrix in parts]).tolist()
    columns = [matrix.column + end - matrix.shape[1] for matrix, end in zip(parts, ends, strict=True)]
    row, column, value = (
        np.concatenate(entries) for entries in ([m.row for m in parts], columns, [m.value for m in parts])
    )
    return Matrix.from_entries((height, ends[-1]), row, column, value)


class HeadOutput(NamedTuple):
    """What one head writes in each case."""

    cases: Cases
    written: SomeColumns


@dataclass(frozen=True, eq=False)
class ResidualSum:
    """A row with the heads that follow from it, in fewer cases; and the other heads, by their place."""

    cases: Cases
    vectors: np.ndarray
    own: dict[int, SomeColumns]
    free: dict[int, HeadOutput]

    def of(self, domain: CaseVectors, case_of: np.ndarray) -> np.ndarray:
        """G, [columns, combinations]; case_of[0] is the case of the row, then follow those of the free heads."""
        parts = {h: part[case_of[0]] for h, part in self.own.items()}
        parts |= {h: head.written[case] for (h, head), case in zip(self.free.items(), case_of[1:], strict=True)}
        return domain.residual(self.vectors[:, case_of[0]], [parts[h] for h in sorted(parts)])


def residual_sum(
    own: SymbolicRow, heads: list[HeadOutput], live: np.ndarray, network: Network, domain: CaseVectors
) -> ResidualSum:
    """The sum for a row and its heads; only `live` columns of it matter."""
    follows = {h: case for h, head in enumerate(heads) if (case := _follows(own, head, network)) is not None}
    decided = {h: heads[h].written[case] for h, case in follows.items()}
    free = {h: head for h, head in enumerate(heads) if h not in follows}
    if own.cases.constant or not decided:
        return ResidualSum(own.cases, own.vectors, decided, free)
    first, labels = distinct(_differences(own, heads, decided, live, domain))
    if first.size == own.cases.count:
        return ResidualSum(own.cases, own.vectors, decided, free)
    cases, order = network.cases(own.cases.variables, labels[own.cases.index])
    standing = first[order]
    return ResidualSum(cases, own.vectors[:, standing], {h: part[standing] for h, part in decided.items()}, free)


def _follows(own: SymbolicRow, head: HeadOutput, network: Network) -> np.ndarray | None:
    """The head's case in each case of the row, if that decides it."""
    if head.cases.constant:
        return np.zeros(own.cases.count, dtype=np.int64)
    if not set(head.cases.variables) <= set(own.cases.variables):
        return None
    _, (mine, its) = network.join([own.cases, head.cases])
    case = np.zeros(own.cases.count, dtype=np.int64)
    case[mine] = its
    return case if np.array_equal(case[mine], its) else None


def _differences(
    own: SymbolicRow,
    heads: list[HeadOutput],
    decided: dict[int, SomeColumns],
    live: np.ndarray,
    domain: CaseVectors,
) -> np.ndarray:
    """Per case of the row, a column of numbers: cases with equal columns lead to equal sums."""
    free = {h: head.written for h, head in enumerate(heads) if h not in decided}
    writers = np.zeros(len(own.vectors), dtype=np.int64)
    for part in free.values():
        writers[part.columns] += 1
    known, several = live & (writers <= 1), live & (writers > 1)
    numbers = [own.vectors[several]]
    numbers += [part.values[several[part.columns]] for part in decided.values()]
    possible = [np.unique(part.values[known[part.columns]]) for part in free.values()]
    for value in np.unique(np.concatenate([np.zeros(1, dtype=own.vectors.dtype), *possible])):
        constant = {h: SomeColumns(part.columns, np.full((part.columns.size, 1), value)) for h, part in free.items()}
        parts = decided | constant
        numbers.append(domain.residual(own.vectors, [parts[h] for h in sorted(parts)])[known])
    return np.concatenate(numbers)


MOST_NUMBERS = 4_000_000_000


@dataclass(frozen=True, eq=False)
class EmptyAttention:
    """In some cases a row attends to nothing: labels 1 in `cases`."""

    cases: Cases
    labels: np.ndarray
    layer: int
    head: int
    row: int


@dataclass(eq=False)
class _Memory:
    """What was computed for a row, and from which rows; their objects are kept so that their identity is."""

    sources: tuple[SymbolicRow | bool, ...]
    result: SymbolicRow

    def is_of(self, sources: tuple[SymbolicRow | bool, ...]) -> bool:
        return len(self.sources) == len(sources) and all(map(operator.is_, self.sources, sources))


@dataclass(frozen=True, eq=False)
class _NeededColumns:
    """The columns that every layer computes: those that scores read, or all that logits depend on."""

    alive: list[list[np.ndarray]]
    """Of each head, which of the columns that it writes are live."""
    written: list[list[np.ndarray]]
    """Of each head, the live columns that it writes."""
    columns: list[np.ndarray]
    """The live columns that a layer reads after its heads, or writes."""
    kept: list[np.ndarray]
    """Before each layer and after the last: 1 for a live column, 0 for others."""
    goes_on: list[bool]
    """Whether a later layer, or a logit, reads something of a layer."""

    @classmethod
    def of(
        cls, live: Live, heads: list[list[SymbolicHead]], touched: list[np.ndarray], compact: Compact
    ) -> "_NeededColumns":
        layers = list(zip(live.within, heads, touched, strict=True))
        alive = [[np.flatnonzero(within[head.columns]) for head in its] for within, its, _ in layers]
        return cls(
            alive=alive,
            written=[
                [head.columns[places] for head, places in zip(its, parts, strict=True)]
                for its, parts in zip(heads, alive, strict=True)
            ],
            columns=[np.flatnonzero(within & its) for within, _, its in layers],
            kept=[mask[:, None].astype(compact.narrow) for mask in live.before],
            goes_on=[bool(mask.any()) for mask in live.before[1:]],
        )


class SymbolicTransformer:
    """Layers over symbolic rows."""

    def __init__(self, transformer: Transformer, network: Network) -> None:
        self.transformer, self._network = transformer, network
        self.compact = Compact(transformer.precision)
        width = transformer.width
        self.live: dict[bool, Live] = {False: live_for_scores(transformer), True: live_for_all(transformer)}
        self._projections = [Projections(layer.heads, self.compact, width) for layer in transformer.layers]
        numbers = count()
        self.heads = [
            [
                SymbolicHead(head, places, self.compact, network, next(numbers))
                for head, places in zip(layer.heads, projections.places, strict=True)
            ]
            for layer, projections in zip(transformer.layers, self._projections, strict=True)
        ]
        self._domain = CaseVectors(self.compact)
        self._mlps = [self._domain.prepared(layer.mlp) for layer in transformer.layers]
        self._touched = [self._touched_by(i) for i in range(len(transformer.layers))]
        self._needed = {
            full: _NeededColumns.of(live, self.heads, self._touched, self.compact) for full, live in self.live.items()
        }
        self._added_up = ResultCache()
        self._memory: dict[tuple[bool, int, int], list[_Memory]] = {}
        self._embedded: dict[tuple[int, bool, int, bytes], tuple[Cases, SymbolicRow]] = {}
        self._embedding = Embedding(transformer, self.compact)
        self._empty = SymbolicRow(CERTAIN, np.zeros((width, 1), dtype=self.compact.narrow))
        self._out = SparseProduct(transformer.out.transposed(), self.compact)
        self._read_out = np.unique(transformer.out.column)
        self._logits: dict[tuple[tuple[int, ...], bytes], np.ndarray] = {}
        self._numbers_kept = 0
        self.causal = transformer.attention == "causal"

    def embed(self, tokens: Mapping[int, Token], *, full: bool) -> dict[int, SymbolicRow]:
        """H⁰ of rows, by the token of each; a row that was embedded before is reused."""
        keys = {place: (place, full, id(token.cases), token.symbols.tobytes()) for place, token in tokens.items()}
        fresh = {place: tokens[place] for place, key in keys.items() if key not in self._embedded}
        for place, vectors in self._embedding(fresh, self.live[full].before[0]):
            cases = tokens[place].cases
            self._embedded[keys[place]] = cases, self._row(cases, vectors)  # kept, so that no other has their name
        return {place: self._embedded[key][1] for place, key in keys.items()}

    def views(self, i: int, rows: list[SymbolicRow]) -> list[HeadView]:
        """All rows before layer i, as its heads see them."""
        self._number(i, rows)
        return [HeadView.of(head, rows) for head in self.heads[i]]

    def views_unchanged(self, i: int, views: list[HeadView], rows: list[SymbolicRow], changed: set[int]) -> bool:
        """Return whether the heads see what they saw before, although some rows have changed; then reads stay."""
        self._number(i, [rows[k] for k in changed])
        return all(view.unchanged(rows, changed) for view in views)

    def prepare(self, i: int, rows: list[SymbolicRow]) -> None:
        """Rows in full before layer i, for its heads: one call for all is cheaper than one for each."""
        self._number(i, rows)
        for head, alive in zip(self.heads[i], self._needed[True].alive[i], strict=True):
            if alive.size:
                head.see_all(rows, alive)

    def _number(self, i: int, rows: list[SymbolicRow]) -> None:
        """Number the queries and keys of rows for all heads of layer i."""
        heads = self.heads[i]
        fresh = [row for row in rows if heads[0].number not in row.numbers] if heads else []
        if fresh:
            for head, (Q, K) in zip(heads, self._projections[i](stacked(fresh)), strict=True):
                head.take_in(fresh, Q, K)

    def reads(self, i: int, place: int, own: SymbolicRow, views: list[HeadView], *, full: bool) -> Reading:
        """Per head of layer i, the rows that matter to a row.

        A head that writes nothing alive matters for its Z alone, and only where that might be 0: else None.
        """
        visible = place + 1 if self.causal else len(self.transformer.positions)
        return [
            view.reads(own, visible) if alive.size or not (full or view.attends(own, visible)) else None
            for view, alive in zip(views, self._needed[full].alive[i], strict=True)
        ]

    def layer(
        self,
        i: int,
        place: int,
        own: SymbolicRow,
        read: list[list[SymbolicRow] | None],
        *,
        full: bool,
        nothing: list[EmptyAttention],
    ) -> SymbolicRow:
        """The row after layer i, given the rows that its heads read; `nothing` receives what attends to nothing."""
        if not self._needed[full].goes_on[i] and all(rows is None for rows in read):
            return self._empty
        # a head that is left out is not one that sees no row
        sources = (own, *(x for rows in read for x in (rows is None, *(rows or ()))))
        remembered = self._memory.setdefault((full, i, place), [])
        for memory in remembered:
            if memory.is_of(sources):
                return memory.result
        outputs: list[HeadOutput] = []
        for h, (head, rows) in enumerate(zip(self.heads[i], read, strict=True)):
            if rows is None:
                continue
            live = self._needed[full].alive[i][h]
            cases, output, without_key = head.output(own, rows, live)
            if not full and without_key.any():
                nothing.append(EmptyAttention(cases, without_key, i, h, place))
            if live.size:
                outputs.append(HeadOutput(cases, SomeColumns(self._needed[full].written[i][h], output)))
        result = self._after(i, own, outputs, full=full) if self._needed[full].goes_on[i] else self._empty
        remembered.append(_Memory(sources, result))
        del remembered[:-4]
        return result

    def _touched_by(self, i: int) -> np.ndarray:
        """The columns that layer i reads after its heads, or writes; it leaves all others alone."""
        layer = self.transformer.layers[i]
        touched = np.zeros(self.transformer.width, dtype=bool)
        touched[layer.mlp.w1.row] = touched[self._mlps[i].columns] = True
        for head in self.heads[i]:
            touched[head.columns] = True
        return touched

    def _after(self, i: int, own: SymbolicRow, heads: list[HeadOutput], *, full: bool) -> SymbolicRow:
        """`_added`, once for all rows that differ in names, and in columns of one value that the layer leaves alone."""
        within, after = self.live[full].within[i], self.live[full].before[i + 1]
        pattern = pattern_of(self._network, [own.cases, *(head.cases for head in heads)])
        if pattern is None:
            return self._added(i, own, heads, within, after)
        first = own.vectors[:, :1]
        columns = self._needed[full].columns[i]
        if not own.cases.constant:
            columns = np.flatnonzero(within & (self._touched[i] | (own.vectors != first).any(axis=1)))
        signature = (
            i,
            full,
            pattern[1],
            columns.tobytes(),
            own.vectors[columns].tobytes(),
            *((id(part.columns), part.values.tobytes()) for _, part in heads),  # of `_NeededColumns`, which stay
        )
        known = self._added_up.known.get(signature)
        if known is None:
            row = self._added(i, own, heads, within, after)
            self._added_up.keep(signature, row.cases, pattern[0], (row.vectors[columns],))
            return row
        vectors = first * self._needed[full].kept[i + 1]
        if known.count > 1:
            vectors = np.repeat(vectors, known.count, axis=1)
        vectors[columns] = known.results[0]
        self._hold(vectors.size)
        return SymbolicRow(known.over(pattern[0]), vectors)

    def _added(
        self, i: int, own: SymbolicRow, heads: list[HeadOutput], within: np.ndarray, after: np.ndarray
    ) -> SymbolicRow:
        """Heads, residual stream and MLP in each combination of cases."""
        total = residual_sum(own, heads, within, self._network, self._domain)
        basis, labels, case_of = self._combined([total.cases, *(head.cases for head in total.free.values())])
        G = total.of(self._domain, case_of)
        G[~within] = 0
        vectors = self._domain.mlp(G, self._mlps[i])
        vectors[~after] = 0
        first, same = distinct(vectors)
        cases, order = self._network.cases(basis, same[labels])
        self._hold(vectors.size)
        return SymbolicRow(cases, vectors[:, first[order]])

    def _combined(self, parts: list[Cases]) -> tuple[tuple[int, ...], np.ndarray, np.ndarray]:
        """(basis, label per assignment, which case of each part a label stands for)."""
        if all(part.constant for part in parts):
            return (), np.zeros(1, dtype=np.int64), np.zeros((len(parts), 1), dtype=np.int64)
        try:
            basis, case_of = self._network.join(parts)
        except TooManyCases:
            parts = [parts[0], *(self._network.cut(part) for part in parts[1:])]
            try:
                basis, case_of = self._network.join(parts)
            except TooManyCases:
                basis, case_of = self._network.join([self._network.cut(part) for part in parts])
        combined = np.vstack(case_of)
        first, labels = distinct(combined)
        return basis, labels, combined[:, first]

    def _row(self, cases: Cases, vectors: np.ndarray) -> SymbolicRow:
        """Cases with equal vectors are one."""
        if not cases.constant:
            self._hold(vectors.size)
            cases, vectors = merged(self._network, cases, vectors)
        return SymbolicRow(cases, np.ascontiguousarray(vectors))

    def _hold(self, numbers: int) -> None:
        self._numbers_kept += numbers
        if self._numbers_kept > MOST_NUMBERS:
            raise TooManyCases(f"more than {MOST_NUMBERS:,} numbers in all")

    def cut(self, row: SymbolicRow) -> SymbolicRow:
        """The row over one variable."""
        if row.alone is None:
            cases = self._network.cut(row.cases)
            row.alone = row if cases is row.cases else SymbolicRow(cases, row.vectors, row.numbers)
        return row.alone

    def logits(self, row: SymbolicRow) -> np.ndarray:
        """out·h in each case, [cases, outputs]."""
        if row.logits is None:
            signature = row.vectors.shape, row.vectors[self._read_out].tobytes()
            if signature not in self._logits:
                cases = row.vectors.shape[1]
                logits = np.zeros((cases, self.transformer.out.shape[0]), dtype=np.int64)
                logits[:, self._out.columns] = self._out(row.vectors, slice(0, cases)).T
                self._logits[signature] = logits
            row.logits = self._logits[signature]
        return row.logits
