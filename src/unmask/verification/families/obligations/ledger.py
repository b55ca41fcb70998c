"""Ledger: the obligations of a proof, each with how it was settled. What is not proved ends the proof."""

from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any


@dataclass(frozen=True)
class Obligation:
    """One thing to show: `proved`, or `open` with the reason."""

    name: str
    method: str
    verdict: str
    seconds: float
    detail: str = ""

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "method": self.method,
            "seconds": round(self.seconds, 4),
            "verdict": self.verdict,
            **({"detail": self.detail} if self.detail else {}),
        }


class Open(Exception):
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
        except (Open, AssertionError) as found:
            reason = found if isinstance(found, Open) else Open(internal_failure(found))
            self.obligations.append(Obligation(name, method, "open", perf_counter() - start, str(reason)))
            raise reason from found
        self.obligations.append(Obligation(name, method, "proved", perf_counter() - start, detail))
