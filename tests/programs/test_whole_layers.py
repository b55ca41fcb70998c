from itertools import product

import numpy as np
import pytest

from unmask.engines.reference import ReferenceEngine
from unmask.expressions import constant, n
from unmask.numerics.arithmetic import Precision, exp
from unmask.programs.assembly import assemble
from unmask.programs.gadgets import whole_layers
from unmask.programs.gadgets.attention import clear, eq, focus, focus_copies, itself
from unmask.programs.gadgets.whole_layers import Buffers, binary_encoding, detect, empty, everywhere, overwrite
from unmask.programs.program import ONE, B, bits_for
from unmask.testing.gadget_runs import PRECISIONS, bits, blank, run_gadget, run_gadget_words, vectors

SYMBOLS = ("a", "b", "c", "d", "e")
each_precision = pytest.mark.parametrize("precision", PRECISIONS, ids=str)


def detecting(rows, restrict, *, weight=ONE):
    """A program that detects symbols where the head of `restrict(program, layer)` looks."""
    program = blank(rows, SYMBOLS)
    codes, average, detected = (program.register(name, SYMBOLS) for name in ("symbol", "average", "found"))
    program.embed(np.arange(len(SYMBOLS)), codes, weight)
    layer = program.layer()
    detect(restrict(program, layer), layer.mlp, codes, average, detected)
    return program, detected


def words(rows, count=20):
    """Random words, most of them over few of the symbols, the last with a symbol that occurs once, at the end."""
    rng = np.random.default_rng(rows)
    tokens = rng.integers(0, rng.integers(1, 6, (count, 1)), (count, rows))
    tokens[-1] = 0
    tokens[-1, -1] = 4
    return tokens


def occurs(word):
    return [symbol in word for symbol in range(len(SYMBOLS))]


@each_precision
@pytest.mark.parametrize("rows", [1, 2, 3, 4, 7, 15, 16, 17, 40, 200])
def test_detection_in_every_row_however_long_the_word(precision, rows):
    program, detected = detecting(rows, lambda _, layer: everywhere(layer))
    tokens = words(rows)
    residual = run_gadget_words(program, precision, tokens)
    expected = precision.one * np.array([occurs(word) for word in tokens])
    assert np.array_equal(residual[..., detected], np.repeat(expected[:, None], rows, axis=1))


@each_precision
def test_detection_in_the_prefix_when_attention_is_causal(precision):
    program, detected = detecting(30, lambda _, layer: everywhere(layer))
    tokens = words(30)
    residual = run_gadget_words(program, precision, tokens, attention="causal")
    expected = [[occurs(word[: i + 1]) for i in range(30)] for word in tokens]
    assert np.array_equal(residual[..., detected], precision.one * np.array(expected))


