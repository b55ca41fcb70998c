"""Lemma: one statement about a gadget of every width, how it is decided, and the variants that are wrong."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from unmask.numerics.precision import Precision


@dataclass(frozen=True)
class Replayed:
    """What the reference engine does with a counterexample, on assembled weights; does it confirm it?"""

    text: str
    confirmed: bool


@dataclass(frozen=True)
class Outcome:
    """A closure's answer: states reached, cases looked at; a counterexample where there is one, and its replay."""

    states: int
    cases: int
    counterexample: str | None = None
    replayed: Replayed | None = None

    @property
    def holds(self) -> bool:
        return self.counterexample is None


SHOWN = 2
"""The precision whose counterexample is shown where there is one: that of compiled models."""

Decide = Callable[[Precision], Outcome]


@dataclass(frozen=True)
class Variant:
    """A gadget that looks right and is not, at some precision at least."""

    name: str
    decide: Decide


@dataclass(frozen=True)
class Lemma:
    """A statement for every width. `least` is the least p at which it holds; `most` the largest p that is decided."""

    name: str
    statement: str
    code: str
    decide: Decide
    variants: tuple[Variant, ...] = ()
    least: int = 1
    most: int = 4


class LemmaFails(AssertionError):
    """A lemma that does not hold where it is claimed, or a variant that is not refuted."""


@dataclass(frozen=True)
class Refutation:
    """A wrong variant: the precisions at which it fails, and a shortest counterexample at one of them, p."""

    variant: str
    fails: tuple[int, ...]
    p: int
    counterexample: str
    replayed: str


@dataclass(frozen=True)
class LemmaEvidence:
    """What was decided: the precisions at which the lemma holds for every width, states and cases in all of them."""

    name: str
    statement: str
    code: str
    holds: tuple[int, ...]
    least: int
    states: int
    cases: int
    refutations: tuple[Refutation, ...]

    @property
    def method(self) -> str:
        """For `Evidence.method` of an item."""
        return (
            f"{self.name}: proved for every width, by closure, at p = {', '.join(map(str, self.holds))} "
            f"({self.states:,} states); {len(self.refutations)} wrong variants refuted"
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "statement": self.statement,
            "code": self.code,
            "holds": list(self.holds),
            "least": self.least,
            "states": self.states,
            "cases": self.cases,
            "refuted": [vars(refutation) for refutation in self.refutations],
        }


def evidence(lemma: Lemma, *, most: int | None = None) -> LemmaEvidence:
    """Decide a lemma and its variants for p = 1 … most (by default as far as the lemma goes); raises `LemmaFails`."""
    decided = {p: lemma.decide(Precision(p)) for p in range(1, _last(lemma, most) + 1)}
    holds = tuple(p for p, outcome in decided.items() if outcome.holds)
    if holds != tuple(p for p in decided if p >= lemma.least):
        p, outcome = next((p, o) for p, o in decided.items() if o.holds != (p >= lemma.least))
        found = outcome.counterexample or "it holds"
        raise LemmaFails(f"{lemma.name} should hold from p = {lemma.least} on; at p = {p}: {found}")
    return LemmaEvidence(
        lemma.name,
        lemma.statement,
        lemma.code,
        holds,
        lemma.least,
        sum(outcome.states for outcome in decided.values()),
        sum(outcome.cases for outcome in decided.values()),
        tuple(refutation(lemma, variant, most=most) for variant in lemma.variants),
    )


def refutation(lemma: Lemma, variant: Variant, *, most: int | None = None) -> Refutation:
    """Where a wrong variant fails; a counterexample counts if the reference engine confirms it."""
    decided = {p: variant.decide(Precision(p)) for p in range(1, _last(lemma, most) + 1)}
    fails = tuple(p for p, outcome in decided.items() if not outcome.holds)
    if not fails:
        raise LemmaFails(f"{lemma.name}, {variant.name}: no counterexample at p = 1 … {_last(lemma, most)}")
    for p in fails:
        replayed = decided[p].replayed
        if replayed is None or not replayed.confirmed:
            raise LemmaFails(f"{lemma.name}, {variant.name}, p = {p}: the reference engine does not confirm it")
    p = SHOWN if SHOWN in fails else fails[0]
    shown = decided[p]
    assert shown.counterexample is not None
    assert shown.replayed is not None
    return Refutation(variant.name, fails, p, shown.counterexample, shown.replayed.text)


@cache
def _last(lemma: Lemma, most: int | None) -> int:
    return lemma.most if most is None else min(most, lemma.most)
