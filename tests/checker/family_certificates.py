"""Certificates for every length to replay and to break, with folders to hold them against."""

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
    """(certificate as a document, folders of some lengths)."""
    found = prove_family(problem, kind, precision=precision)
    assert found.verdict == "proved", found.reason
    models = [compile_problem(problem, kind, length=n, precision=precision) for n in LENGTHS]
    return certificate_of(found.certificate.claim), models


@cache
def answer(question):
    """A solver that is asked everything once."""
    return family_positions.solver_named()(question)


def refusal(document, models, *, sealed=False):
    """The sentence with which a certificate is refused; None if it is accepted."""
    try:
        check(document, models, answer, sealed=sealed)
    except Refused as error:
        return str(error)
    return None


def says_the_same(document, other):
    """Do two certificates differ in formulas alone, which have the same values for N up to 40?"""
    changed, original = (family_form.read_family(d, sealed=False) for d in (other, document))
    if (changed.proof, changed.automaton, changed.kind) != (original.proof, original.automaton, original.kind):
        return False
    for length in range(original.least, 41):
        for name, program in original.programs.items():
            ours, theirs = (FamilyAtLength(p, length) for p in (program, changed.programs[name]))
            every = range(ours.rows)
            if (ours.rows, ours.width) != (theirs.rows, theirs.width):
                return False
            rows = [at.positions(_array(every), Precision(original.precision)) for at in (ours, theirs)]
            if (rows[0] != rows[1]).any():
                return False
    return True


def _array(numbers):
    import numpy as np

    return np.array(numbers)
