"""Counting and drawing the words of an automaton by length."""

import random
from collections.abc import Sequence

import numpy as np

_SURROGATES = range(0xD800, 0xE000)


class WordCounts:
    """c[n][q] = number of words of length n that lead from state q to acceptance.

    c[0] = accepting, c[n + 1][q] = Σ_t c[n][delta[q, t]]; exact integers, computed once for each length.
    """

    def __init__(self, delta: np.ndarray, accepting: np.ndarray) -> None:
        self._delta = delta
        self._rows: list[list[int]] = delta.tolist()
        self._levels: list[list[int]] = [[int(flag) for flag in accepting]]
        # Most rows send many tokens to the same state: sum over distinct targets with multiplicity.
        self._arrows = [
            list(zip(*map(np.ndarray.tolist, np.unique(row, return_counts=True)), strict=True)) for row in delta
        ]

    def accepted(self, length: int, state: int) -> int:
        """The number of accepted words of this length from `state`."""
        while len(self._levels) <= length:
            last = self._levels[-1]
            self._levels.append([sum(times * last[q] for q, times in row) for row in self._arrows])
        return self._levels[length][state]

    def draw(self, length: int, state: int, *, accepted: bool, rng: random.Random) -> list[int] | None:
        """A uniformly drawn word of this length that is accepted (or not); None if there is none."""
        if self._number(length, state, accepted=accepted) == 0:
            return None
        ids: list[int] = []
        for left in range(length - 1, -1, -1):
            choice = rng.randrange(self._number(left + 1, state, accepted=accepted))
            for token, target in enumerate(self._rows[state]):
                choice -= self._number(left, target, accepted=accepted)
                if choice < 0:
                    ids.append(token)
                    state = target
                    break
        return ids

    def _number(self, length: int, state: int, *, accepted: bool) -> int:
        members = self.accepted(length, state)
        return members if accepted else self._delta.shape[1] ** length - members


def random_character(ranges: Sequence[tuple[int, int]], rng: random.Random | None) -> str:
    """A character of the ranges: the first printable one, or with `rng` a random one, no surrogate if possible."""
    if rng is None:
        firsts = (chr(p) for first, last in ranges for p in range(first, min(last, first + 128) + 1))
        return next((c for c in firsts if c.isprintable()), chr(ranges[0][0]))
    for _ in range(16):
        first, last = rng.choice(ranges)
        # Half of the draws stay near the start of a range, where the readable characters are.
        point = rng.randint(first, min(last, first + 96) if rng.getrandbits(1) else last)
        if point not in _SURROGATES:
            return chr(point)
    return chr(ranges[0][0])
