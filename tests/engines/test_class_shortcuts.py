"""One small head per shortcut of attention by classes, right at the edge where the shortcut stops being right."""

from functools import partial
from itertools import pairwise, product

import numpy as np
import pytest

from engines.agreement import outcome
from unmask.engines.class_attention import ClassAttention, SignValues, exclusive_signs
from unmask.engines.fast import FastEngine
from unmask.engines.reference import ReferenceEngine
from unmask.numerics.arithmetic import Precision, exp, multiply, total
from unmask.numerics.compact import Compact, Runs, run_sums
from unmask.numerics.number_lemmas import sharp_thresholds
from unmask.weights.matrices import Matrix
from unmask.weights.transformer import Head, Layer, Mlp, Transformer

from .test_class_attention import eager  # noqa: F401


def head(Q, K, V, p=2, attention="unmasked"):
    """Return a transformer of one head with these queries, keys and values, [rows, columns]."""
    Q, K, V = (np.asarray(x, dtype=np.int64).reshape(len(V), -1) for x in (Q, K, V))
    positions = np.concatenate([Q, K, V, np.zeros_like(V)], axis=1)
    width, one = positions.shape[1], 1 << p

    def select(first, count, to=0, columns=None):
        matrix = np.zeros((width, columns or count), dtype=np.int64)
        matrix[first + np.arange(count), to + np.arange(count)] = one
        return Matrix.of(matrix)

    d, v = Q.shape[1], V.shape[1]
    head_weights = Head(select(0, d), select(d, d), select(2 * d, v, to=2 * d + v, columns=width))
    return Transformer(
        precision=Precision(p),
        embed=Matrix.of(np.zeros((1, width), dtype=np.int64)),
        positions=positions,
        layers=(Layer((head_weights,), Mlp.nothing(width)),),
        out=Matrix.of(np.zeros((1, width), dtype=np.int64)),
        attention=attention,
    )


def agreed(transformer):
    """Return the result of both engines: the head's output, or the error."""
    tokens = np.zeros((1, len(transformer.positions)), dtype=np.int64)
    ours, theirs = (
        outcome(partial(session.layers, session.embed(tokens), 0, 1))
        for session in (engine().session(transformer) for engine in (ReferenceEngine, FastEngine))
    )
    assert ours[1] == theirs[1]
    if ours[1] is not None:
        return ours[1]
    assert np.array_equal(ours[0], theirs[0])
    return ours[0][0, :, -1].tolist()


@pytest.fixture
def folded(monkeypatch):
    """The numbers of rows that were summed by classes."""
    rows, before = [], ClassAttention._by_runs

    def counted(self, begin, end, heads, *rest):
        rows.append(heads.size)
        return before(self, begin, end, heads, *rest)

    monkeypatch.setattr(ClassAttention, "_by_runs", counted)
    return rows


# Z reaches B


