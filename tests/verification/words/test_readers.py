"""Readers of a row: at least the rows whose reading contains it, whatever was read before."""

import random

from unmask.verification.words.extraction import Readers


def test_all_that_read_one_of_some_rows_are_found():
    rng = random.Random(0)
    shared = [sorted(rng.sample(range(30), 4)) for _ in range(6)]

    def random_reading():
        return [rng.choice([None, rng.choice(shared), sorted(rng.sample(range(30), 3))]) for _ in range(2)]

    readings = {row: random_reading() for row in range(30)}
    readers = Readers.of(readings.items())
    for _ in range(20):
        changed = set(rng.sample(range(30), 3))
        reading = {row for row, lists in readings.items() if any(rows and changed & set(rows) for rows in lists)}
        assert reading <= readers.of_any(changed)
        row = rng.randrange(30)
        readings[row] = random_reading()
        readers.add(row, readings[row])


def test_who_reads_nothing_of_it_is_left_out():
    readers = Readers.of([(0, [[1, 2], None]), (3, [[4], []])])
    assert readers.of_any({1}) == {0}
    assert readers.of_any({4, 2}) == {0, 3}
    assert readers.of_any({5}) == set()
