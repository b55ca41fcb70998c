"""`unmask samplers`: the table, the document, the page, and what is refused."""

import json
import re

import pytest

COIN = '{"kind": "ngram", "alphabet": ["h", "t"], "order": 2, "contexts": %s}'
STICKY = COIN % '{"": {"h": 0.5, "t": 0.5}, "h": {"h": 0.9, "t": 0.1}, "t": {"t": 1}}'


@pytest.fixture
def law(tmp_path):
    path = tmp_path / "sticky.json"
    path.write_text(STICKY)
    return f"law:{path}"


def test_the_document_of_an_exam(unmask):
    code, out, err = unmask("samplers", "group:A5", "--length", 8, "--words", 8, "--budget", "7,4,3", "--json")
    assert (code, err) == (0, "")
    document = json.loads(out)
    assert (document["slots"], document["steps"], document["budgets"]) == (7, 3, [7, 4, 3])
    by_name = {entry["sampler"]: entry for entry in document["samplers"]}
    assert len(by_name) == 29
    assert by_name["own planner"]["least"] == {"steps": None, "passes": 3}
    llada = by_name["llada low_confidence"]
    assert llada["least"] == {"steps": 4, "passes": 4}
    assert llada["remasking"] == "declines"
    assert by_name["p2 logP"]["remasking"] == by_name["remdm cap"]["remasking"] == "masks again"
    cliff = llada["runs"][-1]
    assert cliff["right"] < 1
    assert cliff["tokens_per_pass"] == pytest.approx(7 / 3)
    assert cliff["first_wrong"]["sentence"].startswith("slot 6 written while slot 5 was masked")
    assert cliff["order_violated"] > 0
    assert by_name["fast-dllm threshold 0.9"]["runs"][0]["first_wrong"] is None


def test_a_function_of_ones_own_is_examined_on_any_problem(unmask, tmp_path):
    pytest.importorskip("torch")
    file = tmp_path / "own.py"
    file.write_text(
        "import torch\n"
        "def generate(model, tokenizer, input_ids, *, steps, mask_token_id):\n"
        "    x = input_ids.clone()\n"
        "    for _ in range(steps):\n"
        "        best = model(x).logits.argmax(-1)\n"
        "        x = torch.where(x == mask_token_id, best, x)\n"
        "    return x\n"
        "def broken(model, tokenizer, input_ids, *, steps, mask_token_id):\n"
        "    raise RuntimeError('no')\n"
    )
    common = ("samplers", "group:S3", "--length", 8, "--words", 8, "--budget", "3")
    code, out, err = unmask(*common, "--sampler", f"{file}:generate", "--sampler", "fast-dllm:threshold=0.9", "--json")
    assert (code, err) == (0, "")
    _, own_planner, fast = json.loads(out)["samplers"]
    assert own_planner["sampler"].endswith("own.py:generate")
    (run,) = own_planner["runs"]
    assert (run["passes"], run["right"], run["right_slots"] > 0.5) == (3, 0.0, True)
    assert run["first_wrong"]["sentence"].startswith("slot 4 written while slots 0, 1 were masked")
    assert fast["least"]["passes"] == 3
    for name, message in (("broken", "RuntimeError: no"), ("missing", "cannot be loaded")):
        code, out, err = unmask(*common, "--sampler", f"{file}:{name}")
        assert (code, out) == (2, "")
        assert message in err


def test_the_table_of_an_exam(unmask):
    arguments = ("samplers", "(a|b)*abb", "--length", 8, "--words", 8, "--sampler", "llada", "--sampler", "eb")
    code, out, _ = unmask(*arguments)
    assert code == 0
    assert re.search(r"own planner +1\.00 in 3 +3 +2\.33 +0\.00", out)
    assert re.search(
        r"llada low_confidence +1\.00 +1\.00 +1\.00 +0\.\d\d .*slot 6 written while slot 5 was masked", out
    )
    assert "eb gamma 0.1" in out
    every = unmask(*arguments, "--every")[1]
    assert len([line for line in every.splitlines() if "llada low_confidence" in line]) == 5
    assert unmask("-q", *arguments)[1] == ""


def test_the_page_asks_for_nothing(unmask, tmp_path, open_page):
    out = tmp_path / "report.html"
    assert unmask("samplers", "(a|b)*abb", "--length", 8, "--words", 4, "--out", out)[0] == 0
    observed = open_page(out.as_uri())
    assert observed.complaints == []
    assert observed.requests == [out.as_uri()]
    assert observed.page.locator("svg path > title").count() > 20
    assert observed.page.locator("svg text", has_text="llada low_confidence").count() >= 1
    assert observed.page.locator("table tr").count() > 50
    text = out.read_text()
    assert "default-src 'none'" in text
    assert "<script" not in text
    assert not re.search(r"(?:href|src)=|url\(", text)


def test_a_page_shows_markup_as_text(unmask, tmp_path):
    out = tmp_path / "report.html"
    assert unmask("samplers", "(<b>|a)*", "--length", 4, "--words", 2, "--sampler", "eb", "--out", out)[0] == 0
    assert "(&lt;b&gt;|a)*" in out.read_text()
    assert "<b>" not in out.read_text()