@pytest.mark.parametrize("p", [1, 2, 3])
@pytest.mark.parametrize("attention", ["causal", "unmasked"])
def test_z_just_below_b_and_just_above(p, attention, folded):
    """Equal keys with any exponential: before Z is B the weights depend on how many there are."""
    bound = (1 << 2 * p) - 1
    for score in range(-bound, bound + 1, 1 if p < 3 else 7):
        e = int(exp(np.array(score), Precision(p)))
        rows = min(40, bound // max(e, 1) + 3)
        values = np.random.default_rng([p, score + bound]).integers(-bound, bound + 1, rows)
        one = 1 << p
        agreed(head([[one]] * rows, [[score]] * rows, values, p, attention))
    assert folded


# the order of classes


@pytest.mark.parametrize("attention", ["causal", "unmasked"])
def test_classes_that_overlap_by_one_key(attention, folded):
    """Two kinds of keys, of weight 1 both: their terms must be added in the order of the rows."""
    B, one = 15, 4
    separate, overlapping = [0] * 4 + [1] * 4, [0] * 3 + [1, 0] + [1] * 3
    results = []
    for kind in (separate, overlapping):
        K = np.array([[B], [B - 1]])[kind]
        results.append((agreed(head([[one]] * 8, K, [B, B, B, -B, 4, 0, 0, 0], attention=attention))[-1], sum(folded)))
        folded.clear()
    assert [result for result, _ in results] == [4, 4]  # kind by kind, the second would be B - B = 0
    assert results[0][1] > results[1][1]


def test_keys_that_differ_by_one_are_two_classes():
    """One of nine equal keys is lower by one: it has another weight, which its value shows."""
    B = 15
    for off, expected in ((0, B), (1, 11)):
        K, values = np.full((9, 1), 2), np.zeros(9)
        K[4] -= off
        values[4] = B
        assert agreed(head([[B]] * 9, K, values)) == [expected] * 9


# signs with gaps


def patterns(p, scale, copies, *, spoiled=False):
    """A bit with asks and cares, in so many copies; one key that has the bit and does not care, if it is spoiled."""
    one = 1 << p
    queries = [[scale * bit, scale * asks] for bit, asks in ((1, 1), (-1, 1), (0, 0))]
    keys = [[one * bit, -one * cares] for bit, cares in ((1, 1), (-1, 1), (0, 0), *(((1, 0),) if spoiled else ()))]
    return np.tile(queries, copies), np.tile(keys, copies)


def scores(Q, K, p):
    """[queries, keys], column by column."""
    terms = multiply(Q[:, None, :], K[None, :, :], Precision(p))
    return total(terms, Precision(p))


@pytest.mark.parametrize("p", [1, 2, 3])
@pytest.mark.parametrize("spoiled", [False, True])
def test_signs_exclude_exactly_where_opposite_rows_vanish(p, spoiled):
    """Scales and numbers of copies, after a column that lifts every score, or none: no claim is wrong or missed."""
    compact, outcomes = Compact(Precision(p)), set()
    bound = compact.bound
    for scale, copies, lift in product(range(1, bound + 1, p), (1, 2, 3), (0, 1, bound)):
        Q, K = patterns(p, scale, copies, spoiled=spoiled)
        Q = np.concatenate([np.full((len(Q), 1), lift), Q], axis=1)
        K = np.concatenate([np.full((len(K), 1), 1 << p), K], axis=1)
        sort = (0, *(1 + np.arange(2 * copies) % 2).tolist())
        rows = np.array(sort)
        claimed = exclusive_signs(SignValues.of(Q[:, :3].T, rows), SignValues.of(K[:, :3].T, rows), sort, compact)
        vanished = bool((exp(scores(Q, K, p), Precision(p))[Q[:, 1, None] * K[None, :, 1] < 0] == 0).all())
        opposite_first = 2 * copies - 1  # the last column of the bit
        assert (opposite_first in claimed) <= vanished
        if not spoiled:
            assert (opposite_first in claimed) == vanished
        outcomes.add((opposite_first in claimed, vanished))
    assert {(True, True), (False, False)} <= outcomes


@pytest.mark.parametrize("p", [1, 2, 3])
def test_scales_at_which_a_mismatch_only_just_vanishes(p):
    """The same in whole heads: rows of a few kinds, the scale one above and one below the edge."""
    rng = np.random.default_rng(p)
    vanished = -sharp_thresholds(Precision(p))[1]
    for copies, spoiled in product((1, 2, 3), (False, True)):
        for scale in {max(1, vanished // (2 * copies) + d) for d in (-1, 0, 1, 2)}:
            queries, keys = patterns(p, scale, copies, spoiled=spoiled)
            Q, K = queries[rng.integers(0, len(queries), 24)], keys[np.sort(rng.integers(0, len(keys), 24))]
            agreed(head(Q, K, rng.integers(-3, 4, 24), p))
            agreed(head(Q, K, rng.integers(-3, 4, 24), p, "causal"))


def test_a_row_that_sees_nothing_is_named():
    """Its class of keys begins after it."""
    one, B = 4, 15
    Q, K = [[B]] * 6, [[-one]] * 3 + [[one]] * 3
    kind, fields, _ = agreed(head(Q, K, [1] * 6, attention="causal"))
    assert kind.__name__ == "AttendsToNothing"
    assert fields["row"] == 0


# sums over runs


def by_definition(terms, runs, precision):
    ends = np.append(runs.heads, runs.begin.size)
    sums = [
        total(np.concatenate([terms[:, runs.begin[r] : runs.end[r]] for r in range(a, b)], axis=1), precision)
        for a, b in pairwise(ends)
    ]
    return np.array(sums).T


@pytest.mark.parametrize("p", [1, 2, 4])
def test_run_sums(p):
    rng, precision = np.random.default_rng(p), Precision(p)
    compact = Compact(precision)
    for _ in range(40):
        lengths = rng.integers(1, 12, int(rng.integers(1, 6)))
        starts = np.cumsum(lengths) - lengths
        largest = int(rng.choice([1, compact.bound // 3 + 1, compact.bound]))
        terms = rng.integers(-largest, largest + 1, (5, int(lengths.sum()))).astype(compact.narrow)
        terms[0] = np.abs(terms[0])
        counts = rng.integers(1, 4, 7)
        segment = rng.integers(0, lengths.size, int(counts.sum()))
        length = rng.integers(1, lengths[segment] + 1)
        offset = np.arange(terms.shape[1]) - np.repeat(starts, lengths)
        runs = Runs(offset, starts[segment], starts[segment] + length, np.cumsum(counts) - counts)
        assert np.array_equal(run_sums(terms, runs, compact), by_definition(terms, runs, precision))


@pytest.mark.parametrize("terms", [[15, -15], [15, 1, -15], [8, 8, -1], [15, -1], [-15, -1, 1], [-15, 15], [1] * 15])
def test_run_sums_where_clipping_begins(terms):
    """Positive terms of B in all clip nowhere, of B + 1 they may."""
    compact = Compact(Precision(2))
    runs = Runs(np.arange(len(terms)), np.array([0]), np.array([len(terms)]), np.array([0]))
    sums = run_sums(np.array([terms], dtype=compact.narrow), runs, compact)
    assert sums.tolist() == [[int(total(np.array(terms), Precision(2)))]]
