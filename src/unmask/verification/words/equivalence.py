"""Do a model and its reference agree on all words of one length? Proved, refuted by a word, or unknown.

    model ──extract──▶ network ─┬─ compared with an automaton: induction over intervals
                                └─ compared with anything: gates ──miter──▶ SAT sweeping

Both methods work for any weights. A word that a method finds is run on both sides before it refutes. If neither method
decides, the verdict is unknown, with the reason.
"""

from collections.abc import Sequence
from typing import Any

from unmask.errors import TooLarge, UnmaskError
from unmask.problems.automata.automaton import Automaton
from unmask.verification.verdict import Verdict
from unmask.verification.word_encoding import WordEncoding
from unmask.verification.words.deciders import (
    Decider,
    ModelDecider,
    decider_of,
    miter,
)
from unmask.verification.words.extraction import Extraction, extract
from unmask.verification.words.induction import (
    LetterNumbers,
    NoInduction,
    induction_certificate,
    named_variables,
    prove_by_induction,
)
from unmask.verification.words.references import Comparison, symbol_numbers, token_numbers
from unmask.verification.words.sat_sweeping import certify, sweep_pairs
from unmask.verification.words.statewise_induction import prove_statewise
from unmask.weights.storage import content_hash


def prove_comparison(comparison: Comparison) -> Verdict:
    """Decide a comparison for all words of the reference.

    1. Find letters that the model cannot read    `Comparison.unread`
    2. Extract a network from the weights         `extraction.extract`, layer by layer in `symbolic_layers`
    3. Get the specification of the reference     `Reference.specification`
    4. If it is an automaton: induction           `induction`, else `statewise_induction`
    5. Otherwise, or if 4 does not apply: SAT     `deciders` (gates of both sides), `sat_sweeping`
    6. Run a word that a method found             `_refuted_if_confirmed`
    """
    unread = comparison.unread("prove")
    if unread is not None:
        return unread
    try:
        extraction = extract(comparison.model)
        specification = comparison.reference.specification()
    except TooLarge as error:
        return _unknown(str(error))
    if specification is None:
        raise UnmaskError(
            f"proofs about {comparison.reference.name} are not supported; use --method sample or exhaustive"
        )
    if isinstance(specification, Automaton) and comparison.by != "sat":
        try:
            return _by_induction(comparison, extraction, specification)
        except NoInduction as error:
            if comparison.by == "induction":
                return _unknown(f"induction is not possible: {error}; leave out --by induction")
    elif comparison.by == "induction":
        return _unknown("an induction needs an automaton to compare with; leave out --by induction")
    try:
        reference = decider_of(specification, comparison.letters, comparison.reference.outputs)
        return _by_sweeping(comparison, extraction, reference)
    except TooLarge as error:
        return _unknown(str(error))


def _by_induction(comparison: Comparison, extraction: Extraction, automaton: Automaton) -> Verdict:
    letters = LetterNumbers(
        symbol_numbers(comparison.model, comparison.letters), token_numbers(automaton, comparison.letters)
    )
    named = named_variables(extraction) if comparison.certified else ()
    method, effect = "induction over intervals of the word", "the map of these letters in the automaton's monoid"
    try:
        induction = prove_by_induction(extraction, automaton, letters, named)
    except NoInduction:
        if comparison.certified:  # the checker has no rule for an induction state by state
            raise
        method, effect = f"{method}, state by state", "the state that these letters lead to"
        induction = prove_statewise(extraction, automaton, letters)
    if induction.counterexample is not None:
        return _refuted_if_confirmed(comparison, induction.counterexample, induction.cases)
    proof = {
        "by": method,
        "invariant": f"for each variable over the letters i … j-1, its value and {effect} are one of the pairs listed "
        "for it",
        "variables": induction.variables,
        "local cases": induction.cases,
    }
    certificate = induction_certificate(extraction, automaton, induction) if comparison.certified else None
    return Verdict("proved", "prove", induction.cases, proof=proof, certificate=certificate)


def _by_sweeping(comparison: Comparison, extraction: Extraction, reference: Decider) -> Verdict:
    encoding = WordEncoding(len(comparison.letters), comparison.model.length)
    model = ModelDecider(
        extraction, symbol_numbers(comparison.model, comparison.letters).tolist(), comparison.reference.outputs
    )
    circuit, pairs = miter((model, reference), encoding)
    swept = sweep_pairs(circuit, pairs)
    if swept.counterexample is not None:
        return _refuted_if_confirmed(comparison, encoding.word(swept.counterexample), swept.queries)
    if "unknown" in swept.answers:
        return _unknown(f"the solver gave up on {swept.answers.count('unknown')} of {len(swept.answers)} equalities")
    proof: dict[str, Any] = {
        "by": "SAT sweeping",
        "solver": swept.solvers,
        "gates": len(circuit.gates),
        "questions": swept.queries,
        "equal gates": len(swept.equal),
    }
    certificate = (
        certify(circuit, pairs, swept.equal, _certificate_comments(comparison)) if comparison.certified else None
    )
    if certificate is not None:
        proof |= {"clauses": len(certificate.clauses), "checked lemmas": len(certificate.lemmas)}
    return Verdict("proved", "prove", swept.queries, proof=proof, certificate=certificate)


def _certificate_comments(comparison: Comparison) -> list[str]:
    """Return the comments of a certificate: the model, the reference, and how letters become bits.

    Variable 1 is the constant false, so the bits of the letters begin at variable 2.
    """
    letters = [ascii(letter) for letter in comparison.letters]
    width = WordEncoding(len(letters), 1).width
    return [
        f"model sha256 {content_hash(comparison.model)}",
        f"against {comparison.reference.name!a}",
        f"words of {comparison.model.length} letters, each in {width} bits from variable 2 on, low bit first",
        f"letters by code, the last for all larger codes too: {' '.join(letters)}",
        f"compared: the last {comparison.reference.outputs} of {comparison.reference.answers} answers",
        "satisfiable if and only if these differ on some word",
    ]


def _refuted_if_confirmed(comparison: Comparison, numbers: Sequence[int], cases: int) -> Verdict:
    """Run the word on both sides; refuted only if the outcomes really differ."""
    word = comparison.word(numbers)
    (got,), expected = comparison.outcomes_of([word]), comparison.reference.expected(word)
    if got != expected:
        return Verdict("refuted", "prove", cases, counterexample=word, expected=str(expected), got=str(got))
    if got.error is not None:
        return _unknown(f"on {word!r} neither side has an answer: {got}")
    return _unknown(f"the proof fails at {word!r}, but both sides say {got}; try --method sample")


def _unknown(reason: str) -> Verdict:
    return Verdict("unknown", "prove", 0, reason=reason)
