"""Unit propagation over clauses that only grow: what a proof checker needs, and nothing else.

A clause follows by *reverse unit propagation* (RUP) if its negation, propagated, falsifies a clause. A list of clauses
that each follow so from the clauses before them, and that ends with the empty clause, proves that there is no model.
"""

from collections.abc import Iterable, Sequence


class UnitPropagation:
    """Clauses over variables 1, 2, …; two literals of each are watched."""

    def __init__(self) -> None:
        self._watching: dict[int, list[list[int]]] = {}
        self._value: dict[int, bool] = {}  # of literals, both signs
        self.contradiction = False

    def add(self, clause: Iterable[int]) -> None:
        """A clause that holds."""
        literals = list(dict.fromkeys(clause))
        if any(-x in literals for x in literals):
            return
        free = [x for x in literals if self._value.get(x) is None]
        if any(self._value.get(x) for x in literals):
            return
        if len(free) >= 2:
            literals.sort(key=lambda x: self._value.get(x) is not None)
            for x in literals[:2]:
                self._watching.setdefault(x, []).append(literals)
        elif free:
            self.contradiction |= not self._assign([free[0]], [])
        else:
            self.contradiction = True

    def follows(self, clause: Sequence[int]) -> bool:
        """Is the clause a consequence by reverse unit propagation?"""
        if self.contradiction:
            return True
        trail: list[int] = []
        consistent = self._assign([-x for x in clause], trail)
        for x in trail:
            del self._value[x], self._value[-x]
        return not consistent

    def _assign(self, literals: list[int], trail: list[int]) -> bool:
        """Make literals true, with all that follows; False at a contradiction. `trail` receives what was set."""
        waiting = list(literals)
        while waiting:
            x = waiting.pop()
            known = self._value.get(x)
            if known is not None:
                if not known:
                    return False
                continue
            self._value[x], self._value[-x] = True, False
            trail.append(x)
            watching, self._watching[-x] = self._watching.get(-x, []), []
            still_watching = self._watching[-x]
            for place, clause in enumerate(watching):
                if clause[0] == -x:
                    clause[0], clause[1] = clause[1], clause[0]
                first = clause[0]
                if self._value.get(first):
                    still_watching.append(clause)
                    continue
                for k in range(2, len(clause)):
                    if self._value.get(clause[k]) is not False:
                        clause[1], clause[k] = clause[k], clause[1]
                        self._watching.setdefault(clause[1], []).append(clause)
                        break
                else:
                    still_watching.append(clause)
                    if self._value.get(first) is False:
                        still_watching.extend(watching[place + 1 :])
                        return False
                    waiting.append(first)
        return True


def refutes(clauses: Iterable[Sequence[int]], lemmas: Iterable[Sequence[int]]) -> bool:
    """Do the lemmas, each by reverse unit propagation, lead from the clauses to a contradiction?"""
    checker = UnitPropagation()
    for clause in clauses:
        checker.add(clause)
    for lemma in lemmas:
        if not checker.follows(lemma):
            return False
        checker.add(lemma)
    return checker.contradiction
