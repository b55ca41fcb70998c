"""One small transformer per shortcut of the fast engine, right at the edge where the shortcut stops being right."""

from functools import partial

import numpy as np
import pytest

from engines.agreement import Recorder, outcome, same
from unmask.engines.fast import FastEngine, HeadState, LayerState
from unmask.engines.reference import ReferenceEngine
from unmask.engines.visible_keys import _codes
from unmask.errors import AttendsToNothing
from unmask.numerics.arithmetic import Precision, multiply
from unmask.numerics.number_lemmas import sharp_thresholds
from unmask.weights.matrices import Matrix
from unmask.weights.transformer import Head, Layer, Mlp, Transformer

BITS = 3
ONE, HERE, ADDRESS, FLAG, VALUE, RESULT = 0, 1, 1 + BITS, 1 + 2 * BITS, 2 + 2 * BITS, 3 + 2 * BITS
WIDTH = RESULT + 1


def signed(number, p, bits=BITS):
    return [1 << p if number >> i & 1 else -(1 << p) for i in reversed(range(bits))]


class Lookup:
    """Rows with a code each, that look up a code each; token t has the value values[t]."""

    def __init__(self, codes, addresses, values, p=2, *, attention="unmasked"):
        self.p, self.one, self.precision, self.attention = p, 1 << p, Precision(p), attention
        self.positions = np.zeros((len(codes), WIDTH), dtype=np.int64)
        self.positions[:, ONE] = self.one
        self.positions[:, HERE : HERE + BITS] = [signed(c, p) for c in codes]
        self.positions[:, ADDRESS : ADDRESS + BITS] = [signed(a, p) for a in addresses]
        self.embed = np.zeros((len(values), WIDTH), dtype=np.int64)
        self.embed[:, VALUE] = values
        self.columns = []

    def column(self, query, key):
        self.columns.append((query, key))
        return self

    def match(self, scale=None, *, copies=1):
        """EQ with B, FOCUS with another scale, over all bits."""
        scale = self.precision.bound if scale is None else scale
        for _ in range(copies):
            for i in range(BITS):
                self.column({ADDRESS + i: scale}, {HERE + i: self.one})
                self.column({ONE: scale}, {ONE: -self.one})
        return self

    def transformer(self):
        query, key = np.zeros((2, WIDTH, len(self.columns)), dtype=np.int64)
        for j, forms in enumerate(self.columns):
            for matrix, form in zip((query, key), forms, strict=True):
                for column, weight in form.items():
                    matrix[column, j] = weight
        value = np.zeros((WIDTH, WIDTH), dtype=np.int64)
        value[VALUE, RESULT] = self.one
        out = np.zeros((1, WIDTH), dtype=np.int64)
        out[0, RESULT] = self.one
        return Transformer(
            precision=self.precision,
            embed=Matrix.of(self.embed),
            positions=self.positions,
            layers=(Layer((Head(Matrix.of(query), Matrix.of(key), Matrix.of(value)),), Mlp.nothing(WIDTH)),),
            out=Matrix.of(out),
            attention=self.attention,
        )


def agree(transformer, calls):
    """Both engines through the same calls, watched and not; returns the fast engine's head and the results."""
    reference = ReferenceEngine().session(transformer)
    watched, alone = (FastEngine().session(transformer) for _ in range(2))
    results = []
    for tokens in calls:
        tokens = np.atleast_2d(tokens)
        rows = (0, tokens.shape[1])
        ours, theirs = Recorder(), Recorder()
        expected = outcome(partial(reference.read, tokens, rows, watch=ours))
        for session, watch in ((watched, theirs), (alone, None)):
            actual = outcome(partial(session.read, tokens, rows, watch=watch))
            assert actual[1] == expected[1]
            assert actual[1] is not None or np.array_equal(actual[0], expected[0])
        assert same(ours, theirs)
        results.append(expected[1] or expected[0][..., 0].tolist())
    state = alone._layers[0]
    return (state._heads[0] if state else None), results


@pytest.mark.parametrize("p", range(1, 9))
def test_a_mismatch_that_only_just_underflows(p):
    """Two bits cost -2t; the code is used down to the last t at which exp is 0, and not one further."""
    _, vanished = sharp_thresholds(Precision(p))
    coded = {}
    for scale in range(1, Precision(p).bound + 1):
        t = int(multiply(scale, 1 << p, Precision(p)))
        if abs(2 * t + vanished) <= 2:
            model = Lookup(range(4), [1, 0, 3, 3], [3, -2, 1], p).match(scale)
            head, _ = agree(model.transformer(), [[0, 1, 2, 0], [0, 1, 1, 0]])
            coded[2 * t >= -vanished] = head.coded
            assert head.coded == (2 * t >= -vanished)
    assert set(coded) == {True, False}


