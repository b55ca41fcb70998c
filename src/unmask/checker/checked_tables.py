"""The variables of a certificate, and their tables computed again from the weights.

A `LabelTable` gives a label to every assignment of values to a few variables. A `VariableNetwork` holds all variables
of a certificate; it evaluates several label tables over every assignment of one common basis of variables.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod

import numpy as np

from unmask.checker.certificate import Refused, need
from unmask.numerics.arithmetic import Precision, add, divide, exp, multiply, product, relu, weighted
from unmask.weights.matrices import Matrix
from unmask.weights.model import Model
from unmask.weights.transformer import Head, Mlp

MOST_ASSIGNMENTS = 1 << 18  # of values to the variables on which one row depends


@dataclass(frozen=True, eq=False)
class LabelTable:
    """A label for every assignment of the variables: table[value of each variable]."""

    variables: tuple[int, ...]
    table: np.ndarray

    def __post_init__(self) -> None:
        object.__setattr__(self, "table", np.asarray(self.table))

    def reduced(self) -> "LabelTable":
        """Return the table without the variables on which it does not depend."""
        variables, table = list(self.variables), self.table
        for axis in reversed(range(table.ndim)):
            first = table.take([0], axis)
            if (table == first).all():
                table, _ = first.squeeze(axis), variables.pop(axis)
        return LabelTable(tuple(variables), table)

    def relabeled(self, labels: np.ndarray) -> "LabelTable":
        """Return the table with these labels in place of its own, reduced."""
        return LabelTable(self.variables, labels[self.table]).reduced()


class VariableNetwork:
    """Variables by number: (parents, table), or the number of values of a letter."""

    def __init__(
        self, variables: Sequence[tuple[tuple[int, ...], np.ndarray] | int], tick: Callable[[], None] = lambda: None
    ) -> None:
        self._definitions = [((), None) if isinstance(v, int) else v for v in variables]
        self.sizes = [v if isinstance(v, int) else int(v[1].max()) + 1 for v in variables]
        self._tick = tick  # called for every row: a caller can raise in it to stop the check
        tables = (table for _, table in self._definitions)
        self._compared = [None if table is None else np.zeros(table.shape, dtype=bool) for table in tables]

    def single(self, v: int | None) -> LabelTable:
        """Return the label table of variable v alone: its own values; a constant label if v is None."""
        return LabelTable((), np.zeros((), dtype=np.int64)) if v is None else LabelTable((v,), np.arange(self.sizes[v]))

    def table(self, v: int) -> np.ndarray:
        """Return the table of a variable that is not a letter."""
        table = self._definitions[v][1]
        assert table is not None
        return table

    def check_use(self, named: set[int]) -> None:
        """Refuse a variable that is not named and whose values make no difference to the tables that read it."""
        need(all(v < len(self.sizes) for v in named), "a step names a variable that is not listed")
        readers: dict[int, list[np.ndarray]] = {}
        for v, (parents, _) in enumerate(self._definitions):
            for axis, u in enumerate(parents):
                readers.setdefault(u, []).append(np.moveaxis(self.table(v), axis, 0).reshape(self.sizes[u], -1))
        for v, (parents, _) in enumerate(self._definitions):
            if parents and v not in named:
                need(v in readers, f"nothing needs variable {v}")
                distinct = np.unique(np.hstack(readers[v]), axis=0)
                need(len(distinct) == self.sizes[v], f"variable {v} has two values that no other table distinguishes")

    def check_compared(self) -> None:
        """Refuse a table with an entry that was never compared with the weights."""
        for v, compared in enumerate(self._compared):
            if compared is not None and not compared.all():
                entry = int(np.flatnonzero(~compared.ravel())[0])
                raise Refused(f"no row of the model was compared with entry {entry} of the table of variable {v}")

    def joint_with(self, v: int | None, tables: Sequence[LabelTable]) -> tuple[tuple[int, ...], list[np.ndarray]]:
        """Return `joint` of these tables and of variable v, the last; mark the entries of v's table that it uses.

        Marked entries count as compared, so the caller must pass the labels to `labels_by_value`, which compares them.
        """
        basis, labels = self.joint([*tables, self.single(v)])
        compared = None if v is None else self._compared[v]
        if v is not None and compared is not None and v not in basis:
            values = self._assignments(basis)
            compared[tuple(self._value(u, values) for u in self._definitions[v][0])] = True
        return basis, labels

    def joint(self, tables: Sequence[LabelTable]) -> tuple[tuple[int, ...], list[np.ndarray]]:
        """Return (basis, labels): variables that determine all tables, and per table its label in every assignment."""
        self._tick()
        basis = tuple(sorted(self._independent({v for table in tables for v in table.variables})))
        sizes = [self.sizes[v] for v in basis]
        if prod(sizes) > MOST_ASSIGNMENTS:
            raise Refused(f"a row reads {prod(sizes):,} combinations, more than the checker supports")
        values = self._assignments(basis)
        rows = (table.table[tuple(self._value(v, values) for v in table.variables)] for table in tables)
        return basis, [np.broadcast_to(row, (prod(sizes),)) for row in rows]

    def _assignments(self, basis: tuple[int, ...]) -> dict[int, np.ndarray]:
        """Return the value of each variable of a basis in every assignment."""
        return dict(zip(basis, (axis.ravel() for axis in np.indices([self.sizes[v] for v in basis])), strict=True))

    def _value(self, v: int, values: dict[int, np.ndarray]) -> np.ndarray:
        """Return the value of v in every assignment of a basis; `values` holds those computed so far."""
        if v not in values:
            parents, table = self._definitions[v]
            assert table is not None, "a letter on which a table depends is in the basis"
            values[v] = table[tuple(self._value(u, values) for u in parents)]
        return values[v]

    def _independent(self, variables: set[int]) -> set[int]:
        """Return these variables without those that follow from the others."""
        basis = set(variables)
        for v in sorted(variables, reverse=True):
            if self._follows(v, basis - {v}):
                basis.discard(v)
        return basis

    def _follows(self, v: int, others: set[int]) -> bool:
        """Return whether the values of the others determine the value of v."""
        parents = self._definitions[v][0]
        least = min(others, default=v)
        return bool(parents) and all(u in others or (u > least and self._follows(u, others)) for u in parents)


def network_of(
    letter_values: int, length: int, listed: Sequence[tuple[list[int], list[int]]], tick: Callable[[], None]
) -> VariableNetwork:
    """Build the network: the letters, then the listed tables. Refuse a table that is not in its canonical form.

    Parents are in increasing order, the table depends on each of them, and values are numbered as they first occur.
    """
    variables: list[tuple[tuple[int, ...], np.ndarray] | int] = [letter_values] * length
    sizes = [letter_values] * length
    for v, (parents, table) in enumerate(listed, start=length):
        in_order = bool(parents) and all(a < b for a, b in pairwise([*parents, v]))
        need(in_order, f"parents of variable {v} are not in order")
        shape = [sizes[u] for u in parents]
        need(len(table) == prod(shape), f"the table of variable {v} has another size than its parents")
        sizes.append(len({*table}))
        need([*dict.fromkeys(table)] == [*range(sizes[v])], f"values of variable {v} are not in order of occurrence")
        array = np.array(table, dtype=np.int64).reshape(shape)
        matters = ((array != array.take([0], axis)).any() for axis in range(array.ndim))
        need(all(matters), f"variable {v} does not depend on one of its parents")
        variables.append((tuple(parents), array))
    return VariableNetwork(variables, tick)


# Weights → tables: do the tables of the certificate hold what the model computes, for every word?
#
#     row        a row of the residual stream: one vector for every label of a label table
#     layer      computed for every combination of the rows that get weight, with the sums of F_p
#     cut        replaces a computed row by a claimed variable v, whose value must determine the row
#
# A row is computed only in the columns that can still make a difference; the other columns are never read. The prover
# contributes the names of the variables and their tables, and every entry of a table is compared.


@dataclass(frozen=True, eq=False)
class CheckedRow:
    """vectors[label]: the content of a row, in the computed columns."""

    labels: LabelTable
    vectors: np.ndarray
    columns: np.ndarray


Token = tuple[LabelTable, np.ndarray]
"""A label table, and the meaning of each label: a symbol, or logits."""
Reads = dict[int, list[list[int]]]
"""Row ↦ per head, the rows to which it gives weight in some case."""
Cuts = dict[tuple[bool, int, int], int | None]
"""(scores only?, number of the layer in the run, row) ↦ the variable that replaces the row; removed once compared."""


@dataclass(frozen=True, eq=False)
class LiveColumns:
    """The columns that can make a difference: before[i] before layer i, within[i] between its heads and its MLP.

    The last entry of `before` is after the last layer.
    """

    before: list[np.ndarray]
    within: list[np.ndarray]


@dataclass(frozen=True, eq=False)
class ReadRow:
    """A row as a head reads it for another row: exponentials[query, label] and values[label, column]."""

    labels: LabelTable
    exponentials: np.ndarray
    values: np.ndarray


@dataclass(frozen=True, eq=False)
class RowSum:
    """A row after the heads of a layer: totals[combination], where `labels` maps every assignment to a combination.

    `cut_values` are the values of the variable that replaces the row, in every assignment.
    """

    labels: LabelTable
    cut_values: np.ndarray
    totals: np.ndarray


def distinct_rows(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (the index of the first of each distinct row; for every row, the number of its distinct row)."""
    if not rows.shape[1]:
        return np.zeros(1, dtype=np.int64), np.zeros(len(rows), dtype=np.int64)
    packed = np.ascontiguousarray(rows).view(np.dtype((np.void, rows.itemsize * rows.shape[1]))).ravel()
    _, first, inverse = np.unique(packed, return_index=True, return_inverse=True)
    return first, inverse.reshape(-1)


