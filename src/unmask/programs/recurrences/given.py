"""What the reads of a region may give: values, and the variables that tell which of them it is."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from unmask.programs.recurrences.features import Column, Variable
from unmask.programs.recurrences.regions import Known, Leaf, Ranged
from unmask.programs.recurrences.tables import NEVER, Cube, check_entries
from unmask.recurrences.interpreter import gathered
from unmask.recurrences.slots import Over, subsets


class Given:
    """What the reads of a region may give, and the variables that say which."""

    def __init__(self) -> None:
        self.values: list[list[Any]] = []
        self.variables: list[Variable] = []
        self._of_read: list[tuple[int, int]] = []  # which variables belong to a read
        self._numbers: list[list[tuple[int, ...]]] = []

    def add(self, values: list[Any], variables: list[Variable], numbers: list[tuple[int, ...]]) -> None:
        first = len(self.variables)
        self.values.append(values)
        self.variables += variables
        self._of_read.append((first, len(self.variables)))
        self._numbers.append(numbers)

    def add_found(self, over: Over, channel: int, items: list[Any]) -> None:
        if over.kind == "collect":
            check_entries([2] * len(items), f"collect({over.range})")
            values: list[Any] = list(subsets(items))
            listed = values
        else:
            items, listed = [True], [frozenset(), frozenset([True])]
            values = [gathered(over, union) for union in listed]
        variables = [Variable((("found", channel, ("out", x)), ("found", channel, ("in", x)))) for x in items]
        self.add(values, variables, [tuple(int(x in union) for x in items) for union in listed])

    def table(self) -> np.ndarray:
        return np.full([len(variable.choices) for variable in self.variables], NEVER, dtype=np.int64)

    def index(self, numbers: Sequence[int]) -> tuple[int, ...]:
        """The place in the table of one combination of values."""
        return tuple(k for read, number in zip(self._numbers, numbers, strict=True) for k in read[number])

    def cube(self, leaves: Sequence[Leaf], numbers: Sequence[int], values: Sequence[Any]) -> Cube:
        """One combination as a conjunction; of each(…) only that the item is there."""
        literals: list[Column] = []
        others: list[tuple[Column, ...]] = []
        for leaf, (first, last), read, number, value in zip(
            leaves, self._of_read, self._numbers, numbers, values, strict=True
        ):
            if isinstance(leaf, Known):
                continue
            if is_each(leaf):
                pairs = [v.choices for v in self.variables[first:last] if v.choices[1][2] == ("in", value)]
                chosen = [(pair, 1) for pair in pairs]
            else:
                chosen = [(v.choices, k) for v, k in zip(self.variables[first:last], read[number], strict=True)]
            for choices, k in chosen:
                literals.append(choices[k])
                others.append(tuple(choices[:k] + choices[k + 1 :]))
        return Cube(tuple(literals), tuple(others), 1)


def is_each(leaf: Leaf) -> bool:
    """Is the leaf a set of which one item at a time is given?"""
    return not isinstance(leaf, Ranged) and leaf.each