@each_precision
@pytest.mark.parametrize("gadget", ["eq", "focus"])
@pytest.mark.parametrize("block", [1, 3, 7])
def test_detection_within_a_block(precision, gadget, block):
    rows = 4 * block

    def restrict(program, layer):
        code = program.code("block", n // block, bits_for(4))
        head = layer.head()
        if gadget == "eq":
            eq(head, code, code)
        else:
            focus(head, code, code, copies=focus_copies(precision.p))
        return head

    program, detected = detecting(rows, restrict)
    tokens = words(rows)
    residual = run_gadget_words(program, precision, tokens)
    expected = [[occurs(word[i // block * block :][:block]) for i in range(rows)] for word in tokens]
    assert np.array_equal(residual[..., detected], precision.one * np.array(expected))


@each_precision
def test_codes_of_a_half_are_lost_in_a_long_word(precision):
    rows = 2 * precision.one
    halves = np.full(len(SYMBOLS), precision.one // 2)
    program, detected = detecting(rows, lambda _, layer: everywhere(layer), weight=halves)
    residual = run_gadget_words(program, precision, words(rows)[-1:])
    assert not residual[..., detected[4]].any()


def two_rows():
    """Row 1 looks at row 0, and row 0 at itself."""
    program = blank(2)
    row_code = program.code("own", n, 1)
    previous = program.code("previous", constant(0), 1)
    return program, row_code, previous


@each_precision
def test_any_number_overwrites_any_other(precision):
    program, row_code, previous = two_rows()
    source = program.register("source")
    buffers = Buffers(program.register("first"), program.register("second"))
    start = buffers.current
    for _ in range(2):
        layer = program.layer()
        gather = layer.head()
        eq(gather, previous, row_code)
        buffers = overwrite(
            gather, itself(layer, row_code), source if len(program.layers) == 1 else buffers.current, buffers
        )
    new_and_old = vectors(precision, 2, most=20_000)
    old = np.stack([np.zeros_like(new_and_old[:, 1]), new_and_old[:, 1]], axis=1)[..., None]
    residual = run_gadget(program, precision, (source, np.repeat(new_and_old[:, :1, None], 2, axis=1)), (start, old))
    assert np.array_equal(residual[:, 1, buffers.current], new_and_old[:, :1])
    assert not residual[..., buffers.other].any()
    assert np.array_equal(buffers.current, start), "two swaps"


def in_place(precision, values):
    """W ← W - W + W_new on one buffer, by two heads."""
    program, row_code, previous = two_rows()
    source, buffer = program.register("source"), program.register("buffer")
    layer = program.layer()
    gather = layer.head()
    eq(gather, previous, row_code)
    gather.copy(source, buffer)
    clear(itself(layer, row_code), buffer)
    contents = [
        (source, np.repeat(values[:, :1, None], 2, axis=1)),
        (buffer, np.repeat(values[:, 1:, None], 2, axis=1)),
    ]
    return run_gadget(program, precision, *contents)[:, 1, buffer[0]]


@each_precision
def test_one_buffer_is_not_enough(precision):
    values = vectors(precision, 2, most=20_000)
    wrong = in_place(precision, values) != values[:, 0]
    assert np.array_equal(wrong, np.abs(values[:, 0] - values[:, 1]) > precision.bound)
    assert wrong.any()


@each_precision
def test_one_buffer_is_enough_for_bits(precision):
    values = precision.one * np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    assert np.array_equal(in_place(precision, values), values[:, 0])


DIGIT_SYMBOLS = ("0", "1", "&", "x")


def encoder(rows, size):
    program = blank(rows, DIGIT_SYMBOLS)
    row_code = program.code("own", n, bits_for(rows))
    previous = program.code("previous", (n - 1).positive_part(), bits_for(rows))
    pointer = binary_encoding(program, size, marker=2, digit_one=1, row_code=row_code, previous=previous)
    return program, pointer


def pointers(size):
    """& b_1 … b_K for every number of K bits."""
    digits = bits(size)
    return np.concatenate([np.full((len(digits), 1), 2), digits], axis=1)


@each_precision
@pytest.mark.parametrize("size", [1, 2, 3, 5])
@pytest.mark.parametrize("attention", ["unmasked", "causal"])
def test_the_last_row_holds_the_bits_after_as_many_loops(precision, size, attention):
    program, pointer = encoder(size + 1, size)
    assert program.layers[0].mlp.size == 3 * size
    for loops in (size, size + 1, size + 5):
        residual = run_gadget_words(program, precision, pointers(size), loops=loops, attention=attention)
        assert np.array_equal(residual[:, size, pointer.bits], precision.one * bits(size))
        assert np.array_equal(residual[0][:, pointer.reached], precision.one * np.eye(size + 1, dtype=int))


@each_precision
def test_one_loop_less_is_too_few(precision):
    program, pointer = encoder(4, 3)
    residual = run_gadget_words(program, precision, pointers(3), loops=2)
    assert not residual[:, 3, pointer.bits].any()


@each_precision
def test_several_pointers_among_other_symbols(precision):
    size = 3
    rng = np.random.default_rng(0)
    codes = pointers(size)
    words = [
        np.concatenate([[3, 1, 0], codes[i], [1, 1, 3], codes[j], codes[k], [1, 0]])
        for i, j, k in rng.integers(0, 8, (40, 3))
    ]
    words = np.array(words)
    program, pointer = encoder(words.shape[1], size)
    for loops in (size, 3 * size):
        residual = run_gadget_words(program, precision, words, loops=loops)
        expected = np.zeros((*words.shape, size), dtype=int)
        for first in (3, 10, 14):
            for distance in range(1, size + 1):
                read = words[:, first + 1 : first + 1 + distance]
                expected[:, first + distance, :distance] = read
        assert np.array_equal(residual[..., pointer.bits], precision.one * expected)


@each_precision
def test_without_clearing_the_gathered_columns_pile_up(precision):
    program, pointer = encoder(5, 4)
    gather, _ = program.layers[0].heads
    program.layers[0].heads = [gather]
    exact = run_gadget_words(program, precision, pointers(4), loops=4)
    assert np.array_equal(exact[:, 4, pointer.bits], precision.one * bits(4)), "the last row gathers only once"
    assert exact[:, :4, pointer.reached].max() > precision.one, "the rows before it do not"
    later = run_gadget_words(program, precision, pointers(4), loops=5)
    assert later[:, 4, pointer.bits].max() > precision.one


# EMPTY


def seen_or_not(precision, scores, sentinel_row):
    """For batches of scores, one row per score: the flag that EMPTY computes, and whether all other exponentials are 0.

    The sentinel is in row `sentinel_row` and has one of the scores, too.
    """
    rows = scores.shape[1]
    program = blank(rows)
    score, sentinel, share, alone = (program.register(name) for name in ("score", "sentinel", "share", "alone"))
    layer = program.layer()
    head = layer.head()
    head.column([(program.one, ONE)], [(score, ONE)])
    empty(head, layer.mlp, sentinel, share, alone)
    residual = np.zeros((len(scores), rows, program.width), dtype=np.int64)
    residual[..., program.one] = precision.one
    residual[..., score] = scores[..., None]
    residual[:, sentinel_row, sentinel] = precision.one
    after = ReferenceEngine().session(assemble(program, precision)).layers(residual, 0, 1)
    other_exponentials = np.delete(exp(scores, precision), sentinel_row, axis=1)
    return after[..., alone][..., 0], ~other_exponentials.any(axis=1)


@pytest.mark.parametrize(("p", "rows"), [(1, 1), (1, 2), (1, 3), (1, 4), (2, 2), (2, 3)])
def test_empty_for_all_scores(p, rows):
    precision = Precision(p)
    scores = np.array(list(product(precision.numbers(), repeat=rows)))
    for sentinel_row in range(rows):
        actual, expected = seen_or_not(precision, scores, sentinel_row)
        assert np.array_equal(actual, np.repeat(precision.one * expected[:, None], rows, axis=1))


@each_precision
def test_empty_for_many_rows_of_saturating_scores(precision):
    rng = np.random.default_rng(3)
    spread = rng.integers(-precision.bound, precision.bound + 1, (60, 40))
    faint = rng.choice([-precision.bound, -precision.bound + 1, -2 * precision.one], (60, 40))
    none = np.full((1, 40), -precision.bound)
    for scores in (spread, faint, none):
        actual, expected = seen_or_not(precision, scores, 17)
        assert np.array_equal(actual[:, 0] == precision.one, expected)
        assert set(np.unique(actual)) <= {0, precision.one}
    assert expected.all()


def test_a_sentinel_that_is_not_faint_is_caught(monkeypatch):
    monkeypatch.setattr(whole_layers, "ABOVE_FAINTEST", B)
    precision = Precision(2)
    scores = np.array(list(product(precision.numbers(), repeat=2)))
    actual, expected = seen_or_not(precision, scores, 0)
    assert not np.array_equal(actual[:, 0], precision.one * expected)
