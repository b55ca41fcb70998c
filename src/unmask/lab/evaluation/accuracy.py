"""Trained × words → the share of right answers, by the loop of its kind."""

from dataclasses import dataclass

import numpy as np

from unmask.lab.evaluation.footprint import words_at_once
from unmask.lab.evaluation.medium import NetworkMedium
from unmask.lab.evaluation.trained import Trained
from unmask.lab.tasks.words import Stream, words
from unmask.reasoners.framework import canvases


@dataclass(frozen=True)
class Accuracy:
    """Of `words` words, how many ended with the right symbol in the last row, and the passes of a run."""

    right: float
    words: int
    passes: int


def last_symbols(trained: Trained, drawn: np.ndarray) -> tuple[np.ndarray, int]:
    """What the last row holds in the end, [batch], and how many passes that took."""
    medium = NetworkMedium(trained, drawn)
    *_, last = canvases(medium)
    return last[:, -1], medium.passes


def accuracy(trained: Trained, count: int, *, seed: int, stream: Stream, number: int = 0) -> Accuracy:
    """On `count` fresh words of a stream."""
    drawn = words(trained.task.algebra, count, trained.length, seed, stream, number)
    right, passes = 0, 0
    at_once = words_at_once(trained.config.shape, len(trained.vocabulary), trained.task.rows)
    for first in range(0, count, at_once):
        part = drawn[first : first + at_once]
        said, passes = last_symbols(trained, part)
        right += int((said == trained.task.answers(part)).sum())
    return Accuracy(right / count, count, passes)
