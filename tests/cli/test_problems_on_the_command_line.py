"""The command line on problems: compile, compare, verify, and what they refuse."""

import io
import json
import subprocess
import sys

import pytest

import outside_reader
from unmask.api import compile_problem, run_word
from unmask.cli.run import answer_of
from unmask.traces.trace import outputs_of, trace_result
from unmask.weights.kinds import KINDS
from unmask.weights.storage import load, save

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
        flags = [argument for name, value in options.items() for argument in (f"--{name}", value)]
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
    model = load(folder)
    config = json.loads((folder / "config.json").read_text())
    config["accept"], config["reject"] = config["reject"], config["accept"]
    (folder / "config.json").write_text(json.dumps(config))
    code, out, _ = unmask("verify", folder, "--json")
    document = json.loads(out)
    assert (code, document["verdict"], document["cases"]) == (1, "refuted", 1)
    assert unmask("run", save(model, folder.parent / "whole"), document["counterexample"])[0] == 1


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
    problem, message = REFUSED[case]
    monkeypatch.chdir(tmp_path)
    code, out, err = unmask("compile", problem, "--to", "mdm", "--length", 4, "--out", "model")
    assert (code, out) == (2, "")
    assert err.startswith("unmask: ")
    assert err.count("\n") == 1
    assert message in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--length", "10000000"], "beyond the limit"),
        (["--length", "-1"], "the length must be 0 or more, not -1"),
        (["--length", "4", "--precision", "1"], "a precision of at least 2, not 1"),
    ],
)
def test_sizes_that_are_refused(unmask, tmp_path, options, message):
    code, _, err = unmask("compile", "(a|b)*abb", "--to", "mdm", "--out", tmp_path / "model", *options)
    assert code == 2
    assert message in err
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
    """Characters outside the pattern, NUL, a lone surrogate and bytes that are not UTF-8 are rejected letters."""
    folder = compiled("[ab]{2}", length=2)
    lines = [b"ab", b"a\0", "a□".encode(), b"\xff\xfea", b"\xed\xa0\x80", "\u2028a".encode(), b"a\r", b"abc", b""]
    completed = subprocess.run(
        [sys.executable, "-m", "unmask", "run", str(folder), "-", "--json"],
        input=b"\n".join(lines) + b"\n",
        capture_output=True,
        check=False,
        timeout=120,
    )
    documents = [json.loads(line) for line in completed.stdout.splitlines()]
    assert len(documents) == len(lines)
    assert [document.get("accepted") for document in documents[:3]] == [True, False, False]
    assert documents[5]["accepted"] is documents[6]["accepted"] is False
    assert "length 3" in documents[7]["error"]
    assert "length 0" in documents[8]["error"]
    assert completed.returncode == 2
    assert b"Traceback" not in completed.stderr


def test_the_empty_word_on_the_command_line(unmask, compiled):
    assert unmask("run", compiled("(ab)*", "cot", 0), "")[0] == 0
    assert unmask("run", compiled("(ab)+", "mdm", 0), "")[0] == 1


def test_compiling_again_gives_the_same_bytes(compiled):
    first, second = compiled("group:D4", "pcot", 6), compiled("group:D4", "pcot", 6)
    for file in first.iterdir():
        assert file.read_bytes() == (second / file.name).read_bytes()


# Expressions from the command line: the figure of the paper, exit codes, error messages.


FIGURE = "expr:(a+b)*(c+d)-e"


@pytest.fixture
def figure(unmask, tmp_path):
    code, out, _ = unmask("compile", FIGURE, "--to", "mdm", "--out", tmp_path / "figure")
    assert code == 0
    assert "N = 14, T = 3, P = 11" in out
    assert "steps write 6, 4, 1 symbols; operands 0..9, results -9..324" in out
    return tmp_path / "figure"


def test_the_figure_appears(unmask, figure):
    code, out, err = unmask("run", figure, "(2+3)*(4+1)-6")
    assert out.splitlines() == [
        "input  (2+3)*(4+1)-6=",
        "step  1 5*5-6=·····",
        "step  2 5*5-6=25-6=·",
        "step  3 5*5-6=25-6=19",
        "= 19 after 3 steps",
    ]
    assert (code, err) == (0, "")  # a value is an answer


def test_the_document(unmask, figure):
    code, out, _ = unmask("run", figure, "( 2 + 3 ) × ( 4 + 1 ) − 6 =", "--json")
    document = json.loads(out)
    assert code == 0
    assert document["accepted"] is None
    assert "".join(document["output"]) == "5*5-6=25-6=19"
    assert len(document["canvas"]) == document["steps"] == 3
    assert (document["length"], document["padding"]) == (14, 11)


def test_another_shape_is_rejected_and_another_length_refused(unmask, figure):
    code, out, _ = unmask("run", figure, "(2+3)*(4+1)+6", "--no-canvas")
    assert (code, out) == (1, "rejected after 3 steps\n")
    code, _, err = unmask("run", figure, "2+3")
    assert code == 2
    assert "reads expressions of 14 symbols, = among them, this one has 4" in err


