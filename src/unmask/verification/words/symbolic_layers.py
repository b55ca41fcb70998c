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
from unmask.verification.words.network import (
    CERTAIN,
    Cases,
    Network,
    ResultCache,
    TooManyCases,
    distinct_columns,
    pattern_of,
)
from unmask.verification.words.symbolic_heads import (
    HeadView,
    Reading,
    SymbolicHead,
    SymbolicRow,
    merge_equal_columns,
    stacked,
)
from unmask.weights.matrices import Matrix
from unmask.weights.transformer import Head, Layer, Transformer

ROWS_AT_ONCE = 1 << 10


@dataclass(frozen=True, eq=False)
class Token:
    """The symbol in one row of the input: symbols[case], over cases of one variable."""

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
        """Yield (row, vectors [columns, cases]) for the tokens of some rows; columns that are not live are 0."""
        rows = list(tokens)
        for first in range(0, len(rows), ROWS_AT_ONCE):
            check()
            block = rows[first : first + ROWS_AT_ONCE]
            symbols = [tokens[row].symbols for row in block]
            sizes = [codes.size for codes in symbols]
            positions = self._positions[np.repeat(block, sizes)].T.astype(self._compact.narrow)
            vectors = self._compact.add(self._symbols[:, np.concatenate(symbols)], positions)
            vectors[~live] = 0
            ends = np.cumsum(sizes).tolist()
            for row, size, end in zip(block, sizes, ends, strict=True):
                yield row, vectors[:, end - size : end]


@dataclass(frozen=True, eq=False)
class Live:
    """Masks of the columns that are read later: before layer l in before[l], after its heads in within[l].

    The last entry of `before` is for the end.
    """

    before: list[np.ndarray]
    within: list[np.ndarray]


def live_for_scores(transformer: Transformer) -> Live:
    """Return the columns that scores depend on."""
    return _live(transformer, np.zeros(transformer.width, dtype=bool))


def live_for_all(transformer: Transformer) -> Live:
    """Return the columns that scores or logits depend on."""
    last = np.zeros(transformer.width, dtype=bool)
    last[transformer.out.column] = True
    return _live(transformer, last)


def _live(transformer: Transformer, last: np.ndarray) -> Live:
    count = len(transformer.layers)
    first, end = transformer.loop or (0, 0)
    before, within = [last.copy() for _ in range(count + 1)], [last.copy() for _ in range(count)]
    # what is live at the start of the loop is live at its end: repeat until nothing changes; without a loop, once
    for _ in range(1 if first == end else count * transformer.width + 1):
        previous = [mask.copy() for mask in before]
        for i in range(count - 1, -1, -1):
            if i + 1 == end > first:
                before[end] |= before[first]
            within[i], before[i] = _through(transformer.layers[i], before[i + 1])
        if all(np.array_equal(old, new) for old, new in zip(previous, before, strict=True)):
            break
    return Live(before, within)


