"""Classes of equal columns and labels, compared with a dictionary, for integers of all types."""

import numpy as np
import pytest

from unmask.verification.words import network as partition
from unmask.verification.words.network import Network, distinct_codes, distinct_columns


def check(columns, partition):
    first, number = partition
    contents = [column.tobytes() for column in np.ascontiguousarray(columns.T)]
    assert sorted(first.tolist()) == [contents.index(content) for content in dict.fromkeys(contents)]
    assert [contents[first[k]] for k in number.tolist()] == contents


@pytest.mark.parametrize("kind", [np.int8, np.int16, np.int32, np.int64, bool])
@pytest.mark.parametrize("most_codes", [1 << 62, 1 << 10])
def test_distinct_columns(kind, most_codes, monkeypatch):
    """With few codes, columns are distinguished in several rounds."""
    monkeypatch.setattr(partition, "MOST_CODES", most_codes)
    rng = np.random.default_rng(0)
    for rows, count, low, high in (
        (1, 40, -128, 128),
        (5, 300, -2, 3),
        (30, 200, -1, 1),
        (3, 9, -128, 128),
        (0, 4, 0, 1),
    ):
        columns = rng.integers(low, high, (rows, count)).astype(kind)
        columns = np.concatenate([columns, columns[:, : count // 2]], axis=1)
        if rows:
            check(columns, distinct_columns(columns))
    assert distinct_columns(np.zeros((0, 4), dtype=kind))[0].size == 1


@pytest.mark.parametrize("size", [7, 5000, 1 << 40])
def test_ranked_codes(size):
    codes = np.random.default_rng(1).integers(0, size, 900)
    codes[100:200] = codes[:100]
    check(codes[None], distinct_codes(codes, size))


@pytest.mark.parametrize("kind", [np.int8, np.int64])
def test_labels_at_both_ends_of_their_type_are_distinguished(kind):
    network = Network()
    letter = network.letter(4)
    ends = np.iinfo(np.int8)
    labels = np.array([ends.min, ends.max, 0, ends.min], dtype=kind)
    cases, order = network.cases(letter.variables, labels)
    assert order[cases.index].tolist() == labels.tolist()
    assert cases.index.tolist() == [0, 1, 2, 0]
