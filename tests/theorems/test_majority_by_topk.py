"""Majority in two steps by a topk model that ranks, and its two caveats."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from unmask.engines.engine import forward
from unmask.engines.fast import FastEngine
from unmask.engines.reference import ReferenceEngine
from unmask.errors import UnmaskError
from unmask.numerics.precision import Precision
from unmask.reasoners.decoding import confidence, decode
from unmask.reasoners.frame import Frame
from unmask.reasoners.run import answers
from unmask.theorems.majority_by_topk import ACCEPT, LETTER_B, MASK, A, majority_by_topk
from unmask.theorems.topk_to_mdm import topk_to_mdm
from unmask.weights.price import Price


def every_word(length):
    return np.array(list(product((A, LETTER_B), repeat=length)))


def wrong(model, found):
    words = every_word(model.length)
    return int((found != (words.sum(axis=1) > model.length // 2)).sum())


@pytest.mark.parametrize("precision", [2, 3])
@pytest.mark.parametrize("length", range(1, 10))
def test_majority_in_two_steps(length, precision):
    model = majority_by_topk(length, Precision(precision))
    got = answers(model, every_word(length), engine=FastEngine()).accepted
    assert model.steps == 2
    assert set(got.tolist()) == {0, 1}
    assert wrong(model, got) == 0


def test_the_price():
    prices = [Price.of(majority_by_topk(length, Precision(2))) for length in (4, 8, 16, 32)]
    assert len({(price.steps, price.layers, price.symbols) for price in prices}) == 1
    assert [price.padding for price in prices] == [5, 9, 17, 33]
    assert [price.width for price in prices] == [2 * (2 * length).bit_length() + 13 for length in (4, 8, 16, 32)]


def by_hand(model, *, lowest):
    """The last slot after T steps; of equally sure slots the lowest are taken, or the highest."""
    words = every_word(model.length)
    canvas = np.full((len(words), model.padding), MASK)
    for _ in range(model.steps):
        frame = Frame(model, words, ReferenceEngine())
        session = frame.session("model")
        stream = forward(session, model.transformers["model"], frame.before(canvas))
        logits = session.logits(stream[:, frame.first_row :])
        sure = confidence(logits, model.precision, without=MASK)
        symbols = decode(logits, model.precision, without=MASK)
        order = np.arange(model.padding) if lowest else -np.arange(model.padding)
        for i in range(len(words)):
            taken = np.lexsort((order, -sure[i]))[: model.k]
            canvas[i, taken] = symbols[i, taken]
    return canvas[:, -1]


def test_it_leans_on_the_lowest_slot_winning_a_tie():
    model = majority_by_topk(4, Precision(2))
    assert wrong(model, by_hand(model, lowest=True) == ACCEPT) == 0
    differ = by_hand(model, lowest=False) != by_hand(model, lowest=True)
    assert every_word(4)[differ].tolist() == [[A] * 4]


@pytest.mark.parametrize("length", [5, 6])
def test_k_must_grow(length):
    """With the k of N = 4, or any other but the right one, it does not decide majority."""
    model = majority_by_topk(length, Precision(2))
    for k in range(1, length + 1):
        found = answers(replace(model, k=k), every_word(length), engine=FastEngine()).accepted
        assert (wrong(model, found) == 0) == (k == model.k)


def test_it_has_no_planner():
    with pytest.raises(UnmaskError, match="ranks its slots"):
        topk_to_mdm(majority_by_topk(3, Precision(2)))
