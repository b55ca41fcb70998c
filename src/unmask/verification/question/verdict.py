"""Verdict: proved, held on every case, refuted, or unknown. It has no truth value."""

from dataclasses import dataclass
from typing import Any, Literal, NoReturn, Protocol

from unmask.errors import OutOfTime

Status = Literal["proved", "held", "refuted", "unknown"]


class Certificate(Protocol):
    """A proof that somebody else can check."""

    def files(self) -> dict[str, str]:
        """Ending of a file's name → its content."""
        ...


@dataclass(frozen=True)
class Verdict:
    """What a check found. `cases` were looked at; a refutation names a word, what was right and what came out.

    `proof` says how something was proved; `certificate`, if one was asked for, lets anybody check it. `about` says of
    which words that is, where they are not all that the model reads.
    """

    status: Status
    method: str
    cases: int
    counterexample: str | None = None
    expected: str | None = None
    got: str | None = None
    reason: str | None = None
    proof: dict[str, Any] | None = None
    certificate: Certificate | None = None
    about: str | None = None
    compared: str | None = None
    """Which answers were compared, where there are several."""
    complete: bool = False
    """Were all words compared?"""
    comparable: bool = True
    """False if the two sides read different alphabets, so that nothing can be said."""

    def __post_init__(self) -> None:
        if (self.status == "refuted") != (self.counterexample is not None):
            raise ValueError("a verdict is refuted if and only if it has a counterexample")
        if (self.status == "proved") != (self.proof is not None):
            raise ValueError("a verdict is proved if and only if it has a proof")
        if self.status == "unknown" and self.reason is None:
            raise ValueError("an unknown verdict gives its reason")

    @classmethod
    def out_of_time(cls, method: str | None, end: OutOfTime) -> "Verdict":
        """Time that is over says nothing about the model, wherever it ended."""
        return cls("unknown", method or "undecided", 0, reason=str(end))

    def __bool__(self) -> NoReturn:
        raise TypeError('a verdict is not true or false: compare its status, for "unknown" is not "no"')

    @property
    def exit_code(self) -> int:
        return {"proved": 0, "held": 0, "refuted": 1, "unknown": 2}[self.status]

    def to_json(self) -> dict[str, Any]:
        document: dict[str, Any] = {
            "verdict": self.status,
            "method": self.method,
            "cases": self.cases,
            "counterexample": self.counterexample,
        }
        for name in ("expected", "got", "reason", "proof", "about", "compared"):
            if getattr(self, name) is not None:
                document[name] = getattr(self, name)
        if self.complete:
            document["complete"] = True
        if not self.comparable:
            document["comparable"] = False
        return document
