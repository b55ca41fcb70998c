"""The checker of proofs for every length: it accepts certificates of proofs, and refuses broken and wrong ones."""

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

from command_line import ENVIRONMENT
from unmask.api import compile_problem, verify_model
from unmask.checker import family_positions
from unmask.checker.certificate import Refused
from unmask.checker.families import check, main
from unmask.checker.family_form import seal_of
from unmask.compilers.compiler import compiler_for
from unmask.numerics.arithmetic import Precision
from unmask.problems.catalogue import parse_problem
from unmask.verification.lengths import family_certificate
from unmask.weights.kinds import KINDS
from unmask.weights.storage import save
from verification.lengths.wrong_families import SABOTAGES

from .family_certificates import answer, is_equivalent, refusal, replayed
from .family_models import model_of
from .mutants import mutants, nodes, replaced

SMALL = "group:Z2"
ABB = "(a|b)*abb"


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_proved_is_replayed(kind):
    document, models = replayed(SMALL, kind)
    assert refusal(document, models, sealed=True) is None


@pytest.mark.long
@pytest.mark.parametrize("precision", [2, 3, 4])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("problem", [ABB, "a.*b|c+", "", "(ab|ba)*", "group:S3", "group:A5"])
def test_many_proofs_are_replayed(problem, kind, precision):
    document, models = replayed(problem, kind, precision)
    assert refusal(document, models, sealed=True) is None


# one place of a certificate


@pytest.mark.parametrize("kind", KINDS)
def test_a_certificate_broken_in_one_place_is_refused(kind):
    """A dozen changes; the seal is not checked, so that it does not refuse them."""
    document, models = replayed(SMALL, kind)
    sample = [mutant for mutant in mutants(document) if mutant[0][:1] != ("seal",)]
    for path, description, other in random.Random(kind).sample(sample, 12):
        assert refusal(other, models) is not None or is_equivalent(document, other), (path, description)


