"""No command prints control characters that come from a file or an argument.

Every command gets symbols, names of folders and files, patterns, types and options that contain escape sequences,
marks that change the direction of writing, and bytes that are not characters.
"""

import ast
import json
import re
import struct
from pathlib import Path

import numpy as np
import pytest

import folder_by_hand
from cli.test_shell import in_terminal
from unmask import errors
from unmask.checker.__main__ import main as check_certificate
from unmask.cli.commands import COMMANDS

EVIL = "\x1b[2J\x07\x9b31m\u202e\u2066\x7f\udcff\r\u2028"
PATH = EVIL + "\n\t"
SYMBOLS = [EVIL + name for name in ("a", "b", "p", "0", "1")]
STYLE = re.compile(r"\x1b\[[0-9;]*m|\x1b\[\?25[hl]|\x1b\[\d*[AK]|\r")
"""Colours, bold and reverse; a cursor that is hidden or shown; a bar that is overwritten."""
SOURCE = Path(errors.__file__).parent
LAW = {
    "kind": "ngram",
    "order": 1,
    "alphabet": ["\x1b[2Ja", "\u202eb"],
    "contexts": {"": {"\x1b[2Ja": 0.5, "\u202eb": 0.5}},
}
AUTOMATON = {
    "alphabet": ["\x1b[2Ja", "\u202eb"],
    "states": ["\x9bq", "q"],
    "start": "q",
    "accepting": ["\x9bq"],
    "transitions": {"q": {"\x1b[2Ja": "\x9bq"}},
}
CIRCUIT = f"aag 3 2 0 1 1\n2\n4\n6\n6 2 4\ni0 {EVIL}\no0 {EVIL}\n".replace("\u2028", "").replace("\r", "")


def evil_config(**changes):
    names = dict(zip(folder_by_hand.VOCABULARY, SYMBOLS, strict=True))
    config = folder_by_hand.config() | {
        "vocabulary": SYMBOLS,
        "input_symbols": SYMBOLS[:2],
        "pad": names["□"],
        "accept": names["1"],
        "reject": names["0"],
        "problem": {"kind": "circuit", "name": EVIL, "aiger": CIRCUIT.replace("\udcff", "")},
        "provenance": [{"compiled": EVIL, "layout": EVIL}, EVIL],
        "registers": {"model": {EVIL: [EVIL, "x", "y", "z"]}},
    }
    return config | changes


@pytest.fixture(scope="module")
def evil(tmp_path_factory):
    """A folder with a hostile name that contains hostile folders and files."""
    folder = tmp_path_factory.mktemp("evil") / PATH
    folder_by_hand.write(folder / "m", config=evil_config)
    folder_by_hand.write(folder / "empty", config=lambda: evil_config(length=0, padding=3, input_symbols=[]))
    folder_by_hand.write(
        folder / "named", config=lambda: folder_by_hand.config() | {"problem": evil_config()["problem"]}
    )
    (folder / "law.json").write_text(json.dumps(LAW))
    (folder / "dfa.json").write_text(json.dumps(AUTOMATON))
    (folder / "c.aag").write_bytes(CIRCUIT.encode("utf-8", "surrogateescape"))
    (folder / "c.blif").write_bytes(f".model {EVIL}\n.{EVIL}\n".encode("utf-8", "surrogateescape"))
    return folder


WORD = f"{SYMBOLS[0]} {SYMBOLS[1]}".replace("\u2028", "").replace("\r", "")
"""No blanks in it but the one; it is not a word of the model, which says so."""


