"""Weights → tables, once more: are the variables of a certificate what the model computes, for every word?

    row        what stands in a row of the residual stream: a vector for every value of a few variables
    layer      every combination of the rows that have weight, by the sums of F_p as they are defined
    cut        a claimed variable v: whatever was computed must follow from the value of v alone

A row is known in the columns that can still make a difference; the others are never looked at. Nothing here comes from
the prover but the names of the variables and their tables, which are confirmed entry by entry.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from unmask.checker.certificate import Refused, need
from unmask.checker.network import Network, Part
from unmask.numerics.arithmetic import add, divide, multiply, product, relu, weighted
from unmask.numerics.exponential import exp
from unmask.numerics.precision import Precision
from unmask.weights.matrix import Matrix
from unmask.weights.model import Model
from unmask.weights.transformer import Head


@dataclass(frozen=True, eq=False)
class Row:
    """vectors[label]: what the row holds, in the columns that are known."""

    part: Part
    vectors: np.ndarray
    known: np.ndarray


Token = tuple[Part, np.ndarray]
"""A part, and what each of its labels stands for: a symbol, or logits."""
Reads = dict[int, list[list[int]]]
Cuts = dict[tuple[bool, int, int], int | None]
"""(is it about scores alone, number of the layer in the run, row) ↦ the variable that the row is cut to; taken out
when it was confirmed."""
Live = tuple[list[np.ndarray], list[np.ndarray]]


def numbered(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(first place of each distinct row, which one each row is)."""
    if not rows.shape[1]:
        return np.zeros(1, dtype=np.int64), np.zeros(len(rows), dtype=np.int64)
    whole = np.ascontiguousarray(rows).view(np.dtype((np.void, rows.itemsize * rows.shape[1]))).ravel()
    _, first, inverse = np.unique(whole, return_index=True, return_inverse=True)
    return first, inverse.reshape(-1)


class Attention:
    """One head over rows: who has weight on whom, in which cases; `columns` are what it writes that matters."""

    def __init__(self, head: Head, rows: dict[int, Row], within: np.ndarray, precision: Precision) -> None:
        self._rows = rows
        self.columns = np.array([c for c in np.unique(head.wv.column) if within[c]], dtype=np.int64)
        sources = _sources(head.wq) | _sources(head.wk) | _sources(head.wv, within)
        if not all(row.known[sources].all() for row in rows.values()):
            raise Refused("a head reads a column whose values are unknown")
        stacked = np.concatenate([row.vectors for row in rows.values()])
        edges = np.cumsum([0, *(len(row.vectors) for row in rows.values())])
        q, k, v = (weighted(stacked, w.rows(), w.shape[1], precision) for w in (head.wq, head.wk, head.wv))
        (first_q, of_q), (first_k, of_k) = numbered(q), numbered(k)
        self._exps = exp(product(q[first_q], k[first_k].T, precision), precision)
        split = [slice(a, b) for a, b in pairwise(edges)]
        self.queries = {j: of_q[part] for j, part in zip(rows, split, strict=True)}
        self._keys = {j: of_k[part] for j, part in zip(rows, split, strict=True)}
        self._values = {j: v[part][:, self.columns] for j, part in zip(rows, split, strict=True)}

    def reads(self, k: int, last: int) -> list[int]:
        """The rows up to `last` that row k has weight on in some case, in order."""
        seen = self._exps[self.queries[k]].any(axis=0)
        return [j for j in self._rows if j <= last and seen[self._keys[j]].any()]

    def certain(self, k: int, read: Sequence[int]) -> bool:
        """Has row k weight on one of these rows, whatever they hold?"""
        exps = self._exps[np.unique(self.queries[k])]
        return bool(np.any([(exps[:, self._keys[j]] > 0).all(axis=1) for j in read], axis=0).all()) if read else False

    def seen(self, k: int, j: int) -> tuple[Part, np.ndarray, np.ndarray]:
        """Row j as row k sees it: (part, exponential [query, label], value [label, column])."""
        exps = self._exps[:, self._keys[j]]
        first, label = numbered(np.hstack([exps[np.unique(self.queries[k])].T, self._values[j]]))
        part = self._rows[j].part
        return Part(part.variables, label[part.table]).reduced(), exps[:, first], self._values[j][first]


