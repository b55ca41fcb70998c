"""random:SEED: random weights, which solve no problem. For tests of engines and conversions."""

from dataclasses import dataclass

from unmask.errors import ProblemError, shortened
from unmask.problems.outcome import Outcome
from unmask.problems.problem import Problem, Word

LETTERS = ("a", "b")


@dataclass(frozen=True)
class RandomProblem(Problem):
    """Nothing is right about any word. `digits` is the seed as it was written."""

    digits: str

    def __post_init__(self) -> None:
        if not (self.digits.isascii() and self.digits.isdigit()) or len(self.digits) > 20 or self.seed >= 1 << 64:
            raise ProblemError(f"random:SEED needs a seed from 0 to 2^64 - 1, not {shortened(self.digits)!r}")

    @property
    def seed(self) -> int:
        return int(self.digits)

    @property
    def name(self) -> str:
        return f"random:{self.digits}"

    @property
    def letters(self) -> tuple[str, ...]:
        return LETTERS

    @property
    def has_answers(self) -> bool:
        return False

    def outcome(self, word: Word) -> Outcome:  # noqa: ARG002
        raise ProblemError(
            f"{self.name} consists of random weights, which do not solve a problem; give another problem"
        )

    def stored(self) -> None:
        return None