def _through(layer: Layer, after: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (live after the heads, live before the layer), from what is live after the layer."""
    within = after | _rows_read(layer.mlp.w1, _rows_read(layer.mlp.w2, after))
    before = within.copy()
    for head in layer.heads:
        before |= _rows_read(head.wv, within)
        before[head.wq.row] = before[head.wk.row] = True
    return within, before


def _rows_read(matrix: Matrix, columns: np.ndarray) -> np.ndarray:
    """Return the mask of the rows of a matrix that are used by the columns of a mask."""
    result = np.zeros(matrix.shape[0], dtype=bool)
    result[matrix.row[columns[matrix.column]]] = True
    return result


class Projections:
    """[Wq | Wk | Wq' | Wk' | …] of some heads; score_rows[h] has the rows of Q and K whose products form a score."""

    def __init__(self, heads: Sequence[Head], compact: Compact, width: int) -> None:
        matrices = [matrix for head in map(without_zero_scores, heads) for matrix in (head.wq, head.wk)]
        self._product = Projection(_side_by_side(matrices, width), compact, np.arange(width))
        self._rows: list[np.ndarray] = []
        local, first = [], 0
        for matrix in matrices:
            positions = self._product.score_rows[first : first + matrix.shape[1]]
            rows, local_index = np.unique(positions, return_inverse=True)
            self._rows.append(rows)
            local.append(local_index)
            first += matrix.shape[1]
        self.score_rows: list[Places] = list(zip(local[::2], local[1::2], strict=True))

    def __call__(self, vectors: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return (Q, K) of every head, [columns, cases]."""
        product = self._product(vectors, slice(0, vectors.shape[1]))
        projected = [product[rows] for rows in self._rows]
        return list(zip(projected[::2], projected[1::2], strict=True))


def _side_by_side(matrices: Sequence[Matrix], height: int) -> Matrix:
    """Concatenate matrices of one height horizontally."""
    if not matrices:
        return Matrix.zeros((height, 0))
    ends = np.cumsum([matrix.shape[1] for matrix in matrices]).tolist()
    columns = [matrix.column + end - matrix.shape[1] for matrix, end in zip(matrices, ends, strict=True)]
    row, column, value = (
        np.concatenate(entries) for entries in ([m.row for m in matrices], columns, [m.value for m in matrices])
    )
    return Matrix.from_entries((height, ends[-1]), row, column, value)


class HeadOutput(NamedTuple):
    """What one head writes in each case."""

    cases: Cases
    written: SomeColumns


@dataclass(frozen=True, eq=False)
class ResidualSum:
    """A row with merged cases, the outputs of the heads that its case decides, and the other heads, by index."""

    cases: Cases
    vectors: np.ndarray
    decided: dict[int, SomeColumns]
    free: dict[int, HeadOutput]

    def of(self, domain: CaseVectors, case_of: np.ndarray) -> np.ndarray:
        """Return G, [columns, combinations]; case_of[0] is the case of the row, the others those of the free heads."""
        outputs = {h: output[case_of[0]] for h, output in self.decided.items()}
        outputs |= {h: head.written[case] for (h, head), case in zip(self.free.items(), case_of[1:], strict=True)}
        return domain.residual(self.vectors[:, case_of[0]], [outputs[h] for h in sorted(outputs)])


def residual_sum(
    row: SymbolicRow, heads: list[HeadOutput], live: np.ndarray, network: Network, domain: CaseVectors
) -> ResidualSum:
    """Return the sum of a row and its heads; only its `live` columns matter."""
    follows = {h: case for h, head in enumerate(heads) if (case := _follows(row, head, network)) is not None}
    decided = {h: heads[h].written[case] for h, case in follows.items()}
    free = {h: head for h, head in enumerate(heads) if h not in follows}
    if row.cases.constant or not decided:
        return ResidualSum(row.cases, row.vectors, decided, free)
    first, labels = distinct_columns(_sum_keys(row, heads, decided, live, domain))
    if first.size == row.cases.count:
        return ResidualSum(row.cases, row.vectors, decided, free)
    cases, order = network.cases(row.cases.variables, labels[row.cases.index])
    representative = first[order]
    decided = {h: output[representative] for h, output in decided.items()}
    return ResidualSum(cases, row.vectors[:, representative], decided, free)


def _follows(row: SymbolicRow, head: HeadOutput, network: Network) -> np.ndarray | None:
    """Return the head's case for each case of the row, or None if the row's case does not decide it."""
    if head.cases.constant:
        return np.zeros(row.cases.count, dtype=np.int64)
    if not set(head.cases.variables) <= set(row.cases.variables):
        return None
    _, (row_case, head_case) = network.join([row.cases, head.cases])
    case = np.zeros(row.cases.count, dtype=np.int64)
    case[row_case] = head_case
    return case if np.array_equal(case[row_case], head_case) else None


def _sum_keys(
    row: SymbolicRow,
    heads: list[HeadOutput],
    decided: dict[int, SomeColumns],
    live: np.ndarray,
    domain: CaseVectors,
) -> np.ndarray:
    """Return a column of numbers for each case of the row; cases with equal columns have equal sums."""
    free = {h: head.written for h, head in enumerate(heads) if h not in decided}
    writers = np.zeros(len(row.vectors), dtype=np.int64)
    for output in free.values():
        writers[output.columns] += 1
    one_writer, several_writers = live & (writers <= 1), live & (writers > 1)
    numbers = [row.vectors[several_writers]]
    numbers += [output.values[several_writers[output.columns]] for output in decided.values()]
    values_written = [np.unique(output.values[one_writer[output.columns]]) for output in free.values()]
    for value in np.unique(np.concatenate([np.zeros(1, dtype=row.vectors.dtype), *values_written])):
        outputs = dict(decided)
        for h, output in free.items():
            outputs[h] = SomeColumns(output.columns, np.full((output.columns.size, 1), value))
        numbers.append(domain.residual(row.vectors, [outputs[h] for h in sorted(outputs)])[one_writer])
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
    """A result and the rows that it was computed from; these are referenced so that their identities stay unique."""

    sources: tuple[SymbolicRow | bool, ...]
    result: SymbolicRow

    def is_of(self, sources: tuple[SymbolicRow | bool, ...]) -> bool:
        return len(self.sources) == len(sources) and all(map(operator.is_, self.sources, sources))


@dataclass(frozen=True, eq=False)
class _NeededColumns:
    """The columns that each layer computes: those that scores depend on, or all that logits depend on."""

    live_outputs: list[list[np.ndarray]]
    """[layer][head]: the indices of the live columns among those that the head writes."""
    written_columns: list[list[np.ndarray]]
    """[layer][head]: the live columns that the head writes."""
    columns: list[np.ndarray]
    """[layer]: the live columns that the layer reads after its heads, or writes."""
    live_mask: list[np.ndarray]
    """Before each layer and after the last: 1 for a live column, 0 for others."""
    is_read_later: list[bool]
    """[layer]: whether a later layer or a logit reads the result of the layer."""

    @classmethod
    def of(
        cls, live: Live, heads: list[list[SymbolicHead]], touched: list[np.ndarray], compact: Compact
    ) -> "_NeededColumns":
        layers = list(zip(live.within, heads, touched, strict=True))
        live_outputs = [[np.flatnonzero(mask[head.columns]) for head in layer_heads] for mask, layer_heads, _ in layers]
        return cls(
            live_outputs=live_outputs,
            written_columns=[
                [head.columns[indices] for head, indices in zip(layer_heads, layer_outputs, strict=True)]
                for layer_heads, layer_outputs in zip(heads, live_outputs, strict=True)
            ],
            columns=[np.flatnonzero(within & layer_touched) for within, _, layer_touched in layers],
            live_mask=[mask[:, None].astype(compact.narrow) for mask in live.before],
            is_read_later=[bool(mask.any()) for mask in live.before[1:]],
        )


class SymbolicTransformer:
    """The layers of a transformer over symbolic rows. `full` selects all columns, not only those that scores need."""

    def __init__(self, transformer: Transformer, network: Network) -> None:
        self.transformer, self._network = transformer, network
        self.compact = Compact(transformer.precision)
        width = transformer.width
        self.live: dict[bool, Live] = {False: live_for_scores(transformer), True: live_for_all(transformer)}
        self._projections = [Projections(layer.heads, self.compact, width) for layer in transformer.layers]
        numbers = count()
        self.heads = [
            [
                SymbolicHead(head, score_rows, self.compact, network, next(numbers))
                for head, score_rows in zip(layer.heads, projections.score_rows, strict=True)
            ]
            for layer, projections in zip(transformer.layers, self._projections, strict=True)
        ]
        self._domain = CaseVectors(self.compact)
        self._mlps = [self._domain.prepared(layer.mlp) for layer in transformer.layers]
        self._touched = [self._touched_by(i) for i in range(len(transformer.layers))]
        self._needed = {
            full: _NeededColumns.of(live, self.heads, self._touched, self.compact) for full, live in self.live.items()
        }
        self._sums = ResultCache()
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
        """Return H⁰ of rows with these tokens; a row that was embedded before is reused."""
        keys = {index: (index, full, id(token.cases), token.symbols.tobytes()) for index, token in tokens.items()}
        new_tokens = {index: tokens[index] for index, key in keys.items() if key not in self._embedded}
        for index, vectors in self._embedding(new_tokens, self.live[full].before[0]):
            cases = tokens[index].cases
            self._embedded[keys[index]] = cases, self._row(cases, vectors)  # `cases` is referenced: its id is a key
        return {index: self._embedded[key][1] for index, key in keys.items()}

    def views(self, i: int, rows: list[SymbolicRow]) -> list[HeadView]:
        """Return the views of the heads of layer i on all rows before it."""
        self._number_rows(i, rows)
        return [HeadView.of(head, rows) for head in self.heads[i]]

    def views_unchanged(self, i: int, views: list[HeadView], rows: list[SymbolicRow], changed: set[int]) -> bool:
        """Return whether the views are still valid although some rows have changed; then `reads` stays the same."""
        self._number_rows(i, [rows[k] for k in changed])
        return all(view.unchanged(rows, changed) for view in views)

    def prepare(self, i: int, rows: list[SymbolicRow]) -> None:
        """Compute what the heads of layer i read from full rows; one call for all rows is cheaper than one per row."""
        self._number_rows(i, rows)
        for head, live_outputs in zip(self.heads[i], self._needed[True].live_outputs[i], strict=True):
            if live_outputs.size:
                head.read_values(rows, live_outputs)

    def _number_rows(self, i: int, rows: list[SymbolicRow]) -> None:
        """Number the queries and keys of rows for all heads of layer i."""
        heads = self.heads[i]
        new_rows = [row for row in rows if heads[0].number not in row.numbers] if heads else []
        if new_rows:
            for head, (Q, K) in zip(heads, self._projections[i](stacked(new_rows)), strict=True):
                head.number_rows(new_rows, Q, K)

    def reads(self, i: int, index: int, row: SymbolicRow, views: list[HeadView], *, full: bool) -> Reading:
        """Return, for each head of layer i, the rows that a row reads.

        None for a head without live columns, unless its Z could be 0.
        """
        visible = index + 1 if self.causal else len(self.transformer.positions)
        return [
            view.reads(row, visible) if live_outputs.size or not (full or view.attends(row, visible)) else None
            for view, live_outputs in zip(views, self._needed[full].live_outputs[i], strict=True)
        ]

    def layer(
        self,
        i: int,
        index: int,
        row: SymbolicRow,
        read_rows: list[list[SymbolicRow] | None],
        *,
        full: bool,
        nothing: list[EmptyAttention],
    ) -> SymbolicRow:
        """Return the row after layer i, given the rows that its heads read.

        Cases in which a head attends to nothing are appended to `nothing`.
        """
        if not self._needed[full].is_read_later[i] and all(rows is None for rows in read_rows):
            return self._empty
        # the flag distinguishes a head that is left out from a head that reads no row
        sources = (row, *(x for rows in read_rows for x in (rows is None, *(rows or ()))))
        remembered = self._memory.setdefault((full, i, index), [])
        for memory in remembered:
            if memory.is_of(sources):
                return memory.result
        outputs: list[HeadOutput] = []
        for h, (head, rows) in enumerate(zip(self.heads[i], read_rows, strict=True)):
            if rows is None:
                continue
            live = self._needed[full].live_outputs[i][h]
            cases, output, without_key = head.output(row, rows, live)
            if not full and without_key.any():
                nothing.append(EmptyAttention(cases, without_key, i, h, index))
            if live.size:
                outputs.append(HeadOutput(cases, SomeColumns(self._needed[full].written_columns[i][h], output)))
        result = self._after_heads(i, row, outputs, full=full) if self._needed[full].is_read_later[i] else self._empty
        remembered.append(_Memory(sources, result))
        del remembered[:-4]
        return result

    def _touched_by(self, i: int) -> np.ndarray:
        """Return the columns that layer i reads after its heads, or writes; it does not change the others."""
        layer = self.transformer.layers[i]
        touched = np.zeros(self.transformer.width, dtype=bool)
        touched[layer.mlp.w1.row] = touched[self._mlps[i].columns] = True
        for head in self.heads[i]:
            touched[head.columns] = True
        return touched

    def _after_heads(self, i: int, row: SymbolicRow, heads: list[HeadOutput], *, full: bool) -> SymbolicRow:
        """Return `_heads_and_mlp`, computed once for rows that differ only in their variables and in other columns.

        Other columns are those that have one value in all cases and that the layer does not touch.
        """
        within, after = self.live[full].within[i], self.live[full].before[i + 1]
        pattern = pattern_of(self._network, [row.cases, *(head.cases for head in heads)])
        if pattern is None:
            return self._heads_and_mlp(i, row, heads, within, after)
        first_case = row.vectors[:, :1]
        columns = self._needed[full].columns[i]
        if not row.cases.constant:
            columns = np.flatnonzero(within & (self._touched[i] | (row.vectors != first_case).any(axis=1)))
        signature = (
            i,
            full,
            pattern[1],
            columns.tobytes(),
            row.vectors[columns].tobytes(),
            *(
                (id(output.columns), output.values.tobytes()) for _, output in heads
            ),  # columns of `_NeededColumns`: stable ids
        )
        cached = self._sums.entries.get(signature)
        if cached is None:
            result = self._heads_and_mlp(i, row, heads, within, after)
            self._sums.store(signature, result.cases, pattern[0], (result.vectors[columns],))
            return result
        vectors = first_case * self._needed[full].live_mask[i + 1]
        if cached.count > 1:
            vectors = np.repeat(vectors, cached.count, axis=1)
        vectors[columns] = cached.results[0]
        self._count_numbers(vectors.size)
        return SymbolicRow(cached.over(pattern[0]), vectors)

    def _heads_and_mlp(
        self, i: int, row: SymbolicRow, heads: list[HeadOutput], within: np.ndarray, after: np.ndarray
    ) -> SymbolicRow:
        """Add the heads to the row and apply the MLP, in each combination of cases."""
        total = residual_sum(row, heads, within, self._network, self._domain)
        basis, labels, case_of = self._combined([total.cases, *(head.cases for head in total.free.values())])
        G = total.of(self._domain, case_of)
        G[~within] = 0
        vectors = self._domain.mlp(G, self._mlps[i])
        vectors[~after] = 0
        first, class_of = distinct_columns(vectors)
        cases, order = self._network.cases(basis, class_of[labels])
        self._count_numbers(vectors.size)
        return SymbolicRow(cases, vectors[:, first[order]])

    def _combined(self, parts: list[Cases]) -> tuple[tuple[int, ...], np.ndarray, np.ndarray]:
        """Return (basis, the label of each assignment, the case of each part for each label)."""
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
        first, labels = distinct_columns(combined)
        return basis, labels, combined[:, first]

    def _row(self, cases: Cases, vectors: np.ndarray) -> SymbolicRow:
        """Return a row in which cases with equal vectors are merged."""
        if not cases.constant:
            self._count_numbers(vectors.size)
            cases, vectors = merge_equal_columns(self._network, cases, vectors)
        return SymbolicRow(cases, np.ascontiguousarray(vectors))

    def _count_numbers(self, numbers: int) -> None:
        self._numbers_kept += numbers
        if self._numbers_kept > MOST_NUMBERS:
            raise TooManyCases(f"more than {MOST_NUMBERS:,} numbers in all")

    def cut(self, row: SymbolicRow) -> SymbolicRow:
        """Return the row with cases of a single variable."""
        if row.cut_row is None:
            cases = self._network.cut(row.cases)
            row.cut_row = row if cases is row.cases else SymbolicRow(cases, row.vectors, row.numbers)
        return row.cut_row

    def logits(self, row: SymbolicRow) -> np.ndarray:
        """Return out·h in each case, [cases, outputs]."""
        if row.logits is None:
            signature = row.vectors.shape, row.vectors[self._read_out].tobytes()
            if signature not in self._logits:
                cases = row.vectors.shape[1]
                logits = np.zeros((cases, self.transformer.out.shape[0]), dtype=np.int64)
                logits[:, self._out.columns] = self._out(row.vectors, slice(0, cases)).T
                self._logits[signature] = logits
            row.logits = self._logits[signature]
        return row.logits
