"""family:NAME: a problem for words of every length, decided by a circuit for each of them."""

from dataclasses import dataclass

from unmask.errors import ProblemError, WordError
from unmask.problems.circuits.circuit import Circuit
from unmask.problems.circuits.families import FAMILIES, family_circuit
from unmask.problems.circuits.plain import plain_circuit
from unmask.problems.outcome import Outcome
from unmask.problems.problem import Problem, Word
from unmask.problems.specification import LetteredCircuit
from unmask.problems.stored import Stored

LONGEST = 4096


@dataclass(frozen=True)
class FamilyProblem(Problem):
    """What are the outputs of the family? Oracle: a few lines of Python, without a circuit."""

    family: str

    def __post_init__(self) -> None:
        if self.family not in FAMILIES:
            raise ProblemError(f"there is no family {self.family[:40]!r}; use one of {', '.join(FAMILIES)}")

    @property
    def name(self) -> str:
        return f"family:{self.family}"

    @property
    def letters(self) -> tuple[str, str]:
        return FAMILIES[self.family].letters

    def has_length(self, length: int) -> bool:
        return FAMILIES[self.family].fits(length) and length <= LONGEST

    def check_length(self, length: int) -> None:
        """Refuse a length that no word has."""
        if not self.has_length(length):
            lengths = FAMILIES[self.family].lengths
            raise ProblemError(f"{self.name} has words of length {lengths}, up to {LONGEST}, not {length}")

    def circuit(self, length: int) -> Circuit:
        """The shallow circuit for words of one length, which is compiled."""
        self.check_length(length)
        return family_circuit(self.family, length)

    def outputs(self, length: int) -> int:
        self.check_length(length)
        return len(FAMILIES[self.family].right([0] * length))

    def outcome(self, word: Word) -> Outcome:
        if any(letter not in self.letters for letter in word):
            raise WordError(f"a word of {self.name} is made of {' and '.join(self.letters)}, not {str(word)[:40]!r}")
        return Outcome.of_bits(FAMILIES[self.family].right([self.letters.index(x) for x in word]))

    def specification(self, length: int) -> LetteredCircuit:
        """The family as a textbook computes it."""
        self.check_length(length)
        return LetteredCircuit(plain_circuit(self.family, length), self.letters)

    def stored(self) -> Stored:
        return StoredFamily(self.family)


class StoredFamily(Stored, frozen=True, tag="family"):
    family: str

    def problem(self) -> FamilyProblem:
        return FamilyProblem(self.family)
