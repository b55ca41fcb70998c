"""The reference engine against the equations of the layer, written once more in loops over rationals."""

from dataclasses import replace
from fractions import Fraction
from math import exp as real_exp

import numpy as np
import pytest

import by_hand
from numerics.exact import matmul, meanings, plus, rounded, total
from unmask.engines import reference
from unmask.engines.engine import forward
from unmask.engines.reference import ReferenceEngine
from unmask.errors import AttendsToNothing, TooLarge
from unmask.numerics.arithmetic import Precision
from unmask.testing import random_model
from unmask.testing.draws import Draws
from unmask.weights.matrices import Matrix
from unmask.weights.transformer import Head, Layer, Mlp


class Naive:
    """One forward pass over lists of fractions; exp is a float, exact enough for p <= 4 and nowhere near a tie."""

    def __init__(self, transformer):
        self.t, self.p = transformer, transformer.precision.p

    def numbers(self, tensor):
        array = tensor.dense() if isinstance(tensor, Matrix) else tensor
        return meanings(array.tolist(), self.p)

    def add(self, x, y):
        return [[plus(a, b, self.p) for a, b in zip(r, s, strict=True)] for r, s in zip(x, y, strict=True)]

    def exp(self, x):
        return rounded(Fraction(real_exp(x)), self.p)

    def embed(self, tokens):
        rows = [self.numbers(self.t.embed)[token] for token in tokens]
        return self.add(rows, self.numbers(self.t.positions)[: len(tokens)])

    def attend(self, H, head):
        Q, K, V = (matmul(H, self.numbers(w), self.p) for w in (head.wq, head.wk, head.wv))
        result = []
        for i, q in enumerate(Q):
            scores = [matmul([q], [[k] for k in key], self.p)[0][0] if key else Fraction(0) for key in K]
            visible = [j <= i or self.t.attention == "unmasked" for j in range(len(H))]
            exps = [self.exp(s) if is_visible else Fraction(0) for s, is_visible in zip(scores, visible, strict=True)]
            Z = total(exps, self.p)
            weights = [rounded(e / Z, self.p) for e in exps]
            result += matmul([weights], V, self.p)
        return result

    def layer(self, H, layer):
        heads = [[Fraction(0)] * self.t.width for _ in H]
        for head in layer.heads:
            heads = self.add(heads, self.attend(H, head))
        G = self.add(heads, H)
        hidden = self.dense(G, layer.mlp.w1, layer.mlp.b1)
        return self.add(G, self.dense(hidden, layer.mlp.w2, layer.mlp.b2))

    def dense(self, x, w, b):
        rows, width = self.numbers(w), w.shape[1]
        products = matmul(x, rows, self.p) if rows and width else [[Fraction(0)] * width for _ in x]
        return [[max(Fraction(0), v) for v in row] for row in self.add(products, [self.numbers(b)] * len(x))]

    def logits(self, H):
        return matmul(H, self.numbers(self.t.out.transposed()), self.p)


CASES = [(seed, p, attention) for seed in range(9) for p in (1, 2, 3, 4) for attention in ("unmasked", "causal")]


def case(seed, p, attention):
    """A random transformer and a string of tokens on which it does not divide by zero."""
    for attempt in range(20):
        transformer = random_model(seed, "topk", 2, precision=p, padding=2).transformers["model"]
        transformer = replace(transformer, attention=attention)
        symbols = transformer.embed.shape[0]
        tokens = Draws(seed, p, attempt).integers(0, symbols - 1, (1, len(transformer.positions)))
        try:
            forward(ReferenceEngine().session(transformer), transformer, tokens)
        except AttendsToNothing:
            continue
        return transformer, tokens
    return None


def test_embedding_layers_and_logits_follow_the_equations():
    compared = 0
    for seed, p, attention in CASES:
        transformer_and_tokens = case(seed, p, attention)
        if transformer_and_tokens is None:
            continue
        transformer, tokens = transformer_and_tokens
        session, naive = ReferenceEngine().session(transformer), Naive(transformer)
        ours, theirs = session.embed(tokens), naive.embed(tokens[0])
        assert meanings(ours[0].tolist(), p) == theirs
        for i, layer in enumerate(transformer.layers):
            ours, theirs = session.layers(ours, i, i + 1), naive.layer(theirs, layer)
            assert meanings(ours[0].tolist(), p) == theirs, (seed, p, attention, i)
            compared += 1
        assert meanings(session.logits(ours)[0].tolist(), p) == naive.logits(theirs)
    assert compared > 50


def test_the_comparison_notices_another_order_of_the_sums():
    """Heads are summed first, then H is added: with H = -B and two heads of B, that is 0 and not B."""
    width = 2
    head = Head(Matrix.zeros((2, 1)), Matrix.zeros((2, 1)), by_hand.matrix([[0, 0], [4, 0]]))
    layer = Layer((head, head), Mlp.nothing(width))
    transformer = by_hand.transformer([[0, 0]], [[-15, 15]], [[0, 0]], layers=[layer])
    assert forward(ReferenceEngine().session(transformer), transformer, np.array([[0]])).tolist() == [[[0, 15]]]
    assert Naive(transformer).layer(Naive(transformer).embed([0]), layer) == meanings([[0, 15]], 2)


