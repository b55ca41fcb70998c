"""`unmask view`: its output and its error messages."""

import pytest

from unmask.api import compile_problem, save_model
from unmask.viewer.model_view import default_comparison

WORD = "aabb"


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    root = tmp_path_factory.mktemp("folders")
    for name, problem in (("abb", "(a|b)*abb"), ("random", "random:1")):
        save_model(compile_problem(problem, "mdm", length=4), root / name)
    return root


def test_a_page_with_the_chain_beside_it(unmask, folders, tmp_path):
    code, out, err = unmask("view", folders / "abb", WORD, "--out", tmp_path / "trace.html")
    assert (code, err) == (0, "")
    assert out == f"{tmp_path / 'trace.html'}: mdm 2 steps, cot 4 steps\n"
    page = (tmp_path / "trace.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert page.count('"kind":') == 2
    assert list(tmp_path.iterdir()) == [tmp_path / "trace.html"]


@pytest.mark.parametrize(
    ("options", "kinds"),
    [
        (["--compare", "none"], ["mdm"]),
        (["--compare", "plt,cot"], ["mdm", "plt", "cot"]),
        (["--compare", "cot, plt,cot"], ["mdm", "cot", "plt"]),
        (["--planner", "left-to-right:1", "--compare", "none"], ["mdm"]),
        (["--sample", "--seed", "3", "--compare", "none"], ["mdm"]),
        (["--engine", "reference", "--compare", "none"], ["mdm"]),
    ],
)
def test_options(unmask, folders, tmp_path, options, kinds):
    code, out, _ = unmask("view", folders / "abb", WORD, "--svg", tmp_path / "run.svg", "--text", *options)
    assert code == 0
    runs = out.splitlines()[-1].split(": ")[1].split(", ")
    assert [run.split()[0] for run in runs] == kinds
    assert "step 1   a   a   b   b  |" in out
    assert (tmp_path / "run.svg").read_text(encoding="utf-8").startswith("<svg ")


def test_the_default_comparison():
    compiled = {kind: compile_problem("(a|b)*abb", kind, length=4) for kind in ("mdm", "cot")}
    assert default_comparison(compiled["mdm"]) == ("cot",)
    assert default_comparison(compiled["cot"]) == ("mdm",)
    assert default_comparison(compile_problem("random:1", "mdm", length=4)) == ()


def test_a_model_without_a_problem_is_shown_alone_or_converted(unmask, folders, tmp_path):
    code, out, err = unmask("view", folders / "random", WORD, "--out", tmp_path / "alone.html")
    assert (code, err) == (0, "")
    assert "cot" not in out
    code, out, err = unmask("view", folders / "random", WORD, "--out", tmp_path / "both.html", "--compare", "plt")
    assert code == 0
    assert "plt" in out
    assert "names no problem, so other frameworks come from conversions" in err
    assert "names no problem" in (tmp_path / "both.html").read_text(encoding="utf-8")


ODD = """from unmask.recurrences import BOOLEAN, N, Slots, System, indices, letter

(i,) = indices("i")
odd = Slots("odd", i.range(N), BOOLEAN)
odd.rule((odd[i - 1].or_else(False), letter(i)), lambda before, x: before != (x == "b"))
program = System("ab", odd, answer=odd[N - 1])
"""


def test_a_conversion_is_called_one_and_a_program_is_compiled(unmask, tmp_path):
    """A folder does not contain its program: without the file, the chain of thought is converted, and larger."""
    file, folder = tmp_path / "odd.py", tmp_path / "odd"
    file.write_text(ODD)
    assert unmask("compile", f"program:{file}", "--length", 3, "--to", "mdm", "--out", folder)[0] == 0
    converted = unmask("view", folder, "aba", "--text")[1]
    assert "chain of thought, converted by mdm_to_pcot, pcot_to_cot" in converted
    assert unmask("view", folder, "aba", "--out", tmp_path / "run.html")[1].endswith(" steps (converted)\n")
    code, compiled, err = unmask("view", folder, "aba", "--text", "--program", file)
    assert (code, err) == (0, "")
    assert "chain of thought" in compiled
    assert "converted" not in compiled
    assert len(compiled) < len(converted) / 4
    file.write_text(ODD + "# changed")
    code, _, err = unmask("view", folder, "aba", "--text", "--program", file)
    assert (code, "is not the program that this model was compiled from" in err) == (2, True)


def test_kinds_that_cannot_be_compared_are_left_out_and_listed(unmask, folders, tmp_path, monkeypatch):
    from unmask.errors import TooLarge
    from unmask.viewer import model_view

    def refuse(*_):
        raise TooLarge("it would be too large")

    monkeypatch.setattr(model_view, "_as_kind", refuse)
    code, out, err = unmask("view", folders / "abb", WORD, "--out", tmp_path / "a.html", "--compare", "pcot")
    assert code == 0
    assert "pcot" not in out
    assert err == "No pcot is shown for comparison: it would be too large.\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([WORD], "there is nothing to write; give --out FILE.html, --svg FILE.svg or --text"),
        (["aab", "--text"], "the model reads words of length 4, this one has length 3"),
        ([WORD, "--out", "{here}"], "is a folder; name a file in it"),
        ([WORD, "--out", "{here}/missing/trace.html"], "does not exist; create it"),
        ([WORD, "--svg", "{here}/missing/x.svg"], "does not exist; create it"),
        ([WORD, "--svg", f"{__file__}/x.svg"], "test_view_command.py is not a folder; write x.svg to another folder"),
        (
            [WORD, "--text", "--compare", "rnn"],
            "is not a framework; give some of mdm, smdm, topk, plt, cot, pcot, or none",
        ),
        ([WORD, "--text", "--planner", "best"], "planner"),
        ([WORD, "--text", "--seed", "-1", "--sample"], "seed"),
    ],
)
def test_an_error_is_one_message_and_leaves_no_file(unmask, folders, tmp_path, arguments, message):
    code, out, err = unmask("view", folders / "abb", *(argument.format(here=tmp_path) for argument in arguments))
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_page_is_written_whole_or_not_at_all(unmask, folders, tmp_path, monkeypatch):
    from unmask.viewer import html_page

    page = tmp_path / "trace.html"
    page.write_text("before")
    monkeypatch.setattr(html_page, "safe_json", lambda _: (_ for _ in ()).throw(KeyboardInterrupt))
    code, _, _ = unmask("view", folders / "abb", WORD, "--out", page)
    assert code != 0
    assert page.read_text() == "before"
    assert list(tmp_path.iterdir()) == [page]
