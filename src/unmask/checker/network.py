"""The variables of a certificate: letters, and tables of earlier variables.

part      a table over a few variables, and a label for each of their values
network   all variables; several parts together are a label each, in every assignment of a basis
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod

import numpy as np

from unmask.checker.certificate import Refused, need

MOST = 1 << 18


@dataclass(frozen=True, eq=False)
class Part:
    """table[value of each variable] = a label."""

    variables: tuple[int, ...]
    table: np.ndarray

    def __post_init__(self) -> None:
        object.__setattr__(self, "table", np.asarray(self.table))

    def reduced(self) -> "Part":
        variables, table = list(self.variables), self.table
        for axis in reversed(range(table.ndim)):
            first = table.take([0], axis)
            if (table == first).all():
                table, _ = first.squeeze(axis), variables.pop(axis)
        return Part(tuple(variables), table)


class Network:
    """Variables by number: (parents, table), or the number of values of a letter."""

    def __init__(
        self, variables: Sequence[tuple[tuple[int, ...], np.ndarray] | int], look: Callable[[], None] = lambda: None
    ) -> None:
        self._of = [((), None) if isinstance(v, int) else v for v in variables]
        self.sizes = [v if isinstance(v, int) else int(v[1].max()) + 1 for v in variables]
        self._look = look  # at the clock, with every row
        self._compared = [None if table is None else np.zeros(table.shape, dtype=bool) for _, table in self._of]

    def alone(self, v: int | None) -> Part:
        return Part((), np.zeros((), dtype=np.int64)) if v is None else Part((v,), np.arange(self.sizes[v]))

    def table(self, v: int) -> np.ndarray:
        """Of a variable that is no letter."""
        table = self._of[v][1]
        assert table is not None
        return table

    def check_use(self, named: set[int]) -> None:
        """Every table is named, or tells the tables above it something with each of its values."""
        need(all(v < len(self.sizes) for v in named), "a step names a variable that is not listed")
        above: dict[int, list[np.ndarray]] = {}
        for v, (parents, _) in enumerate(self._of):
            for axis, u in enumerate(parents):
                above.setdefault(u, []).append(np.moveaxis(self.table(v), axis, 0).reshape(self.sizes[u], -1))
        for v, (parents, _) in enumerate(self._of):
            if parents and v not in named:
                need(v in above, f"nothing needs variable {v}")
                distinct = np.unique(np.hstack(above[v]), axis=0)
                need(len(distinct) == self.sizes[v], f"variable {v} has two values that mean the same")

    def check_compared(self) -> None:
        """Refuse a table with an entry that was never compared with the weights."""
        for v, compared in enumerate(self._compared):
            if compared is not None and not compared.all():
                entry = int(np.flatnonzero(~compared.ravel())[0])
                raise Refused(f"no row of the model was compared with entry {entry} of the table of variable {v}")

    def joint_with(self, v: int | None, parts: Sequence[Part]) -> tuple[tuple[int, ...], list[np.ndarray]]:
        """`joint` of the parts and of variable v, the last; the entries of v's table that occur count as compared.

        The caller must pass the labels to `confirmed`, which compares them.
        """
        basis, labels = self.joint([*parts, self.alone(v)])
        compared = None if v is None else self._compared[v]
        if v is not None and compared is not None and v not in basis:
            sizes = [self.sizes[u] for u in basis]
            values = dict(zip(basis, (axis.ravel() for axis in np.indices(sizes)), strict=True))
            compared[tuple(self._value(u, values) for u in self._of[v][0])] = True
        return basis, labels

    def joint(self, parts: Sequence[Part]) -> tuple[tuple[int, ...], list[np.ndarray]]:
        """(variables, the label of each part in every assignment of them)."""
        self._look()
        basis = tuple(sorted(self._independent({v for part in parts for v in part.variables})))
        sizes = [self.sizes[v] for v in basis]
        if prod(sizes) > MOST:
            raise Refused(f"a row reads {prod(sizes):,} combinations, more than the checker supports")
        values = dict(zip(basis, (axis.ravel() for axis in np.indices(sizes)), strict=True))
        rows = (part.table[tuple(self._value(v, values) for v in part.variables)] for part in parts)
        return basis, [np.broadcast_to(row, (prod(sizes),)) for row in rows]

    def _value(self, v: int, values: dict[int, np.ndarray]) -> np.ndarray:
        if v not in values:
            parents, table = self._of[v]
            assert table is not None, "letters stand in every basis that needs them"
            values[v] = table[tuple(self._value(u, values) for u in parents)]
        return values[v]

    def _independent(self, wanted: set[int]) -> set[int]:
        """Without the variables that follow from the others."""
        kept = set(wanted)
        for v in sorted(wanted, reverse=True):
            if self._follows(v, kept - {v}):
                kept.discard(v)
        return kept

    def _follows(self, v: int, given: set[int]) -> bool:
        parents = self._of[v][0]
        least = min(given, default=v)
        return bool(parents) and all(u in given or (u > least and self._follows(u, given)) for u in parents)


def network_of(
    letter: int, length: int, tables: Sequence[tuple[list[int], list[int]]], look: Callable[[], None]
) -> Network:
    """Letters of so many values, then tables in the one form that each can have: parents in order, of which each
    changes something, and values numbered as they first occur."""
    variables: list[tuple[tuple[int, ...], np.ndarray] | int] = [letter] * length
    sizes = [letter] * length
    for v, (parents, table) in enumerate(tables, start=length):
        need(
            bool(parents) and all(a < b for a, b in pairwise([*parents, v])),
            f"parents of variable {v} are not in order",
        )
        shape = [sizes[u] for u in parents]
        need(len(table) == prod(shape), f"the table of variable {v} has another size than its parents")
        sizes.append(len({*table}))
        need([*dict.fromkeys(table)] == [*range(sizes[v])], f"values of variable {v} are not numbered as they occur")
        array = np.array(table, dtype=np.int64).reshape(shape)
        telling = ((array != array.take([0], axis)).any() for axis in range(array.ndim))
        need(all(telling), f"variable {v} does not depend on one of its parents")
        variables.append((tuple(parents), array))
    return Network(variables, look)