class HeadTables:
    """One head over all rows: which row gives weight to which, in which cases.

    `columns` are the live columns that the head writes.
    """

    def __init__(self, head: Head, rows: dict[int, CheckedRow], within: np.ndarray, precision: Precision) -> None:
        self._rows = rows
        self.columns = np.array([c for c in np.unique(head.wv.column) if within[c]], dtype=np.int64)
        sources = _sources(head.wq) | _sources(head.wk) | _sources(head.wv, within)
        if not all(row.columns[sources].all() for row in rows.values()):
            raise Refused("a head reads a column whose values are unknown")
        stacked = np.concatenate([row.vectors for row in rows.values()])
        edges = np.cumsum([0, *(len(row.vectors) for row in rows.values())])
        q, k, v = (weighted(stacked, w.rows(), w.shape[1], precision) for w in (head.wq, head.wk, head.wv))
        (first_q, query), (first_k, key) = distinct_rows(q), distinct_rows(k)
        self._exponentials = exp(product(q[first_q], k[first_k].T, precision), precision)
        slices = dict(zip(rows, (slice(a, b) for a, b in pairwise(edges)), strict=True))
        self.queries = {j: query[its] for j, its in slices.items()}
        self._keys = {j: key[its] for j, its in slices.items()}
        self._values = {j: v[its][:, self.columns] for j, its in slices.items()}

    def reads(self, k: int, last: int) -> list[int]:
        """Return the rows up to `last` to which row k gives weight in some case, in order."""
        has_weight = self._exponentials[self.queries[k]].any(axis=0)
        return [j for j in self._rows if j <= last and has_weight[self._keys[j]].any()]

    def always_reads(self, k: int, read: Sequence[int]) -> bool:
        """Return whether row k gives weight to at least one of these rows in every case."""
        exps = self._exponentials[np.unique(self.queries[k])]
        return bool(np.any([(exps[:, self._keys[j]] > 0).all(axis=1) for j in read], axis=0).all()) if read else False

    def read_row(self, k: int, j: int) -> ReadRow:
        """Return row j as the head reads it for row k."""
        exps = self._exponentials[:, self._keys[j]]
        first, label = distinct_rows(np.hstack([exps[np.unique(self.queries[k])].T, self._values[j]]))
        return ReadRow(self._rows[j].labels.relabeled(label), exps[:, first], self._values[j][first])


