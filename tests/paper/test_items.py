"""Every statement of the paper is an item, the page agrees with the record, and the command prints both."""

import ast
import json
import os
import re
import shlex
from dataclasses import replace
from pathlib import Path

import pytest

import command_line
from unmask.paper.all_items import BY_LABEL, EQUATIONS, ITEMS, find_item, search_items
from unmask.paper.checks import evidence
from unmask.paper.checks.evidence import Effort
from unmask.paper.findings import RECORD, Finding, examine_all, items_page, recorded_findings
from unmask.paper.item import AGAINST, NUMBERS, VERDICTS

ROOT = Path(__file__).parents[2]
STRUCTURE = ("sec:", "app:")
KNOWN = (Path(__file__).parent / "labels.txt").read_text(encoding="utf-8").split()  # as the paper has them, in order
UNLABELLED = {"definition": 14, "corollary": 1}
FEW = Effort(6)
"""One round of checks for this file, so that each check runs once."""
OURS = ("def:forward-process*", "def:transformer-layer*")  # not in an environment of their own


def labels_of(tex):
    return [label for label in re.findall(r"\\label\{([^}]*)\}", tex) if not label.startswith(STRUCTURE)]


@pytest.mark.parametrize("label", KNOWN)
def test_every_label_of_the_paper_is_an_item(label):
    assert find_item(label) is BY_LABEL[EQUATIONS.get(label, label)]


@pytest.mark.long
@pytest.mark.skipif("UNMASK_PAPER" not in os.environ, reason="UNMASK_PAPER names no source of the paper (paper.tex)")
def test_the_list_of_labels_is_that_of_the_paper():
    """Compare the numbers with the paper's source: `UNMASK_PAPER=paper.tex make check-long`."""
    tex = Path(os.environ["UNMASK_PAPER"]).read_text(encoding="utf-8")
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
    assert (ROOT / "docs" / "paper" / "items.md").read_text(encoding="utf-8") == items_page(recorded_findings(ITEMS))


def test_the_checks_still_say_what_the_record_says():
    results = {f.item.label: (f.status, f.reason) for f in examine_all(ITEMS, FEW)}
    assert results == {f.item.label: (f.status, f.reason) for f in recorded_findings(ITEMS)}


def test_the_list(unmask):
    code, out, _ = unmask("paper")
    assert code == 0
    lines = out.splitlines()
    assert len(lines) == len(ITEMS) + 1
    assert lines[0].split("\t")[:4] == ["def:fixed-point*", "Definition B.1", "definition", "definition"]
    assert lines[-1].startswith(f"{len(ITEMS)} items: ")


def test_the_list_as_a_document(unmask):
    code, out, _ = unmask("paper", "--json")
    document = json.loads(out)
    assert code == 0
    assert [entry["label"] for entry in document] == list(BY_LABEL)
    for entry in document:
        assert entry["status"] in ("holds", "defined", "cited", "gap")
        assert entry["against_print"] in (*AGAINST, None)
        assert entry["verdict"] in VERDICTS
        assert entry["number"] == NUMBERS.get(entry["label"])
        assert (entry["against_print"] is None) == (entry["status"] == "cited" or entry["kind"] == "own result")
        assert (entry["against_print"] in ("repaired", "open")) == (entry["difference"] is not None)
        assert (entry["status"] == "gap") == (entry["reason"] is not None)
        if entry["status"] != "gap":
            assert entry["evidence"]["cases"] > 0
            assert entry["evidence"]["method"]


MOVED = {
    "prop:cot-as-pcot": "open",
    "thm:mdms-cot-sandwich": "repaired",
    "thm:cot-mdm-separation": "as printed",
    "cor:mdms-with-constant-steps": "repaired",
    "cor:mdms-with-polylog-steps": "repaired",
    "fig:figure-1b": "repaired",
    "takeaway:takeaway-5": "repaired",
    "cor:mdm-lt-equivalence": "repaired",
    "thm:lts-mdms": "as printed",
    "thm:cot-can-simulate-mdms": "as printed",
    "thm:single-model-equivalence": "repaired",
    "lem:mask-conversion": "repaired",
    "lem:mlp-arithmetic-operations": "repaired",
    "lem:our-pos-enc-properties": "as printed",
    "thm:lts-can-simulate-mdms": "as printed",
    "thm:regular-languages-in-mdm-efficient": "as printed",
    "thm:perfect-approximation-limitation": None,
    "lem:unmask-conversion-fp": "repaired",
    "def:stochastic-looped-transformer": "as printed",
    "takeaway:takeaway-2": "as printed",
}


