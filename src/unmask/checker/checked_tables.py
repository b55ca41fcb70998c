"""The variables of a certificate, and their tables computed again from the weights.

part      a table over a few variables, and a label for each of their values
network   all variables; several parts together are a label each, in every assignment of a basis
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod

import numpy as np

from unmask.checker.certificate import Refused, need
from unmask.numerics.arithmetic import Precision, add, divide, exp, multiply, product, relu, weighted
from unmask.weights.matrices import Matrix
from unmask.weights.model import Model
from unmask.weights.transformer import Head, Mlp

MOST = 1 << 18


@dataclass(frozen=True, eq=False)
class LabelTable:
    """table[value of each variable] = a label."""

    variables: tuple[int, ...]
    table: np.ndarray

    def __post_init__(self) -> None:
        object.__setattr__(self, "table", np.asarray(self.table))

    def reduced(self) -> "LabelTable":
        variables, table = list(self.variables), self.table
        for axis in reversed(range(table.ndim)):
            first = table.take([0], axis)
            if (table == first).all():
                table, _ = first.squeeze(axis), variables.pop(axis)
        return LabelTable(tuple(variables), table)


class VariableNetwork:
    """Variables by number: (parents, table), or the number of values of a letter."""

    def __init__(
        self, variables: Sequence[tuple[tuple[int, ...], np.ndarray] | int], look: Callable[[], None] = lambda: None
    ) -> None:
        self._of = [((), None) if isinstance(v, int) else v for v in variables]
        self.sizes = [v if isinstance(v, int) else int(v[1].max()) + 1 for v in variables]
        self._look = look  # at the clock, with every row
        self._compared = [None if table is None else np.zeros(table.shape, dtype=bool) for _, table in self._of]

    def alone(self, v: int | None) -> LabelTable:
        return LabelTable((), np.zeros((), dtype=np.int64)) if v is None else LabelTable((v,), np.arange(self.sizes[v]))

    def table(self, v: int) -> np.ndarray:
        """Of a variable that is not a letter."""
        table = self._of[v][1]
        assert table is not None
        return table

    def check_use(self, named: set[int]) -> None:
        """Every table is named, or each of its values makes a difference to a table above it."""
        need(all(v < len(self.sizes) for v in named), "a step names a variable that is not listed")
        above: dict[int, list[np.ndarray]] = {}
        for v, (parents, _) in enumerate(self._of):
            for axis, u in enumerate(parents):
                above.setdefault(u, []).append(np.moveaxis(self.table(v), axis, 0).reshape(self.sizes[u], -1))
        for v, (parents, _) in enumerate(self._of):
            if parents and v not in named:
                need(v in above, f"nothing needs variable {v}")
                distinct = np.unique(np.hstack(above[v]), axis=0)
                need(len(distinct) == self.sizes[v], f"variable {v} has two values that mean the same")

    def check_compared(self) -> None:
        """Refuse a table with an entry that was never compared with the weights."""
        for v, compared in enumerate(self._compared):
            if compared is not None and not compared.all():
                entry = int(np.flatnonzero(~compared.ravel())[0])
                raise Refused(f"no row of the model was compared with entry {entry} of the table of variable {v}")

    def joint_with(self, v: int | None, parts: Sequence[LabelTable]) -> tuple[tuple[int, ...], list[np.ndarray]]:
        """`joint` of the parts and of variable v, the last; the entries of v's table that occur count as compared.

        The caller must pass the labels to `confirmed`, which compares them.
        """
        basis, labels = self.joint([*parts, self.alone(v)])
        compared = None if v is None else self._compared[v]
        if v is not None and compared is not None and v not in basis:
            sizes = [self.sizes[u] for u in basis]
            values = dict(zip(basis, (axis.ravel() for axis in np.indices(sizes)), strict=True))
            compared[tuple(self._value(u, values) for u in self._of[v][0])] = True
        return basis, labels

    def joint(self, parts: Sequence[LabelTable]) -> tuple[tuple[int, ...], list[np.ndarray]]:
        """(variables, the label of each part in every assignment of them)."""
        self._look()
        basis = tuple(sorted(self._independent({v for part in parts for v in part.variables})))
        sizes = [self.sizes[v] for v in basis]
        if prod(sizes) > MOST:
            raise Refused(f"a row reads {prod(sizes):,} combinations, more than the checker supports")
        values = dict(zip(basis, (axis.ravel() for axis in np.indices(sizes)), strict=True))
        rows = (part.table[tuple(self._value(v, values) for v in part.variables)] for part in parts)
        return basis, [np.broadcast_to(row, (prod(sizes),)) for row in rows]

    def _value(self, v: int, values: dict[int, np.ndarray]) -> np.ndarray:
        if v not in values:
            parents, table = self._of[v]
            assert table is not None, "letters stand in every basis that needs them"
            values[v] = table[tuple(self._value(u, values) for u in parents)]
        return values[v]

    def _independent(self, wanted: set[int]) -> set[int]:
        """Without the variables that follow from the others."""
        kept = set(wanted)
        for v in sorted(wanted, reverse=True):
            if self._follows(v, kept - {v}):
                kept.discard(v)
        return kept

    def _follows(self, v: int, given: set[int]) -> bool:
        parents = self._of[v][0]
        least = min(given, default=v)
        return bool(parents) and all(u in given or (u > least and self._follows(u, given)) for u in parents)


def network_of(
    letter: int, length: int, tables: Sequence[tuple[list[int], list[int]]], look: Callable[[], None]
) -> VariableNetwork:
    """Letters, then tables in the one form that each can have.

    Parents are in order, each of them changes something, and values are numbered as they first occur.
    """
    variables: list[tuple[tuple[int, ...], np.ndarray] | int] = [letter] * length
    sizes = [letter] * length
    for v, (parents, table) in enumerate(tables, start=length):
        need(
            bool(parents) and all(a < b for a, b in pairwise([*parents, v])),
            f"parents of variable {v} are not in order",
        )
        shape = [sizes[u] for u in parents]
        need(len(table) == prod(shape), f"the table of variable {v} has another size than its parents")
        sizes.append(len({*table}))
        need([*dict.fromkeys(table)] == [*range(sizes[v])], f"values of variable {v} are not numbered as they occur")
        array = np.array(table, dtype=np.int64).reshape(shape)
        telling = ((array != array.take([0], axis)).any() for axis in range(array.ndim))
        need(all(telling), f"variable {v} does not depend on one of its parents")
        variables.append((tuple(parents), array))
    return VariableNetwork(variables, look)


# Weights → tables: are the variables of a certificate what the model computes, for every word?
#
#     row        a row of the residual stream: one vector for every value of a few variables
#     layer      computed for every combination of the rows that have weight, by the sums of F_p
#     cut        a claimed variable v: what was computed must follow from the value of v alone
#
# A row is known in the columns that can still make a difference; the other columns are never read. Nothing here comes
# from the prover except the names of the variables and their tables, which are confirmed entry by entry.


@dataclass(frozen=True, eq=False)
class CheckedRow:
    """vectors[label]: the content of a row, in the columns that are known."""

    part: LabelTable
    vectors: np.ndarray
    known: np.ndarray


Token = tuple[LabelTable, np.ndarray]
"""A table of labels, and the meaning of each label: a symbol, or logits."""
Reads = dict[int, list[list[int]]]
"""Row ↦ for each head, the rows on which it has weight in some case."""
Cuts = dict[tuple[bool, int, int], int | None]
"""(scores only?, number of the layer in the run, row) ↦ the variable that the row is cut to; removed once confirmed."""


@dataclass(frozen=True, eq=False)
class LiveColumns:
    """The columns that can make a difference.

    before[i] is before layer i (and after the last one), within[i] after its heads.
    """

    before: list[np.ndarray]
    within: list[np.ndarray]


@dataclass(frozen=True, eq=False)
class SeenRow:
    """A row as another row sees it: exponentials[query, label] and values[label, column]."""

    part: LabelTable
    exponentials: np.ndarray
    values: np.ndarray


@dataclass(frozen=True, eq=False)
class RowSum:
    """A row after the heads of a layer: totals[combination], where `part` maps every assignment to a combination.

    `cut` is the value of the cut variable in every assignment.
    """

    part: LabelTable
    cut: np.ndarray
    totals: np.ndarray


def numbered(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (the first index of each distinct row, for every row which distinct row it is)."""
    if not rows.shape[1]:
        return np.zeros(1, dtype=np.int64), np.zeros(len(rows), dtype=np.int64)
    whole = np.ascontiguousarray(rows).view(np.dtype((np.void, rows.itemsize * rows.shape[1]))).ravel()
    _, first, inverse = np.unique(whole, return_index=True, return_inverse=True)
    return first, inverse.reshape(-1)


