"""Partition: which entries of an array are equal, and which columns of a table.

    ranked(codes), distinct(columns) = (the first place of each class, the number of every place's class)

Columns become codes in mixed radix, entry by entry; a code that grows too large is replaced by the number of its class.
"""

from collections.abc import Iterator

import numpy as np

FEW_COLUMNS = 16
FEW_LABELS = 64
MOST_CODES = 1 << 62

Partition = tuple[np.ndarray, np.ndarray]
"""(the first place of each class, the number of every place's class)"""


def ranked(codes: np.ndarray, size: int) -> Partition:
    """The classes of equal codes 0 … size - 1, in the order of the codes."""
    if size > 4 * codes.size + 1024:
        _, first, number = np.unique(codes, return_index=True, return_inverse=True)
        return first, number.reshape(-1)
    first = np.full(size, -1)
    first[codes[::-1]] = np.arange(codes.size - 1, -1, -1)  # of places that share a code, the last that is set stays
    there = np.flatnonzero(first >= 0)
    number = np.empty(size, dtype=np.int64)
    number[there] = np.arange(there.size)
    return first[there], number[codes]


def numbered(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(the label of each class, the number of every place's class) of labels that may be any integers.

    Classes are numbered as they first occur.
    """
    if labels.size <= FEW_LABELS:
        numbers: dict[int, int] = {}
        places = [numbers.setdefault(label, len(numbers)) for label in labels.tolist()]
        return np.array(list(numbers), dtype=labels.dtype), np.array(places, dtype=np.int32)
    wide = labels.astype(np.int64)
    wide -= int(wide.min())
    first, number = ranked(wide, int(wide.max()) + 1)
    order = np.argsort(first)
    rank = np.empty(order.size, dtype=np.int32)
    rank[order] = np.arange(order.size, dtype=np.int32)
    return labels[first[order]], rank[number]


def distinct(columns: np.ndarray) -> Partition:
    """The classes of equal columns."""
    count = columns.shape[1]
    if count == 1 or not columns.shape[0]:
        return np.zeros(1, dtype=np.int64), np.zeros(count, dtype=np.int64)
    if count <= FEW_COLUMNS:
        return _looked_up(columns)
    low = columns.min(axis=1).astype(np.int64)
    spans = columns.max(axis=1).astype(np.int64) - low + 1
    telling = np.flatnonzero(spans > 1)
    codes, size = np.zeros(count, dtype=np.int64), 1
    for row, least, span in zip(columns[telling], low[telling].tolist(), spans[telling].tolist(), strict=True):
        if size * span > MOST_CODES:
            first, codes = ranked(codes, size)
            size = first.size
        codes *= span
        codes += row
        codes -= least
        size *= span
    return ranked(codes, size)


def contents(columns: np.ndarray) -> Iterator[bytes]:
    """What each column holds."""
    size = columns.shape[0] * columns.itemsize
    whole = columns.tobytes("F")
    return (whole[place * size : (place + 1) * size] for place in range(columns.shape[1]))


def _looked_up(columns: np.ndarray) -> Partition:
    numbers: dict[bytes, int] = {}
    first, labels = [], []
    for place, content in enumerate(contents(columns)):
        number = numbers.setdefault(content, len(first))
        if number == len(first):
            first.append(place)
        labels.append(number)
    return np.array(first), np.array(labels)
