"""A program of one's own as the source of a task: its values are the symbols, its interpreter has the answers."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from unmask.budget import check
from unmask.lab.tasks.source import Source, unlike
from unmask.lab.tasks.words import Stream, words
from unmask.problems.program import ProgramProblem
from unmask.recurrences.naming import is_truth, symbol_names

GUESSED = 1024  # words by which the best constant guess is told
TRUTH = {"1": True, "0": False}


@dataclass(frozen=True, eq=False)
class Program(Source):
    """The values of a program as symbols: its letters first, truth values last."""

    problem: ProgramProblem

    @cached_property
    def _named(self) -> dict[str, object]:
        """Name → value."""
        names = {name: value for value, name in symbol_names(self.problem.system).items()}
        if any(is_truth(value) for group in self.problem.system.groups for value in group.values):
            for name, value in TRUTH.items():
                names[unlike(name, names)] = value
        return names

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(self._named)

    @cached_property
    def symbol(self) -> dict[object, int]:
        """Value → its number."""
        return {value: number for number, value in enumerate(self._named.values())}

    @cached_property
    def letters(self) -> np.ndarray:
        return np.array([self.symbol[letter] for letter in self.problem.letters])

    @property
    def verdicts(self) -> dict[str, bool]:
        return {name: value for name, value in self._named.items() if isinstance(value, bool)}

    def spelled(self, word: np.ndarray) -> list[str]:
        return [self.names[number] for number in word]

    def answers(self, words: np.ndarray) -> np.ndarray:
        interpreter = self.problem.interpreter(words.shape[1])
        answers = []
        for word in words:
            check()
            answers.append([self.symbol[value] for value in interpreter.run(self.spelled(word)).answers])
        return np.array(answers, dtype=np.int64)

    def chance(self, length: int) -> float:
        """Of the answers to GUESSED words, the share of the commonest: an estimate, there being no formula."""
        drawn = words(self, GUESSED, length, 0, Stream.guessing)
        _, counts = np.unique(self.answers(drawn), axis=0, return_counts=True)
        return float(counts.max() / GUESSED)
