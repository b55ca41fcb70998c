"""Certificates for every length with compiled models to compare, to be checked and broken by tests."""

from functools import cache

from unmask.api import compile_problem, prove_family
from unmask.checker import family_form, family_positions
from unmask.checker.certificate import Refused
from unmask.checker.families import check
from unmask.checker.family_weights import FamilyAtLength
from unmask.numerics.arithmetic import Precision
from unmask.verification.lengths.family_certificate import certificate_of

LENGTHS = (2, 3, 4, 5, 7, 8, 9, 31)


@cache
def replayed(problem, kind, precision=2):
    """Return (certificate as a document, models of some lengths)."""
    proof = prove_family(problem, kind, precision=precision)
    assert proof.verdict == "proved", proof.reason
    models = [compile_problem(problem, kind, length=n, precision=precision) for n in LENGTHS]
    return certificate_of(proof.certificate.claim), models


@cache
def answer(question):
    """Return the answer of a solver, which is asked each question only once."""
    return family_positions.solver_named()(question)


def refusal(document, models, *, sealed=False):
    """Return the reason why a certificate is refused; None if it is accepted."""
    try:
        check(document, models, answer, sealed=sealed)
    except Refused as error:
        return str(error)
    return None


def is_equivalent(document, other):
    """Return whether two certificates differ only in formulas that have the same values for N up to 40."""
    changed, original = (family_form.read_family(d, sealed=False) for d in (other, document))
    if (changed.proof, changed.automaton, changed.kind) != (original.proof, original.automaton, original.kind):
        return False
    for length in range(original.least, 41):
        for name, program in original.programs.items():
            at_length, changed_at_length = (FamilyAtLength(p, length) for p in (program, changed.programs[name]))
            every = range(at_length.rows)
            if (at_length.rows, at_length.width) != (changed_at_length.rows, changed_at_length.width):
                return False
            rows = [
                program_at.positions(_array(every), Precision(original.precision))
                for program_at in (at_length, changed_at_length)
            ]
            if (rows[0] != rows[1]).any():
                return False
    return True


def _array(numbers):
    import numpy as np

    return np.array(numbers)
