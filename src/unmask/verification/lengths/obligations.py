"""The building blocks of proofs for every N: a ledger of obligations, closures of finite state sets, an SMT solver.

A `Ledger` records each obligation and how it was settled. An obligation that cannot be proved ends the proof.
"""

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from time import monotonic_ns, perf_counter
from typing import Any, Generic, TypeVar

from unmask.errors import UnmaskError
from unmask.expressions import Expression, fold
from unmask.limits import check, current_budget
from unmask.verification.verdict import Obligation


class ObligationFailed(Exception):
    """An obligation was not proved; `lengths` are values of N at which it may fail."""

    def __init__(self, reason: str, lengths: tuple[int, ...] = ()) -> None:
        super().__init__(reason)
        self.lengths = lengths


def internal_failure(error: AssertionError) -> str:
    """Return the reason of a verdict for an assertion that failed in the compiler or in the prover."""
    return f"an internal check failed: {error}" if str(error) else "an internal check failed"


Value = TypeVar("Value")


@dataclass
class Ledger:
    """Obligations in the order in which they were settled."""

    obligations: list[Obligation] = field(default_factory=list)
    questions: dict[str, str] = field(default_factory=dict)
    """Questions to the solver, in SMT-LIB, by the name of the obligation, which holds if the answer is `unsat`."""

    def settle(self, name: str, method: str, prove: Callable[[], str | None]) -> None:
        """Run `prove` and record the obligation.

        `prove` returns a detail for the report, or raises ObligationFailed if the obligation cannot be proved.
        """
        self.compute(name, method, lambda: (None, prove() or ""))

    def compute(self, name: str, method: str, prove: Callable[[], tuple[Value, str]]) -> Value:
        """Do the same for a proof that also computes a value: `prove` returns (value, detail). Return the value.

        A failed assertion proves nothing either: it leaves the obligation open.
        """
        start = perf_counter()
        try:
            value, detail = prove()
        except (ObligationFailed, AssertionError) as error:
            failure = error if isinstance(error, ObligationFailed) else ObligationFailed(internal_failure(error))
            self.obligations.append(Obligation(name, method, "open", perf_counter() - start, str(failure)))
            raise failure from error
        self.obligations.append(Obligation(name, method, "proved", perf_counter() - start, detail))
        return value


# Starts × moves → every reachable state, or a shortest path to a flawed one.
#
#     reachable = the least set that contains the starts and the successors of its states
#
# Folding letters into a start, ⟨start; letter, letter, …⟩, ends in a reachable state for any number of letters, and
# every reachable state is the end of such a fold. So a property of all reachable states holds after every fold. The
# search visits states in order of distance, so that the first flawed state is the end of a shortest counterexample.


State = TypeVar("State", bound=Hashable)
Letter = TypeVar("Letter")
Flaw = TypeVar("Flaw")

MOST_STATES = 2_000_000


class TooManyStates(Exception):
    """The closure has more states than the limit, so that nothing is decided."""


@dataclass(frozen=True)
class Witness(Generic[State, Letter, Flaw]):
    """A shortest fold that ends in a flawed state: its start, its letters, the state, and the flaw."""

    start: State
    letters: tuple[Letter, ...]
    state: State
    flaw: Flaw


@dataclass(frozen=True)
class Closure(Generic[State, Letter, Flaw]):
    """The number of reachable states; the witness is None if and only if none of them has a flaw.

    With a witness, the search stopped early, and `states` is the number of states reached until then.
    """

    states: int
    witness: Witness[State, Letter, Flaw] | None


def reachable_closure(
    starts: Iterable[State],
    moves: Callable[[State], Iterable[tuple[Letter, State]]],
    flaw: Callable[[State], Flaw | None],
) -> Closure[State, Letter, Flaw]:
    """Search breadth first from the starts; `flaw` returns what is wrong with a state, None if nothing is."""
    predecessor: dict[State, tuple[State, Letter] | None] = {}
    queue: deque[State] = deque()
    for start in starts:
        if start not in predecessor:
            predecessor[start] = None
            queue.append(start)
    while queue:
        state = queue.popleft()
        its_flaw = flaw(state)
        if its_flaw is not None:
            return Closure(len(predecessor), _witness(predecessor, state, its_flaw))
        for letter, following in moves(state):
            if following not in predecessor:
                predecessor[following] = (state, letter)
                queue.append(following)
        if len(predecessor) > MOST_STATES:
            raise TooManyStates(f"more than {MOST_STATES:,} states can be reached; the lemma is not decided")
    return Closure(len(predecessor), None)


