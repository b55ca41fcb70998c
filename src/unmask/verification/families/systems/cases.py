"""Branch → Cases: all that a row of a branch may read and hear, every combination of it.

axis     what one operand may be, or what a head hears that nobody asked: symbols, or what a search tells
case     one choice on every axis; operands that are one and the same row hold one symbol
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

import numpy as np

from unmask.recurrences.interpreter import called, gathered, result_of
from unmask.recurrences.slots import Slots
from unmask.verification.families.obligations.ledger import Open
from unmask.verification.families.systems.claim import Place, SystemClaim
from unmask.verification.families.systems.searches import Told
from unmask.verification.families.systems.slots import Operand, Search

MOST_CASES = 1 << 22
NOT_YET = -1
"""What a slot becomes while it waits."""


@dataclass(frozen=True, eq=False)
class Axis:
    """Choices: the symbol that stands there, what a rule is given, and whether the slot has to wait."""

    tokens: tuple[int, ...]
    given: tuple[Any, ...]
    waits: tuple[bool, ...]
    told: tuple[Told, ...] = ()

    def __len__(self) -> int:
        return len(self.tokens)


def read_axis(claim: SystemClaim, operand: Operand, *, waiting: bool) -> Axis:
    """A letter, a slot or a value; with `waiting` a slot may be masked. A value stands nowhere."""
    given = tuple(called(operand.mapping, (value,), "a read") for value in operand.held)
    if operand.number is None:
        return Axis((claim.mask,), given, (False,))
    listed = tuple(claim.tokens[value] for value in operand.held)
    if len(set(listed)) < len(listed) or claim.mask in listed:
        raise Open("two values of a group have one symbol")
    if not waiting or operand.group is None:
        return Axis(listed, given, (False,) * len(listed))
    return Axis((*listed, claim.mask), (*given, None), (*(False for _ in listed), True))


def letter_axis(claim: SystemClaim) -> Axis:
    """A letter that a head reads and no rule asks for."""
    tokens = tuple(claim.tokens[letter] for letter in claim.system.letters)
    return Axis(tokens, tokens, (False,) * len(tokens))


def told_axis(told: Sequence[Told], search: Search | None, mask: int) -> Axis:
    """What a search tells; nothing is asked of it where there is none."""
    given = tuple(None if search is None else gathered(search.over, one.found) for one in told)
    waits = tuple(search is not None and one.waits for one in told)
    return Axis((mask,) * len(told), given, waits, tuple(told))


class Cases:
    """All combinations; the first axes are the operands of the branch."""

    def __init__(self, place: Place, axes: Sequence[Axis]) -> None:
        self.place, self.axes = place, axes
        count = prod(map(len, axes))
        if count > MOST_CASES:
            raise Open(f"there are too many cases of {place.name}")
        chosen = np.indices([len(axis) for axis in axes]).reshape(len(axes), count)
        self.tokens = _entries(axes, chosen, lambda axis: axis.tokens, np.int64)
        self._kept = np.ones(count, dtype=bool)
        for first, again in place.same:
            self._kept &= self.tokens[first] == self.tokens[again]
        self.tokens, self.chosen = self.tokens[:, self._kept], chosen[:, self._kept]
        self.waits: np.ndarray = np.any(_entries(axes, self.chosen, lambda axis: axis.waits, bool), axis=0)

    @property
    def count(self) -> int:
        return self.tokens.shape[1]

    def signs(self, axis: int) -> np.ndarray:
        """[shares, cases]: of an axis of what is told."""
        told = self.axes[axis].told
        signs = np.array([one.signs for one in told], dtype=bool).reshape(len(told), len(told[0].signs))
        return signs[self.chosen[axis]].T

    def right(self, claim: SystemClaim) -> np.ndarray:
        """The symbol of what the rule gives in every case; NOT_YET where the slot waits."""
        group, branch = self.place.slot.group, self.place.branch
        assert isinstance(group, Slots)
        operands, others = self.axes[: len(branch.operands)], self.axes[len(branch.operands) :]
        right = []
        for choice in product(*(zip(axis.given, axis.waits, strict=True) for axis in operands)):
            ready = not any(waits for _, waits in choice)
            given = tuple(value for value, _ in choice)
            right.append(claim.tokens[result_of(group, branch.case, given, group.name)] if ready else NOT_YET)
        return np.repeat(np.array(right, dtype=np.int64), prod(map(len, others)))[self._kept]


def _entries(axes: Sequence[Axis], chosen: np.ndarray, of: Callable[[Axis], Sequence[Any]], kind: Any) -> np.ndarray:
    """[axes, cases]: an entry of the choice on every axis."""
    found = np.zeros(chosen.shape, dtype=kind)
    for k, axis in enumerate(axes):
        found[k] = np.array(of(axis), dtype=kind)[chosen[k]]
    return found
