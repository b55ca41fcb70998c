"""All of the paper is there, the page is in step with the record, and the command says what it should."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from unmask import cli
from unmask.paper.item import Effort
from unmask.paper.items import BY_LABEL, EQUATIONS, ITEMS, find
from unmask.paper.report import RECORD, examine_all, page, recorded

ROOT = Path(__file__).parents[2]
TEX = ROOT.parent / "shared" / "paper.tex"
STRUCTURE = ("sec:", "app:")
KNOWN = [
    "fig:figure-1a",
    "fig:figure-1b",
    "fig:expression-tree",
    "takeaway:takeaway-1",
    "takeaway:takeaway-2",
    "takeaway:takeaway-3",
    "takeaway:takeaway-4",
    "takeaway:takeaway-5",
    "eq:factorized-reverse-process",
    "assumption:uniform-unmasking",
    "assumption:perfect-approximation",
    "thm:perfect-approximation-limitation",
    "thm:lts-mdms",
    "eq:mdm-simulates-lt",
    "cor:mdm-lt-equivalence",
    "cor:mdms-can-simulate-regular-languages",
    "thm:regular-languages-in-mdm-efficient",
    "cor:mdms-with-constant-steps",
    "cor:mdms-with-polylog-steps",
    "thm:mdms-can-simulate-cot",
    "thm:cot-can-simulate-mdms",
    "thm:mdms-cot-sandwich",
    "thm:cot-mdm-separation",
    "eq:softmax-attention-matrix",
    "def:mlp",
    "def:uniform-transformers",
    "def:decoding-step",
    "def:gumbel-max-sampling",
    "eq:gumbel-max-sampling",
    "prop:cot-as-pcot",
    "def:looped-transformer",
    "def:padded-transformer",
    "thm:looped-transformers-characterization",
    "def:stochastic-looped-transformer",
    "thm:single-model-equivalence",
    "thm:mdms-can-simulate-emdms",
    "lem:our-finite-precision-properties",
    "lem:finite-precision-properties",
    "lem:pos-enc-properties",
    "lem:our-pos-enc-properties",
    "lem:mlp-arithmetic-operations",
    "lem:ignore-positions",
    "eq:ignore-positions-condition",
    "lem:focus-on-marked-positions",
    "eq:focus-on-positions-condition",
    "eq:focusing-attention-dot-product",
    "lem:detection",
    "lem:select-block",
    "eq:pos-enc-select-block",
    "lem:binary-encoding",
    "lem:mlp-for-argmax",
    "lem:projection-mlp",
    "lem:mask-conversion",
    "lem:unmask-conversion-fp",
    "eq:additional-pos-enc-1",
    "thm:lts-can-simulate-mdms",
    "lem:idenitity-dump",
    "thm:emdms-can-simulate-fplts",
]
UNLABELLED = {"definition": 14, "corollary": 1}
OURS = ("def:forward-process*", "def:transformer-layer*")  # not in an environment of their own


def labels_of(tex):
    return [label for label in re.findall(r"\\label\{([^}]*)\}", tex) if not label.startswith(STRUCTURE)]


@pytest.mark.parametrize("label", KNOWN)
def test_every_label_of_the_paper_is_an_item(label):
    assert find(label) is BY_LABEL[EQUATIONS.get(label, label)]


@pytest.mark.skipif(not TEX.exists(), reason="the paper is not beside the repository")
def test_the_list_of_labels_is_that_of_the_paper():
    tex = TEX.read_text(encoding="utf-8")
    assert sorted(labels_of(tex)) == sorted(KNOWN)
    for environment, count in UNLABELLED.items():
        begins = re.findall(rf"\\begin\{{{environment}\}}.*", tex)
        assert sum("\\label" not in begin for begin in begins) == count


def test_what_the_paper_does_not_label_is_marked():
    ours = [item for item in ITEMS if item.label.endswith("*")]
    for kind, count in UNLABELLED.items():
        assert sum(item.kind == kind and item.label not in OURS for item in ours) == count
    assert {item.label for item in ITEMS} - {item.label for item in ours} <= set(KNOWN)


def test_constructions_exist_and_checks_are_there():
    for item in ITEMS:
        for name in item.construction.split(", "):
            assert name == "none yet" or (ROOT / "src" / "unmask" / name).is_file(), item.label
        assert item.check is not None or item.claim == "gap", item.label
        assert item.statement.endswith("."), item.label


def test_the_page_is_in_step_with_the_record():
    """If this fails, run `make theorems`."""
    record = json.loads((ROOT / "src" / "unmask" / "paper" / RECORD).read_text(encoding="utf-8"))
    assert list(record) == [item.label for item in ITEMS]
    assert (ROOT / "docs" / "theorems.md").read_text(encoding="utf-8") == page(recorded(ITEMS))


def test_the_checks_still_say_what_the_record_says():
    found = {f.item.label: (f.status, f.reason) for f in examine_all(ITEMS, Effort(12))}
    assert found == {f.item.label: (f.status, f.reason) for f in recorded(ITEMS)}


@pytest.fixture
def unmask(monkeypatch, capfd):
    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["unmask", *arguments])
        capfd.readouterr()
        with pytest.raises(SystemExit) as caught:
            cli.main()
        out, err = capfd.readouterr()
        return caught.value.code, out, err

    return call


def test_the_list(unmask):
    code, out, _ = unmask("paper")
    assert code == 0
    lines = out.splitlines()
    assert len(lines) == len(ITEMS) + 1
    assert lines[0].split("\t")[:3] == ["def:fixed-point*", "defined", "definition"]
    assert lines[-1].startswith(f"{len(ITEMS)} items: ")


def test_the_list_as_a_document(unmask):
    code, out, _ = unmask("paper", "--json")
    document = json.loads(out)
    assert code == 0
    assert [entry["label"] for entry in document] == list(BY_LABEL)
    for entry in document:
        assert entry["status"] in ("holds", "defined", "cited", "gap")
        assert (entry["status"] == "gap") == (entry["reason"] is not None)
        if entry["status"] != "gap":
            assert entry["evidence"]["cases"] > 0
            assert entry["evidence"]["method"]


def test_one_item_is_explained(unmask):
    code, out, _ = unmask("paper", "thm:lts-mdms")
    assert code == 0
    for part in ("MDM[T, P] ⊆ PLT[T, P]", "theorems/plt_to_mdm.py", "run it: unmask compile", "erratum 19", "cases)"):
        assert part in out


def test_one_item_is_checked_now(unmask):
    code, out, _ = unmask("paper", "lem:finite-precision-properties", "--check", "--json")
    (entry,) = json.loads(out)
    assert (code, entry["status"], entry["evidence"]["cases"]) == (0, "holds", 16)


def test_a_failing_check_is_exit_code_1(unmask, monkeypatch):
    from unmask.numerics import lemmas

    monkeypatch.setattr(lemmas, "interleaved_score", lambda *_: 1)
    code, out, _ = unmask("paper", "lem:pos-enc-properties", "--check")
    assert code == 1
    assert "gap: its check failed: LemmaFails" in out


@pytest.mark.parametrize(
    ("label", "hint"),
    [("thm:lts-mdm", "did you mean thm:lts-mdms"), ("argmax", "lem:mlp-for-argmax"), ("☃", "lists them all")],
)
def test_an_unknown_label(unmask, label, hint):
    code, out, err = unmask("paper", label)
    assert (code, out) == (2, "")
    assert hint in err


def test_equations_and_bare_slugs_lead_to_their_item():
    assert find("eq:mdm-simulates-lt").label == "thm:lts-mdms"
    assert find("def:rounding").label == "def:rounding*"


def process(*arguments, where):
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    return subprocess.run([sys.executable, *arguments], cwd=where, env=environment, capture_output=True, check=False)


@pytest.mark.parametrize("command", sorted({item.run for item in ITEMS if "--check" not in item.run}))
def test_every_command_of_the_list_runs(command, tmp_path):
    for part in command.split(" && "):
        arguments = shlex.split(part)
        assert arguments[0] == "unmask"
        done = process("-m", "unmask", *arguments[1:], where=tmp_path)
        undecided = arguments[1] == "run" and "random:" in command
        assert done.returncode in ((0, 1, 2) if undecided or "--planner" in part else (0,)), done.stderr.decode()
        assert b"Traceback" not in done.stderr


def errata_commands():
    text = (ROOT / "docs" / "errata.md").read_text(encoding="utf-8")
    return [line for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL) for line in block.splitlines()]


def test_every_test_that_the_errata_name_is_one_of_this_suite():
    """So that it runs with the suite; pytest fails if a name is not there."""
    named = [shlex.split(line)[1:] for line in errata_commands() if line.startswith("pytest ")]
    plain = [arguments[0] for arguments in named if len(arguments) == 1]
    for arguments in (plain, *(arguments for arguments in named if len(arguments) > 1)):
        options = ("-q", "--collect-only", "-p", "no:cacheprovider", "-m", "not long")
        done = process("-m", "pytest", *options, *arguments, where=ROOT)
        assert done.returncode == 0, done.stdout.decode()[-2000:]
        assert "deselected" not in done.stdout.decode() or "-k" in arguments


@pytest.mark.parametrize("line", [line for line in errata_commands() if not line.startswith("pytest ")])
def test_every_other_command_of_the_errata_runs(line, tmp_path):
    program, *arguments = shlex.split(line)
    prefix = {"unmask": ["-m", "unmask"], "python": []}[program]
    done = process(*prefix, *arguments, where=tmp_path)
    assert done.returncode == 0, done.stderr.decode()


def test_the_errata_cover_every_number_of_the_list():
    text = (ROOT / "docs" / "errata.md").read_text(encoding="utf-8")
    assert {int(k) for k in re.findall(r"^\| (\d+) \|", text, re.MULTILINE)} == set(range(1, 30))
    assert {int(k) for k in re.findall(r"^\*\*(\d+)\.", text, re.MULTILINE)} == set(range(1, 30))
    cited = {int(k) for item in ITEMS for k in re.findall(r"^(\d+)", item.erratum or "")}
    assert cited <= set(range(1, 30))


def test_every_smallest_case_is_on_the_page():
    cases = (Path(__file__).parent / "test_printed.py").read_text(encoding="utf-8")
    text = (ROOT / "docs" / "errata.md").read_text(encoding="utf-8")
    for name in re.findall(r"^def (test_\w+)", cases, re.MULTILINE):
        assert name in text, name
