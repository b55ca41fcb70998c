"""Equivalence: do two things decide the same words of one length? Proved, refuted by a word, or unknown.

    model ──extract──▶ network ─┬─ against an automaton: induction over intervals
                                └─ against anything: gates ──miter──▶ SAT sweeping

Both methods hold for any weights. A word that a method finds is run on both sides before it refutes; what cannot be
settled is unknown, with the reason.
"""

from collections.abc import Sequence
from typing import Any

from unmask.errors import TooLarge, UnmaskError
from unmask.problems.automata.automaton import Automaton
from unmask.verification.proofs.certificate import certify
from unmask.verification.proofs.induction import Letters, NoInduction, prove_by_induction
from unmask.verification.proofs.induction_certificate import induction_certificate, named_variables
from unmask.verification.proofs.pointwise import prove_pointwise
from unmask.verification.proofs.sides import Encoding, ModelSide, Side, miter
from unmask.verification.proofs.specified import side_of, symbol_numbers, token_numbers
from unmask.verification.proofs.sweeping import sweep
from unmask.verification.question.question import Question
from unmask.verification.question.verdict import Verdict
from unmask.verification.symbolic.extract import Extraction, extract
from unmask.weights.storage import content_hash


def prove(question: Question) -> Verdict:
    """Decide a question for all words of the problem of the model's length."""
    unread = question.unread("prove")
    if unread is not None:
        return unread
    try:
        extraction = extract(question.model)
    except TooLarge as error:
        return _unknown(str(error))
    try:
        specification = question.standard.specification()
    except TooLarge as error:
        return _unknown(str(error))
    if specification is None:
        raise UnmaskError(f"proofs about {question.standard.name} are not supported; use --method sample or exhaustive")
    if isinstance(specification, Automaton) and question.by != "sat":
        try:
            return _by_induction(question, extraction, specification)
        except NoInduction as error:
            if question.by == "induction":
                return _unknown(f"there is no induction: {error}; leave out --by induction")
    elif question.by == "induction":
        return _unknown("an induction needs an automaton to compare with; leave out --by induction")
    try:
        side = side_of(specification, question.letters, question.standard.outputs)
        return _by_sweeping(question, extraction, side)
    except TooLarge as error:
        return _unknown(str(error))


def _by_induction(question: Question, extraction: Extraction, automaton: Automaton) -> Verdict:
    letters = Letters(symbol_numbers(question.model, question.letters), token_numbers(automaton, question.letters))
    named = named_variables(extraction) if question.certified else ()
    try:
        induction, pointwise = prove_by_induction(extraction, automaton, letters, named), False
    except NoInduction:
        if question.certified:  # the checker knows tables, and pairs of values and maps
            raise
        induction, pointwise = prove_pointwise(extraction, automaton, letters), True
    if induction.counterexample is not None:
        return _confirmed(question, induction.counterexample, induction.cases)
    proof = {
        "by": "induction over intervals of the word" + (", state by state" if pointwise else ""),
        "invariant": "for each variable over the letters i … j-1, its value and "
        + (
            "the state that these letters lead to"
            if pointwise
            else "the map of these letters in the automaton's monoid"
        )
        + " are one of the pairs listed for it",
        "variables": induction.variables,
        "local cases": induction.cases,
    }
    certificate = induction_certificate(extraction, automaton, induction) if question.certified else None
    return Verdict("proved", "prove", induction.cases, proof=proof, certificate=certificate)


def _by_sweeping(question: Question, extraction: Extraction, other: Side) -> Verdict:
    encoding = Encoding(len(question.letters), question.model.length)
    own = ModelSide(extraction, symbol_numbers(question.model, question.letters).tolist(), question.standard.outputs)
    circuit, pairs = miter((own, other), encoding)
    swept = sweep(circuit, pairs)
    if swept.counterexample is not None:
        return _confirmed(question, encoding.word(swept.counterexample), swept.questions)
    if "unknown" in swept.answers:
        return _unknown(f"the solver gave up on {swept.answers.count('unknown')} of {len(swept.answers)} equalities")
    proof: dict[str, Any] = {
        "by": "SAT sweeping",
        "solver": swept.solvers,
        "gates": len(circuit.gates),
        "questions": swept.questions,
        "equal gates": len(swept.equal),
    }
    certificate = certify(circuit, pairs, swept.equal, _about(question)) if question.certified else None
    if certificate is not None:
        proof |= {"clauses": len(certificate.clauses), "checked lemmas": len(certificate.lemmas)}
    return Verdict("proved", "prove", swept.questions, proof=proof, certificate=certificate)


def _about(question: Question) -> list[str]:
    """Comments that tie clauses to a folder and say how letters are written; variable 2 is the first bit."""
    letters = [ascii(letter) for letter in question.letters]
    return [
        f"model sha256 {content_hash(question.model)}",
        f"against {question.standard.name!a}",
        f"words of {question.model.length} letters, each in {Encoding(len(letters), 1).width} bits from variable 2 on, "
        "low bit first",
        f"letters by code, the last for all larger codes too: {' '.join(letters)}",
        f"compared: the last {question.standard.outputs} of {question.standard.answers} answers",
        "satisfiable if and only if these differ on some word",
    ]


def _confirmed(question: Question, numbers: Sequence[int], cases: int) -> Verdict:
    """Run the word on both sides: only a difference that is seen refutes."""
    word = question.word(numbers)
    (got,), expected = question.said([word]), question.standard.right(word)
    if got != expected:
        return Verdict("refuted", "prove", cases, counterexample=word, expected=str(expected), got=str(got))
    if got.error is not None:
        return _unknown(f"on {word!r} neither side has an answer: {got}")
    return _unknown(f"the proof fails at {word!r}, but both sides say {got}; try --method sample")


def _unknown(reason: str) -> Verdict:
    return Verdict("unknown", "prove", 0, reason=reason)