def attempts(evil):
    """Command lines by command; their output is checked, whether they succeed or fail."""
    m, out = evil / "m", evil / "out"
    return {
        "compile": [
            [REGEX, "--length", "2", "--to", "mdm", "--out", out],
            [f"({EVIL}", "--length", "2", "--to", "mdm", "--out", out],
            [f"dfa:{evil / 'dfa.json'}", "--length", "2", "--to", "mdm", "--out", out],
            [f"dfa:{evil / 'missing'}", "--length", "2", "--to", "mdm", "--out", out],
            [f"aiger:{evil / 'c.aag'}", "--to", "mdm", "--out", out],
            [f"aiger:{evil / 'c.blif'}", "--to", "mdm", "--out", out],
            [f"blif:{evil / 'c.blif'}", "--to", "mdm", "--out", out],
            [f"group:{EVIL}", "--length", "2", "--to", "mdm", "--out", out],
            [f"family:{EVIL}", "--length", "2", "--to", "mdm", "--out", out],
            [f"expr:{EVIL}", "--to", "mdm", "--out", out],
            [f"random:{EVIL}", "--length", "2", "--to", "mdm", "--out", out],
            ["a", "--length", "2", "--to", EVIL, "--out", out],
            ["a", "--length", EVIL, "--to", "mdm", "--out", out],
        ],
        "run": [
            [m, WORD],
            [m, EVIL],
            [m, "--", WORD],
            [evil / "named", "ab"],
            [evil / "named", "ab", "--planner", EVIL],
            [evil / "named", "ab", "--engine", EVIL],
            [evil / "named", "ab", "--trace", evil],
            [evil / "missing", "ab"],
            [evil / "m", WORD, "--sample", "--seed", EVIL],
        ],
        "convert": [
            [m, "--to", "mdm", "--out", evil / "converted"],
            [m, "--to", "mdm", "--by", EVIL, "--out", out],
            [m, "--to", "mdm", "--out", m],
        ],
        "compare": [[EVIL, "--lengths", "2"], ["a", "--lengths", EVIL], [f"dfa:{evil / 'dfa.json'}", "--lengths", "2"]],
        "verify": [
            [m],
            [m, "--against", EVIL],
            [m, "--against", m],
            [m, "--against", f"dfa:{evil / 'dfa.json'}"],
            [evil / "named"],
            [m, "--method", EVIL],
            [m, "--method", "prove", "--against", f"dfa:{evil / 'dfa.json'}"],
            [m, "--method", "prove", "--certificate", evil / "no" / "x", "--against", EVIL],
        ],
        "export": [
            [m, "--to", "torch", "--exact", "--out", evil / "exported"],
            [m, "--to", "torch", "--out", evil / "exported"],
            [m, "--to", EVIL, "--out", out],
        ],
        "prove": [
            [EVIL, "--to", "mdm", "--every-length"],
            ["ab", "--to", EVIL, "--every-length"],
            [f"dfa:{evil / 'dfa.json'}", "--to", "cot", "--every-length"],
        ],
        "extract": [[m, "--out", evil / "m.aag"], [m, "--out", evil], [m, "--outputs", "9", "--out", out]],
        "view": [
            [m, WORD, "--text"],
            [evil / "named", "ab", "--text", "--out", evil / "page.html"],
            [m, WORD, "--svg", evil],
            [m, WORD, "--text", "--compare", EVIL],
        ],
        "serve": [["--port", EVIL]],
        "paper": [[EVIL]],
        "sample": [[evil / "empty"], [m], [evil / "empty", "--seed", EVIL]],
        "samplers": [
            [f"law:{evil / 'law.json'}", "--length", "2", "--runs", "4", "--budget", "2"],
            [f"law:{evil / 'dfa.json'}", "--length", "2"],
            [EVIL, "--length", "2", "--words", "1", "--budget", "2", "--sampler", "llada"],
            ["a", "--length", "2", "--sampler", EVIL],
            ["a", "--length", "2", "--budget", EVIL],
            ["a", "--length", "2", "--out", evil],
        ],
        "schedule": [
            [f"law:{evil / 'law.json'}", "--length", "2", "--passes", "2"],
            [f"law:{evil / 'dfa.json'}", "--length", "2", "--passes", "1"],
            [EVIL, "--length", "2", "--passes", "1"],
            [f"law:{evil / 'law.json'}", "--length", "2", "--passes", EVIL],
            [f"law:{evil / 'law.json'}", "--length", "2", "--passes", "1", "--out", evil],
        ],
        "doctor": [[f"--{EVIL}"], [EVIL]],
    }