def nothing_at(layer, head, row, *, attention="unmasked"):
    """Three rows with distinct codes; one row of one head of one layer looks for a code that is not there.

    Columns 0..2 hold 1 in row i, column 3 is 1 in the row that looks in vain: its score is -B with every key.
    """
    width = 4
    positions = np.zeros((3, width), dtype=np.int64)
    positions[:, 0] = 4
    positions[row, 3] = 4
    blind = Head(by_hand.matrix([[0], [0], [0], [15]]), by_hand.matrix([[-15], [0], [0], [0]]), Matrix.zeros((4, 4)))
    seeing = Head(Matrix.zeros((4, 1)), Matrix.zeros((4, 1)), Matrix.zeros((4, 4)))
    layers = []
    for i in range(layer + 1):
        heads = [blind if (i, j) == (layer, head) else seeing for j in range(head + 1)]
        layers.append(Layer(tuple(heads), Mlp.nothing(width)))
    return by_hand.transformer([[0] * 4] * 2, positions, [[0] * 4], layers=layers, attention=attention)


@pytest.mark.parametrize(("layer", "head", "row"), [(0, 0, 0), (1, 0, 2), (0, 2, 1), (2, 1, 1)])
@pytest.mark.parametrize("attention", ["unmasked", "causal"])
def test_a_row_that_sees_nothing_is_named(layer, head, row, attention):
    transformer = nothing_at(layer, head, row, attention=attention)
    session = ReferenceEngine().session(transformer, name="planner")
    with pytest.raises(AttendsToNothing, match=f"planner .* layer {layer}, head {head}, row {row}:") as caught:
        forward(session, transformer, np.zeros((2, 3), dtype=np.int64))
    error = caught.value
    assert (error.transformer, error.layer, error.head, error.row, error.word) == ("planner", layer, head, row, 0)


def test_causal_rows_see_themselves_and_what_came_before():
    """The value is column 0; row 0 holds B, row 1 holds 0, row 2 holds -B."""
    head = Head(Matrix.zeros((2, 1)), Matrix.zeros((2, 1)), by_hand.matrix([[0, 4], [0, 0]]))
    positions = [[15, 0], [0, 0], [-15, 0]]
    for attention, expected in (("causal", [15, 7, 0]), ("unmasked", [0, 0, 0])):
        transformer = by_hand.transformer(
            [[0, 0]], positions, [[0, 0]], layers=[Layer((head,), Mlp.nothing(2))], attention=attention
        )
        result = forward(ReferenceEngine().session(transformer), transformer, np.zeros((1, 3), dtype=np.int64))
        assert result[0, :, 1].tolist() == expected


@pytest.mark.parametrize("kind", ["topk", "cot"])
def test_a_batch_is_one_word_after_the_other(kind):
    for seed in range(10):
        model = random_model(seed, kind, 3)
        transformer = model.transformers["model"]
        session = ReferenceEngine().session(transformer)
        inputs = Draws(seed).integers(0, 1, (6, 3))
        together = forward(session, transformer, inputs)
        single = [forward(session, transformer, word[None]) for word in inputs]
        assert np.array_equal(together, np.concatenate(single))
        assert np.array_equal(session.logits(together)[2:3], session.logits(single[2]))


def test_layers_can_be_run_in_pieces():
    transformer = random_model(0, "cot", 3, layers=3, width=3).transformers["model"]
    session = ReferenceEngine().session(transformer)
    start = session.embed(np.array([[0, 1, 0]]))
    halfway = session.layers(start, 0, 1)
    assert np.array_equal(session.layers(halfway, 1, 3), session.layers(start, 0, 3))
    assert np.array_equal(session.layers(start, 2, 2), start)
    assert not np.array_equal(halfway, session.layers(start, 0, 3))


def test_the_watch_receives_everything_by_name():
    transformer = random_model(4, "topk", 3, layers=2).transformers["model"]
    results = {}
    result = forward(
        ReferenceEngine().session(transformer), transformer, np.array([[0, 1, 0]]), watch=results.setdefault
    )
    heads = [f"layers.{i}.heads.{j}.weights" for i in range(2) for j in range(len(transformer.layers[i].heads))]
    assert set(results) == {"embed", "layers.0.residual", "layers.1.residual", *heads}
    assert np.array_equal(results["layers.1.residual"], result)
    assert all(results[name].shape == (1, 3, 3) for name in heads)


def test_too_many_scores_are_refused_before_they_are_made(monkeypatch):
    transformer = random_model(4, "topk", 2, padding=2).transformers["model"]
    monkeypatch.setattr(reference, "LARGEST_SCORES", 17)
    session = ReferenceEngine().session(transformer)
    with pytest.raises(TooLarge, match="2 × 3 × 3 attention scores"):
        forward(session, transformer, np.zeros((2, 3), dtype=np.int64))


def test_precision_8_does_not_overflow():
    precision = Precision(8)
    bound = precision.bound
    wide = Mlp(
        by_hand.matrix([[bound] * 2] * 2),
        np.array([bound] * 2),
        by_hand.matrix([[bound] * 2] * 2),
        np.array([0, -bound]),
    )
    transformer = by_hand.transformer(
        [[bound, -bound]], [[0, 0]], [[0, 0]], layers=[Layer((), wide)], precision=precision
    )
    result = forward(ReferenceEngine().session(transformer), transformer, np.array([[0]]))
    assert result.tolist() == [[[bound, -bound]]]
