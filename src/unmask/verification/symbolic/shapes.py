"""Shapes: variables that are the same function of other letters.

Two variables have one shape if both are letters of one size, or if their tables are equal and their parents have the
same shapes and lie as far from the first letter. Whatever holds for all words of one holds for all words of the other.
"""

from typing import Any

from unmask.verification.symbolic.network import Cases, Network


class Shapes:
    """Each variable's first variable of its shape."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._first: dict[int, int] = {}
        self._known: dict[Any, int] = {}

    def interval(self, v: int) -> tuple[int, int]:
        """The letters [first, last) between which all lie that a variable depends on."""
        support = self._network.variables[v].support
        return (support & -support).bit_length() - 1, support.bit_length()

    def representative(self, v: int) -> int:
        """The first variable asked about that has this shape."""
        if v not in self._first:
            for u in self._unknown(v):
                self._first[u] = self._known.setdefault(self._signature(u), u)
        return self._first[v]

    def _unknown(self, v: int) -> list[int]:
        """A variable and those below it that were not looked at, parents first."""
        seen: set[int] = set()
        waiting = [v]
        while waiting:
            u = waiting.pop()
            if u not in seen and u not in self._first:
                seen.add(u)
                waiting += self._network.variables[u].parents
        return sorted(seen)

    def _signature(self, v: int) -> Any:
        variable = self._network.variables[v]
        if variable.letter is not None:
            return variable.size
        first, last = self.interval(v)
        parents = tuple((self._first[u], self.interval(u)[0] - first) for u in variable.parents)
        if variable.table is not None:
            return last - first, parents, variable.table.shape, variable.table.tobytes()
        place = {u: i for i, u in enumerate(variable.parents)}
        return last - first, parents, tuple(self._branch(branch, place) for branch in variable.branches)

    def _branch(self, branch: Cases, place: dict[int, int]) -> Any:
        return tuple(place[u] for u in branch.variables), branch.index.shape, branch.index.tobytes()