@pytest.mark.parametrize("most", [120, pytest.param(None, marks=pytest.mark.long)], ids=["some", "all"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_number_and_name_matters(kind, most):
    """Each, by default a sample, is changed. Without the seal all are refused except formulas with the same values."""
    document, models = replayed(SMALL, kind)
    leaves = [(path, leaf) for path, leaf in nodes(document) if isinstance(leaf, int | str) and path != ("seal",)]
    assert len(leaves) > 300
    for path, leaf in leaves if most is None else random.Random(kind).sample(leaves, most):
        other = replaced(document, path, leaf + 1 if isinstance(leaf, int) else leaf + "x")
        assert refusal(other, models, sealed=True) is not None, path
        assert refusal(other, models) is not None or is_equivalent(document, other), path


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_every_certificate_broken_in_one_place_is_refused(kind):
    """Without the seal all are refused except those in which a formula has the same values at all tried N."""
    document, models = replayed(SMALL, kind)
    for path, description, other in mutants(document):
        if path[:1] != ("seal",):
            assert refusal(other, models) is not None or is_equivalent(document, other), (path, description)


def test_the_seal_refuses_the_rest():
    document, models = replayed(SMALL, "plt")
    for path, description, other in mutants(document):
        if len(path) < 2:
            assert refusal(other, [], sealed=True) is not None, (path, description)
    column = next(i for i, c in enumerate(document["programs"]["model"]["columns"]) if c and c[0] == "code")
    other = replaced(document, ("programs", "model", "columns", column, 1), ["if", 1, "n", 0])
    assert refusal(other, models) is None  # it says the same in other words
    assert "seal" in refusal(other, models, sealed=True)
    assert refusal({**other, "seal": seal_of(other)}, models, sealed=True) is None


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_accepted_without_a_folder_is_right(kind):
    """A certificate of other weights may be accepted if no folder is compared; then these weights are correct, too."""
    document, _ = replayed(SMALL, kind)
    sample = [m for m in mutants(document) if m[0][:1] in (("programs",), ("frame",), ("automaton",))]
    for path, description, other in random.Random(kind).sample(sample, 3000):
        if refusal(other, []) is None:
            for length in (2, 3, 4):
                try:
                    model = model_of(other, length)
                except Refused:
                    continue  # no folder can be this family's at this length
                assert verify_model(model, against=SMALL, method="prove").status == "proved", (path, description)


# a family that is wrong


def wrong_family(name):
    kind, program_name, change = SABOTAGES[name]
    document, _ = replayed(ABB, kind)
    program = compiler_for(parse_problem(ABB)).family(kind).design.programs[program_name]
    change(program)
    described = family_certificate._program(program, Precision(2))
    return replaced(document, ("programs", program_name), json.loads(json.dumps(described)))


@pytest.mark.parametrize(
    "name", ["a bit too few", "the next child", "last row off by one", "one wrong product", "scores of 1"]
)
def test_the_certificate_of_a_wrong_family_is_refused(name):
    assert refusal(wrong_family(name), []) is not None


def test_one_hide_cannot_be_written_down():
    with pytest.raises(family_certificate.ObligationFailed):
        wrong_family("one HIDE")


# the command


def test_the_command(tmp_path, capsys):
    document, _ = replayed(ABB, "cot")
    stem, folder, other = tmp_path / "proof.family.json", tmp_path / "model", tmp_path / "other"
    stem.write_text(json.dumps(document))
    save(compile_problem(ABB, "cot", length=6), folder)
    save(compile_problem("(a|b)*aab", "cot", length=6), other)
    assert main([str(stem), str(folder)]) == 0
    output = capsys.readouterr().out
    assert output.startswith("checked for every N >= 1")
    assert "N = 6 (" in output
    assert "with unsat" in output
    assert main([str(stem), str(other)]) == 1
    assert capsys.readouterr().out.startswith("refused: N = 6")
    questions = tmp_path / "asked.smt2"
    assert main([str(stem), "--questions", str(questions)]) == 0
    assert "trusted: unsat to" in capsys.readouterr().out
    assert questions.read_text().count("(check-sat)") == len(check(document, [], answer)[1].questions.texts)
    assert main([str(stem), "--solver", "no-such-solver"]) == 1
    assert main([str(tmp_path / "missing.json")]) == 2


@pytest.mark.parametrize(
    ("command", "answer_start"),
    [
        ("yes unsat", "unsat\nunsat\n"),
        ("cat /dev/zero", "\0\0"),
        ("false", "no answer"),
        ("echo unsat", "unsat"),
        ("", "no answer ("),
        ("sleep 1000", "no answer"),
    ],
)
def test_a_solver_without_end_is_ended(monkeypatch, command, answer_start):
    monkeypatch.setattr(family_positions, "PATIENCE", 0.2)
    answer = family_positions.solver_named(command)("(check-sat)\n")
    assert answer.startswith(answer_start)
    assert len(answer) <= family_positions.LONGEST_ANSWER + 10
    assert (answer == "unsat") == (command == "echo unsat")


def test_a_verdict_that_cannot_be_written_is_an_error(tmp_path):
    """This holds for both checkers, whether they accept or refuse."""
    document, _ = replayed(SMALL, "cot")
    (tmp_path / "proof.json").write_text(json.dumps(document))
    save(compile_problem("a", "cot", length=1), tmp_path / "m")
    for arguments in ("unmask.checker.families proof.json --solver false", "unmask.checker m proof.json"):
        with Path("/dev/full").open("w") as full:
            process = subprocess.run(
                [sys.executable, "-m", *arguments.split()], cwd=tmp_path, env=ENVIRONMENT, stdout=full,
                stderr=subprocess.PIPE, text=True, check=False, timeout=120,
            )  # fmt: skip
        assert (process.returncode, process.stderr) == (
            2, "error: the output of the checker cannot be written: No space left on device\n",
        )  # fmt: skip


def test_a_solver_that_says_sat_is_a_refusal():
    document, _ = replayed(SMALL, "cot")
    with pytest.raises(Refused, match="'sat', not unsat"):
        check(document, [], lambda _: "sat")


@pytest.mark.parametrize("kind", KINDS)
def test_the_facts_of_a_question_are_satisfiable(kind):
    """The facts of every question are satisfiable; a region of rows may be empty for one N, but not for all."""
    document, _ = replayed(SMALL, kind)
    questions = check(document, [], None)[1].questions.texts
    for name, question in questions.items():
        facts = [line for line in question.splitlines() if not line.startswith("(assert (not ")]
        assert family_positions.solver_named()("\n".join(facts)) == "sat", name
