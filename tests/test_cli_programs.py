"""The command line on programs whose answers are symbols: one word, many words, JSON, and after a conversion."""

import io
import json

import pytest

from unmask.console import said_of
from unmask.pipeline import load_model, outputs_of

SHIFT = """from unmask.recurrences import N, Slots, System, indices, letter

(i,) = indices("i")
cell = Slots("cell", i.range(N), "xy")
cell.start(letter(i), lambda x: x)
cell.rule(cell[i - 1].or_else("y"), lambda x: x)
program = System("xy", cell, answer=cell, steps=2)
"""
ANSWER = "answer: y y x y"  # of xyxx: what leaves on the right is gone


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
    """The folder says which symbols an answer may be; a model that writes another one has not answered."""
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
    assert unmask("run", shift, "xyxx")[0] == 2  # nothing says that these symbols are an answer


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
    ("show", "sentence"),
    [
        ("show={5: '5'}", "sum shows 5 as '5', which is a letter or another symbol"),
        ("show={7: 'x'}", "show of sum names 7, which is not among its values"),
        ("show=lambda value: 'x'", "show of sum gives the same symbol for two values"),
        ("show={5: 'a b'}", "show of sum gives 'a b' for 5; a symbol is a string without blanks"),
        ("show=3", "show of sum must be a function of a value, such as str, or a dictionary"),
    ],
)
def test_names_that_cannot_be_shown(unmask, tmp_path, show, sentence):
    file = tmp_path / "digits.py"
    file.write_text(SHOWN.replace("SHOW", show))
    code, _, err = unmask("compile", f"program:{file}", "--length", 4, "--to", "mdm", "--out", tmp_path / "out")
    assert code == 2
    assert sentence in err


def test_what_is_masked_is_no_answer(shift):
    model = load_model(shift)
    assert said_of(model, [model.mask, "x", "x", "y"]) == (f"answer: {model.mask} x x y", False)
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
    assert out.count("asked x") == 2  # by the start and by the rule, each tabulated once
