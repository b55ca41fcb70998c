"""What two logits decide: every pair of logits for small precisions."""

import numpy as np
import pytest

from unmask.programs.gadgets.decisions import left_as_it_is, no_preference, unchosen
from unmask.testing.gadget_runs import PRECISIONS, blank, settle, vectors

each_precision = pytest.mark.parametrize("precision", PRECISIONS, ids=str)


def decided(precision, build, inputs, outputs):
    program = blank()
    x, y = program.register("x", inputs.shape[1]), program.register("y", outputs)
    build(program.layer().mlp, x, y)
    return settle(program, precision, (x, inputs))[:, 0, y]


@each_precision
def test_unchosen_is_told_in_every_column(precision):
    logits = vectors(precision, 2, most=20_000)
    flags = decided(precision, unchosen, logits, 2)
    expected = precision.one * (logits[:, 1] <= logits[:, 0])
    assert np.array_equal(flags, np.stack([expected, expected], axis=1))


@each_precision
def test_flags_are_left_where_nothing_is_chosen(precision):
    logits = vectors(precision, 2, most=20_000)
    flags = precision.one * (np.arange(len(logits))[:, None] >> np.arange(3) & 1)
    inputs = np.concatenate([logits, flags], axis=1)
    left = decided(precision, lambda mlp, x, y: left_as_it_is(mlp, x[:2], x[2:], y), inputs, 3)
    assert np.array_equal(left, np.where(logits[:, 1:] <= logits[:, :1], flags, 0))


@each_precision
def test_no_preference_only_where_chosen_and_all_lowest(precision):
    logits = vectors(precision, 5)
    logits[::2, 2:] = -precision.bound
    logits[::6, 3] += 1
    flag = decided(precision, lambda mlp, x, y: no_preference(mlp, x[:2], x[2:], y), logits, 1)[:, 0]
    expected = (logits[:, 1] > logits[:, 0]) & (logits[:, 2:] == -precision.bound).all(axis=1)
    assert np.array_equal(flag, precision.one * expected)
    assert 0 < expected.sum() < len(logits)
