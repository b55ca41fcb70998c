"""Small models of each kind with the certificates of their proofs by induction, to be broken by tests."""

from copy import deepcopy
from functools import cache

from unmask.api import compile_problem, verify_model
from unmask.checker.certificate import Refused
from unmask.checker.check_induction import check


@cache
def certified(problem, kind, length):
    """Return (model, certificate as a document)."""
    model = compile_problem(problem, kind, length=length)
    verdict = verify_model(model, method="prove", certified=True, by="induction")
    assert verdict.status == "proved", verdict
    return model, verdict.certificate.document


def refusal(document, model):
    """Return the reason why a certificate is refused; None if it is accepted."""
    try:
        check(document, model)
    except Refused as error:
        return str(error)
    return None


def changed(document, *path, to):
    """Return a copy with one value changed: `to` maps the old value to the new one."""
    document = deepcopy(document)
    *steps, last = path
    inside = document
    for step in steps:
        inside = inside[step]
    inside[last] = to(inside[last])
    return document
