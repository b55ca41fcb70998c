"""Verdict: the result of every check, about one model or about every N.

proved     the statement is true for every word (and, with a record, for every N)
held       no counterexample was found among the words that were tried
refuted    there is a counterexample
unknown    none of these, with the reason
"""

import json
from dataclasses import dataclass
from typing import Any, Literal, NoReturn, Protocol

from unmask.errors import OutOfTime

Status = Literal["proved", "held", "refuted", "unknown"]


class CheckableProof(Protocol):
    """A proof that another program can check."""

    def files(self) -> dict[str, str]:
        """Return the files of the certificate: ending of the name → content."""
        ...


@dataclass(frozen=True)
class Obligation:
    """One step of a proof for every N: `proved`, or `open` with the reason in `detail`."""

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


@dataclass(frozen=True)
class ProofRecord:
    """What was examined to decide a statement about every N."""

    statement: str
    obligations: tuple[Obligation, ...] = ()
    compared: tuple[int, ...] = ()
    """Lengths at which the output of `compile` was compared with the family, entry by entry."""
    not_compared: tuple[int, ...] = ()
    """Lengths that are usually compared but were left out because the models are large."""
    trusted: tuple[str, ...] = ()
    """What the proof relies on without proving it."""


@dataclass(frozen=True)
class Verdict:
    """The result of a check. It has no truth value: compare `status`.

    `cases` is the number of words (or local cases, or obligations) that were examined. A refutation gives a word, the
    expected answer and the model's answer; with a record also the length N, and a refutation that is not about a word
    (more steps than allowed) has no word.
    """

    status: Status
    method: str
    cases: int
    counterexample: str | None = None
    expected: str | None = None
    got: str | None = None
    reason: str | None = None
    proof: dict[str, Any] | None = None
    """How it was proved."""
    certificate: CheckableProof | None = None
    """The proof for another program to check, if one was requested."""
    about: str | None = None
    """Which words the verdict is about, if these are not all words that the model reads."""
    compared: str | None = None
    """Which answers were compared, if there are several."""
    complete: bool = False
    """True if every word was compared."""
    comparable: bool = True
    """False if the two sides read different alphabets, so that nothing can be said."""
    record: ProofRecord | None = None
    """What was examined, if the verdict is about every N."""
    length: int | None = None
    """The length N of the counterexample, if the verdict is about every N."""
    source: dict[str, Any] | None = None
    """The sizes and the seed of the source model whose conversion is wrong, if the verdict is about a conversion."""

    def __post_init__(self) -> None:
        has_counterexample = self.counterexample is not None or self.length is not None
        if (self.status == "refuted") != has_counterexample:
            raise ValueError("a verdict is refuted if and only if it has a counterexample")
        if (self.status == "proved") != (self.proof is not None):
            raise ValueError("a verdict is proved if and only if it has a proof")
        if self.status == "unknown" and self.reason is None:
            raise ValueError("an unknown verdict gives its reason")

    @classmethod
    def out_of_time(cls, method: str | None, end: OutOfTime) -> "Verdict":
        """Return unknown: running out of time says nothing about the model."""
        return cls("unknown", method or "undecided", 0, reason=str(end))

    @classmethod
    def of_record(cls, status: Status, record: ProofRecord, *, reason: str | None = None, **fields: Any) -> "Verdict":
        """Return the verdict on a statement about every N."""
        count = len(record.obligations)
        proof = {"by": "obligations for every N", "obligations": count} if status == "proved" else None
        return cls(status, "every length", count, reason=reason, proof=proof, record=record, **fields)

    def __bool__(self) -> NoReturn:
        raise TypeError('a verdict is not true or false: compare its status, for "unknown" is not "no"')

    @property
    def verdict(self) -> Status:
        """The status; `prove_family` and `prove_conversion` returned it under this name before version 0.3."""
        return self.status

    @property
    def statement(self) -> str:
        """The statement about every N; empty if the verdict is about one model."""
        return "" if self.record is None else self.record.statement

    @property
    def obligations(self) -> tuple[Obligation, ...]:
        """The parts of a proof for every N."""
        return () if self.record is None else self.record.obligations

    @property
    def exit_code(self) -> int:
        return {"proved": 0, "held": 0, "refuted": 1, "unknown": 2}[self.status]

    def to_json(self) -> dict[str, Any]:
        if self.record is not None:
            return self._record_to_json(self.record)
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

    def _record_to_json(self, record: ProofRecord) -> dict[str, Any]:
        wrong = {"N": self.length, "word": self.counterexample, "expected": self.expected, "got": self.got}
        return {
            "verdict": self.status,
            "statement": record.statement,
            "obligations": [obligation.to_json() for obligation in record.obligations],
            "counterexample": {**wrong, **(self.source or {})} if self.length is not None else None,
            **({} if self.reason is None else {"reason": self.reason}),
            "compared": list(record.compared),
            "not_compared": list(record.not_compared),
            "trusted": list(record.trusted),
        }

    def files(self) -> dict[str, str]:
        """Return the files of the certificate; of a statement about every N also its obligations."""
        files = {} if self.certificate is None else self.certificate.files()
        if self.record is None:
            return files
        return {".json": json.dumps(self.to_json(), ensure_ascii=False, indent=1) + "\n", **files}
