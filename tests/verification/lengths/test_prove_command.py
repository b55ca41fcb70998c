"""`unmask prove --every-length`: exit codes, the document, the page, and the files of a certificate."""

import json


def test_a_proof_its_page_and_its_questions(unmask, tmp_path):
    page, stem = tmp_path / "report.html", tmp_path / "proof"
    code, out, _ = unmask(
        "prove", "(a|b)*abb", "--to", "cot", "--every-length", "--json", "--check-length", "57",
        "--out", str(page), "--certificate", str(stem),
    )  # fmt: skip
    document = json.loads(out)
    assert code == 0
    fields = {"verdict", "statement", "obligations", "counterexample", "seconds"}
    assert set(document) == fields | {"compared", "not_compared", "trusted"}
    assert (document["verdict"], document["counterexample"]) == ("proved", None)
    assert all({"name", "method", "seconds", "verdict"} <= set(o) for o in document["obligations"])
    assert "N = 57: `compile` writes the family's weights" in [o["name"] for o in document["obligations"]]
    assert "Proved for every N" in page.read_text()
    assert "What is trusted" in page.read_text()
    assert json.loads((tmp_path / "proof.json").read_text())["verdict"] == "proved"
    assert json.loads((tmp_path / "proof.family.json").read_text())["kind"] == "cot"
    questions = (tmp_path / "proof.smt2").read_text()
    assert questions.count("(check-sat)") == sum(o["method"] == "SMT" for o in document["obligations"])


def test_what_is_not_reached_has_exit_code_2(unmask):
    code, out, _ = unmask("prove", "family:addition", "--to", "plt", "--every-length", "--json")
    assert (code, json.loads(out)["verdict"]) == (2, "unknown")


def test_the_time_may_end(unmask):
    code, out, _ = unmask("prove", "(a|b)*abb", "--to", "mdm", "--every-length", "--timeout", "0.01", "--json")
    assert (code, json.loads(out)["verdict"]) == (2, "unknown")


def test_nothing_settled_is_said_as_such(unmask):
    code, out, _ = unmask("prove", "expr:a+b", "--to", "mdm", "--every-length")
    assert code == 2
    assert "0 obligations, " in out


def test_bad_input_is_one_message(unmask, tmp_path):
    for arguments, sentence in (
        (("a", "--to", "mdm", "--every-length", "--out", str(tmp_path / "page.pdf")), ".html or .md"),
        (("a", "--to", "mdm", "--every-length", "--precision", "1"), "at least 2"),
        (("a(", "--to", "mdm", "--every-length"), "unmask: "),
    ):
        code, _, errors = unmask("prove", *arguments)
        assert code == 2
        assert sentence in errors
        assert len(errors.strip().splitlines()) == 1
    assert not list(tmp_path.iterdir())


def test_a_problem_needs_no_option(unmask):
    """It is compiled to mdm, and `--every-length` changes nothing."""
    code, out, _ = unmask("prove", "a*")
    assert code == 0
    assert out.startswith("proved for every N: For every N >= 0, the mdm ")
    assert "compared with this proof, entry by entry, at N = 2, 3, 4, " in out
    assert "trusted assumptions" in out
    old = unmask("prove", "a*", "--to", "mdm", "--every-length")
    assert old[0] == 0
    assert old[1].splitlines()[0] == out.splitlines()[0]


def test_the_help_names_conversions(unmask):
    code, out, _ = unmask("prove", "--help")
    assert code == 0
    assert "theorem:cot_to_pcot" in out
    assert "--every-length" not in out
