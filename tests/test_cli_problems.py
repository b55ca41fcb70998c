"""The command line on problems: compile, compare, verify, and what they refuse."""

import json
import subprocess
import sys

import pytest

from unmask.pipeline import load_model, save_model
from unmask.weights.model import KINDS

PARITY = {
    "alphabet": ["zero", "one"],
    "states": ["even", "odd"],
    "start": "even",
    "accepting": ["odd"],
    "transitions": {"even": {"zero": "even", "one": "odd"}, "odd": {"zero": "odd", "one": "even"}},
}


@pytest.fixture
def compiled(unmask, tmp_path):
    """Compile a problem to a folder."""

    def call(problem, kind="mdm", length=4, **options):
        folder = tmp_path / f"{kind}-{length}-{len(list(tmp_path.iterdir()))}"
        flags = [part for name, value in options.items() for part in (f"--{name}", value)]
        code, _, err = unmask("compile", problem, "--to", kind, "--length", length, "--out", folder, *flags)
        assert (code, err) == (0, "")
        return folder

    return call


@pytest.mark.parametrize("kind", KINDS)
def test_compile_run_verify(unmask, compiled, kind):
    folder = compiled("(a|b)*abb", kind, 5)
    assert unmask("run", folder, "ababb")[0] == 0
    assert unmask("run", folder, "ababa")[0] == 1
    code, out, _ = unmask("verify", folder, "--json")
    document = json.loads(out)
    assert code == 0
    assert document["verdict"] == "held"
    assert document["method"] == "exhaustive"
    assert document["cases"] == 3**5
    assert document["counterexample"] is None
    assert document["seconds"] >= 0


def test_the_folder_says_what_was_compiled_and_how(compiled):
    folder = compiled("group:A5", "mdm", 8, precision=3)
    config = json.loads((folder / "config.json").read_text())
    assert config["problem"] == {"kind": "group", "spec": "A5"}
    assert config["provenance"] == [
        {
            "compiled": "group:A5",
            "to": "mdm",
            "layout": "one slot per node: the monoid has 60 elements, coded by points",
        }
    ]
    assert (config["precision"], config["length"], config["steps"], config["padding"]) == (3, 8, 3, 7)


def test_verify_against_other_problems_and_folders(unmask, compiled):
    folder, same, other = compiled("(a|b)*abb"), compiled("(a|b)*abb", "cot"), compiled("a*b*", "plt")
    assert unmask("verify", folder, "--against", same)[0] == 0
    assert unmask("verify", folder, "--against", "regex:(?:a|b)*abb")[0] == 0
    code, out, _ = unmask("verify", folder, "--against", other)
    assert code == 1
    assert "counterexample 'aaaa': accepted, but the model rejected" in out
    code, out, _ = unmask("verify", folder, "--against", "(a|b)*", "--method", "sample", "--cases", "9", "--json")
    assert code == 1
    assert json.loads(out)["verdict"] == "refuted"


def test_verify_without_a_verdict(unmask, compiled):
    code, out, _ = unmask("verify", compiled("(a|b)*abb", length=30), "--method", "exhaustive")
    assert code == 2
    assert out.startswith("unknown\n")
    assert "use --method prove" in out


def test_verify_finds_a_mutated_folder(unmask, compiled):
    folder = compiled("(a|b)*abb")
    model = load_model(folder)
    config = json.loads((folder / "config.json").read_text())
    config["accept"], config["reject"] = config["reject"], config["accept"]
    (folder / "config.json").write_text(json.dumps(config))
    code, out, _ = unmask("verify", folder, "--json")
    document = json.loads(out)
    assert (code, document["verdict"], document["cases"]) == (1, "refuted", 1)
    assert unmask("run", save_model(model, folder.parent / "whole"), document["counterexample"])[0] == 1


def test_random_models_name_no_problem(unmask, compiled):
    code, out, err = unmask("verify", compiled("random:3"))
    assert (code, out) == (2, "")
    assert err == "unmask: the folder names no problem to compare with; give one with --against\n"


def test_compare_prints_a_table(unmask):
    code, out, _ = unmask("compare", "group:Z2", "--lengths", "4,8")
    assert code == 0
    assert "…" not in out
    assert "cot: N 4 → 8, steps 4 → 8, space 4 → 8" in out
    assert "mdm: N 4 → 8, steps 2 → 3, space 3 → 7" in out
    assert "These runs show upper bounds" in out
    assert "thm:cot-mdm-separation" in out