class Run:
    """One transformer over a network of variables; rows are cut after the layers of a run that `ends` names."""

    def __init__(self, model: Model, name: str, network: Network, ends: Sequence[int] = ()) -> None:
        self._ends = ends
        self._t, self._p, self._network, self._name = model.transformers[name], model.precision, network, name

    def logits(
        self, tokens: Sequence[Token], layers: Sequence[int], asked: Sequence[int], cuts: Cuts
    ) -> dict[int, Token]:
        """(part, logits of each label) of the rows asked for; every row is looked at as far as scores go."""
        out = self._t.out.transposed()
        for_scores, for_all = self._live(np.zeros(self._t.width, dtype=bool)), self._live(_sources(out))
        rows, reads = self._embedded(tokens, range(len(tokens)), for_scores[0][0]), []
        for u, i in enumerate(layers):
            rows, read = self._layer(u, i, rows, list(rows), for_scores, None, cuts)
            reads.append(read)
        if not asked:
            return {}
        wanted = [set(asked)]
        for u in reversed(range(len(layers))):
            heads = self._t.layers[layers[u]].heads
            matter = [h for h, head in enumerate(heads) if for_all[1][layers[u]][head.wv.column].any()]
            wanted.insert(0, wanted[0] | {j for k in wanted[0] for h in matter for j in reads[u][k][h]})
        rows = self._embedded(tokens, sorted(wanted[0]), for_all[0][0])
        for u, i in enumerate(layers):
            rows, _ = self._layer(u, i, rows, sorted(wanted[u + 1]), for_all, reads[u], cuts)
        return {k: (rows[k].part, weighted(rows[k].vectors, out.rows(), out.shape[1], self._p)) for k in asked}

    def _live(self, last: np.ndarray) -> Live:
        """Columns that matter before each layer (and after the last), and within it; another turn may come."""
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
        return before, within

    def _embedded(self, tokens: Sequence[Token], places: Sequence[int], known: np.ndarray) -> dict[int, Row]:
        embed, positions = self._t.embed.dense().astype(np.int64), self._t.positions.astype(np.int64)
        return {k: _row(tokens[k][0], add(embed[tokens[k][1]], positions[k], self._p), known) for k in places}

    def _layer(
        self, u: int, i: int, rows: dict[int, Row], targets: Sequence[int], live: Live, reads: Reads | None, cuts: Cuts
    ):
        """(the targets after layer i, the u-th of the run; the rows that each head of each target has weight on)."""
        mlp, within, after = self._t.layers[i].mlp, live[1][i], live[0][i + 1]
        heads = [Attention(head, rows, within, self._p) for head in self._t.layers[i].heads]
        found, sums = {}, {}
        for k in targets:
            last = k if self._t.attention == "causal" else len(self._t.positions)
            found[k] = [head.reads(k, last) for head in heads] if reads is None else reads[k]
            key = reads is None, u, k
            need(u not in self._ends or key in cuts, f"row {k} is cut to no variable after layer {u} of the run")
            sums[k] = self._sum(k, rows, heads, found[k], within, reads is None, cuts.get(key))
        G = np.concatenate([total for *_, total in sums.values()])
        hidden = relu(add(weighted(G, mlp.w1.rows(), mlp.w1.shape[1], self._p), mlp.b1, self._p))
        H = add(G, relu(add(weighted(hidden, mlp.w2.rows(), mlp.w2.shape[1], self._p), mlp.b2, self._p)), self._p)
        H[:, ~after] = 0
        result, at = {}, 0
        for k, (part, cut, total) in sums.items():
            vectors, at = H[at : at + len(total)], at + len(total)
            result[k] = _row(part, vectors, after)
            if u in self._ends:
                v, (first, label) = cuts.pop((reads is None, u, k)), numbered(vectors)
                held = confirmed(cut, label[part.table.ravel()], self._network, v)
                result[k] = Row(self._network.alone(v), vectors[first][held], after)
        return result, found

    def _sum(self, k, rows, heads, read, within, scores_only, cut) -> tuple[Part, np.ndarray, np.ndarray]:
        """(combination in every assignment, the value of the cut variable there, G of every combination)."""
        mine = [
            h for h, head in enumerate(heads) if head.columns.size or (scores_only and not head.certain(k, read[h]))
        ]
        first, label = numbered(np.hstack([*(heads[h].queries[k][:, None] for h in mine), rows[k].vectors[:, within]]))
        own = Part(rows[k].part.variables, label[rows[k].part.table]).reduced()
        seen = [(h, heads[h].seen(k, j)) for h in mine for j in read[h]]
        basis, labels = self._network.joint_with(cut, [own, *(part for _, (part, _, _) in seen)])
        codes = np.zeros(labels[0].size, dtype=np.int64)
        for label in labels[:-1]:
            codes = np.unique(codes * (int(label.max()) + 1) + label, return_inverse=True)[1].reshape(-1)
        _, chosen = np.unique(codes, return_index=True)
        case = first[labels[0][chosen]]
        G = np.zeros((chosen.size, self._t.width), dtype=np.int64)
        for h in mine:
            query, columns = heads[h].queries[k][case], heads[h].columns
            terms = [
                (exps[query, label[chosen]], values[label[chosen]])
                for (g, (_, exps, values)), label in zip(seen, labels[1:-1], strict=True)
                if g == h
            ]
            Z = np.minimum(sum((e for e, _ in terms), np.zeros(chosen.size, dtype=np.int64)), self._p.bound)
            if not Z.all():
                raise Refused(f"head {h} of the {self._name}: row {k} attends to nothing")
            gathered = np.zeros((chosen.size, columns.size), dtype=np.int64)
            for e, value in terms:
                gathered = add(gathered, multiply(divide(e, Z, self._p)[:, None], value, self._p), self._p)
            G[:, columns] = add(G[:, columns], gathered, self._p)
        G = add(G, rows[k].vectors[case], self._p)
        G[:, ~within] = 0
        return Part(basis, codes.reshape([self._network.sizes[v] for v in basis])), labels[-1], G


def confirmed(values: np.ndarray, labels: np.ndarray, network: Network, v: int | None) -> np.ndarray:
    """labels of each value of v, if every assignment with that value has the same, and with every other another."""
    table = np.zeros((1 if v is None else network.sizes[v], *labels.shape[1:]), dtype=labels.dtype)
    table[values] = labels
    if not np.array_equal(table[values], labels):
        raise Refused(f"the value of variable {v} does not determine the computed result")
    distinct = np.unique(table).size == len(table) == np.unique(values).size
    need(distinct and (v is None or len(table) > 1), f"variable {v} has values that mean the same, or that never occur")
    return table


def _row(part: Part, vectors: np.ndarray, known: np.ndarray) -> Row:
    vectors = np.where(known, vectors, 0)
    first, label = numbered(vectors)
    return Row(Part(part.variables, label[part.table]).reduced(), vectors[first], known)


def _sources(matrix: Matrix, columns: np.ndarray | None = None) -> np.ndarray:
    """The rows of a matrix that have an entry in these columns."""
    used = matrix.row if columns is None else matrix.row[columns[matrix.column]]
    return np.isin(np.arange(matrix.shape[0]), used)
