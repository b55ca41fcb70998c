"""Expressions from the command line: the figure appears, exit codes follow the page, errors are sentences."""

import io
import json
import sys

import pytest

import outside_reader
from unmask.pipeline import compile_problem, result, run_word, save_model
from unmask.weights.model import KINDS

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
    """It splits a word as the format page says: here every input symbol is a character."""
    model = compile_problem("expr:(a+b)*c in 0..2", kind)
    folder = save_model(model, tmp_path / "model")
    for word in ("(1+2)*2=", "(1+2)-2="):
        assert outside_reader.run(folder, word) == result(run_word(model, word))


def test_a_result_that_leaves_its_range_is_refused(unmask, tmp_path):
    code, _, err = unmask("compile", f"{FIGURE} within -99..99", "--to", "mdm", "--out", tmp_path / "model")
    assert code == 2
    assert "the * at column 6 of the expression can give 324, outside of -99..99" in err
    assert not (tmp_path / "model").exists()
