import numpy as np
import pytest

from unmask.programs.gadgets.buffers import Buffers, overwrite
from unmask.programs.gadgets.equal import eq
from unmask.programs.gadgets.lookup import clear, itself
from unmask.programs.language.positions import constant, n
from unmask.testing.gadget_runs import PRECISIONS, blank, settle, vectors

each_precision = pytest.mark.parametrize("precision", PRECISIONS, ids=str)


def two_rows():
    """Row 1 looks at row 0, and row 0 at itself."""
    program = blank(2)
    own = program.code("own", n, 1)
    previous = program.code("previous", constant(0), 1)
    return program, own, previous


@each_precision
def test_any_number_overwrites_any_other(precision):
    program, own, previous = two_rows()
    source = program.register("source")
    buffers = Buffers(program.register("first"), program.register("second"))
    start = buffers.current
    for _ in range(2):
        layer = program.layer()
        gather = layer.head()
        eq(gather, previous, own)
        buffers = overwrite(
            gather, itself(layer, own), source if len(program.layers) == 1 else buffers.current, buffers
        )
    new_and_old = vectors(precision, 2, most=20_000)
    old = np.stack([np.zeros_like(new_and_old[:, 1]), new_and_old[:, 1]], axis=1)[..., None]
    residual = settle(program, precision, (source, np.repeat(new_and_old[:, :1, None], 2, axis=1)), (start, old))
    assert np.array_equal(residual[:, 1, buffers.current], new_and_old[:, :1])
    assert not residual[..., buffers.other].any()
    assert np.array_equal(buffers.current, start), "two swaps"


def in_place(precision, values):
    """W ← W - W + W_new on one buffer, by two heads."""
    program, own, previous = two_rows()
    source, buffer = program.register("source"), program.register("buffer")
    layer = program.layer()
    gather = layer.head()
    eq(gather, previous, own)
    gather.copy(source, buffer)
    clear(itself(layer, own), buffer)
    contents = [
        (source, np.repeat(values[:, :1, None], 2, axis=1)),
        (buffer, np.repeat(values[:, 1:, None], 2, axis=1)),
    ]
    return settle(program, precision, *contents)[:, 1, buffer[0]]


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
