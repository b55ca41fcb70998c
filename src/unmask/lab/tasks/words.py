"""Words by number: word i of a seed is the same on every machine, whatever was drawn before it.

Streams keep apart what is trained on and what is judged by.
"""

from enum import IntEnum

import numpy as np

from unmask.lab.tasks.source import Source


class Stream(IntEnum):
    """What a draw is for."""

    training = 0
    watching = 1
    judging = 2
    steps = 3
    masks = 4
    guessing = 5


def generator(seed: int, stream: Stream, number: int = 0) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(key=[seed, (number << 4) + stream]))


def words(source: Source, count: int, length: int, seed: int, stream: Stream, number: int = 0) -> np.ndarray:
    """[count, length] uniform letters, as symbols."""
    drawn = generator(seed, stream, number).integers(0, len(source.letters), size=(count, length))
    return source.letters[drawn].astype(np.int64)