@pytest.mark.parametrize("label", MOVED)
def test_what_is_shown_is_not_passed_off_as_what_is_printed(label):
    assert BY_LABEL[label].against_print == MOVED[label]


def test_what_fails_its_check_is_open_whatever_it_claims(unmask, monkeypatch):
    from unmask.numerics import number_lemmas

    monkeypatch.setattr(number_lemmas, "exp", lambda x, _: 0 * x)
    _, out, _ = unmask("paper", "lem:finite-precision-properties", "--check", "--json")
    (entry,) = json.loads(out)
    assert (entry["status"], entry["against_print"]) == ("gap", "open")


def test_simulations_run_on_fifty_random_models_a_direction_and_say_which():
    for finding in recorded_findings(ITEMS):
        matches = re.findall(r"(\d+) random (?:models|transformers [a-z ]+) through (\w+),", finding.evidence.method)
        for models, stem in matches:
            assert int(models) >= 50, (finding.item.label, stem)
        assert finding.evidence.method.count("seeds 0 … ") >= len(matches)
        assert finding.evidence.method.count("N = ") >= len(matches)


def test_every_claim_about_regular_languages_says_which_layout():
    named = [item for item in ITEMS if re.search(r"[Rr]egular language", item.statement)]
    assert len(named) >= 4
    layout = r"one (slot )?per node|one row per letter|without uniformity"
    for item in named:
        assert item.claim == "cited" or re.search(layout, item.statement), item.label


def test_gadget_lemmas_are_proved_for_every_width():
    from unmask.paper.lemmas.all_lemmas import CITED

    proofs = {finding.item.label: finding.proofs for finding in recorded_findings(ITEMS)}
    for label, names in CITED.items():
        assert any(proof.covers == "every width" and proof.names == names for proof in proofs[label]), label


def test_proofs_by_rocq_are_there():
    text = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "proofs").glob("*.v"))
    page = (ROOT / "docs" / "paper" / "rocq.md").read_text(encoding="utf-8")
    named = {name for item in ITEMS for proof in item.proofs if proof.by == "Rocq" for name in proof.names}
    assert len(named) > 15
    for name in named:
        assert re.search(rf"^\s*(Theorem|Corollary|Definition) {name}\b", text, re.MULTILINE), name
        assert f"`{name}`" in page, name


def test_one_item_is_explained(unmask):
    code, out, _ = unmask("paper", "thm:lts-mdms")
    assert code == 0
    for fragment in (
        "MDM[T, P] ⊆ PLT[T, P]",
        "theorems/plt_to_mdm.py",
        "run it: unmask compile",
        "in the errata: 16",
        "cases)",
    ):
        assert fragment in out


def test_one_item_is_checked_now(unmask):
    code, out, _ = unmask("paper", "lem:finite-precision-properties", "--check", "--json")
    (entry,) = json.loads(out)
    assert (code, entry["status"], entry["evidence"]["cases"]) == (0, "holds", 16)


def test_a_failing_check_is_exit_code_1(unmask, monkeypatch):
    from unmask.numerics import number_lemmas

    monkeypatch.setattr(number_lemmas, "interleaved_score", lambda *_: 1)
    code, out, _ = unmask("paper", "lem:pos-enc-properties", "--check")
    assert code == 1
    assert "open: its check failed: LemmaFails" in out


@pytest.mark.parametrize(
    ("label", "hint"),
    [("thm:lts-mdm", "did you mean thm:lts-mdms"), ("mlp-argmax", "lem:mlp-for-argmax"), ("☃", "lists them all")],
)
def test_an_unknown_label(unmask, label, hint):
    code, out, err = unmask("paper", label)
    assert (code, out) == (2, "")
    assert hint in err


@pytest.mark.parametrize("query", ["Theorem 3.1", "theorem 3.1", "Thm. 3.1", "thm 3.1", "thm:lts-mdms"])
def test_an_item_is_found_by_its_number(query):
    assert [item.label for item in search_items(query)] == ["thm:lts-mdms"]


def test_items_are_found_by_words_those_with_the_words_in_their_title_first(unmask):
    code, out, _ = unmask("paper", "Regular languages", "--json")
    labels = [entry["label"] for entry in json.loads(out)]
    assert code == 0
    assert labels[0] == "thm:regular-languages-in-mdm-efficient"
    assert {"cor:mdms-can-simulate-regular-languages", "takeaway:takeaway-4"} <= set(labels[:3])
    assert "lem:mlp-for-argmax" not in labels
    code, out, _ = unmask("paper", "regular languages")
    assert code == 0
    assert len(out.splitlines()) == len(labels) + 1


