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
    assert out.startswith("answer: y after" if kind == "plt" else f"{ANSWER} after")


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
