"""Certificates: a proof can be checked again, and a false statement has no certificate."""

import random
from dataclasses import replace

import numpy as np
import pytest
from pysat.solvers import Solver

from unmask.api import compile_problem, load_model, verify_model
from unmask.checker.__main__ import main
from unmask.checker.certificate import Refused
from unmask.errors import UnmaskError
from unmask.problems.circuits.circuit import CircuitBuilder
from unmask.verification.words.sat_sweeping import UnitPropagation, certify, sweep_pairs
from unmask.weights.storage import content_hash


def closure_refutes(clauses, lemma):
    """Reverse unit propagation by its definition: assert the negation, repeat until nothing changes."""
    value = {-x for x in lemma}
    if any(-x in value for x in value):
        return True
    changed = True
    while changed:
        changed = False
        for clause in clauses:
            left = [x for x in clause if -x not in value]
            if any(x in value for x in clause):
                continue
            if not left:
                return True
            if len(set(left)) == 1 and left[0] not in value:
                value.add(left[0])
                changed = True
    return False


@pytest.mark.parametrize("seed", range(40))
def test_unit_propagation_is_what_its_definition_says(seed):
    rng = random.Random(seed)
    variables = rng.randint(2, 7)

    def clause():
        return [rng.choice((-1, 1)) * rng.randint(1, variables) for _ in range(rng.randint(1, 4))]

    clauses: list[list[int]] = []
    checker = UnitPropagation()
    for _ in range(25):
        lemma = clause()
        assert checker.follows(lemma) == (closure_refutes(clauses, lemma) or closure_refutes(clauses, []))
        new = clause()
        clauses.append(new)
        checker.add(new)
        assert checker.contradiction == closure_refutes(clauses, [])


def refutes(clauses, lemmas):
    """Return whether the lemmas, each by reverse unit propagation, lead from the clauses to a contradiction."""
    checker = UnitPropagation()
    for clause in clauses:
        checker.add(clause)
    for lemma in lemmas:
        if not checker.follows(lemma):
            return False
        checker.add(lemma)
    return checker.contradiction


def adders(bits, *, wrong=False):
    """Two ways to add: ripple-carry, and carry by carry from the inputs."""
    builder = CircuitBuilder(f"x{i}" for i in range(2 * bits))
    x = [builder.input(i) for i in range(bits)]
    y = [builder.input(bits + i) for i in range(bits)]
    carry, clause = 0, []
    for a, b in zip(x, y, strict=True):
        clause.append(builder.xor(builder.xor(a, b), carry))
        carry = builder.or_(builder.and_(a, b), builder.and_(carry, builder.or_(a, b)))
    other = []
    for i in range(bits):
        starts = range(1 if wrong and i == bits - 1 else 0, i)
        into = builder.or_(
            *(builder.and_(x[j], y[j], *(builder.or_(x[k], y[k]) for k in range(j + 1, i))) for j in starts)
        )
        other.append(builder.xor(builder.xor(x[i], into), y[i]))
    circuit = builder.circuit([*clause, *other])
    return circuit, np.array(list(zip(clause, other, strict=True)))