def _witness(
    predecessor: dict[State, tuple[State, Letter] | None], state: State, flaw: Flaw
) -> Witness[State, Letter, Flaw]:
    letters, start = [], state
    while (step := predecessor[start]) is not None:
        start, letter = step
        letters.append(letter)
    return Witness(start, tuple(reversed(letters)), state, flaw)


# Positions for an SMT solver: an expression in (n, N) becomes a term, and a claim about all n and N a question.
#
#     N    from 1 on, or from the least length of the family
#     K    the power of two with K <= N < 2K            `power_of_two_below(N)`
#     T    ⌈log2 N⌉                                     `log2_above(N)`
#
# If y is not a constant, the solver knows the range of x mod y, and its value for x in [-y, 2y); it knows x div y only
# where a proof names quotient and remainder (`Euclid`). So a proved claim holds, but a true claim may remain unproved.


Term = Any
"""A term or a formula of the solver."""

LEAST_SOLVER_LENGTH = 1
"""The least N that is asked about: for N = 0 there is no K."""
QUESTION_MILLISECONDS = 20_000  # for one question to the solver
SECONDS_BETWEEN_CHECKS = 1 / 20  # of the limits, while the solver works


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
    """dividend = quotient·divisor + remainder, 0 <= remainder < divisor, for one n; a proof names both numbers."""

    dividend: str
    divisor: str
    quotient: Term
    remainder: Term


@dataclass(frozen=True)
class AnyRow:
    """Any row n, with facts about it and the divisions that a proof has named."""

    n: Term
    facts: tuple[Term, ...] = ()
    euclid: tuple[Euclid, ...] = ()


