"""Liveness: other values in a column that is not live change no score and no logit."""

from dataclasses import replace

import numpy as np
import pytest

from unmask.api import compile_problem
from unmask.engines.reference import ReferenceEngine
from unmask.numerics.arithmetic import Precision
from unmask.testing.random_model import random_model
from unmask.verification.words.symbolic_layers import live_for_all, live_for_scores
from unmask.weights.matrices import Matrix
from unmask.weights.transformer import Head, Layer, Mlp, Transformer


def sparse(transformer, seed):
    """The transformer with most weights 0, so that columns die."""
    rng = np.random.default_rng(seed)

    def thin(matrix):
        return Matrix.of(matrix.dense() * (rng.random(matrix.shape) < 0.12))

    layers = tuple(
        Layer(
            tuple(Head(thin(h.wq), thin(h.wk), thin(h.wv)) for h in layer.heads),
            Mlp(thin(layer.mlp.w1), layer.mlp.b1, thin(layer.mlp.w2), layer.mlp.b2),
        )
        for layer in transformer.layers
    )
    return replace(transformer, layers=layers, out=thin(transformer.out))


def passed(transformer, residual, order):
    """(attention weights of all layers, logits of all rows) from a residual stream on."""
    session = ReferenceEngine().session(transformer)
    weights = {}

    def watch(name, value):
        if "attention" in name or "weights" in name:
            weights[f"{len(weights)} {name}"] = value

    for i in order:
        residual = session.layers(residual, i, i + 1, watch=watch)
    return weights, session.logits(residual)


@pytest.mark.parametrize("seed", range(12))
def test_dead_columns_change_nothing(seed):
    model = random_model(seed, "plt", 3, layers=2, width=6, steps=2, stochastic=False)
    transformer = sparse(model.transformers["model"], seed)
    first, last = transformer.loop
    order = [*range(first), *list(range(first, last)) * model.steps, *range(last, len(transformer.layers))]
    rng = np.random.default_rng(seed)
    bound = transformer.precision.bound
    rows = len(transformer.positions)
    residual = rng.integers(-1, 2, (1, rows, transformer.width))
    for live, scores_only in ((live_for_scores(transformer), True), (live_for_all(transformer), False)):
        for start, layer in enumerate(order):
            other = residual.copy()
            dead = ~live.before[layer]
            other[..., dead] = rng.integers(-bound, bound + 1, (1, rows, int(dead.sum())))
            expected, actual = (passed(transformer, x, order[start:]) for x in (residual, other))
            assert expected[0].keys() == actual[0].keys()
            assert expected[0]
            assert all(np.array_equal(expected[0][name], actual[0][name]) for name in expected[0])
            assert scores_only or np.array_equal(expected[1], actual[1])


def test_columns_do_die():
    dead = 0
    for seed in range(12):
        transformer = random_model(seed, "plt", 3, layers=2, width=6, steps=2, stochastic=False).transformers["model"]
        transformer = sparse(transformer, seed)
        scores, everything = live_for_scores(transformer), live_for_all(transformer)
        assert all((b >= a).all() for a, b in zip(scores.before, everything.before, strict=True))
        assert all((b >= a).all() for a, b in zip(scores.within, everything.within, strict=True))
        assert not scores.before[-1].any() or transformer.loop[1] == len(transformer.layers)
        dead += sum(int((~mask).sum()) for mask in everything.before)
    assert dead > 20


def test_what_only_a_later_loop_reads_is_alive():
    """Column 0 → 1 → 2 → 3, one move per loop: at the start of a loop all of them are alive for column 3."""
    width, precision = 4, Precision(2)
    moves = np.zeros((width, width), dtype=np.int64)
    moves[[0, 1, 2], [1, 2, 3]] = precision.one
    nothing = Matrix.zeros((width, 1))
    head = Head(nothing, nothing, Matrix.of(moves))
    out = np.zeros((2, width), dtype=np.int64)
    out[1, 3] = precision.one
    transformer = Transformer(
        precision,
        Matrix.zeros((2, width)),
        np.zeros((1, width), dtype=np.int64),
        (Layer((head,), Mlp.nothing(width)),),
        Matrix.of(out),
        loop=(0, 1),
    )
    assert live_for_all(transformer).before[0].tolist() == [True] * 4
    assert live_for_all(replace(transformer, loop=(1, 1))).before[0].tolist() == [False, False, True, True]
    assert not live_for_scores(transformer).before[0].any()


def test_most_of_a_compiled_model_dies_before_the_end():
    transformer = compile_problem("regex:(a|b)*abb", "mdm", length=4).transformers["predictor"]
    live = live_for_all(transformer)
    assert live.before[-1].sum() < live.before[0].sum() <= transformer.width
