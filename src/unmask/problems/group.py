"""group:SPEC: is the product of these elements the identity? The word problem of a group of permutations."""

from dataclasses import dataclass
from functools import cached_property

from unmask.problems.automata.automaton import Automaton
from unmask.problems.automata.group import PermutationGroup, permutation_group, word_problem
from unmask.problems.outcome import Outcome
from unmask.problems.problem import Word
from unmask.problems.regular import RegularProblem, symbols_of
from unmask.problems.stored import Stored


@dataclass(frozen=True)
class GroupProblem(RegularProblem):
    """Is the product of these elements the identity? Oracle: the permutations, applied in turn."""

    spec: str

    def __post_init__(self) -> None:
        _ = self.group

    @property
    def name(self) -> str:
        """The PROBLEM string."""
        return f"group:{self.spec}"

    @cached_property
    def group(self) -> PermutationGroup:
        """The group with its action on points."""
        return permutation_group(self.spec)

    @property
    def accepts(self) -> str:
        return (
            "A word is accepted if the product of its letters is the identity. The first letter acts first: "
            "after `x y` a point p stands at y(x(p))."
        )

    @cached_property
    def automaton(self) -> Automaton:
        """One state for each element."""
        return word_problem(self.group)

    def outcome(self, word: Word) -> Outcome:
        """Whether every point returns to its place when the elements act from first to last."""
        places = list(range(self.group.points))
        for name in symbols_of(word, tuple(self._actions)):
            places = [self._actions[name][place] for place in places]
        return Outcome.of_bits([places == list(range(self.group.points))])

    def stored(self) -> Stored:
        return StoredGroup(self.spec)

    @cached_property
    def _actions(self) -> dict[str, list[int]]:
        return {self.group.names[i]: self.group.elements[i].tolist() for i in self.group.symbols}


class StoredGroup(Stored, frozen=True, tag="group"):
    spec: str

    def problem(self) -> GroupProblem:
        return GroupProblem(self.spec)