class HeadTables:
    """One head over all rows: which rows have weight for which, in which cases.

    `columns` are the live columns that it writes.
    """

    def __init__(self, head: Head, rows: dict[int, CheckedRow], within: np.ndarray, precision: Precision) -> None:
        self._rows = rows
        self.columns = np.array([c for c in np.unique(head.wv.column) if within[c]], dtype=np.int64)
        sources = _sources(head.wq) | _sources(head.wk) | _sources(head.wv, within)
        if not all(row.known[sources].all() for row in rows.values()):
            raise Refused("a head reads a column whose values are unknown")
        stacked = np.concatenate([row.vectors for row in rows.values()])
        edges = np.cumsum([0, *(len(row.vectors) for row in rows.values())])
        q, k, v = (weighted(stacked, w.rows(), w.shape[1], precision) for w in (head.wq, head.wk, head.wv))
        (first_q, of_q), (first_k, of_k) = numbered(q), numbered(k)
        self._exponentials = exp(product(q[first_q], k[first_k].T, precision), precision)
        split = [slice(a, b) for a, b in pairwise(edges)]
        self.queries = {j: of_q[part] for j, part in zip(rows, split, strict=True)}
        self._keys = {j: of_k[part] for j, part in zip(rows, split, strict=True)}
        self._values = {j: v[part][:, self.columns] for j, part in zip(rows, split, strict=True)}

    def reads(self, k: int, last: int) -> list[int]:
        """Return the rows up to `last` on which row k has weight in some case, in order."""
        seen = self._exponentials[self.queries[k]].any(axis=0)
        return [j for j in self._rows if j <= last and seen[self._keys[j]].any()]

    def certain(self, k: int, read: Sequence[int]) -> bool:
        """Return True if row k has weight on one of these rows whatever they hold."""
        exps = self._exponentials[np.unique(self.queries[k])]
        return bool(np.any([(exps[:, self._keys[j]] > 0).all(axis=1) for j in read], axis=0).all()) if read else False

    def seen(self, k: int, j: int) -> SeenRow:
        """Return row j as row k sees it."""
        exps = self._exponentials[:, self._keys[j]]
        first, label = numbered(np.hstack([exps[np.unique(self.queries[k])].T, self._values[j]]))
        part = self._rows[j].part
        return SeenRow(LabelTable(part.variables, label[part.table]).reduced(), exps[:, first], self._values[j][first])