def test_the_document_of_a_law(unmask, law):
    code, out, err = unmask("samplers", law, "--length", 3, "--runs", 200, "--json")
    assert (code, err) == (0, "")
    document = json.loads(out)
    by_name = {entry["sampler"]: entry["runs"] for entry in document["samplers"]}
    assert document["law"] == "law:sticky.json"
    assert by_name["llada random"][0]["kl"] == pytest.approx(0, abs=1e-12)
    assert by_name["llada random"][0]["exact"] is True
    assert by_name["llada random"][-1]["tv"] > 0.1
    assert by_name["llada random"][-1]["impossible"] > 0.05  # t before h
    assert by_name["p2 logP"][0]["exact"] is False
    assert by_name["p2 logP"][0]["runs"] == 200
    assert by_name["p2 logP"][0]["tv_error"] > 0


def test_the_table_and_the_page_of_a_law(unmask, law, tmp_path):
    out = tmp_path / "law.html"
    arguments = (
        "samplers",
        law,
        "--length",
        3,
        "--sampler",
        "llada:remasking=random",
        "--sampler",
        "p2",
        "--runs",
        100,
    )
    code, table, _ = unmask(*arguments, "--out", out)
    assert code == 0
    assert re.search(r"llada random +0\.0000 +0\.\d{4}", table)
    assert "±" in table
    assert "100 runs" in unmask(*arguments, "--every")[1]
    assert out.read_text().count("<svg") == 2


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("group:A5",), "words of any length; give one with --length N"),
        (("law:missing.json", "--length", "3"), "the law missing.json cannot be read"),
        (("law:", "--length", "3"), "law: has no file name"),
        (("group:A5", "--length", "4", "--sampler", "foo"), "unknown sampler 'foo'"),
        (("group:A5", "--length", "4", "--budget", "0"), "--budget takes numbers of passes"),
        (("group:A5", "--length", "4", "--budget", "3,x"), "--budget takes numbers of passes"),
        (("group:A5", "--length", "4", "--budget", ",".join(["1"] * 65)), "--budget takes at most 64 numbers"),
        (("group:A5", "--length", "4", "--to", "cot"), "--to takes mdm, smdm, topk, which have a canvas"),
        (("random:3", "--length", "4"), "random:3 has no correct answers"),
        (("group:A5", "--length", "4", "--words", "0"), "greater than or equal to 1"),
        (("group:A5", "--length", "4", "--out", "/nowhere/at/all.html"), "the folder /nowhere/at does not exist"),
        (("group:A5", "--length", "4", "--out", "/"), "is a folder; name a file in it"),
        (("group:A99", "--length", "4"), "unmask:"),
    ],
)
def test_what_is_refused_in_one_message(unmask, arguments, sentence):
    code, out, err = unmask("samplers", *arguments)
    assert code == 2
    assert out == ""
    assert err.startswith("unmask: ")
    assert err.count("\n") == 1
    assert sentence in err


@pytest.mark.parametrize(
    ("contexts", "sentence"),
    [
        ('{"": {"h": 0.5, "t": 0.4}}', "sum to 0.9; they must sum to 1"),
        ('{"": {"h": 2, "t": -1}}', "give a probability between 0 and 1"),
        ("3", "contexts of a law must be an object"),
    ],
)
def test_a_bad_law_leaves_nothing_behind(unmask, tmp_path, contexts, sentence):
    (tmp_path / "law.json").write_text(COIN % contexts)
    code, out, err = unmask("samplers", f"law:{tmp_path / 'law.json'}", "--length", 3, "--out", tmp_path / "page.html")
    assert (code, out) == (2, "")
    assert sentence in err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["law.json"]


def test_a_law_that_is_too_long_is_refused(unmask, law):
    code, _, err = unmask("samplers", law, "--length", 30)
    assert code == 2
    assert "use a shorter --length" in err
    assert "give one with --length" in unmask("samplers", law)[2]
    for option in (("--to", "topk"), ("--words", 8)):
        assert "leave out --to and --words" in unmask("samplers", law, "--length", 3, *option)[2]


@pytest.mark.long
def test_the_table_that_was_measured(unmask):
    """A5 at N = 64: 63 slots."""
    document = json.loads(unmask("samplers", "group:A5", "--length", 64, "--json")[1])
    by_name = {entry["sampler"]: entry for entry in document["samplers"]}
    assert document["budgets"] == [63, 42, 32, 31, 16, 6]
    for name in ("llada low_confidence", "p2 logP", "dllm dream maskgit_plus", "dllm dream entropy"):
        rights = [run["right_answers"] for run in by_name[name]["runs"]]
        guessed = rights[-1]  # an undecided root is read as 0
        assert guessed < 0.8
        assert rights[:3] == [1, guessed if name.startswith("dllm") else 1, 1]  # dllm's 42 quotas end with two slots
        assert rights[3:] == [guessed] * 3
        assert by_name[name]["least"]["passes"] == 32
    for name in ("own planner", "fast-dllm threshold 0.9", "dllm halving"):
        assert by_name[name]["least"]["passes"] == 6
    for name in ("llada random", "dllm cosine", "remdm cap", "remdm rescale", "remdm conf"):
        assert by_name[name]["least"] is None
    sentence = by_name["llada low_confidence"]["runs"][3]["first_wrong"]["sentence"]
    assert sentence == "slot 62 written while slot 61 was masked (pass 31: 0 instead of 1)"
