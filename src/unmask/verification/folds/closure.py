"""Starts × moves → every state that can be reached, or the shortest way to a wrong one.

    reachable = the least set that holds the starts and, with a state, whatever one more letter leads to

A fold ⟨start; letter, letter, …⟩ of any length ends in a reachable state, and every reachable state is the end of some
fold. So a property of all reachable states is a property of the folds of every length, and the first state without it,
in order of distance, is the end of a shortest counterexample.
"""

from collections import deque
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

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


def close(
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