@dataclass(frozen=True, eq=False)
class LayerInput:
    """The rows before a layer, its heads, and the columns that are live after the heads.

    With `scores_only` the rows are known as far as later scores need them, and no row asks for more.
    """

    rows: dict[int, CheckedRow]
    heads: list[HeadTables]
    within: np.ndarray
    scores_only: bool

    def heads_of(self, k: int, reads: list[list[int]]) -> list[int]:
        """Return the heads that have to be computed for row k: those that write, and those that may read nothing."""
        return [
            h
            for h, head in enumerate(self.heads)
            if head.columns.size or (self.scores_only and not head.certain(k, reads[h]))
        ]

    def own(self, k: int, heads: Sequence[int]) -> tuple[LabelTable, np.ndarray]:
        """Return row k by what matters of it (its queries and live columns), and a vector index for every label."""
        row = self.rows[k]
        queries = [self.heads[h].queries[k][:, None] for h in heads]
        first, label = numbered(np.hstack([*queries, row.vectors[:, self.within]]))
        return LabelTable(row.part.variables, label[row.part.table]).reduced(), first


class TransformerTables:
    """One transformer over a network of variables; rows are cut after the layers of the run in `ends`."""

    def __init__(self, model: Model, name: str, network: VariableNetwork, ends: Sequence[int] = ()) -> None:
        self._ends = ends
        self._t, self._p, self._network, self._name = model.transformers[name], model.precision, network, name

    def logits(
        self, tokens: Sequence[Token], layers: Sequence[int], asked: Sequence[int], cuts: Cuts
    ) -> dict[int, Token]:
        """Return (table of labels, logits of each label) of the rows asked for.

        First every row is computed as far as scores need it, which gives the rows that each row reads. Then the rows
        that the asked ones depend on are computed in all live columns.
        """
        out = self._t.out.transposed()
        for_scores, for_all = self._live(np.zeros(self._t.width, dtype=bool)), self._live(_sources(out))
        rows, reads = self._embedded(tokens, range(len(tokens)), for_scores.before[0]), []
        for u, i in enumerate(layers):
            rows, read = self._layer(u, i, rows, list(rows), for_scores, None, cuts)
            reads.append(read)
        if not asked:
            return {}
        wanted = [set(asked)]
        for u in reversed(range(len(layers))):
            heads = self._t.layers[layers[u]].heads
            matter = [h for h, head in enumerate(heads) if for_all.within[layers[u]][head.wv.column].any()]
            wanted.insert(0, wanted[0] | {j for k in wanted[0] for h in matter for j in reads[u][k][h]})
        rows = self._embedded(tokens, sorted(wanted[0]), for_all.before[0])
        for u, i in enumerate(layers):
            rows, _ = self._layer(u, i, rows, sorted(wanted[u + 1]), for_all, reads[u], cuts)
        return {k: (rows[k].part, weighted(rows[k].vectors, out.rows(), out.shape[1], self._p)) for k in asked}

    def _live(self, last: np.ndarray) -> LiveColumns:
        """Return the live columns, if those in `last` are read after the last layer; a loop may come round again."""
        layers, (first, end) = self._t.layers, self._t.loop or (0, 0)
        before, within, known = [last] * (len(layers) + 1), [last] * len(layers), None
        while known is None or not np.array_equal(known, before):
            known = np.array(before)
            for i in reversed(range(len(layers))):
                if i + 1 == end:
                    before[end] = before[end] | before[first]
                mlp, heads = layers[i].mlp, layers[i].heads
                within[i] = before[i + 1] | _sources(mlp.w1, _sources(mlp.w2, before[i + 1]))
                read = [_sources(head.wq) | _sources(head.wk) | _sources(head.wv, within[i]) for head in heads]
                before[i] = np.logical_or.reduce([within[i], *read])
        return LiveColumns(before, within)

    def _embedded(self, tokens: Sequence[Token], places: Sequence[int], known: np.ndarray) -> dict[int, CheckedRow]:
        embed, positions = self._t.embed.dense().astype(np.int64), self._t.positions.astype(np.int64)
        return {k: _row(tokens[k][0], add(embed[tokens[k][1]], positions[k], self._p), known) for k in places}

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
        """Return (the targets after layer i, which is the u-th of the run; the rows on which each head has weight).

        Without `reads`, rows are computed for scores only, and the rows that are read are found here.
        """
        within, after = live.within[i], live.before[i + 1]
        heads = [HeadTables(head, rows, within, self._p) for head in self._t.layers[i].heads]
        given = LayerInput(rows, heads, within, scores_only=reads is None)
        found: Reads = {}
        sums: dict[int, RowSum] = {}
        for k in targets:
            last = k if self._t.attention == "causal" else len(self._t.positions)
            found[k] = [head.reads(k, last) for head in heads] if reads is None else reads[k]
            key = reads is None, u, k
            need(u not in self._ends or key in cuts, f"row {k} is cut to no variable after layer {u} of the run")
            sums[k] = self._sum(k, given, found[k], cuts.get(key))
        vectors = self._after_mlp(self._t.layers[i].mlp, np.concatenate([one.totals for one in sums.values()]))
        vectors[:, ~after] = 0
        result, start = {}, 0
        for k, one in sums.items():
            its, start = vectors[start : start + len(one.totals)], start + len(one.totals)
            result[k] = _row(one.part, its, after)
            if u in self._ends:
                v, (first, label) = cuts.pop((reads is None, u, k)), numbered(its)
                labels = confirmed(one.cut, label[one.part.table.ravel()], self._network, v)
                result[k] = CheckedRow(self._network.alone(v), its[first][labels], after)
        return result, found

    def _sum(self, k: int, given: LayerInput, reads: list[list[int]], cut: int | None) -> RowSum:
        """Return row k plus the outputs of its heads, in every combination of what it holds and what it sees.

        `reads` are the rows that each head reads, `cut` is the variable that the row is cut to after the layer.
        """
        computed = given.heads_of(k, reads)
        own, first = given.own(k, computed)
        seen = [(h, given.heads[h].seen(k, j)) for h in computed for j in reads[h]]
        basis, (own_labels, *seen_labels, cut_values) = self._network.joint_with(
            cut, [own, *(row.part for _, row in seen)]
        )
        combination, chosen = _combined([own_labels, *seen_labels])
        vector = first[own_labels[chosen]]
        totals = np.zeros((chosen.size, self._t.width), dtype=np.int64)
        for h in computed:
            columns, query = given.heads[h].columns, given.heads[h].queries[k][vector]
            terms = [
                (row.exponentials[query, labels[chosen]], row.values[labels[chosen]])
                for (of, row), labels in zip(seen, seen_labels, strict=True)
                if of == h
            ]
            brought = self._attended(terms, chosen.size, columns.size, f"head {h} of the {self._name}: row {k}")
            totals[:, columns] = add(totals[:, columns], brought, self._p)
        totals = add(totals, given.rows[k].vectors[vector], self._p)
        totals[:, ~given.within] = 0
        part = LabelTable(basis, combination.reshape([self._network.sizes[v] for v in basis]))
        return RowSum(part, cut_values, totals)

    def _attended(
        self, terms: Sequence[tuple[np.ndarray, np.ndarray]], cases: int, columns: int, where: str
    ) -> np.ndarray:
        """Return SUM_j [e_j / Z]·v_j with Z = SUM_j e_j, for terms (e_j [case], v_j [case, column]) in order."""
        Z = np.minimum(sum((e for e, _ in terms), np.zeros(cases, dtype=np.int64)), self._p.bound)
        if not Z.all():
            raise Refused(f"{where} attends to nothing")
        total = np.zeros((cases, columns), dtype=np.int64)
        for e, value in terms:
            total = add(total, multiply(divide(e, Z, self._p)[:, None], value, self._p), self._p)
        return total

    def _after_mlp(self, mlp: Mlp, rows: np.ndarray) -> np.ndarray:
        """Return x + ReLU(ReLU(x·W1 + b1)·W2 + b2)."""
        hidden = relu(add(weighted(rows, mlp.w1.rows(), mlp.w1.shape[1], self._p), mlp.b1, self._p))
        change = relu(add(weighted(hidden, mlp.w2.rows(), mlp.w2.shape[1], self._p), mlp.b2, self._p))
        return add(rows, change, self._p)


