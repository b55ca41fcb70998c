"""Trained × words → the share of words that are answered right, by the loop of its kind."""

from dataclasses import dataclass

import numpy as np

from unmask.lab.evaluation.footprint import words_at_once
from unmask.lab.evaluation.medium import NetworkMedium
from unmask.lab.evaluation.trained import Trained
from unmask.lab.tasks.words import Stream, words
from unmask.reasoners.framework import canvases


@dataclass(frozen=True)
class Accuracy:
    """Of `words` words, how many ended with the right symbols in all answer slots, and the passes of a run."""

    right: float
    words: int
    passes: int


def last_symbols(trained: Trained, drawn: np.ndarray) -> tuple[np.ndarray, int]:
    """What the answer slots hold in the end, [batch, answers], and how many passes that took."""
    medium = NetworkMedium(trained, drawn)
    *_, last = canvases(medium)
    return trained.task.shown_answers(last), medium.passes


def accuracy(trained: Trained, count: int, *, seed: int, stream: Stream, number: int = 0) -> Accuracy:
    """On `count` fresh words of a stream."""
    drawn = words(trained.task.source, count, trained.length, seed, stream, number)
    right, passes = 0, 0
    at_once = words_at_once(trained.config.shape, len(trained.vocabulary), trained.task.rows)
    for first in range(0, count, at_once):
        part = drawn[first : first + at_once]
        said, passes = last_symbols(trained, part)
        right += int((said == trained.task.answers(part)).all(axis=1).sum())
    return Accuracy(right / count, count, passes)
