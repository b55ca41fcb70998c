"""cot and pcot: what is read, what is appended."""

import numpy as np
import pytest

import by_hand
from unmask.api import run_word
from unmask.weights.matrices import Matrix
from unmask.weights.transformer import Head, Layer, Mlp

A, LETTER_B, MASK, ZERO, ONE = range(5)


def cot(successors, *, length=1, steps=3, **rest):
    transformer = by_hand.successor(successors, length + steps, attention="causal")
    return by_hand.model("cot", {"model": transformer}, length=length, steps=steps, padding=steps, **rest)


def canvases(model, word):
    return ["".join(c) for c in run_word(model, word).canvas_symbols]


def test_each_symbol_is_read_in_the_next_step():
    model = cot({A: LETTER_B, LETTER_B: ZERO, ZERO: ONE})
    assert canvases(model, "a") == ["b", "b0", "b01"]
    assert canvases(model, "b") == ["0", "01", "01a"]
    assert run_word(model, "a").accepted is True
    assert run_word(model, "b").accepted is None


def test_only_the_last_row_decides():
    model = cot({A: ONE, LETTER_B: ZERO}, length=2, steps=1)
    assert canvases(model, "ab") == ["0"]
    assert canvases(model, "ba") == ["1"]


def test_new_symbols_are_marked():
    trace = run_word(cot({A: A}), "a")
    assert [c.tolist() for c in trace.chosen] == [[True], [False, True], [False, False, True]]


def test_positions_go_on_after_the_input():
    """Row n of the string decodes by its position: 0 is the input's."""
    logits = np.zeros((4, 5), dtype=np.int64)
    for row, symbol in enumerate((ZERO, ONE, A, LETTER_B)):
        logits[row, symbol] = 4
    model = by_hand.model("cot", {"model": by_hand.positional(logits.tolist(), attention="causal")}, steps=3, padding=3)
    assert canvases(model, "b") == ["0", "01", "01a"]


def test_a_cot_may_write_any_symbol_even_the_mask():
    assert canvases(cot({A: MASK, MASK: ONE}, mask="m"), "a") == ["m", "m1", "m1a"]


def test_a_causal_row_sees_the_whole_past():
    """Is there a b anywhere? One head averages the letters b into the column of 1, which then beats the last a."""
    width = 5
    wv = np.zeros((width, width), dtype=np.int64)
    wv[LETTER_B, ONE] = 15
    out = by_hand.one_hot(width)
    out[A][A] = 1
    head = Head(Matrix.zeros((width, 1)), Matrix.zeros((width, 1)), Matrix.of(wv))
    transformer = by_hand.transformer(
        by_hand.one_hot(width), [[0] * width] * 4, out, layers=[Layer((head,), Mlp.nothing(width))], attention="causal"
    )
    model = by_hand.model("cot", {"model": transformer}, length=3)
    outputs = {word: run_word(model, word).output for word in ("aaa", "baa", "aba", "bba")}
    assert outputs == {"aaa": ["a"], "baa": ["1"], "aba": ["1"], "bba": ["1"]}


def pcot(logits, *, block, steps, **rest):
    transformer = by_hand.positional(logits, attention="causal")
    return by_hand.model("pcot", {"model": transformer}, block=block, steps=steps, padding=block * steps, **rest)


def test_a_block_at_a_time():
    symbols = (A, LETTER_B, MASK, ZERO, ONE)
    logits = [[4 if s == symbol else 0 for s in range(5)] for symbol in symbols]
    model = pcot(logits, block=2, steps=2)
    assert canvases(model, "a") == ["bm", "bm01"]
    assert [c.tolist() for c in run_word(model, "a").chosen] == [[True, True], [False, False, True, True]]


def test_the_block_is_read_as_masks():
    """The token table says what a mask becomes, whatever was generated before."""
    transformer = by_hand.successor({MASK: ONE, ONE: ZERO}, 5, attention="causal")
    model = by_hand.model("pcot", {"model": transformer}, block=2, steps=2, padding=4)
    assert canvases(model, "a") == ["11", "1111"]


@pytest.mark.parametrize("kind", ["cot", "pcot"])
def test_generation_from_begin(kind):
    vocabulary = (*by_hand.VOCABULARY, "^")
    transformer = by_hand.successor({5: A, A: ONE, MASK: ONE}, 3, attention="causal", size=6)
    block = 1 if kind == "pcot" else None
    model = by_hand.model(
        kind, {"model": transformer}, length=0, steps=2, padding=2, vocabulary=vocabulary, begin="^", block=block
    )
    assert canvases(model, "") == (["a", "a1"] if kind == "cot" else ["1", "11"])