def test_a_stream_of_expressions(unmask, figure, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("(2+3)*(4+1)-6\n(9+9)*(9+9)-0=\n(2+3)*(4+1)+6\n"))
    assert unmask("run", figure, "-")[:2] == (0, "= 19\n= 324\nrejected\n")
    monkeypatch.setattr(sys, "stdin", io.StringIO("(2+3)*(4+1)-6\n2/3\n"))
    code, out, _ = unmask("run", figure, "-")
    assert code == 2
    assert out.splitlines()[0] == "= 19"
    assert out.splitlines()[1].startswith("error: '/' at position 1")


def test_the_compact_layout_keeps_numbers_apart(unmask, tmp_path):
    unmask("compile", f"{FIGURE} compact", "--to", "smdm", "--out", tmp_path / "compact")
    _, out, _ = unmask("run", tmp_path / "compact", "(2+3)*(4+1)-6")
    assert out.splitlines()[1:] == ["step  1 5 5 ··", "step  2 5 5 25 ·", "step  3 5 5 25 19", "= 19 after 3 steps"]


def test_verify_and_compare(unmask, tmp_path):
    unmask("compile", "expr:a-b*c in 0..2", "--to", "topk", "--out", tmp_path / "small")
    code, out, _ = unmask("verify", tmp_path / "small", "--json")
    document = json.loads(out)
    assert (code, document["verdict"], document["method"]) == (0, "held", "exhaustive")
    assert document["cases"] == 27 + 49  # words of the language, and distinct words with one other symbol
    code, out, _ = unmask("verify", tmp_path / "small", "--against", "expr:a+b*c in 0..2")
    assert code == 1
    assert "counterexample '0+0*0=': gives 0, but the model rejected" in out
    code, _, err = unmask("verify", tmp_path / "small", "--against", "expr:a+b in 0..2")
    assert code == 2
    assert "compare with a problem of the same length" in err
    code, out, _ = unmask("compare", FIGURE, "--json")
    assert code == 0
    steps = {row["framework"]: row["steps"] for row in json.loads(out)}
    assert (steps["mdm"], steps["cot"]) == (3, 11)


@pytest.mark.parametrize("kind", KINDS)
def test_an_outside_reader_gets_the_same(kind, tmp_path):
    """The outside reader splits a word as the format page says: here every input symbol is a character."""
    model = compile_problem("expr:(a+b)*c in 0..2", kind)
    folder = save(model, tmp_path / "model")
    for word in ("(1+2)*2=", "(1+2)-2="):
        assert outside_reader.run(folder, word) == trace_result(run_word(model, word))


def test_a_result_that_leaves_its_range_is_refused(unmask, tmp_path):
    code, _, err = unmask("compile", f"{FIGURE} within -99..99", "--to", "mdm", "--out", tmp_path / "model")
    assert code == 2
    assert "the * at column 6 of the expression can give 324, outside of -99..99" in err
    assert not (tmp_path / "model").exists()


# The command line on programs whose answers are symbols: one word, many words, JSON, and after a conversion.


SHIFT = """from unmask.recurrences import N, Slots, System, indices, letter

(i,) = indices("i")
cell = Slots("cell", i.range(N), "xy")
cell.start(letter(i), lambda x: x)
cell.rule(cell[i - 1].or_else("y"), lambda x: x)
program = System("xy", cell, answer=cell, steps=2)
"""
ANSWER = "answer: y y x y"  # of xyxx: symbols that are shifted out on the right are lost


@pytest.fixture
def shift(unmask, tmp_path):
    """An mdm that moves its four letters by two."""
    file, folder = tmp_path / "shift.py", tmp_path / "shift"
    file.write_text(SHIFT)
    assert unmask("compile", f"program:{file}", "--length", 4, "--to", "mdm", "--out", folder)[0] == 0
    return folder


@pytest.fixture
def typed(monkeypatch):
    def type_in(text):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))

    return type_in


@pytest.mark.parametrize("kind", ["smdm", "topk", "pcot", "plt"])
def test_a_conversion_answers_as_the_program_does(unmask, shift, tmp_path, kind):
    assert unmask("convert", shift, "--to", kind, "--out", tmp_path / kind)[0] == 0
    _, out, _ = unmask("run", tmp_path / kind, "xyxx", "--no-canvas")
    assert out.startswith(f"{ANSWER} after")


@pytest.mark.parametrize("how", ["--tables", "--no-tables"])
def test_every_line_has_its_answer(unmask, typed, shift, how):
    typed("xyxx\nyyyy\n")
    code, out, _ = unmask("run", shift, "-", how)
    assert (code, out.splitlines()) == (0, [ANSWER, "answer: y y y y"])


