"""Positions as an SMT solver sees them: an expression in (n, N) becomes a term, a claim about all n and N a question.

    N    from 1 on, or from the family's least
    K    the power of two with K <= N < 2K            (what `power_of_two_below(N)` means)
    T    ⌈log2 N⌉                                      (what `log2_above(N)` means)

x mod y by a y that is no constant is only known by its range and where x lies in [-y, 2y); x div y by such a y is only
known where a proof names quotient and remainder (`Euclid`). So a claim that is proved holds, and a claim that is not
may hold all the same.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any

from unmask.budget import check, current
from unmask.errors import UnmaskError
from unmask.programs.language.positions import Expression, by_parts
from unmask.verification.families.obligations.ledger import Ledger, Open

Term = Any
"""A term or a formula of the solver."""

LEAST_ASKED = 1
"""There is no K for N = 0: nothing that is proved here is about it."""
PATIENCE = 20_000  # milliseconds for one question
LOOK_EVERY = 1 / 20  # of a second


def solver_module() -> Any:
    """Return the module z3; raise an error that names the extra if it is missing."""
    try:
        import z3
    except ModuleNotFoundError as missing:
        message = "a proof for every length needs an SMT solver; run `pip install 'unmask[prove]'`"
        raise UnmaskError(message) from missing
    return z3


@dataclass(frozen=True)
class Euclid:
    """dividend = quotient·divisor + remainder, 0 <= remainder < divisor: named by a proof, for one n."""

    dividend: str
    divisor: str
    quotient: Term
    remainder: Term


@dataclass(frozen=True)
class Row:
    """A row n: what is known of it, and quotients that a proof has named."""

    n: Term
    facts: tuple[Term, ...] = ()
    euclid: tuple[Euclid, ...] = ()


@dataclass
class Arithmetic:
    """N with what is known of it, terms for expressions, and questions that go into a ledger."""

    ledger: Ledger
    least: int
    z3: Any = field(default_factory=solver_module)

    def __post_init__(self) -> None:
        self.N, self.K, self.T = self.z3.Ints("N K T")
        self.facts = [
            max(self.least, LEAST_ASKED) <= self.N,
            self.K >= 1,
            self.K <= self.N,
            self.N < 2 * self.K,
            self.T >= 0,
        ]
        self.facts += [self.T >= 1] if self.least >= 2 else []
        self._fresh = 0

    def variable(self, name: str) -> Term:
        self._fresh += 1
        return self.z3.Int(f"{name}!{self._fresh}")

    def function(self, name: str) -> Term:
        """A function from numbers to numbers of which nothing is known."""
        self._fresh += 1
        return self.z3.Function(f"{name}!{self._fresh}", self.z3.IntSort(), self.z3.IntSort())

    def row(self) -> Row:
        """Any number n."""
        return Row(self.variable("n"))

    def at(self, expression: Expression | int, row: Row) -> Term:
        """The value at a row."""
        return self.term(expression, row.n, row.euclid)

    def term(self, expression: Expression | int, n: Term, euclid: Sequence[Euclid] = ()) -> Term:
        """The value at n; what is known of its parts is added to the facts."""
        if isinstance(expression, int):
            return self.z3.IntVal(expression)
        terms = by_parts((expression,), lambda node, parts: self._node(node, parts, n, euclid))
        return terms[id(expression)]

    def _node(self, node: Expression, parts: list[Term], n: Term, euclid: Sequence[Euclid]) -> Term:
        z3, operator = self.z3, node.operator
        if operator in ("n", "N"):
            return n if operator == "n" else self.N
        if operator == "constant" and node.value is not None:
            return z3.IntVal(node.value)
        if operator in ("power of two below", "log2 above") and node.operands[0].operator == "N":
            return self.K if operator == "power of two below" else self.T
        if operator == "pos":
            return z3.If(parts[0] > 0, parts[0], 0)
        if operator == "if":
            return z3.If(parts[0] != 0, parts[1], parts[2])
        if operator in ("mod", "div"):
            return self._divided(node, parts, euclid)
        if len(parts) == 2 and operator in BINARY:
            return BINARY[operator](parts[0], parts[1])
        if len(parts) == 2 and operator in COMPARED:
            return z3.If(COMPARED[operator](parts[0], parts[1]), z3.IntVal(1), z3.IntVal(0))
        raise Open(f"{node} is not a formula that the solver supports")

    def _divided(self, node: Expression, parts: list[Term], euclid: Sequence[Euclid]) -> Term:
        x, y = parts
        divisor = node.operands[1]
        if divisor.operator == "constant" and divisor.value is not None and divisor.value > 0:
            return x % y if node.operator == "mod" else x / y
        for known in euclid:
            if (known.dividend, known.divisor) == (str(node.operands[0]), str(divisor)):
                return known.remainder if node.operator == "mod" else known.quotient
        if node.operator == "div":
            raise Open(f"{node} divides by an expression that is not a constant")
        return self.remainder(x, y)

    def remainder(self, x: Term, y: Term) -> Term:
        """x mod y, of which little is known."""
        r, z3 = self.variable("remainder"), self.z3
        # true of every x and every y > 0; nothing is said of y <= 0
        self.facts.append(
            z3.Implies(
                y > 0,
                z3.And(
                    r >= 0,
                    r < y,
                    z3.Implies(z3.And(x >= 0, x < y), r == x),
                    z3.Implies(z3.And(x < 0, x >= -y), r == x + y),
                    z3.Implies(z3.And(x >= y, x < 2 * y), r == x - y),
                ),
            )
        )
        return r

    def require(self, name: str, goal: Term, given: Sequence[Term] = ()) -> None:
        """The goal follows from what is given, for all N and all values of what else occurs in it."""
        self.ledger.settle(name, "SMT", lambda: self._ask(name, goal, given))

    def _ask(self, name: str, goal: Term, given: Sequence[Term]) -> None:
        solver = self.z3.Solver()
        solver.add(*self.facts, *given)
        if self._answer(solver) != self.z3.sat:
            raise Open(
                "the solver finds no example of the assumptions; if they contradict each other, every "
                "conclusion follows"
            )
        solver.add(self.z3.Not(goal))
        self.ledger.questions[name] = solver.to_smt2()
        answer = self._answer(solver)
        if answer == self.z3.unsat:
            return
        if answer == self.z3.sat:
            length = solver.model().eval(self.N, model_completion=True).as_long()
            raise Open(f"it does not follow; the solver's example has N = {length}", (length,))
        raise Open(f"the solver cannot decide it ({solver.reason_unknown()})")

    def values(self, terms: Sequence[Term], given: Sequence[Term], most: int) -> list[tuple[int, ...]]:
        """All tuples of values that the terms may have under what is given."""
        solver = self.z3.Solver()
        solver.add(*self.facts, *given)
        found: list[tuple[int, ...]] = []
        while (answer := self._answer(solver)) == self.z3.sat:
            model = solver.model()
            values = tuple(model.eval(term, model_completion=True).as_long() for term in terms)
            found.append(values)
            if len(found) > most:
                raise Open(f"more than {most} combinations of flags occur")
            solver.add(self.z3.Or(*(term != value for term, value in zip(terms, values, strict=True))))
        if answer != self.z3.unsat:
            raise Open("the solver does not decide which flags occur")
        return sorted(found)

    def _answer(self, solver: Any) -> Any:
        """What the solver says within the budget. It works in a thread, so that this one hears the clock and Ctrl-C."""
        check()
        deadline = current().deadline
        solver.set("timeout", PATIENCE if deadline is None else max(1, min(PATIENCE, _left(deadline))))
        solver.set("ctrl_c", False)  # or it would take the signal for itself, and go on
        with ThreadPoolExecutor(1) as aside:
            asked = aside.submit(solver.check)
            try:
                while not wait([asked], LOOK_EVERY).done:
                    check()
            except BaseException:
                solver.interrupt()
                raise
        check()
        return asked.result()


def _left(deadline: int) -> int:
    from time import monotonic_ns

    return (deadline - monotonic_ns()) // 1_000_000


BINARY = {"+": lambda a, b: a + b, "-": lambda a, b: a - b, "·": lambda a, b: a * b}
COMPARED = {
    "<=": lambda a, b: a <= b,
    "<": lambda a, b: a < b,
    ">=": lambda a, b: a >= b,
    ">": lambda a, b: a > b,
    "=": lambda a, b: a == b,
}