def test_every_item_of_the_paper_with_a_number_has_its_own():
    assert len(set(NUMBERS.values())) == len(NUMBERS)
    without = {item.label for item in ITEMS if item.number is None and item.kind != "own result"}
    assert without == {*OURS, "eq:factorized-reverse-process"}
    assert set(NUMBERS) <= set(BY_LABEL)
    for label, number in NUMBERS.items():
        corollary = label in ("thm:mdms-cot-sandwich", "thm:cot-mdm-separation")
        assert corollary or number.split()[0].lower() == BY_LABEL[label].kind


@pytest.mark.long
@pytest.mark.skipif("UNMASK_PAPER" not in os.environ, reason="UNMASK_PAPER names no source of the paper (paper.tex)")
def test_numbers_follow_from_the_source():
    """One counter for each environment, restarted in every section; restatements have no number of their own."""
    kinds = "theorem|lemma|corollary|proposition|remark|definition|assumption"
    section, appendix, counts, derived = 0, False, {}, []
    for line in Path(os.environ["UNMASK_PAPER"]).read_text(encoding="utf-8").splitlines():
        if "\\appendix" in line:
            section, appendix = 0, True
        if "\\section{" in line:
            section, counts = section + 1, {}
        begin = re.search(rf"\\begin\{{({kinds})\}}", line)
        if "\\begin{restatable}" in line:
            begin = re.search(rf"\{{({kinds})\}}\{{\w+\}}", line)
        if begin:
            counts[begin[1]] = counts.get(begin[1], 0) + 1
            name = chr(ord("A") + section - 1) if appendix else section
            label = re.search(r"\\label\{([^}]*)\}", line)
            derived.append((label and label[1], f"{begin[1].capitalize()} {name}.{counts[begin[1]]}"))
    ours = [(label, number) for label, number in NUMBERS.items() if "." in number]
    assert derived == [(None if label.endswith("*") else label, number) for label, number in ours]


def test_one_status_for_each_item():
    """The verdict of every combination that an item and its check can have."""
    item = BY_LABEL["lem:mask-conversion"]
    assert Finding(item, "holds", None).verdict == "holds after a repair"
    assert Finding(replace(item, refuted=True), "holds", None).verdict == "refuted as stated"
    assert Finding(item, "gap", None, "its check failed", failed=True).verdict == "open"
    assert Finding(BY_LABEL["def:mlp"], "defined", None).verdict == "definition"
    with pytest.raises(ValueError, match="must say what holds instead"):
        replace(BY_LABEL["lem:detection"], refuted=True)


def test_equations_and_bare_slugs_lead_to_their_item():
    assert find_item("eq:mdm-simulates-lt").label == "thm:lts-mdms"
    assert find_item("def:rounding").label == "def:rounding*"


@pytest.mark.parametrize("command", sorted({item.run for item in ITEMS if "--check" not in item.run}))
def test_every_command_of_the_list_runs(command, tmp_path):
    for command_part in command.split(" && "):
        arguments = shlex.split(command_part)
        assert arguments[0] == "unmask"
        code, printed = command_line.in_this_process(command_part, tmp_path)
        undecided = arguments[1] == "run" and "random:" in command
        assert code in ((0, 1, 2) if undecided or "--planner" in command_part else (0,)), printed
        assert "Traceback" not in printed


def errata_commands():
    text = (ROOT / "docs" / "paper" / "errata.md").read_text(encoding="utf-8")
    return [line for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL) for line in block.splitlines()]


