"""Questions: clauses that only grow; can they hold, and some literals with them?

A sweep asks thousands of small questions, for which a solver that does little between them is best; the few that stay
open go to one that does much.
"""

from collections.abc import Callable, Sequence
from typing import Any

from unmask.errors import UnmaskError
from unmask.limits import check
from unmask.verification.proofs.clauses import Clause

QUICK, THOROUGH = "glucose4", "cadical195"
QUICK_CONFLICTS = 2000  # of one question
CONFLICTS_AT_ONCE = 1000  # no solver can be interrupted: it is asked again where it stopped, with all it has learned


def solver_class() -> Callable:
    try:
        from pysat.solvers import Solver
    except ModuleNotFoundError:
        raise UnmaskError("this proof needs a SAT solver; run `pip install 'unmask[verify]'`") from None
    return Solver


def solved(solver: Any, conflicts: int | None = None, *, assumptions: Sequence[int] = ()) -> bool | None:
    """Is there a model? None where so many conflicts do not tell; the clock is looked at every few of them."""
    asked = 0
    while conflicts is None or asked < conflicts:
        part = CONFLICTS_AT_ONCE if conflicts is None else min(CONFLICTS_AT_ONCE, conflicts - asked)
        asked += part
        check()
        solver.conf_budget(part)
        answer = solver.solve_limited(assumptions=list(assumptions))
        if answer is not None:
            return answer
    return None


class Questions:
    """The clauses so far, in a quick solver; in the thorough one once it is needed."""

    def __init__(self) -> None:
        self._clauses: list[Clause] = []
        self._quick: Any = solver_class()(name=QUICK)
        self._thorough: Any = None
        self._told = 0  # how many clauses the thorough one knows
        self._answered: Any = None
        self.asked = 0

    def add(self, clause: Clause) -> None:
        self._clauses.append(clause)
        self._quick.add_clause(clause)

    def together(self, literals: Sequence[int], conflicts: int) -> bool | None:
        """Can these literals hold at once? None where so many conflicts do not tell."""
        self.asked += 1
        self._answered = self._quick
        answer = solved(self._quick, min(conflicts, QUICK_CONFLICTS), assumptions=literals)
        if answer is None and conflicts > QUICK_CONFLICTS:
            self._answered = self._informed()
            answer = solved(self._answered, conflicts - QUICK_CONFLICTS, assumptions=literals)
        return answer

    def model(self) -> list[int]:
        """What the last answer, which was yes, gives to each variable: itself, or negated."""
        return self._answered.get_model()

    @property
    def solvers(self) -> str:
        """Who was asked."""
        return QUICK if self._thorough is None else f"{QUICK} and {THOROUGH}"

    def close(self) -> None:
        for solver in (self._quick, self._thorough):
            if solver is not None:
                solver.delete()

    def _informed(self) -> Any:
        if self._thorough is None:
            self._thorough = solver_class()(name=THOROUGH)
        for clause in self._clauses[self._told :]:
            self._thorough.add_clause(clause)
        self._told = len(self._clauses)
        return self._thorough