@dataclass
class Arithmetic:
    """N and the facts about it, the terms of expressions, and questions, which are recorded in a ledger."""

    ledger: Ledger
    least: int
    z3: Any = field(default_factory=solver_module)

    def __post_init__(self) -> None:
        self.N, self.K, self.T = self.z3.Ints("N K T")
        self.facts = [
            max(self.least, LEAST_SOLVER_LENGTH) <= self.N,
            self.K >= 1,
            self.K <= self.N,
            self.N < 2 * self.K,
            self.T >= 0,
        ]
        self.facts += [self.T >= 1] if self.least >= 2 else []
        self._fresh = 0

    def variable(self, name: str) -> Term:
        """Return a new number about which nothing is known."""
        self._fresh += 1
        return self.z3.Int(f"{name}!{self._fresh}")

    def function(self, name: str) -> Term:
        """Return a new function from numbers to numbers about which nothing is known."""
        self._fresh += 1
        return self.z3.Function(f"{name}!{self._fresh}", self.z3.IntSort(), self.z3.IntSort())

    def row(self) -> AnyRow:
        """Return any row n, about which nothing is known."""
        return AnyRow(self.variable("n"))

    def at(self, expression: Expression, row: AnyRow) -> Term:
        """Return the value of an expression at a row."""
        return self.term(expression, row.n, row.euclid)

    def term(self, expression: Expression, n: Term, euclid: Sequence[Euclid] = ()) -> Term:
        """Return the value of an expression at n; facts about its divisions are added to the facts about N."""
        return self.term_of(expression, {"n": n, "N": self.N}, euclid)

    def term_of(self, expression: Expression, variables: Mapping[str, Term], euclid: Sequence[Euclid] = ()) -> Term:
        """Return the value of an expression for these values of its variables."""
        return fold(expression, lambda node, operands: self._node(node, operands, variables, euclid))

    def _node(
        self, node: Expression, operands: list[Term], variables: Mapping[str, Term], euclid: Sequence[Euclid]
    ) -> Term:
        z3, operator = self.z3, node.operator
        if operator == "variable" and node.name in variables:
            return variables[node.name]
        if operator == "constant":
            return z3.IntVal(node.value)
        if operator in ("power of two below", "log2 above") and node.operands[0].is_variable("N"):
            return self.K if operator == "power of two below" else self.T
        if operator == "pos":
            return z3.If(operands[0] > 0, operands[0], 0)
        if operator == "if":
            return z3.If(operands[0] != 0, operands[1], operands[2])
        if operator in ("mod", "div"):
            return self._divided(node, operands, euclid)
        if len(operands) == 2 and operator in BINARY:
            return BINARY[operator](operands[0], operands[1])
        if len(operands) == 2 and operator in COMPARED:
            return z3.If(COMPARED[operator](operands[0], operands[1]), z3.IntVal(1), z3.IntVal(0))
        raise ObligationFailed(f"{node} is not a formula that the solver supports")

    def _divided(self, node: Expression, operands: list[Term], euclid: Sequence[Euclid]) -> Term:
        x, y = operands
        divisor = node.operands[1]
        if divisor.operator == "constant" and divisor.value > 0:
            return x % y if node.operator == "mod" else x / y
        for division in euclid:
            if (division.dividend, division.divisor) == (str(node.operands[0]), str(divisor)):
                return division.remainder if node.operator == "mod" else division.quotient
        if node.operator == "div":
            raise ObligationFailed(f"{node} divides by an expression that is not a constant")
        return self.remainder(x, y)

    def remainder(self, x: Term, y: Term) -> Term:
        """Return x mod y, as a new number with the facts that hold for every x."""
        r, z3 = self.variable("remainder"), self.z3
        # these hold for every x and every y > 0; nothing is assumed for y <= 0
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

    def require(self, name: str, goal: Term, facts: Sequence[Term] = ()) -> None:
        """Settle that the goal follows from these facts, for all N and all values of its other numbers."""
        self.ledger.settle(name, "SMT", lambda: self._ask(name, goal, facts))

    def _ask(self, name: str, goal: Term, facts: Sequence[Term]) -> None:
        """Ask the solver whether the goal follows, and before that whether the facts are satisfiable."""
        solver = self.z3.Solver()
        solver.add(*self.facts, *facts)
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

    def values(self, terms: Sequence[Term], facts: Sequence[Term], most: int) -> list[tuple[int, ...]]:
        """Return all tuples of values that the terms can have under these facts."""
        solver = self.z3.Solver()
        solver.add(*self.facts, *facts)
        tuples: list[tuple[int, ...]] = []
        while (answer := self._answer(solver)) == self.z3.sat:
            model = solver.model()
            value_tuple = tuple(model.eval(term, model_completion=True).as_long() for term in terms)
            tuples.append(value_tuple)
            if len(tuples) > most:
                raise ObligationFailed(f"more than {most} combinations of flags occur")
            solver.add(self.z3.Or(*(term != value for term, value in zip(terms, value_tuple, strict=True))))
        if answer != self.z3.unsat:
            raise ObligationFailed("the solver does not decide which flags occur")
        return sorted(tuples)

    def _answer(self, solver: Any) -> Any:
        """Return the solver's answer within the time limit; it runs in a thread, so that it can be interrupted."""
        check()
        deadline = current_budget().deadline
        solver.set(
            "timeout",
            QUESTION_MILLISECONDS
            if deadline is None
            else max(1, min(QUESTION_MILLISECONDS, _milliseconds_left(deadline))),
        )
        solver.set("ctrl_c", False)  # otherwise the solver would handle the signal itself and continue
        with ThreadPoolExecutor(1) as pool:
            future = pool.submit(solver.check)
            try:
                while not wait([future], SECONDS_BETWEEN_CHECKS).done:
                    check()
            except BaseException:
                solver.interrupt()
                raise
        check()
        return future.result()


def _milliseconds_left(deadline: int) -> int:
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