@pytest.mark.parametrize("how", ["--tables", "--no-tables"])
def test_a_document_holds_the_symbols(unmask, typed, shift, how):
    alone = json.loads(unmask("run", shift, "xyxx", "--json")[1])
    typed("xyxx\n")
    among_many = json.loads(unmask("run", shift, "-", "--json", "--no-canvas", how)[1])
    assert alone["outputs"] == among_many["outputs"] == ["y", "y", "x", "y"]


def test_symbols_are_an_answer_and_anything_else_is_not(unmask, shift):
    """The folder lists the symbols of answers; a model that writes another symbol has not answered."""
    assert unmask("run", shift, "xyxx")[0] == 0
    config = json.loads((shift / "config.json").read_text())
    assert config["problem"]["symbols"] == ["x", "y"]
    config["problem"]["symbols"] = ["x"]
    (shift / "config.json").write_text(json.dumps(config))
    code, out, _ = unmask("run", shift, "xyxx", "--no-canvas")
    assert (code, out) == (2, "undecided: y y x y, and 'y' is not an answer of the program after 2 steps\n")
    del config["problem"]["symbols"]  # as in older folders
    (shift / "config.json").write_text(json.dumps(config))
    assert unmask("run", shift, "xyxx")[0] == 0
    config["problem"] = {}
    (shift / "config.json").write_text(json.dumps(config))
    assert unmask("run", shift, "xyxx")[0] == 2  # the folder does not say that these symbols are an answer


SHOWN = """from unmask.recurrences import N, Slots, System, indices, letter

(i,) = indices("i")
sum_ = Slots("sum", i.range(N), [0, 1, 2, 5], SHOW)
sum_.rule(letter(i + 1).or_else("5"), int)
program = System("0125", sum_, answer=sum_)
"""


@pytest.mark.parametrize(
    ("show", "answer"),
    [
        ("show=None", "=1 =5 =0 =5"),
        ("show=lambda value: f'v{value}'", "v1 v5 v0 v5"),
        ("show={0: 'none', 5: 'five'}", "=1 five none five"),
    ],
)
def test_a_group_says_how_its_values_are_shown(unmask, tmp_path, show, answer):
    file, folder = tmp_path / "digits.py", tmp_path / "digits"
    file.write_text(SHOWN.replace("SHOW", show))
    code, out, _ = unmask("compile", f"program:{file}", "--length", 4, "--to", "mdm", "--out", folder)
    assert code == 0
    assert "note: no slot reads letter 0 of 4, counted from 0" in out
    code, out, _ = unmask("run", folder, "2150", "--no-canvas")
    assert (code, out) == (0, f"answer: {answer} after 1 step\n")
    code, out, _ = unmask("verify", folder, "--against", f"program:{file}", "--method", "prove")
    assert (code, out[:21]) == (0, "proved for every word")


@pytest.mark.parametrize(
    ("show", "message"),
    [
        ("show={5: '5'}", "sum shows 5 as '5', which is a letter or another symbol"),
        ("show={7: 'x'}", "show of sum names 7, which is not among its values"),
        ("show=lambda value: 'x'", "show of sum gives the same symbol for two values"),
        ("show={5: 'a b'}", "show of sum gives 'a b' for 5; a symbol is a string without blanks"),
        ("show=3", "show of sum must be a function of a value, such as str, or a dictionary"),
    ],
)
def test_names_that_cannot_be_shown(unmask, tmp_path, show, message):
    file = tmp_path / "digits.py"
    file.write_text(SHOWN.replace("SHOW", show))
    code, _, err = unmask("compile", f"program:{file}", "--length", 4, "--to", "mdm", "--out", tmp_path / "out")
    assert code == 2
    assert message in err


def test_what_is_masked_is_no_answer(shift):
    model = load(shift)
    assert answer_of(model, [model.mask, "x", "x", "y"]) == (f"answer: {model.mask} x x y", False)
    assert outputs_of(model, [model.mask, "x", model.accept, model.reject]) == [None, "x", 1, 0]


def test_what_a_program_prints_stays_out_of_a_document(unmask, tmp_path):
    file, folder = tmp_path / "loud.py", tmp_path / "loud"
    file.write_text("print('loaded')\n" + SHIFT.replace("lambda x: x)", "lambda x: print('asked', x) or x)"))
    compiled = unmask("compile", f"program:{file}", "--length", 4, "--to", "mdm", "--out", folder, "--json")
    verified = unmask("verify", folder, "--against", f"program:{file}", "--method", "prove", "--json")
    compared = unmask("compare", f"program:{file}", "--lengths", "3", "--json")
    proved = unmask("prove", f"program:{file}", "--to", "mdm", "--every-length", "--json")
    assert "loaded" in compiled[2]
    for _, out, _ in (compiled, verified, compared, proved):
        json.loads(out)
    _, out, _ = unmask("compile", f"program:{file}", "--length", 5, "--to", "mdm", "--out", folder)
    assert out.count("asked x") == 2  # once for the start and once for the rule