def _combined(labels: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Number the combinations of labels: return (the combination in every assignment, one assignment for each)."""
    codes = np.zeros(labels[0].size, dtype=np.int64)
    for label in labels:
        codes = np.unique(codes * (int(label.max()) + 1) + label, return_inverse=True)[1].reshape(-1)
    return codes, np.unique(codes, return_index=True)[1]


def confirmed(values: np.ndarray, labels: np.ndarray, network: VariableNetwork, v: int | None) -> np.ndarray:
    """Return the label of each value of v.

    Refuse unless the value determines the label, and different values have different labels.
    """
    table = np.zeros((1 if v is None else network.sizes[v], *labels.shape[1:]), dtype=labels.dtype)
    table[values] = labels
    if not np.array_equal(table[values], labels):
        raise Refused(f"the value of variable {v} does not determine the computed result")
    distinct = np.unique(table).size == len(table) == np.unique(values).size
    need(distinct and (v is None or len(table) > 1), f"variable {v} has values that mean the same, or that never occur")
    return table


def _row(part: LabelTable, vectors: np.ndarray, known: np.ndarray) -> CheckedRow:
    vectors = np.where(known, vectors, 0)
    first, label = numbered(vectors)
    return CheckedRow(LabelTable(part.variables, label[part.table]).reduced(), vectors[first], known)


def _sources(matrix: Matrix, columns: np.ndarray | None = None) -> np.ndarray:
    """Return which rows of a matrix have an entry in these columns."""
    used = matrix.row if columns is None else matrix.row[columns[matrix.column]]
    return np.isin(np.arange(matrix.shape[0]), used)
