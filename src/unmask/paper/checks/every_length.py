"""Regular languages for every length: proved now, where a solver is installed, and replayed by the second checker."""

from importlib.util import find_spec

from unmask.checker.families import solver
from unmask.checker.families.check import check as replay
from unmask.paper.checks.evidence import Check, Effort, Evidence, Proof, require
from unmask.paper.checks.regular import LANGUAGES
from unmask.pipeline import compile_problem, prove_family
from unmask.verification.families.regular.certificate import certificate_of
from unmask.weights.kinds import Kind

COMPARED = 9
"""The length of the folder that the second checker is given."""


def with_every_length(check: Check, *kinds: Kind) -> Check:
    """The check, and the proof for every N; one that fails fails the item. Without a solver no proof is cited."""

    def both(effort: Effort) -> Evidence:
        own = effort.run(check)
        if find_spec("z3") is None:
            return own
        languages = LANGUAGES if effort.percent >= 100 else LANGUAGES[:1]
        for language in languages:
            for kind in kinds:
                _prove(language, kind)
        return Evidence(own.method, own.cases, (*own.proofs, _proof(languages, kinds)))

    return both


def _prove(language: str, kind: Kind) -> None:
    answer = prove_family(language, kind)
    require(answer.claim is not None, f"{language} as {kind} is not proved for every N: {answer.reason}")
    assert answer.claim is not None
    replay(certificate_of(answer.claim), [compile_problem(language, kind, length=COMPARED)], solver.found())


def _proof(languages: tuple[str, ...], kinds: tuple[Kind, ...]) -> Proof:
    return Proof(
        covers=f"every N >= 0 and every word, p = 2, as {', '.join(kinds)}",
        by="closure, enumeration and an SMT solver",
        names=languages,
        run=f"unmask prove '{languages[0]}' --to {kinds[0]} --every-length",
        note="about the weights that `compile` writes, replayed from a certificate by a second checker from N = 2 on; "
        "one language and one p at a time, monoids of at most 1,024 elements; docs/background/every-length.md",
    )