def test_a_proof_has_a_certificate_that_a_solver_and_a_checker_accept():
    circuit, pairs = adders(6)
    swept = sweep_pairs(circuit, pairs)
    assert set(swept.answers) == {"equal"}
    certificate = certify(circuit, pairs, swept.equal)
    assert refutes(certificate.clauses, certificate.lemmas)
    with Solver(name="glucose4", bootstrap_with=certificate.clauses) as solver:
        assert not solver.solve()
    # it is the lemmas that do it
    assert not refutes(certificate.clauses, [[]])
    assert not refutes(certificate.clauses, [*certificate.lemmas[: len(certificate.lemmas) // 2], []])
    assert certificate.drat().splitlines()[-1] == "0"


def test_a_lemma_that_does_not_follow_is_not_accepted():
    circuit, pairs = adders(4)
    certificate = certify(circuit, pairs, sweep_pairs(circuit, pairs).equal)
    free = next(x for clause in certificate.clauses for x in clause if abs(x) > 1)
    assert not refutes(certificate.clauses, [[free], *certificate.lemmas])


def test_what_differs_has_no_certificate():
    circuit, pairs = adders(4, wrong=True)
    swept = sweep_pairs(circuit, pairs)
    assert "different" in swept.answers
    with pytest.raises(UnmaskError, match="the solver refutes an equality"):
        certify(circuit, pairs, swept.equal)


@pytest.mark.parametrize(("problem", "length"), [("(a|b)*abb", 6), ("family:addition", 8), ("family:parity", 8)])
def test_verify_keeps_a_certificate(problem, length):
    verdict = verify_model(compile_problem(problem, "mdm", length=length), method="prove", certified=True, by="sat")
    assert verdict.status == "proved"
    assert verdict.certificate is not None
    assert refutes(verdict.certificate.clauses, verdict.certificate.lemmas)
    assert "certificate" not in verdict.to_json()


def test_the_command_keeps_the_proof_that_was_found(unmask, tmp_path):
    unmask("compile", "(a|b)*abb", "--length", "5", "--to", "plt", "--out", tmp_path / "m")
    proving = ("verify", tmp_path / "m", "--method", "prove", "--certificate", tmp_path / "abb")
    code, out, _ = unmask(*proving)
    assert code == 0
    assert "by induction" in out
    assert [path.name for path in tmp_path.glob("abb.*")] == ["abb.induction.json"]
    assert main([str(tmp_path / "m"), str(tmp_path / "abb.induction.json")]) == 0
    code, out, _ = unmask(*proving, "--by", "sat")
    assert code == 0
    assert "checked lemmas" in out
    assert refutes(*_read(tmp_path))
    code, _, error = unmask("verify", tmp_path / "m", "--certificate", tmp_path / "abb")
    assert code == 2
    assert "use --method prove" in error


@pytest.mark.parametrize(
    "command", [("verify", "m", "--method", "prove"), ("prove", "ab", "--to", "mdm", "--every-length")]
)
@pytest.mark.parametrize(
    ("stem", "said"),
    [
        ("", "is not a name that files can begin with; give one such as proof"),
        ("/", "is not a name that files can begin with; give one such as /proof"),
        ("nowhere/abb", "the folder nowhere does not exist"),
    ],
)
def test_a_stem_that_no_file_can_have_is_refused_before_the_work(unmask, command, stem, said):
    code, _, error = unmask(*command, "--certificate", stem)
    assert code == 2
    assert said in error


def test_a_problem_without_an_automaton_has_no_induction(unmask, tmp_path):
    unmask("compile", "family:parity", "--length", "4", "--to", "mdm", "--out", tmp_path / "m")
    proving = ("verify", tmp_path / "m", "--method", "prove", "--certificate", tmp_path / "parity")
    assert unmask(*proving)[0] == 0
    assert sorted(path.name for path in tmp_path.glob("parity.*")) == ["parity.cnf", "parity.drat"]
    code, out, _ = unmask(*proving, "--by", "induction")
    assert code == 2
    assert "needs an automaton" in out
    code, _, error = unmask(*proving, "--by", "magic")
    assert code == 2
    assert "unknown way to prove 'magic'; use induction or sat" in error


def test_the_clauses_are_tied_to_the_folder(unmask, tmp_path):
    unmask("compile", "family:parity", "--length", "4", "--to", "mdm", "--out", tmp_path / "m")
    unmask("verify", tmp_path / "m", "--method", "prove", "--certificate", tmp_path / "abb")
    comments = [line for line in (tmp_path / "abb.cnf").read_text().splitlines() if line.startswith("c ")]
    model = load_model(tmp_path / "m")
    assert comments[0] == f"c model sha256 {content_hash(model)}"
    assert comments[1] == "c against 'family:parity'"
    other = replace(model, steps=model.steps + 1)
    assert content_hash(other) != content_hash(model)


def test_what_the_small_checker_does_not_accept_goes_through_the_solver(monkeypatch):
    def refuse(*_):
        raise Refused("too large for it")

    monkeypatch.setattr("unmask.verification.verify.check", refuse)
    model = compile_problem("(a|b)*abb", "mdm", length=3)
    assert ".drat" in verify_model(model, method="prove", certified=True).certificate.files()
    verdict = verify_model(model, method="prove", certified=True, by="induction")
    assert (verdict.status, verdict.certificate) == ("unknown", None)
    assert "too large for it" in verdict.reason


def _read(folder):
    lines = (folder / "abb.cnf").read_text().splitlines()
    header, *clauses = [line for line in lines if not line.startswith("c ")]
    assert header.split()[:2] == ["p", "cnf"]
    assert int(header.split()[3]) == len(clauses)
    lemmas = (folder / "abb.drat").read_text().splitlines()
    return tuple([[int(x) for x in line.split()[:-1]] for line in lines] for lines in (clauses, lemmas))
