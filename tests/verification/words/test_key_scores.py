"""The keys that a query has weight on, compared with all scores; keys and queries come in any order."""

import numpy as np
import pytest

from unmask.api import compile_problem
from unmask.engines.prepared_weights import PreparedHead
from unmask.numerics.arithmetic import Precision
from unmask.numerics.compact import Compact
from unmask.testing.random_model import random_model
from unmask.verification.words import symbolic_heads as key_scores
from unmask.verification.words.symbolic_heads import KeyScores
from unmask.weights.matrices import Matrix
from unmask.weights.transformer import Head


@pytest.fixture(autouse=True, params=["multiplied out", "proved"])
def few_pairs(request, monkeypatch):
    """All pairs multiplied out, and only those about which nothing is proved."""
    monkeypatch.setattr(key_scores, "FEW_PAIRS", 1 << 40 if request.param == "multiplied out" else 0)


def exps_of(Q, K, places, compact):
    """exp⟨q, k⟩ of every pair, column by column."""
    scores = np.zeros((Q.shape[1], K.shape[1]), dtype=np.int64)
    for query, key in zip(*places, strict=True):
        product = compact.multiply(Q[query][:, None], K[key][None]).astype(np.int64)
        scores = np.clip(scores + product, -compact.bound, compact.bound)
    return compact.exps[scores + compact.bound]


def check(head, precision, batches):
    """Queries and keys of all batches so far, after each."""
    compact = Compact(precision)
    prepared = PreparedHead(head, compact, np.arange(head.wq.shape[0]))
    places = prepared.query.score_rows, prepared.key.score_rows
    scores = KeyScores((prepared.query.score_rows, prepared.key.score_rows), compact)
    restarts, rows = 0, []
    for batch in batches:
        H = batch.astype(compact.narrow)
        span = slice(0, H.shape[1])
        Q, K = prepared.query(H, span), prepared.key(H, span)
        epoch = scores.epoch
        rows.append((Q, scores.keys(K)))
        restarts += scores.epoch != epoch
        keys = {}
        for number, column in zip(rows[-1][1], K.T, strict=True):
            keys[number] = column
        for Q_before, _ in rows:  # those of earlier batches anew: their numbers may be stale
            every = np.stack([*keys.values()], axis=1)
            expected = exps_of(Q_before, every, places, compact)
            for number, row in zip(scores.effective_queries(scores.queries(Q_before)), expected, strict=True):
                visible, exps = scores.visible_keys(number)
                assert (np.diff(visible) > 0).all()
                weight_of_key = dict(zip(visible.tolist(), exps.tolist(), strict=True))
                assert [weight_of_key.get(key, 0) for key in keys] == row.tolist()
    return restarts


@pytest.mark.parametrize("seed", range(10))
def test_random_heads(seed):
    """Batches that stay within the range of the keys so far, and batches that leave it."""
    rng = np.random.default_rng(seed)
    precision = Precision(1 + seed % 3)
    bound = precision.bound
    width, narrow = 4, int(rng.integers(1, 4))
    wq, wk = (Matrix.of(rng.integers(-bound, bound + 1, (width, narrow))) for _ in range(2))
    batches = [rng.integers(-b, b + 1, (width, 6)) for b in (1, 1, bound, 1, bound)]
    assert check(Head(wq, wk, Matrix.zeros((width, width))), precision, batches) >= 2


def test_heads_of_models():
    """Codes of positions, detection and BOOST, where the proof of the fast engine spares most pairs."""
    models = [compile_problem("regex:(ab)*", kind, length=6) for kind in ("mdm", "plt", "pcot")]
    models.append(random_model(5, "mdm", 3))
    checked = 0
    for model in models:
        for transformer in model.transformers.values():
            rng = np.random.default_rng(checked)
            tokens = rng.integers(0, len(model.vocabulary), (3, model.rows))
            embedded = transformer.embed.take(tokens) + transformer.positions
            bound = transformer.precision.bound
            batches = [np.clip(rows, -bound, bound).T for rows in embedded]
            for head in transformer.layers[0].heads:
                check(head, transformer.precision, batches)
                checked += 1
    assert checked >= 8


def test_heads_without_columns_see_everything():
    head = Head(Matrix.zeros((2, 0)), Matrix.zeros((2, 0)), Matrix.zeros((2, 2)))
    compact = Compact(Precision(2))
    prepared = PreparedHead(head, compact, np.arange(2))
    scores = KeyScores((prepared.query.score_rows, prepared.key.score_rows), compact)
    H = np.zeros((2, 3), dtype=compact.narrow)
    keys = scores.keys(prepared.key(H, slice(0, 3)))
    (query,) = set(scores.effective_queries(scores.queries(prepared.query(H, slice(0, 3)))))
    visible, exps = scores.visible_keys(query)
    assert set(keys) == set(visible.tolist())
    assert exps.tolist() == [compact.precision.one] * visible.size