def assert_plain(text):
    for line in text.split("\n"):
        assert line.isprintable() or line.replace("\t", "").isprintable(), ascii(line)


def test_every_command_is_tried(evil):
    assert set(attempts(evil)) == set(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_nothing_hostile_reaches_a_terminal(name, evil, unmask):
    for i, arguments in enumerate(attempts(evil)[name]):
        for json_too in ([], ["--json"]) if i < 2 else ([],):
            _, out, err = unmask(name, *arguments, *json_too)
            assert_plain(out)
            assert_plain(err)
            assert "should not happen" not in err
            if json_too and out and name not in ("view", "serve"):
                assert out.isascii()
                json.loads(out)


def test_a_name_of_a_command(unmask):
    for arguments in ([EVIL], ["--" + EVIL], ["run", "--" + EVIL]):
        code, out, err = unmask(*arguments)
        assert code == 2
        assert_plain(out)
        assert_plain(err)


def test_lines_of_standard_input(evil, unmask, monkeypatch):
    import io
    import sys

    words = f"{WORD}\n{EVIL}\n".encode("utf-8", "surrogateescape")
    for arguments in ([evil / "m", "-"], [evil / "m", "-", "--json"]):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(words)))
        _, out, err = unmask("run", *arguments)
        assert_plain(out)
        assert_plain(err)


REGEX = "(\x1b|\u202e|\x7f|\udcff|\x9b|a)*"
WORDS = ("\x1b\x7f\u202e", "\udcffaa", "\u2066aa")


def test_a_pattern_of_controls(tmp_path, unmask):
    """A hostile program is compiled; its model is run, shown, refuted with a counterexample, compared and sampled."""
    model = tmp_path / "m"
    lines = [
        ["compile", REGEX, "--length", "3", "--to", "mdm", "--out", model],
        *(["run", model, word] for word in WORDS),
        *(["run", model, word, "--json"] for word in WORDS),
        *(["view", model, word, "--text", "--out", tmp_path / "page.html"] for word in WORDS),
        ["verify", model],
        ["verify", model, "--against", "\x9b*"],
        ["verify", model, "--against", "\x9b*", "--json"],
        ["verify", model, "--against", "\x9b*", "--method", "prove"],
        ["compare", REGEX, "--lengths", "2"],
        ["samplers", REGEX, "--length", "2", "--words", "2", "--budget", "2", "--sampler", "llada"],
    ]
    codes = []
    for line in lines:
        code, out, err = unmask(*line)
        assert_plain(out)
        assert_plain(err)
        codes.append(code)
    assert codes == [0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 1, 1, 1, 0, 0]


def test_a_terminal_is_sent_the_escapes_of_rich_alone(evil):
    for arguments in (["run", evil / "m", WORD], ["sample", evil / "empty"]):
        _, sent = in_terminal(*arguments)
        assert_plain(STYLE.sub("", sent))


@pytest.mark.parametrize("engine", ["fast", "both"])
def test_a_run_shows_its_symbols(engine, tmp_path, unmask):
    """Symbols without blanks are read, and are on the canvas and in the verdict."""
    names = [f"\x1b[2J\u202e{name}" for name in folder_by_hand.VOCABULARY]
    config = evil_config(vocabulary=names, input_symbols=names[:2], pad=names[2], reject=names[3], accept=names[4])
    folder = folder_by_hand.write(tmp_path / "m", config=lambda: config)
    code, out, _ = unmask("run", folder, f"{names[0]} {names[1]}", "--engine", engine)
    assert code == 1
    assert_plain(out)
    assert r"\u{1b}[2J\u{202e}a" in out


def typed(dtype):
    text = json.dumps({"embed": {"dtype": dtype, "shape": [0], "data_offsets": [0, 0]}}).encode()
    return struct.pack("<Q", len(text)) + text


@pytest.mark.parametrize(
    "tensors",
    [
        lambda: typed(EVIL),
        lambda: typed("F32"),
        lambda: folder_by_hand.tensors() | {"\x1b[2J": np.zeros(1, np.int8)},
        lambda: folder_by_hand.tensors() | {"layers.\x1b[2J.x": np.zeros(1, np.int8)},
    ],
    ids=["type", "float", "tensor", "layer"],
)
def test_types_and_names_of_tensors(tensors, tmp_path, unmask):
    folder = folder_by_hand.write(tmp_path / "m", tensors=tensors)
    code, out, err = unmask("run", folder, "ab")
    assert code == 2
    assert_plain(out + err)


