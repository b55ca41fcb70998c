"""Equivalence: do two things decide the same words of one length? Proved, refuted by a word, or unknown.

    model ──extract──▶ network ─┬─ against an automaton: induction over intervals
                                └─ against anything: gates ──miter──▶ SAT sweeping

Both methods hold for any weights. A word that a method finds is run on both sides before it refutes; what cannot be
settled is unknown, with the reason.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from unmask.engines.engine import Engine
from unmask.errors import TooLarge, UnmaskError, WordError, shortened
from unmask.problems.automaton import Automaton
from unmask.problems.boolean import CircuitProblem
from unmask.problems.expression import ExpressionProblem
from unmask.problems.families import FamilyProblem
from unmask.problems.plain_circuits import plain_circuit
from unmask.problems.problem import Problem, automaton_of
from unmask.reasoners.words import spell
from unmask.verification.cases import Oracle, gap_between, outcomes
from unmask.verification.certificate import certify
from unmask.verification.extract import Extraction, extract
from unmask.verification.induction import Letters, NoInduction, prove_by_induction
from unmask.verification.sides import AutomatonSide, CircuitSide, Encoding, ExpressionSide, ModelSide, Side, miter
from unmask.verification.sweeping import SOLVER, sweep
from unmask.verification.verdict import Verdict
from unmask.weights.model import Model


@dataclass(frozen=True, eq=False)
class Question:
    """A model, what it should be equal to, the letters that words are made of, and an oracle to confirm with."""

    model: Model
    against: Problem | Model
    letters: Sequence[str]
    oracle: Oracle
    engine: Engine
    outputs: int = 1
    certified: bool = False
    """Keep a certificate: then the proof goes through a SAT solver, whatever else there is."""


def prove(question: Question) -> Verdict:
    """Decide a question for all words of the model's length."""
    model, against = question.model, question.against
    try:
        extraction = extract(model)
    except TooLarge as error:
        return _unknown(str(error))
    automaton = None if isinstance(against, Model) else _automaton(against)
    if automaton is not None and not question.certified:
        try:
            return _by_induction(question, extraction, automaton)
        except NoInduction:
            pass
    try:
        return _by_sweeping(question, extraction, _side(question, automaton))
    except TooLarge as error:
        return _unknown(str(error))


def _by_induction(question: Question, extraction: Extraction, automaton: Automaton) -> Verdict:
    letters = Letters(symbol_numbers(question.model, question.letters), token_numbers(automaton, question.letters))
    found = prove_by_induction(extraction, automaton, letters)
    if found.counterexample is not None:
        return _confirmed(question, found.counterexample, found.cases)
    proof = {
        "by": "induction over intervals of the word",
        "invariant": "for each variable over the letters i … j-1, its value and the map of these letters in the "
        "automaton's monoid are one of the pairs listed for it",
        "variables": found.variables,
        "local cases": found.cases,
    }
    return Verdict("proved", "prove", found.cases, proof=proof)


def _by_sweeping(question: Question, extraction: Extraction, other: Side) -> Verdict:
    encoding = Encoding(len(question.letters), question.model.length)
    own = ModelSide(extraction, symbol_numbers(question.model, question.letters).tolist(), question.outputs)
    circuit, pairs = miter((own, other), encoding)
    swept = sweep(circuit, pairs)
    if swept.counterexample is not None:
        return _confirmed(question, encoding.word(swept.counterexample), swept.questions)
    if "unknown" in swept.answers:
        return _unknown(f"the solver gave up on {swept.answers.count('unknown')} of {len(swept.answers)} equalities")
    proof: dict[str, Any] = {
        "by": "SAT sweeping",
        "solver": SOLVER,
        "gates": len(circuit.gates),
        "questions": swept.questions,
        "equal gates": len(swept.equal),
    }
    certificate = certify(circuit, pairs, swept.equal) if question.certified else None
    if certificate is not None:
        proof |= {"clauses": len(certificate.clauses), "checked lemmas": len(certificate.lemmas)}
    return Verdict("proved", "prove", swept.questions, proof=proof, certificate=certificate)


def _confirmed(question: Question, numbers: Sequence[int], cases: int) -> Verdict:
    """Run the word on both sides: only a difference that is seen refutes."""
    gap = gap_between(question.model, question.letters)
    word = gap.join(question.letters[k] for k in numbers)
    got = outcomes(question.model, [word], question.engine, outputs=question.outputs)[0]
    expected = question.oracle(word)
    if got != expected:
        return Verdict("refuted", "prove", cases, counterexample=word, expected=expected, got=got)
    if got.startswith("error"):
        return _unknown(f"on {word!r} neither side has an answer: {got}")
    return _unknown(f"the proof fails at {word!r}, but both sides say {got}; try --method sample")


def _unknown(reason: str) -> Verdict:
    return Verdict("unknown", "prove", 0, reason=reason)


def _automaton(problem: Problem) -> Automaton | None:
    return automaton_of(problem) if hasattr(type(problem), "automaton") else None


def _side(question: Question, automaton: Automaton | None) -> Side:
    against, length = question.against, question.model.length
    if isinstance(against, Model):
        return ModelSide(extract(against), symbol_numbers(against, question.letters).tolist(), question.outputs)
    if automaton is not None:
        return AutomatonSide(automaton, token_numbers(automaton, question.letters).tolist())
    if isinstance(against, CircuitProblem):
        return CircuitSide(against.circuit, [int(letter == "1") for letter in question.letters], question.outputs)
    if isinstance(against, FamilyProblem):
        bits = [against.letters.index(letter) for letter in question.letters]
        against.circuit(length)  # refuses lengths that the family does not have
        return CircuitSide(plain_circuit(against.family, length), bits, question.outputs)
    if isinstance(against, ExpressionProblem):
        return ExpressionSide(against, question.letters)
    raise UnmaskError(f"{against.name} cannot be proved about yet; use --method sample or exhaustive")


def symbol_numbers(model: Model, letters: Sequence[str]) -> np.ndarray:
    """The number of the input symbol that a model reads for each letter."""
    numbers = {symbol: i for i, symbol in enumerate(model.input_symbols)}
    spelled = [spell(model, letter) if model.characters is not None else [letter] for letter in letters]
    for letter, symbols in zip(letters, spelled, strict=True):
        if len(symbols) != 1 or symbols[0] not in numbers:
            raise WordError(
                f"{shortened(letter)!r}, a letter of one side, is no letter of the other; compare like with like"
            )
    return np.array([numbers[symbol] for (symbol,) in spelled], dtype=np.int64)


def token_numbers(automaton: Automaton, letters: Sequence[str]) -> np.ndarray:
    return np.array([int(automaton.token_ids([letter])[0]) for letter in letters])
