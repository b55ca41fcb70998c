"""A head without queries and keys attends uniformly: both engines must agree on it."""

import numpy as np
import pytest

import by_hand
from unmask.engines.fast import FastEngine
from unmask.engines.reference import ReferenceEngine
from unmask.weights.matrices import Matrix
from unmask.weights.transformer import Head, Layer, Mlp


@pytest.mark.parametrize("attention", ["unmasked", "causal"])
def test_a_head_without_queries_and_keys(attention):
    nothing = Matrix.zeros((5, 2))
    head = Head(nothing, nothing, by_hand.matrix(by_hand.one_hot(5)))
    transformer = by_hand.transformer(
        by_hand.one_hot(5),
        [[0] * 5] * 3,
        by_hand.one_hot(5),
        layers=[Layer((head,), Mlp.nothing(5))],
        attention=attention,
    )
    tokens = np.array([[0, 1, 2], [3, 3, 4]])
    residuals = []
    for engine in (FastEngine(), ReferenceEngine()):
        session = engine.session(transformer)
        residuals.append(session.layers(session.embed(tokens), 0, 1).tolist())
    assert residuals[0] == residuals[1]