@dataclass(frozen=True, eq=False)
class LayerInput:
    """The rows before a layer, its heads, and the columns that are live after the heads.

    With `scores_only`, rows are computed only in the columns that later scores depend on.
    """

    rows: dict[int, CheckedRow]
    heads: list[HeadTables]
    within: np.ndarray
    scores_only: bool

    def heads_of(self, k: int, reads: list[list[int]]) -> list[int]:
        """Return the heads to compute for row k: those that write live columns, and those that may read nothing."""
        return [
            h
            for h, head in enumerate(self.heads)
            if head.columns.size or (self.scores_only and not head.always_reads(k, reads[h]))
        ]

    def distinct_content(self, k: int, heads: Sequence[int]) -> tuple[LabelTable, np.ndarray]:
        """Return row k with equal labels where its queries and live columns are equal, and a vector index per label."""
        row = self.rows[k]
        queries = [self.heads[h].queries[k][:, None] for h in heads]
        first, label = distinct_rows(np.hstack([*queries, row.vectors[:, self.within]]))
        return row.labels.relabeled(label), first


class TransformerTables:
    """One transformer, run over a network of variables. After each layer in `ends`, variables replace the rows."""

    def __init__(self, model: Model, name: str, network: VariableNetwork, ends: Sequence[int] = ()) -> None:
        self._ends = ends
        self._t, self._p, self._network, self._name = model.transformers[name], model.precision, network, name

    def logits(
        self, tokens: Sequence[Token], layers: Sequence[int], targets: Sequence[int], cuts: Cuts
    ) -> dict[int, Token]:
        """Return (label table, logits of each label) of the target rows.

        First, all rows are computed in the columns that scores depend on; this determines which rows each row reads.
        Then the rows on which the targets depend are computed in all live columns.
        """
        out = self._t.out.transposed()
        for_scores, for_all = self._live(np.zeros(self._t.width, dtype=bool)), self._live(_sources(out))
        rows, reads = self._embedded(tokens, range(len(tokens)), for_scores.before[0]), []
        for u, i in enumerate(layers):
            rows, read = self._layer(u, i, rows, list(rows), for_scores, None, cuts)
            reads.append(read)
        if not targets:
            return {}
        needed = [set(targets)]
        for u in reversed(range(len(layers))):
            heads = self._t.layers[layers[u]].heads
            writing = [h for h, head in enumerate(heads) if for_all.within[layers[u]][head.wv.column].any()]
            needed.insert(0, needed[0] | {j for k in needed[0] for h in writing for j in reads[u][k][h]})
        rows = self._embedded(tokens, sorted(needed[0]), for_all.before[0])
        for u, i in enumerate(layers):
            rows, _ = self._layer(u, i, rows, sorted(needed[u + 1]), for_all, reads[u], cuts)
        return {k: (rows[k].labels, weighted(rows[k].vectors, out.rows(), out.shape[1], self._p)) for k in targets}

    def _live(self, last: np.ndarray) -> LiveColumns:
        """Return the live columns, for the columns that are read after the last layer and any number of loops."""
        layers, (first, end) = self._t.layers, self._t.loop or (0, 0)
        before, within, previous = [last] * (len(layers) + 1), [last] * len(layers), None
        while previous is None or not np.array_equal(previous, before):
            previous = np.array(before)
            for i in reversed(range(len(layers))):
                if i + 1 == end:
                    before[end] = before[end] | before[first]
                mlp, heads = layers[i].mlp, layers[i].heads
                within[i] = before[i + 1] | _sources(mlp.w1, _sources(mlp.w2, before[i + 1]))
                read = [_sources(head.wq) | _sources(head.wk) | _sources(head.wv, within[i]) for head in heads]
                before[i] = np.logical_or.reduce([within[i], *read])
        return LiveColumns(before, within)

    def _embedded(self, tokens: Sequence[Token], rows: Sequence[int], columns: np.ndarray) -> dict[int, CheckedRow]:
        embed, positions = self._t.embed.dense().astype(np.int64), self._t.positions.astype(np.int64)
        return {k: _checked_row(tokens[k][0], add(embed[tokens[k][1]], positions[k], self._p), columns) for k in rows}

    def _layer(
        self,
        u: int,
        i: int,
        rows: dict[int, CheckedRow],
        targets: Sequence[int],
        live: LiveColumns,
        reads: Reads | None,
        cuts: Cuts,
    ) -> tuple[dict[int, CheckedRow], Reads]:
        """Return the target rows after layer i, the u-th of the run, and the rows to which each head gives weight.

        If `reads` is None, rows are computed for scores only, and the rows that are read are determined here.
        """
        within, after = live.within[i], live.before[i + 1]
        heads = [HeadTables(head, rows, within, self._p) for head in self._t.layers[i].heads]
        layer_input = LayerInput(rows, heads, within, scores_only=reads is None)
        all_reads: Reads = {}
        sums: dict[int, RowSum] = {}
        for k in targets:
            last = k if self._t.attention == "causal" else len(self._t.positions)
            all_reads[k] = [head.reads(k, last) for head in heads] if reads is None else reads[k]
            key = reads is None, u, k
            need(u not in self._ends or key in cuts, f"row {k} is cut to no variable after layer {u} of the run")
            sums[k] = self._sum(k, layer_input, all_reads[k], cuts.get(key))
        after_heads = np.concatenate([row_sum.totals for row_sum in sums.values()])
        vectors = after_mlp(self._t.layers[i].mlp, after_heads, self._p)
        vectors[:, ~after] = 0
        result, start = {}, 0
        for k, row_sum in sums.items():
            row_vectors, start = vectors[start : start + len(row_sum.totals)], start + len(row_sum.totals)
            result[k] = _checked_row(row_sum.labels, row_vectors, after)
            if u in self._ends:  # the computed row must follow from the value of the variable that replaces it
                v, (first, label) = cuts.pop((reads is None, u, k)), distinct_rows(row_vectors)
                labels = labels_by_value(row_sum.cut_values, label[row_sum.labels.table.ravel()], self._network, v)
                result[k] = CheckedRow(self._network.single(v), row_vectors[first][labels], after)
        return result, all_reads

    def _sum(self, k: int, layer_input: LayerInput, reads: list[list[int]], cut_variable: int | None) -> RowSum:
        """Return row k plus the outputs of its heads, for every combination of its content and the rows that it reads.

        `reads` are the rows that each head reads; `cut_variable` replaces the row after the layer.
        """
        computed = layer_input.heads_of(k, reads)
        own_table, first = layer_input.distinct_content(k, computed)
        read_rows = [(h, layer_input.heads[h].read_row(k, j)) for h in computed for j in reads[h]]
        basis, (own_labels, *read_labels, cut_values) = self._network.joint_with(
            cut_variable, [own_table, *(row.labels for _, row in read_rows)]
        )
        combination, chosen = _combined([own_labels, *read_labels])
        vector = first[own_labels[chosen]]
        totals = np.zeros((chosen.size, self._t.width), dtype=np.int64)
        for h in computed:
            columns, query = layer_input.heads[h].columns, layer_input.heads[h].queries[k][vector]
            terms = [
                (row.exponentials[query, labels[chosen]], row.values[labels[chosen]])
                for (source_head, row), labels in zip(read_rows, read_labels, strict=True)
                if source_head == h
            ]
            output = self._attended(terms, chosen.size, columns.size, f"head {h} of the {self._name}: row {k}")
            totals[:, columns] = add(totals[:, columns], output, self._p)
        totals = add(totals, layer_input.rows[k].vectors[vector], self._p)
        totals[:, ~layer_input.within] = 0
        labels = LabelTable(basis, combination.reshape([self._network.sizes[v] for v in basis]))
        return RowSum(labels, cut_values, totals)

    def _attended(
        self, terms: Sequence[tuple[np.ndarray, np.ndarray]], cases: int, columns: int, where: str
    ) -> np.ndarray:
        """Return SUM_j [e_j / Z]·v_j with Z = SUM_j e_j, for the terms (e_j [case], v_j [case, column]) in order."""
        Z = np.minimum(sum((e for e, _ in terms), np.zeros(cases, dtype=np.int64)), self._p.bound)
        if not Z.all():
            raise Refused(f"{where} attends to nothing")
        total = np.zeros((cases, columns), dtype=np.int64)
        for e, value in terms:
            total = add(total, multiply(divide(e, Z, self._p)[:, None], value, self._p), self._p)
        return total