def test_two_matches_and_three_whose_weights_round():
    codes, addresses = [0, 1, 1, 2, 2, 2, 3], [0, 1, 2, 2, 1, 3, 0]
    for p in range(1, 9):
        values = [(1 << p) - 1, -Precision(p).bound, 3, 1]
        head, _ = agree(Lookup(codes, addresses, values, p).match().transformer(), [[0, 1, 2, 3, 2, 1, 0], [0] * 7])
        assert head.coded
    _, results = agree(Lookup(codes, addresses, [12], 2).match().transformer(), [[0] * 7])
    assert results[0] == [[12, 12, 9, 9, 12, 12, 12]]  # three times [1/3] = 1/4


def test_a_sum_that_clips_and_comes_back():
    """exp saturates, so that Z = B and every weight is 1: 15 + 15 - 15 + 4 = 4."""
    model = Lookup([0, 0, 0, 0, 1], [0, 0, 0, 0, 0], [15, -15, 4], 2).column({ONE: 15}, {ONE: 4})
    model.match(model.precision.half_bound, copies=2)
    head, results = agree(model.transformer(), [[0, 0, 1, 2, 2], [1, 1, 0, 0, 2]])
    assert head.coded
    assert results == [[[4] * 5], [[15] * 5]]


def test_no_match_is_the_same_error():
    model = Lookup([0, 1, 2], [0, 1, 7], [1, 2], 2).match()
    _, results = agree(model.transformer(), [[0, 0, 0], [[0, 0, 0], [1, 1, 1]]])
    for result in results:
        assert result[0] is AttendsToNothing
        assert result[1]["row"] == 2
        assert result[1]["word"] == 0


def test_a_causal_row_does_not_see_a_later_match():
    model = Lookup([0, 1, 2, 3], [0, 0, 3, 1], [1, 2], 2, attention="causal").match()
    _, results = agree(model.transformer(), [[0, 1], [0, 1, 0], [0, 1, 0, 1]])
    assert results[0] == [[1, 1]]
    assert results[1][0] is AttendsToNothing
    assert results[1][1]["row"] == 2


def test_causal_groups_grow_with_the_word():
    model = Lookup([0, 0, 0, 0, 1, 0, 0], [0] * 7, [4, -9, 13], 2, attention="causal").match()
    agree(model.transformer(), [[0], [0, 1], [0, 1, 2], [0, 1, 2, 2, 1], [0, 1, 2, 2, 1, 0, 0], [2, 1, 2, 2, 1, 0, 0]])


def test_one_copy_of_focus_is_not_enough():
    half = Precision(2).half_bound
    for copies in (1, 2):
        model = Lookup(range(4), [1, 2, 3, 0], [3, -7], 2)
        model.column({VALUE: 15}, {ONE: 15})  # a score of its own, up to B, before the codes
        head, _ = agree(model.match(half, copies=copies).transformer(), [[0, 1, 0, 1], [0, 0, 0, 0]])
        assert head.coded == (copies == 2)


@pytest.mark.parametrize("side", [HERE, ADDRESS])
@pytest.mark.parametrize("value", [0, 3, 15, -15])
def test_a_row_whose_bit_is_not_a_bit(side, value):
    """One irregular query, or one irregular key, among regular ones: it is compared with every row."""
    model = Lookup(range(8), [1, 2, 3, 4, 5, 6, 7, 0], [5, -3, 9], 2).match()
    model.positions[3, side + 1] = value
    calls = [[0, 1, 2, 0, 1, 2, 0, 1], [0, 1, 2, 0, 2, 2, 0, 1], [0, 1, 2, 1, 2, 2, 0, 1]]
    head, results = agree(model.transformer(), calls)
    if head is not None:
        assert head.coded
        assert all(isinstance(r[0], list) for r in results)


def test_a_score_beside_the_code_is_still_computed():
    """Keys of one code that differ in another column: one of them underflows."""
    model = Lookup([0, 0, 0, 1], [0, 0, 1, 0], [1, 2, 3, 4], 2)
    model.positions[:, FLAG] = [0, 4, 0, 0]
    head, results = agree(model.match().column({ONE: -15}, {FLAG: 4}).transformer(), [[0, 1, 2, 3], [3, 0, 2, 1]])
    assert head.coded
    assert not head.code.constant
    assert [r[0][2] for r in results] == [4, 2]  # token 3 at row 3, then token 1