def test_compare_as_a_document(unmask):
    code, out, _ = unmask("compare", "(ab)*", "--lengths", "0,3", "--json")
    rows = json.loads(out)
    assert code == 0
    assert len(rows) == 2 * len(KINDS)
    assert all(row["within_bound"] and row["correct"] for row in rows)


@pytest.mark.parametrize("lengths", ["", "a", "3,", "-1", "1.5", "99999999999"])
def test_compare_refuses_lengths(unmask, lengths):
    code, out, err = unmask("compare", "(ab)*", f"--lengths={lengths}")
    assert (code, out) == (2, "")
    assert "--lengths takes numbers separated by commas" in err
    assert "each of at most 7 digits" in err


REFUSED = {
    "look-behind": ("(?<=a*)b", "look-behind requires fixed-width pattern"),
    "back-reference": (r"(a)\1", "a back-reference"),
    "open group": ("(ab", "missing )"),
    "nothing to repeat": ("*a", "nothing to repeat"),
    "no such group": ("group:Q8", "'Q8' is not the name of a group"),
    "large group": ("group:S9", "more than 10,000 elements"),
    "missing file": ("dfa:nowhere.json", "the automaton nowhere.json cannot be read"),
    "no file": ("dfa:", "has no file name"),
    "state explosion": ("(a|b)*a(a|b){40}", "needs more than 20,000 states"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_problems_that_are_refused_leave_nothing_behind(unmask, tmp_path, monkeypatch, case):
    problem, sentence = REFUSED[case]
    monkeypatch.chdir(tmp_path)
    code, out, err = unmask("compile", problem, "--to", "mdm", "--length", 4, "--out", "model")
    assert (code, out) == (2, "")
    assert err.startswith("unmask: ")
    assert err.count("\n") == 1
    assert sentence in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--length", "10000000"], "beyond the limit"),
        (["--length", "-1"], "the length must be 0 or more, not -1"),
        (["--length", "4", "--precision", "1"], "a precision of at least 2, not 1"),
    ],
)
def test_sizes_that_are_refused(unmask, tmp_path, options, sentence):
    code, _, err = unmask("compile", "(a|b)*abb", "--to", "mdm", "--out", tmp_path / "model", *options)
    assert code == 2
    assert sentence in err
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize("kind", KINDS)
def test_automata_from_files(unmask, compiled, tmp_path, kind):
    file = tmp_path / "parity.json"
    file.write_text(json.dumps(PARITY))
    folder = compiled(f"dfa:{file}", kind, 3)
    file.unlink()
    assert unmask("run", folder, "one zero one")[0] == 1
    assert unmask("run", folder, "one one  one")[0] == 0
    assert unmask("verify", folder)[0] == 0
    assert str(tmp_path) not in json.dumps(json.loads((folder / "config.json").read_text())["problem"])
    code, _, err = unmask("run", folder, "one two one")
    assert code == 2
    assert "two" in err


def test_words_through_standard_input(compiled):
    """Characters beyond the pattern, NUL, a lone surrogate, bytes that are no UTF-8: all are letters to reject."""
    folder = compiled("[ab]{2}", length=2)
    lines = [b"ab", b"a\0", "a□".encode(), b"\xff\xfea", b"\xed\xa0\x80", "\u2028a".encode(), b"a\r", b"abc", b""]
    done = subprocess.run(
        [sys.executable, "-m", "unmask", "run", str(folder), "-", "--json"],
        input=b"\n".join(lines) + b"\n",
        capture_output=True,
        check=False,
        timeout=120,
    )
    documents = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(documents) == len(lines)
    assert [document.get("accepted") for document in documents[:3]] == [True, False, False]
    assert documents[5]["accepted"] is documents[6]["accepted"] is False
    assert "length 3" in documents[7]["error"]
    assert "length 0" in documents[8]["error"]
    assert done.returncode == 2
    assert b"Traceback" not in done.stderr


def test_the_empty_word_on_the_command_line(unmask, compiled):
    assert unmask("run", compiled("(ab)*", "cot", 0), "")[0] == 0
    assert unmask("run", compiled("(ab)+", "mdm", 0), "")[0] == 1


def test_compiling_again_gives_the_same_bytes(compiled):
    first, second = compiled("group:D4", "pcot", 6), compiled("group:D4", "pcot", 6)
    for file in first.iterdir():
        assert file.read_bytes() == (second / file.name).read_bytes()