def after_mlp(mlp: Mlp, rows: np.ndarray, precision: Precision) -> np.ndarray:
    """Return x + ReLU(ReLU(x·W1 + b1)·W2 + b2) for every row x."""
    hidden = relu(add(weighted(rows, _used(mlp.w1, rows), mlp.w1.shape[1], precision), mlp.b1, precision))
    change = relu(add(weighted(hidden, _used(mlp.w2, hidden), mlp.w2.shape[1], precision), mlp.b2, precision))
    return add(rows, change, precision)


def _used(matrix: Matrix, factors: np.ndarray) -> Iterable[tuple[int, np.ndarray, np.ndarray]]:
    """Return the rows of a matrix whose factor is not 0 in some case; the others add nothing."""
    used = {*np.flatnonzero(factors.any(axis=0)).tolist()}
    return (row for row in matrix.rows() if row[0] in used)


def _combined(labels: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Number the combinations of labels; return (combination of every assignment, one assignment per combination)."""
    codes = np.zeros(labels[0].size, dtype=np.int64)
    for label in labels:
        codes = np.unique(codes * (int(label.max()) + 1) + label, return_inverse=True)[1].reshape(-1)
    return codes, np.unique(codes, return_index=True)[1]


def labels_by_value(values: np.ndarray, labels: np.ndarray, network: VariableNetwork, v: int | None) -> np.ndarray:
    """Return the label of each value of variable v, from the value and the label in every assignment.

    Refuse unless the value determines the label and different values have different labels.
    """
    table = np.zeros((1 if v is None else network.sizes[v], *labels.shape[1:]), dtype=labels.dtype)
    table[values] = labels
    if not np.array_equal(table[values], labels):
        raise Refused(f"the value of variable {v} does not determine the computed result")
    distinct = np.unique(table).size == len(table) == np.unique(values).size
    need(distinct, f"variable {v} has two equivalent values, or a value that never occurs")
    need(v is None or len(table) > 1, f"variable {v} has only one value")
    return table


def _checked_row(labels: LabelTable, vectors: np.ndarray, columns: np.ndarray) -> CheckedRow:
    """Return a row of these vectors, 0 in all other columns; equal vectors get one label."""
    vectors = np.where(columns, vectors, 0)
    first, label = distinct_rows(vectors)
    return CheckedRow(labels.relabeled(label), vectors[first], columns)


def _sources(matrix: Matrix, targets: np.ndarray | None = None) -> np.ndarray:
    """Return which rows of a matrix have an entry in one of the target columns, by default any."""
    used = matrix.row if targets is None else matrix.row[targets[matrix.column]]
    return np.isin(np.arange(matrix.shape[0]), used)
