"""The command line: exit codes, JSON documents and error messages, if necessary in a fresh process."""

import json
import os
import re
import shlex
import subprocess
import sys

import pytest

import by_hand
import folder_by_hand
from unmask.api import compile_problem
from unmask.testing import random_model
from unmask.traces.trace import Trace
from unmask.weights.storage import load, save


@pytest.fixture
def process(tmp_path):
    """Run the command in a fresh process."""

    def call(*arguments, text=b""):
        completed = subprocess.run(
            [sys.executable, "-m", "unmask", *map(str, arguments)],
            input=text,
            capture_output=True,
            cwd=tmp_path,
            check=False,
            timeout=60,
        )
        assert b"Traceback" not in completed.stdout + completed.stderr
        return completed.returncode, completed.stdout.decode(), completed.stderr.decode()

    return call


def refused(outcome, message):
    """Check for exit code 2, one error message on standard error, and nothing on standard output."""
    code, out, err = outcome
    assert code == 2
    assert out == ""
    assert err.startswith("unmask: ")
    assert err.count("\n") == 1
    assert message in err


@pytest.fixture
def hand(tmp_path):
    """Return a model folder that accepts bb and rejects every other word of two letters."""
    return folder_by_hand.write(tmp_path / "hand")


def undecided(path):
    model = by_hand.model("cot", {"model": by_hand.successor({}, 2, attention="causal")})
    return save(model, path / "undecided")


# ------------------------------------------------------------------------------------------------- run


def test_a_folder_written_by_hand_runs(process, hand):
    """A folder that is written only with json and safetensors."""
    code, out, err = process("run", hand, "bb")
    assert (code, err) == (0, "")
    assert "accepted" in out
    assert process("run", hand, "ab")[0] == 1


def test_exit_codes_follow_grep(unmask, hand, tmp_path):
    assert unmask("run", hand, "bb")[0] == 0
    assert unmask("run", hand, "ba")[0] == 1
    code, out, _ = unmask("run", undecided(tmp_path), "a")
    assert code == 2
    assert "undecided: the last symbol is 'a', neither '1' nor '0'" in out


def test_an_alias_of_an_answer_is_explained(unmask, hand):
    config = json.loads((hand / "config.json").read_text(encoding="utf-8"))
    for meant, code, answer in (("0", 1, "rejected"), ("a", 2, "the last symbol is '1', which means 'a', neither")):
        (hand / "config.json").write_text(json.dumps({**config, "aliases": {"1": meant}}), encoding="utf-8")
        exit_code, out, _ = unmask("run", hand, "bb")
        assert exit_code == code
        assert answer in out


def test_json_is_one_document_and_nothing_else(process, hand, tmp_path):
    code, out, err = process("run", hand, "bb", "--json")
    assert (code, err) == (0, "")
    document = json.loads(out)
    assert document.pop("seconds") >= 0
    assert document == {
        "accepted": True,
        "steps": 3,
        "length": 2,
        "padding": 1,
        "output": ["1"],
        "canvas": [["1"]],
    }
    code, out, err = process("run", undecided(tmp_path), "a", "--json")
    assert code == 2
    assert json.loads(out)["accepted"] is None
    assert json.loads(out)["output"] == ["a"]


def test_json_errors_are_documents_too(unmask, hand):
    code, out, err = unmask("run", hand, "bbb", "--json")
    assert code == 2
    assert "length 2, this one has length 3" in json.loads(out)["error"]
    assert err.startswith("unmask: ")


def test_the_canvas_step_by_step(unmask, tmp_path):
    planner, predictor = by_hand.chooses({0, 2}, 3), by_hand.successor({2: 0, 0: 4}, 3)
    model = by_hand.model("mdm", {"planner": planner, "predictor": predictor}, padding=2, steps=2)
    folder = save(model, tmp_path / "m")
    code, out, _ = unmask("run", folder, "b")
    assert code == 0
    assert [line.split() for line in out.splitlines()[:3]] == [["input", "b"], ["step", "1", "aa"], ["step", "2", "11"]]
    assert unmask("run", folder, "b", "--no-canvas")[1].splitlines() == ["accepted after 2 steps"]
    document = json.loads(unmask("run", folder, "b", "--no-canvas", "--json")[1])
    assert "canvas" not in document
    assert document["output"] == ["1", "1"]
    assert document["steps"] == 2


def test_symbols_are_not_taken_for_markup(unmask, tmp_path):
    """[/b] would close a tag that is not open."""
    vocabulary = ("[", "/", "b", "]", "1", "0", "m")
    logits = [[0] * 7, *([4 if s == symbol else 0 for s in range(7)] for symbol in (0, 1, 2, 3))]
    model = by_hand.model(
        "topk",
        {"model": by_hand.positional(logits)},
        vocabulary=vocabulary,
        input_symbols=("[", "/", "b", "]"),
        padding=4,
    )
    _, out, _ = unmask("run", save(model, tmp_path / "m"), "[")
    assert "[/b]" in out


