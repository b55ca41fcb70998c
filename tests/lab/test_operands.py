"""Attention to operands: the best head of each, and the rows that write."""

import numpy as np
import pytest

from lab.test_evaluation import drawn, untrained
from unmask.lab.inside.operands import OperandAttention, _writing


@pytest.mark.parametrize(
    ("mass", "best"),
    [
        ([[[0.9, 0.1], [0.2, 0.3]]], 0.6),  # two heads of one layer, one operand each
        ([[[0.9, 0.1]], [[0.2, 0.5]]], 0.7),  # one head in each of two layers
        ([[[0.1, 0.1], [0.1, 0.1]], [[0.1, 0.8], [0.4, 0.1]]], 0.6),
        ([[[0.3], [0.8]]], 0.8),  # a single operand
        (np.zeros((1, 2, 0)), 0.0),
    ],
)
def test_each_operand_has_the_best_of_its_heads(mass, best):
    assert OperandAttention(np.array(mass), 0.1).best == pytest.approx(best)


def writing(framework, step):
    trained = untrained(framework, length=8)
    rows, pointers = _writing(trained, trained.task.states(drawn(trained, 1))[0], step)
    assert (pointers == trained.task.pointers[step, : len(rows)]).all()
    return np.flatnonzero(rows).tolist()


def test_rows_that_write():
    """Of a tree the slots of the step's level, of a chain those from the last letter on, else all."""
    assert [writing("tree", step) for step in range(3)] == [[8, 9, 10, 11], [12, 13], [14]]
    assert writing("cot", 0) == [7, 8, 9, 10, 11, 12, 13, 14]
    assert writing("scan", 1) == [*range(16)]
    assert writing("looped", 2) == [*range(10)]
