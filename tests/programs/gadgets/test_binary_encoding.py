import numpy as np
import pytest

from unmask.programs.gadgets.binary_encoding import binary_encoding
from unmask.programs.language.positions import n
from unmask.programs.language.program import bits_for
from unmask.testing.gadget_runs import PRECISIONS, bits, blank, run_words

SYMBOLS = ("0", "1", "&", "x")
each_precision = pytest.mark.parametrize("precision", PRECISIONS, ids=str)


def encoder(rows, size):
    program = blank(rows, SYMBOLS)
    own = program.code("own", n, bits_for(rows))
    previous = program.code("previous", (n - 1).positive_part(), bits_for(rows))
    pointer = binary_encoding(program, size, marker=2, digit_one=1, own=own, previous=previous)
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
        residual = run_words(program, precision, pointers(size), loops=loops, attention=attention)
        assert np.array_equal(residual[:, size, pointer.bits], precision.one * bits(size))
        assert np.array_equal(residual[0][:, pointer.reached], precision.one * np.eye(size + 1, dtype=int))


@each_precision
def test_one_loop_less_is_too_few(precision):
    program, pointer = encoder(4, 3)
    residual = run_words(program, precision, pointers(3), loops=2)
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
        residual = run_words(program, precision, words, loops=loops)
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
    exact = run_words(program, precision, pointers(4), loops=4)
    assert np.array_equal(exact[:, 4, pointer.bits], precision.one * bits(4)), "the last row gathers only once"
    assert exact[:, :4, pointer.reached].max() > precision.one, "the rows before it do not"
    later = run_words(program, precision, pointers(4), loops=5)
    assert later[:, 4, pointer.bits].max() > precision.one