def test_a_symbol_that_cannot_be_printed_does_not_stop_the_run(process, tmp_path):
    model = by_hand.model(
        "cot",
        {"model": by_hand.successor({0: 1}, 2, attention="causal")},
        vocabulary=("a", "\ud800", "m", "0", "1"),
        input_symbols=("a",),
    )
    code, out, err = process("run", save(model, tmp_path / "m"), "a")
    assert (code, err) == (2, "")
    assert "undecided" in out


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("b", "the model reads words of length 2, this one has length 1; use another word or compile with --length 1"),
        ("bbb", "has length 3"),
        ("", "has length 0"),
        ("bc", "'c' at position 1 of the word is not an input symbol; use a b"),
        ("b□", "'□' at position 1"),
        ("b\n", "at position 1"),
    ],
)
def test_words_that_cannot_be_read(unmask, hand, word, message):
    refused(unmask("run", hand, word), message)


def test_planners(unmask, tmp_path, hand):
    folder = save(random_model(1, "mdm", 2, padding=3), tmp_path / "m")
    first, second = (unmask("run", folder, "ab", "--planner", "uniform:1", "--seed", 3, "--json") for _ in range(2))
    canvases = [json.loads(out)["canvas"] for _, out, _ in (first, second)]
    assert canvases[0] == canvases[1]
    assert [sum(s != "m" for s in canvas) for canvas in canvases[0]] == [1, 2, 3]
    refused(unmask("run", folder, "ab", "--planner", "oracle"), "unknown planner 'oracle'; use uniform:K")
    refused(unmask("run", folder, "ab", "--planner", "uniform:none"), "needs a positive integer")
    refused(unmask("run", hand, "ab", "--planner", "uniform:1"), "a plt has no planner that could be replaced")


def test_sampling(unmask, tmp_path):
    folder = save(random_model(0, "cot", 2, precision=1), tmp_path / "m")
    runs = [unmask("run", folder, "ab", "--sample", "--seed", s, "--json") for s in range(6)]
    samples = [json.loads(out).get("output") for _, out, _ in runs]
    assert samples == [
        json.loads(unmask("run", folder, "ab", "--sample", "--seed", s, "--json")[1]).get("output") for s in range(6)
    ]
    assert len({json.dumps(d) for d in samples}) > 1
    for seed in (-1, 2**64):
        refused(unmask("run", folder, "ab", "--sample", "--seed", seed), "a seed is an integer from 0 to 2^64 - 1")


# ---------------------------------------------------------------------------------------------- traces


def test_a_trace_file(unmask, hand, tmp_path):
    file = tmp_path / "trace.json"
    for _ in range(2):  # an earlier trace is replaced
        assert unmask("run", hand, "bb", "--trace", file)[0] == 0
    trace = Trace.from_json(json.loads(file.read_text()))
    assert trace.accepted
    assert "steps.2.model.layers.0.heads.0.weights" in trace.activations
    assert sorted(p.name for p in tmp_path.iterdir()) == ["hand", "trace.json"]


@pytest.mark.parametrize("file", ["", ".", "x" * 400, "missing/trace.json", "hand"])
def test_a_trace_that_cannot_be_written(unmask, hand, tmp_path, monkeypatch, file):
    monkeypatch.chdir(tmp_path)
    reason = {"x" * 400: "cannot be written", "missing/trace.json": "does not exist"}
    refused(unmask("run", hand, "bb", "--trace", file), reason.get(file, "is a folder"))
    assert [p.name for p in tmp_path.iterdir()] == ["hand"]