def named_tests(path):
    """Return name → does every run of the suite run it, for the tests of a file."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    tests = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")]
    return {test.name: "mark.long" not in " ".join(map(ast.unparse, test.decorator_list)) for test in tests}


def test_every_test_that_the_errata_name_is_one_of_this_suite():
    """So that it runs with the suite."""
    named = [shlex.split(line)[1:] for line in errata_commands() if line.startswith("pytest ")]
    assert len(named) > 30
    for where, *option in named:
        path, _, name = where.partition("::")
        tests = named_tests(path)
        assert tests[name] if name else any(tests.values()), where
        if option:
            chosen, words = option
            assert chosen == "-k"
            for word in words.split(" or "):
                assert any(word in test and runs for test, runs in tests.items()), word


@pytest.mark.parametrize("line", [line for line in errata_commands() if not line.startswith("pytest ")])
def test_every_other_command_of_the_errata_runs(line, tmp_path, monkeypatch):
    """With few cases; `make theorems` runs all of them."""
    monkeypatch.setattr(evidence, "Effort", lambda: FEW)
    assert shlex.split(line)[0] in ("unmask", "python")
    code, printed = command_line.run(line, tmp_path)
    assert code == 0, printed


def test_the_errata_cover_every_number_of_the_list():
    text = (ROOT / "docs" / "paper" / "errata.md").read_text(encoding="utf-8")
    assert {int(k) for k in re.findall(r"^\| (\d+) \|", text, re.MULTILINE)} == set(range(1, 36))
    assert {int(k) for k in re.findall(r"^\*\*(\d+)\.", text, re.MULTILINE)} == set(range(1, 36))
    cited = {int(k) for item in ITEMS for k in re.findall(r"^(\d+)", item.erratum or "")}
    assert cited <= set(range(1, 36))


def test_what_the_errata_call_open_is_what_the_list_calls_open():
    text = (ROOT / "docs" / "paper" / "errata.md").read_text(encoding="utf-8")
    (passage,) = re.findall(r"\*\*What stays open\.\*\*(.*?)\n\n", text, re.DOTALL)
    named = re.findall(r"`((?:\w+):[\w-]+\*?)`", passage)
    assert sorted(named) == sorted(item.label for item in ITEMS if item.against_print == "open")


def test_the_errata_have_no_history():
    """Readers never saw an earlier version of the page."""
    text = (ROOT / "docs" / "paper" / "errata.md").read_text(encoding="utf-8")
    assert re.findall(r"[Ww]e\s+had|[Tt]aken\s+back|earlier\s+(?:form|version)", text) == []


def test_what_is_not_as_printed_has_an_entry_or_is_about_uniformity():
    for item in ITEMS:
        if item.against_print in ("repaired", "open") and item.erratum is None:
            assert "uniform" in item.difference, item.label


LETTERS = {"timesteps": "T", "padlen": "P", "strlen": "N", "maxFNum": "B", "ACZero": "AC0"}


def plainly(tex):
    """A line of the paper as the errata quote it: letters for macros, no mark-up."""
    tex = re.sub(r"\\(?:emph|defn|texttt|textit)\{([^}]*)\}", r"\1", tex)
    tex = re.sub(r"\\(\w+)", lambda macro: LETTERS.get(macro[1], macro[0]), tex)
    return re.sub(r"\s+", " ", tex.replace("$", ""))


@pytest.mark.long
@pytest.mark.skipif("UNMASK_PAPER" not in os.environ, reason="UNMASK_PAPER names no source of the paper (paper.tex)")
def test_what_the_errata_quote_is_printed():
    tex = plainly(Path(os.environ["UNMASK_PAPER"]).read_text(encoding="utf-8"))
    text = re.sub(
        r"```.*?```", "", (ROOT / "docs" / "paper" / "errata.md").read_text(encoding="utf-8"), flags=re.DOTALL
    )
    quotes = [re.sub(r"\s+", " ", quote) for quote in re.findall(r'"([^"]+)"', text)]
    assert len(quotes) > 20
    assert [quote for quote in quotes if quote not in tex] == []


@pytest.mark.long
@pytest.mark.skipif("UNMASK_PAPER" not in os.environ, reason="UNMASK_PAPER names no source of the paper (paper.tex)")
def test_what_an_entry_quotes_stands_in_a_line_that_it_names():
    lines = [plainly(line) for line in Path(os.environ["UNMASK_PAPER"]).read_text(encoding="utf-8").splitlines()]
    text = re.sub(
        r"```.*?```", "", (ROOT / "docs" / "paper" / "errata.md").read_text(encoding="utf-8"), flags=re.DOTALL
    )
    assert f"{len(lines):,} lines" in text
    for entry in re.split(r"^\*\*(?=\d+\.)|^## |^\*The sandwich", text, flags=re.MULTILINE):
        named = {int(k) for k in re.findall(r"L(\d{3,4})", entry)}
        named |= {k for first, last in re.findall(r"L(\d+) to L(\d+)", entry) for k in range(int(first), int(last) + 1)}
        for quote in re.findall(r'"([^"]+)"', entry) if re.match(r"\d+\.", entry) else ():
            places = {i for i, line in enumerate(lines, 1) if re.sub(r"\s+", " ", quote) in line}
            assert places & named, (entry[:40], quote, places)


def test_every_file_that_the_errata_name_is_there():
    text = (ROOT / "docs" / "paper" / "errata.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:theorems|programs|engines|reasoners)/[\w/]+\.py)`", text))
    assert len(named) > 15
    assert {name for name in named if not (ROOT / "src" / "unmask" / name).is_file()} == set()


def test_every_smallest_case_is_on_the_page():
    cases = (Path(__file__).parent / "test_printed.py").read_text(encoding="utf-8")
    text = (ROOT / "docs" / "paper" / "errata.md").read_text(encoding="utf-8")
    for name in re.findall(r"^def (test_\d\d_\w+)", cases, re.MULTILINE):
        assert name in text, name
