"""What proofs for every N are made of: the ledger of obligations, closures of finite state sets, and an SMT solver.

A `Ledger` records each obligation and how it was settled. An obligation that cannot be proved ends the proof.
"""

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, Generic, TypeVar

from unmask.errors import UnmaskError
from unmask.expressions import Expression, fold
from unmask.limits import check, current
from unmask.verification.verdict import Obligation


class ObligationFailed(Exception):
    """An obligation that is not shown; `lengths` are values of N at which it may fail."""

    def __init__(self, reason: str, lengths: tuple[int, ...] = ()) -> None:
        super().__init__(reason)
        self.lengths = lengths


def internal_failure(error: AssertionError) -> str:
    """The reason that a verdict gives for an assertion that failed in the compiler or in the prover."""
    return f"an internal check failed: {error}" if str(error) else "an internal check failed"


@dataclass
class Ledger:
    """Obligations in the order in which they were settled."""

    obligations: list[Obligation] = field(default_factory=list)
    questions: dict[str, str] = field(default_factory=dict)
    """What the solver was asked, in SMT-LIB, by the name of the obligation: it holds if the answer is `unsat`."""

    def settle(self, name: str, method: str, show: Callable[[], str | None]) -> None:
        """Run `show`, which returns a detail if it succeeds and raises `Open` if it does not.

        A failed assertion proves nothing either: it leaves the obligation open.
        """
        start = perf_counter()
        try:
            detail = show() or ""
        except (ObligationFailed, AssertionError) as found:
            reason = found if isinstance(found, ObligationFailed) else ObligationFailed(internal_failure(found))
            self.obligations.append(Obligation(name, method, "open", perf_counter() - start, str(reason)))
            raise reason from found
        self.obligations.append(Obligation(name, method, "proved", perf_counter() - start, detail))


# Starts × moves → every state that can be reached, or the shortest way to a wrong one.
#
#     reachable = the least set that holds the starts and, with a state, whatever one more letter leads to
#
# A fold ⟨start; letter, letter, …⟩ of any length ends in a reachable state, and every reachable state is the end of
# some fold. So a property of all reachable states is a property of the folds of every length, and the first state
# without it, in order of distance, is the end of a shortest counterexample.


State = TypeVar("State", bound=Hashable)
Letter = TypeVar("Letter")
Flaw = TypeVar("Flaw")

MOST_STATES = 2_000_000


class TooManyStates(Exception):
    """A closure that does not close within the limit: nothing is decided."""


@dataclass(frozen=True)
class Witness(Generic[State, Letter, Flaw]):
    """A shortest fold that ends wrongly: the letters from a start, the state they lead to, and what is wrong there."""

    start: State
    letters: tuple[Letter, ...]
    state: State
    flaw: Flaw


@dataclass(frozen=True)
class Closure(Generic[State, Letter, Flaw]):
    """How many states are reachable; the witness is None if and only if none of them is wrong.

    With a witness the search stopped early, and `states` says how many it had seen.
    """

    states: int
    witness: Witness[State, Letter, Flaw] | None


def reachable_closure(
    starts: Iterable[State],
    moves: Callable[[State], Iterable[tuple[Letter, State]]],
    flaw: Callable[[State], Flaw | None],
) -> Closure[State, Letter, Flaw]:
    """Breadth first from the starts; `flaw` says what is wrong with a state in which a fold may end."""
    before: dict[State, tuple[State, Letter] | None] = {}
    queue: deque[State] = deque()
    for start in starts:
        if start not in before:
            before[start] = None
            queue.append(start)
    while queue:
        state = queue.popleft()
        wrong = flaw(state)
        if wrong is not None:
            return Closure(len(before), _way(before, state, wrong))
        for letter, following in moves(state):
            if following not in before:
                before[following] = (state, letter)
                queue.append(following)
        if len(before) > MOST_STATES:
            raise TooManyStates(f"more than {MOST_STATES:,} states can be reached; the lemma is not decided")
    return Closure(len(before), None)


def _way(before: dict[State, tuple[State, Letter] | None], state: State, flaw: Flaw) -> Witness[State, Letter, Flaw]:
    letters, at = [], state
    while (step := before[at]) is not None:
        at, letter = step
        letters.append(letter)
    return Witness(at, tuple(reversed(letters)), state, flaw)


# Positions as an SMT solver sees them: an expression in (n, N) becomes a term, a claim about all n and N a question.
#
#     N    from 1 on, or from the family's least
#     K    the power of two with K <= N < 2K            (what `power_of_two_below(N)` means)
#     T    ⌈log2 N⌉                                      (what `log2_above(N)` means)
#
# x mod y by a y that is not constant is only known by its range and where x lies in [-y, 2y); x div y by such a y is
# only known where a proof names quotient and remainder (`Euclid`). So a claim that is proved holds, and a claim that is
# not may hold all the same.


Term = Any
"""A term or a formula of the solver."""

LEAST_ASKED = 1
"""There is no K for N = 0: no proof here covers that length."""
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
class AnyRow:
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

    def row(self) -> AnyRow:
        """Any number n."""
        return AnyRow(self.variable("n"))

    def at(self, expression: Expression, row: AnyRow) -> Term:
        """The value at a row."""
        return self.term(expression, row.n, row.euclid)

    def term(self, expression: Expression, n: Term, euclid: Sequence[Euclid] = ()) -> Term:
        """The value at n; what is known of its parts is added to the facts."""
        return self.term_of(expression, {"n": n, "N": self.N}, euclid)

    def term_of(self, expression: Expression, variables: Mapping[str, Term], euclid: Sequence[Euclid] = ()) -> Term:
        """The value for these values of the variables."""
        return fold(expression, lambda node, parts: self._node(node, parts, variables, euclid))

    def _node(
        self, node: Expression, parts: list[Term], variables: Mapping[str, Term], euclid: Sequence[Euclid]
    ) -> Term:
        z3, operator = self.z3, node.operator
        if operator == "variable" and node.name in variables:
            return variables[node.name]
        if operator == "constant":
            return z3.IntVal(node.value)
        if operator in ("power of two below", "log2 above") and node.operands[0].is_variable("N"):
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
        raise ObligationFailed(f"{node} is not a formula that the solver supports")

    def _divided(self, node: Expression, parts: list[Term], euclid: Sequence[Euclid]) -> Term:
        x, y = parts
        divisor = node.operands[1]
        if divisor.operator == "constant" and divisor.value > 0:
            return x % y if node.operator == "mod" else x / y
        for known in euclid:
            if (known.dividend, known.divisor) == (str(node.operands[0]), str(divisor)):
                return known.remainder if node.operator == "mod" else known.quotient
        if node.operator == "div":
            raise ObligationFailed(f"{node} divides by an expression that is not a constant")
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
            raise ObligationFailed(
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
            raise ObligationFailed(f"it does not follow; the solver's example has N = {length}", (length,))
        raise ObligationFailed(f"the solver cannot decide it ({solver.reason_unknown()})")

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
                raise ObligationFailed(f"more than {most} combinations of flags occur")
            solver.add(self.z3.Or(*(term != value for term, value in zip(terms, values, strict=True))))
        if answer != self.z3.unsat:
            raise ObligationFailed("the solver does not decide which flags occur")
        return sorted(found)

    def _answer(self, solver: Any) -> Any:
        """What the solver says within the budget. It works in a thread, so that this one can be interrupted."""
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
    "≠": lambda a, b: a != b,
}