def test_a_trace_into_a_pipe_is_written_there(unmask, hand, tmp_path):
    """A device is written in place: moving a file there would replace it."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert unmask("run", hand, "bb", "--trace", pipe)[0] == 0
        assert json.loads(os.read(reader, 1 << 20))["kind"] == "plt"
    finally:
        os.close(reader)
    assert pipe.is_fifo()


# --------------------------------------------------------------------------------------- standard input


def test_words_from_standard_input(process, hand):
    code, out, err = process("run", hand, "-", text=b"bb\nab\nbb")
    assert (code, out, err) == (0, "accepted\nrejected\naccepted\n", "")
    assert process("run", hand, "-", text=b"") == (0, "", "")


def test_bad_lines_keep_their_place(process, hand):
    lines = "bb\nb\n\nab \nbb\r\nb\u2028\nab\n".encode() + b"\xff\xfe\n"
    code, out, _ = process("run", hand, "-", "--json", text=lines)
    documents = [json.loads(line) for line in out.splitlines()]
    assert code == 2
    assert [d.get("accepted", "error") for d in documents] == [
        True,
        "error",
        "error",
        "error",
        "error",
        "error",
        False,
        "error",
    ]
    assert "has length 1" in documents[1]["error"]
    assert "has length 0" in documents[2]["error"]
    assert "' ' at position 2" in documents[3]["error"]
    assert "'\\r' at position 2" in documents[4]["error"]


def test_one_line_per_line_without_json(process, hand):
    code, out, _ = process("run", hand, "-", text=b"bb\nxx\nab\n")
    assert code == 2
    assert [line.split(":")[0] for line in out.splitlines()] == ["accepted", "error", "rejected"]


def test_standard_input_and_a_trace_do_not_go_together(unmask, hand, tmp_path):
    refused(unmask("run", hand, "-", "--trace", tmp_path / "t"), "--trace records the run of one word")


# ------------------------------------------------------------------------------------- compile, sample


@pytest.mark.parametrize("kind", ["mdm", "smdm", "topk", "plt", "cot", "pcot"])
def test_compile_random_models(unmask, tmp_path, kind):
    code, out, err = unmask("compile", "random:5", "--length", 3, "--to", kind, "--out", tmp_path / kind, "--json")
    assert (code, err) == (0, "")
    facts = json.loads(out)
    assert (facts["reasoner"], facts["length"], facts["precision"]) == (kind, 3, 2)
    assert load(tmp_path / kind).kind == kind
    assert unmask("run", tmp_path / kind, "aba", "--engine", "reference", "--json")[0] in (0, 1, 2)


def test_a_compile_is_byte_identical(process, tmp_path):
    for name in ("one", "two"):
        assert process("compile", "random:5", "--length", 3, "--to", "mdm", "--out", name, "--precision", 3)[0] == 0
    first, second = ({p.name: p.read_bytes() for p in (tmp_path / name).iterdir()} for name in ("one", "two"))
    assert first == second
    assert load(tmp_path / "one").precision.p == 3


@pytest.mark.parametrize(
    ("problem", "options", "message"),
    [
        ("random:x", {}, "random:SEED needs a seed"),
        ("random:", {}, "random:SEED needs a seed"),
        ("random:-1", {}, "random:SEED needs a seed"),
        (f"random:{2**64}", {}, "2^64 - 1"),
        ("random:1", {"--length": -1}, "the length must be 0 or more"),
        ("random:1", {"--length": 10**12}, "0 … 64"),
        ("random:1", {"--length": "many"}, "--length"),
        ("random:1", {"--to": "rnn"}, "--to"),
        ("random:1", {"--precision": 0}, "--precision"),
        ("random:1", {"--precision": 9}, "--precision"),
        ("random:1", {"--out": "hand"}, "exists and is not a"),
        ("random:1", {"--out": "x" * 400}, "cannot be written"),
        ("random:1", {"--out": "hand/notes.txt/model"}, "cannot be written"),
    ],
)
def test_compilations_that_fail_leave_nothing_behind(unmask, hand, tmp_path, monkeypatch, problem, options, message):
    monkeypatch.chdir(tmp_path)
    (hand / "notes.txt").write_text("mine")
    before = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    settings = {"--length": 2, "--to": "mdm", "--out": "model", **options}
    refused(unmask("compile", problem, *(argument for pair in settings.items() for argument in pair)), message)
    assert {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()} == before
    assert [p.name for p in tmp_path.iterdir()] == ["hand"]


def language(path):
    """All logits are 0: the tape alone decides."""
    vocabulary = (*by_hand.VOCABULARY, "^")
    transformer = by_hand.successor({}, 5, attention="causal", size=6)
    model = by_hand.model("cot", {"model": transformer}, length=0, steps=4, padding=4, vocabulary=vocabulary, begin="^")
    return save(model, path / "language")


def test_samples_of_a_language_model(unmask, tmp_path, hand):
    folder = language(tmp_path)
    code, out, err = unmask("sample", folder, "--count", 5, "--seed", 3)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert len(set(lines)) == 5
    assert all(len(line) == 4 for line in lines)
    document = json.loads(unmask("sample", folder, "--count", 5, "--seed", 3, "--json")[1])
    assert ["".join(s["output"]) for s in document["samples"]] == lines
    assert [s["seed"] for s in document["samples"]] == [3, 4, 5, 6, 7]
    assert unmask("sample", folder, "--seed", 4)[1].splitlines() == lines[1:2]
    refused(unmask("sample", hand), "sampling needs a model that reads no input")
    refused(unmask("sample", folder, "--count", 0), "--count")


def test_the_empty_word(unmask, tmp_path):
    assert unmask("run", language(tmp_path), "")[0] == 2


# -------------------------------------------------------------------------------------- garbage, usage


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ({"tensors": lambda: folder_by_hand.with_header({})[:-3]}, "is not a whole safetensors file"),
        (
            {"tensors": lambda: folder_by_hand.tensors() | folder_by_hand.sparse("embed", [], (9, 9))},
            "which no model has",
        ),
        ({"config": lambda: b"{"}, "is not JSON"),
        ({"config": lambda: folder_by_hand.config() | {"length": 10**12}}, "beyond the limit"),
    ],
)
def test_damaged_folders(unmask, tmp_path, damage, message):
    folder = folder_by_hand.write(tmp_path / "m", **damage)
    refused(unmask("run", folder, "ab"), message)


def test_missing_folders(unmask, tmp_path):
    refused(unmask("run", tmp_path / "nothing", "ab"), "is not a model folder")
    refused(unmask("sample", tmp_path), "is not a model folder")


def test_a_division_by_zero_names_its_place(unmask, tmp_path):
    def blind():
        stored = folder_by_hand.tensors()
        for name, value in (("wq", 15), ("wk", -15)):
            weights = stored[f"layers.0.heads.0.{name}"].copy()
            weights[2, 0] = value
            stored[f"layers.0.heads.0.{name}"] = weights
        return stored

    folder = folder_by_hand.write(tmp_path / "m", tensors=blind)
    refused(unmask("run", folder, "ab"), "attends to nothing at layer 0, head 0, row 0")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train"], "No such command 'train'"),
        (["run"], "Missing argument"),
        (["run", "m", "ab", "--bogus"], "No such option"),
        (["run", "m", "ab", "--engine", "gpu"], "--engine"),
        (["run", "m", "ab", "--seed", "x"], "--seed"),
        (["compile", "random:1"], "Missing option"),
    ],
)
def test_wrong_usage_is_one_error_message(unmask, arguments, message):
    refused(unmask(*arguments), message)


def test_wrong_usage_points_to_the_help_of_the_command(unmask):
    assert unmask("compare")[2].rstrip().endswith("compare --help`")
    assert unmask("lab", "train", "--bogus")[2].rstrip().endswith("lab train --help`")
    assert unmask("nosuch")[2].rstrip().endswith("see `unmask --help`")


def test_help(unmask):
    code, out, _ = unmask("--help")
    assert code == 0
    assert all(command in out for command in ("compile", "run", "sample"))


def test_without_arguments_there_is_an_overview_whose_examples_run(process):
    code, out, err = process()
    assert (code, err) == (0, "")
    assert max(map(len, out.splitlines())) <= 80
    examples = re.findall(r"^  unmask (.*)$", out, re.M)
    assert len(examples) == 4
    for example in examples:
        assert process(*shlex.split(example))[0] == 0, example


def test_lab_without_arguments_prints_an_overview(process):
    code, out, err = process("lab")
    assert (code, err) == (0, "")
    assert max(map(len, out.splitlines())) <= 80
    assert all(f"unmask lab {command}" in out for command in ("train", "view", "table", "--help"))


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("nim.py", "nim.py is the name of a file; did you mean program:nim.py?"),
        ("folder/c.AAG", "did you mean aiger:folder/c.AAG?"),
        ("x.json", "did you mean dfa:x.json or law:x.json?"),
        ("here", "here is a file; did you mean program:here or dfa:here or cfg:here?"),
        ("models", "models is a folder; give a problem such as group:A5"),
    ],
)
def test_a_path_without_a_prefix_is_not_taken_for_a_regex(unmask, tmp_path, monkeypatch, text, advice):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here").write_text("")
    save(compile_problem("ab", "mdm", length=2), tmp_path / "models" / "ab")
    for line in (
        ["compile", text, "--length", 6, "--to", "mdm", "--out", "m"],
        ["compare", text],
        ["samplers", text],
        ["prove", text, "--to", "mdm"],
        ["verify", "models/ab", "--against", text],
    ):
        code, out, err = unmask(*line)
        assert (code, out) == (2, "")
        assert advice in err
        assert f"For the regular expression, write regex:{text}" in err


@pytest.mark.parametrize("text", ["regex:nim.py", "(a|b)*.py", "a.b", "group:Z2"])
def test_what_is_a_problem_stays_one(unmask, tmp_path, monkeypatch, text):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nim.py").write_text("")
    assert unmask("compile", text, "--length", 4, "--to", "mdm", "--out", "m")[0] == 0


def test_a_reader_that_goes_away(hand, tmp_path):
    """`unmask run … - | head -1`: no traceback when standard output is closed."""
    command = f"yes bb | head -300 | {sys.executable} -m unmask run {hand} - | head -1"
    completed = subprocess.run(["bash", "-c", command], capture_output=True, cwd=tmp_path, check=False, timeout=60)
    assert completed.stdout == b"accepted\n"
    assert completed.stderr == b""