def test_key_codes_that_change_between_calls():
    """Tokens move a key from one code to another: both its old and its new readers change."""
    model = Lookup([0] * 6, [0, 1, 0, 1, 0, 1], [0, 0, 0], 2)
    model.positions[:, HERE + 2] = 0
    model.embed[:, HERE + 2] = [-4, 4, -4]
    model.embed[:, VALUE] = [3, 7, 11]
    calls = [[0, 1, 0, 1, 2, 1], [1, 1, 0, 1, 2, 1], [1, 1, 0, 0, 2, 1], [0, 1, 0, 1, 2, 1], [0, 1, 0, 1, 2, 1]]
    head, _ = agree(model.match().transformer(), calls)
    assert head.coded


def test_the_last_key_of_a_code_leaves_it():
    """A reader loses its only key and must raise, although its own row did not change."""
    model = Lookup([0] * 3, [0, 1, 0], [0, 0], 2)
    model.positions[:, HERE + 2] = 0
    model.embed[:, HERE + 2] = [-4, 4]
    _, results = agree(model.match().transformer(), [[0, 1, 0], [0, 0, 0], [0, 1, 0]])
    assert results[1][0] is AttendsToNothing
    assert results[1][1]["row"] == 1
    assert results[2] == results[0]


def test_an_edit_that_reverts_and_a_slot_written_with_the_same_symbol(monkeypatch):
    rows, real = [], LayerState._multiply

    def counted(self, x, some, touched):
        rows.append(some.tolist())
        real(self, x, some, touched)

    monkeypatch.setattr(LayerState, "_multiply", counted)
    transformer = Lookup(range(8), [1, 2, 3, 4, 5, 6, 7, 7], [5, -3, 9], 2).match().transformer()
    calls = [[0] * 8, [0] * 8, [0, 0, 0, 1, 0, 0, 0, 0], [0] * 8]
    agree(transformer, calls)
    session = FastEngine().session(transformer)
    rows.clear()
    for tokens in calls:
        session.read(np.array([tokens]), (0, 8))
    assert rows == [[*range(8)], [], [2, 3], [2, 3]]  # the row itself and its one reader


def test_a_chain_computes_one_row_per_step(monkeypatch):
    row_counts, real = [], HeadState.attend

    def counted(self, rows, grid):
        row_counts.append(rows.size)
        return real(self, rows, grid)

    monkeypatch.setattr(HeadState, "attend", counted)
    transformer = Lookup(range(8), [0, 0, 1, 2, 3, 4, 5, 6], [5, -3, 9], 2, attention="causal").match().transformer()
    tokens = np.array([[0, 1, 2, 0, 1, 2, 0, 1]])
    session = FastEngine().session(transformer)
    for length in range(4, 9):
        session.read(tokens[:, :length], (length - 1, length))
    assert row_counts == [4, 1, 1, 1, 1]


def test_a_session_recovers_from_an_error():
    transformer = Lookup([0, 1, 2], [0, 1, 2], [1, 2], 2).match().transformer()
    session, reference = FastEngine().session(transformer), ReferenceEngine().session(transformer)

    def interrupted(name, _):
        if name.startswith("layers.0"):
            raise KeyboardInterrupt

    session.read(np.array([[0, 0, 0]]), (0, 3))
    with pytest.raises(KeyboardInterrupt):
        session.read(np.array([[0, 1, 0]]), (0, 3), watch=interrupted)
    for tokens in ([[0, 1, 0]], [[1, 1, 0]]):
        assert np.array_equal(session.read(np.array(tokens), (0, 3)), reference.read(np.array(tokens), (0, 3)))


@pytest.mark.parametrize("attention", ["unmasked", "causal"])
def test_uniform_heads_over_many_rows(attention):
    """All keys alike, more of them than one block holds."""
    rows = 700
    model = Lookup([0] * rows, [0] * rows, [2, -3, 15, -15], 2, attention=attention).column({ONE: 1}, {VALUE: 1})
    tokens = np.random.default_rng(0).integers(0, 4, (3, rows))
    agree(model.transformer(), [tokens[0], tokens[1], tokens])


@pytest.mark.parametrize("bits", [1, 8, 56, 57, 62])
def test_codes_of_many_bits_are_numbers_from_0_on(bits):
    """-1 means a row without a code, so no code may be -1."""
    rows = np.array([np.full(bits, -4), np.full(bits, 4), [4] + [-4] * (bits - 1)], dtype=np.int8).T
    code, regular = _codes(rows, np.arange(bits), np.full(bits, 4))
    assert code.tolist() == [0, (1 << bits) - 1, 1 << bits - 1]
    assert regular.all()