def test_the_checker_of_certificates(tmp_path, capsys):
    """Names of files, an error inside a certificate, and words of an automaton."""
    folder, path = folder_by_hand.write(tmp_path / "m"), tmp_path / "\x1b[2J.json"
    for content, code in ((None, 2), ("{}", 1), ('{"format": "\x1b[2J"}', 1), ('{"format": "\\u001b[2J"}', 1)):
        if content is not None:
            path.write_text(content)
        assert check_certificate([str(folder), str(path)]) == code
        output = capsys.readouterr()
        assert_plain(output.out + output.err)
    assert check_certificate([str(tmp_path / "\x1b[2J"), str(path)]) == 2
    output = capsys.readouterr()
    assert r"\u{1b}[2J" in output.err
    assert_plain(output.out + output.err)


def test_a_document_is_ascii(tmp_path, unmask):
    folder = folder_by_hand.write(tmp_path / "m\x7f\u202e", config=evil_config)
    code, out, _ = unmask("convert", folder, "--to", "mdm", "--out", tmp_path / "\x7f", "--json")
    assert code == 0
    assert out.isascii()
    assert "\x7f" not in out
    assert json.loads(out)["folder"] == str(tmp_path / "\x7f")


def test_all_that_is_printed_passes_the_border():
    """Commands print only through `terminal.py`."""
    for path in set((SOURCE / "cli").glob("*.py")) - {SOURCE / "cli/terminal.py"}:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            called = node.func if isinstance(node, ast.Call) else None
            assert not (isinstance(called, ast.Name) and called.id == "print"), f"{path.name}:{node.lineno}"
            assert not (isinstance(called, ast.Attribute) and called.attr == "echo"), f"{path.name}:{node.lineno}"


@pytest.mark.parametrize(
    "code", [*range(0x20), 0x7F, *range(0x80, 0xA0), 0x61C, 0x200E, 0x202E, 0x2069, 0xD800, 0xFEFF]
)
def test_what_is_escaped(code):
    assert errors.visible(f"a{chr(code)}b") == f"a\\u{{{code:x}}}b"


def test_what_stays():
    for text in ("", "plain [text] \\u{1b}", "¬□αé中🙂", errors.visible(PATH)):
        assert errors.visible(text) == text
    assert re.fullmatch(r"[ -~]*", errors.visible(EVIL))


def test_only_our_own_text_starts_new_lines(capsys):
    """Newlines of the program are layout; a newline or a tag in text from outside is shown."""
    from unmask.cli.terminal import console, literal

    console().print(f"first\n[bold]{literal(chr(10) + '[red]x')}[/bold]\x1b[2J\x07")
    assert capsys.readouterr().out == "first\n\\u{a}[red]x\\u{1b}[2J\\u{7}\n"


def test_a_name_with_a_newline_stays_in_one_line(evil, unmask):
    for line in (
        ["convert", evil / "m", "--to", "mdm", "--out", evil / "converted"],
        ["compile", "a", "--length", "2", "--to", "mdm", "--out", evil / "compiled"],
        ["export", evil / "compiled", "--to", "torch", "--exact", "--out", evil / "of torch"],
        ["extract", evil / "compiled", "--out", evil / "m.aag"],
        ["view", evil / "compiled", "aa", "--out", evil / "page.html", "--compare", "none"],
        ["samplers", "a*b", "--length", "2", "--words", "2", "--budget", "2", "--out", evil / "page.html"],
    ):
        _, out, err = unmask(*line)
        escaped_lines = [printed for printed in (out + err).split("\n") if "u{1b}" in printed or "u{a}" in printed]
        assert all(r"\u{a}\u{9}" in printed for printed in escaped_lines), escaped_lines
        assert line[0] == "convert" or escaped_lines
