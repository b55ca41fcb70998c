"""Stock BERT, GPT-2 and ALBERT folders, loaded by `from_pretrained` where unmask cannot be imported."""

import itertools
import json
import random
import re

import numpy as np
import pytest
from safetensors.numpy import load_file

from export.permutations import words as a5_words
from unmask.api import compile_problem, run_word
from unmask.export import bert_gpt2_albert
from unmask.export.bert_gpt2_albert import bert_passes
from unmask.export.export_model import export_files
from unmask.export.real_transformer import rounding

REGEXES = ["(a|b)*abb", "a*b*", "(ab)*", "[^a]*a[^a]*", "(a|b){3}.*", "a?b?c?d?.*", "[a-c]+[01]*", "x.*y|yx*"]


def letters(rng, alphabet, length):
    return "".join(rng.choice(alphabet) for _ in range(length))


@pytest.mark.parametrize("pattern", REGEXES)
def test_regexes_against_re(pattern, exported, outside):
    _, folder, report = exported(pattern, "mdm", "bert", length=8)
    rng = random.Random(77)
    words = [letters(rng, "ab", 8) for _ in range(20)] + [letters(rng, "abcdxy01m ε", 8) for _ in range(20)]
    words += ["aaaaabbb", "abababab", "abcd0123", "xyyyyyyy", "yxxxxxxx", "aacc0110", "bbbabbbb"]
    filled = outside("bert", folder=folder, words=words, padding=report["padding"])
    answers = [slots[-1] for slots in filled["slots"]]
    assert answers == [report["accept" if re.fullmatch(pattern, word) else "reject"] for word in words]
    assert filled["passes"] == report["steps"] == len(report["order"])


def test_every_word_of_a_regex(exported, outside):
    _, folder, report = exported("(a|b)*abb", "topk", "bert", length=6)
    words = ["".join(word) for word in itertools.product("abc", repeat=6)]
    answers = [slots[-1] for slots in outside("bert", folder=folder, words=words, padding=5)["slots"]]
    assert answers == ["1" if re.fullmatch("(a|b)*abb", word) else "0" for word in words]
    assert report["agreement"]["chosen_above"] is not None


def test_a5_against_permutations(exported, outside):
    model, folder, report = exported("group:A5", "mdm", "bert", length=64)
    word_answers = a5_words(model.input_symbols, 64, 24, seed=5)
    filled = outside("bert", folder=folder, words=[word for word, _ in word_answers], padding=63)
    assert [slots[-1] == "1" for slots in filled["slots"]] == [answer for _, answer in word_answers]
    assert filled["passes"] == 6
    assert min(report["margins"].values()) > 7.4
    config = json.loads((folder / "config.json").read_text())
    assert (config["hidden_size"], config["num_hidden_layers"], config["num_attention_heads"]) == (288, 3, 3)


@pytest.mark.parametrize(("problem", "kind", "form"), [("group:A5", "mdm", "bert"), ("(a|b)*abb", "cot", "gpt2")])
def test_what_is_decided_is_certain_in_float64(problem, kind, form, exported):
    """If a sampler computes its softmax in float64, logits below the decision must not rank the slots."""
    model, _, report = exported(problem, kind, form, length=16)
    clear = report["agreement"]["least_margin"] * report["logit_scale"]
    row = np.full(len(model.vocabulary), -clear)
    row[0] = 0.0
    assert np.exp(row).sum() == 1.0
    assert (len(row) - 1) * np.exp(-clear) < 2.0**-53


@pytest.mark.parametrize("spare", [1, 17])
def test_a_longer_canvas(spare, exported, outside):
    """Slots after those of the model are never read, and become [EOS] in the first pass."""
    model, folder, _ = exported("group:A5", "mdm", "bert", length=16)
    word_answers = a5_words(model.input_symbols, 16, 8, seed=9)
    filled = outside("bert", folder=folder, words=[word for word, _ in word_answers], padding=15, spare=spare)
    assert [slots[-1] == "1" for slots in filled["slots"]] == [answer for _, answer in word_answers]
    assert (filled["spare"], filled["passes"]) == (["[EOS]"], 4)


@pytest.mark.long
def test_a5_of_256_letters(exported, outside):
    model, folder, _ = exported("group:A5", "mdm", "bert", length=256)
    word_answers = a5_words(model.input_symbols, 256, 16, seed=6)
    filled = outside("bert", folder=folder, words=[word for word, _ in word_answers], padding=255)
    assert [slots[-1] == "1" for slots in filled["slots"]] == [answer for _, answer in word_answers]
    assert filled["passes"] == 8


@pytest.mark.long
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_a5_in_half_precision(dtype, exported, outside):
    model, folder, _ = exported("group:A5", "mdm", "bert", length=64)
    word_answers = a5_words(model.input_symbols, 64, 16, seed=8)
    filled = outside("bert", folder=folder, words=[word for word, _ in word_answers], padding=63, dtype=dtype)
    assert [slots[-1] == "1" for slots in filled["slots"]] == [answer for _, answer in word_answers]


def test_a_wide_gate(exported, outside, tmp_path):
    """An AND of 60 inputs, of which one is 0 or none: 1/60 is far below 2^-p."""
    file = tmp_path / "wide.blif"
    names = [f"x{i}" for i in range(60)]
    table = f"{'1' * 60} 1"
    file.write_text(f".model wide\n.inputs {' '.join(names)}\n.outputs y\n.names {' '.join(names)} y\n{table}\n.end\n")
    _, folder, report = exported(f"blif:{file}", "mdm", "bert")
    assert "a head for every detected value" in report["repairs"]
    words = ["1" * 60] + ["1" * i + "0" + "1" * (59 - i) for i in range(0, 60, 7)] + ["0" * 60, "10" * 30]
    filled = outside("bert", folder=folder, words=words, padding=report["padding"])
    assert [slots[-1] for slots in filled["slots"]] == ["⊤", *["⊥"] * (len(words) - 1)]


def test_the_planner_takes_what_it_takes(exported, outside):
    model, folder, _ = exported("group:S3", "mdm", "bert", length=8, part="planner")
    assert outside("planner", folder=folder, words=["e e e e e e e e"], padding=model.padding) == [[0, 1, 2, 3]]


@pytest.mark.parametrize("pattern", ["(a|b)*abb", "[a-c]+[01]*"])
def test_chains_of_thought_by_generate(pattern, exported, outside):
    _, folder, report = exported(pattern, "cot", "gpt2", length=8)
    rng = random.Random(78)
    words = [letters(rng, alphabet, 8) for alphabet in ("ab", "abc01", "abcmq01é") for _ in range(12)]
    words += ["aaaaaabb", "abcabc01"]
    answers = [chain[-1] for chain in outside("gpt2", folder=folder, words=words, steps=report["steps"])]
    assert answers == [report["accept" if re.fullmatch(pattern, word) else "reject"] for word in words]
    *chain, end = outside("generated", folder=folder, word=words[0])
    assert (len(chain), chain[-1], end) == (report["steps"], answers[0], "[EOS]")


def test_the_card_says_which_state_a_symbol_is(exported):
    """Of a group, the element: the states are products of letters."""
    model, folder, report = exported("group:A5", "cot", "gpt2", length=12)
    assert len(report["states"]) == 60
    assert sorted(report["states"].values()) == sorted(["", *(x for x in model.input_symbols if x != "e")])
    for name, word in list(report["states"].items())[1:5]:
        trace = run_word(model, " ".join([word, *["e"] * 11]))
        assert trace.output[0] == name
        assert f"`{name}` after `{word}`" in (folder / "README.md").read_text()
    _, folder, report = exported("(a|b)*abb", "cot", "gpt2", length=8)
    name = next(name for name, word in report["states"].items() if word == "abb")
    assert f"`{name}` after `abb`" in (folder / "README.md").read_text()


def test_a5_by_generate(exported, outside):
    model, folder, report = exported("group:A5", "cot", "gpt2", length=12)
    word_answers = a5_words(model.input_symbols, 12, 16, seed=7)
    chains = outside("gpt2", folder=folder, words=[word for word, _ in word_answers], steps=report["steps"])
    assert [chain[-1] == "1" for chain in chains] == [answer for _, answer in word_answers]


def test_an_expression(exported, outside):
    _, folder, report = exported("expr:(a+b)*c", "mdm", "bert")
    rng = random.Random(79)
    operands = [[rng.randrange(10) for _ in range(3)] for _ in range(20)]
    words = [f"({a}+{b})*{c}=" for a, b, c in operands]
    filled = outside("bert", folder=folder, words=words, padding=report["padding"])
    assert [slots[-1] for slots in filled["slots"]] == [str((a + b) * c) for a, b, c in operands]


CARDS = [
    ("(a|b)*abb", "mdm", "bert", None),
    ("(a|b)*abb", "mdm", "bert", "planner"),
    ("(a|b)*abb", "cot", "gpt2", None),
]


@pytest.mark.parametrize(("problem", "kind", "form", "part"), CARDS)
def test_the_program_on_the_card_runs(problem, kind, form, part, exported, outside):
    _, folder, _ = exported(problem, kind, form, length=8, part=part)
    assert outside("card", folder=folder).startswith("[")


def test_what_lies_in_a_folder(exported):
    _, folder, report = exported("(a|b)*abb", "mdm", "bert", length=8)
    names = {path.name for path in folder.iterdir()}
    assert names == {
        "README.md",
        "config.json",
        "export.json",
        "model.safetensors",
        "registers.json",
        "tokenizer.json",
        "tokenizer_config.json",
    }
    assert json.loads((folder / "export.json").read_text()) == report
    registers = json.loads((folder / "registers.json").read_text())
    assert (
        len(registers["columns"])
        == registers["width"]
        == json.loads((folder / "config.json").read_text())["hidden_size"]
    )
    assert registers["registers"]["one"] == [registers["columns"].index("one")]
    looks_up = registers["layers"][0]["heads"][0]
    assert looks_up["keys"] == ["one", "here"]


def test_the_passes_in_half_precision_against_torch(exported, outside):
    """Every logit of a canvas, to the last bit in bfloat16; the check at export uses these passes."""
    model, folder, _ = exported("group:S3", "mdm", "bert", length=8)
    tokens = [[*random.Random(80).choices(range(6), k=8), *[model.token[model.mask]] * 7] for _ in range(2)]
    tensors, config = load_file(folder / "model.safetensors"), json.loads((folder / "config.json").read_text())
    expected = np.array(outside("logits", folder=folder, tokens=tokens, dtype="bfloat16"))
    assert np.array_equal(bert_passes(tensors, config, "bfloat16")(np.array(tokens)), expected)
    assert not np.array_equal(bert_passes(tensors, config)(np.array(tokens)), expected)


@pytest.mark.parametrize(("kind", "form"), [("mdm", "bert"), ("cot", "gpt2"), ("plt", "albert")])
def test_a_number_format_that_does_not_do(kind, form, monkeypatch):
    """The export is written, and its card names the number format that fails."""
    coarse = {"float16": lambda x: np.round(x / 4) * np.float32(4)}
    monkeypatch.setattr(bert_gpt2_albert, "rounding", lambda dtype: coarse.get(dtype, rounding(dtype)))
    files, report = export_files(compile_problem("(a|b)*abb", kind, length=4), form)
    assert report["margins"]["float16"] is None
    assert min(report["margins"]["float32"], report["margins"]["bfloat16"]) > 3.7
    assert b"Do not use float16: some decisions differ there." in files["README.md"]


@pytest.mark.parametrize(("problem", "length"), [("(a|b)*abb", 32), ("family:parity", 9), ("expr:(a+b)*c", None)])
def test_a_looped_model_as_albert(problem, length, exported, outside):
    model, folder, _ = exported(problem, "plt", "albert", length=length)
    rng = random.Random(82)
    words = [" ".join(rng.choices([s for s in model.input_symbols if len(s) == 1], k=model.length)) for _ in range(12)]
    words = [word.replace(" ", "") for word in words] + (["abb" * 10 + "bb", "b" * 29 + "abb"] if length == 32 else [])
    answers = outside("albert", folder=folder, words=words, padding=model.padding)
    assert answers == [run_word(model, symbols_of(model, word)).output[-1] for word in words]


def symbols_of(model, word):
    return word if model.characters is not None else list(word)


def test_what_albert_cannot_loop():
    """A layer before the loop would run in every round."""
    from unmask.engines.fast import FastEngine
    from unmask.errors import UnmaskError
    from unmask.export.export_model import export_files
    from unmask.testing import random_model

    models = [random_model(seed, "plt", 3, layers=2, engine=FastEngine()) for seed in range(12)]
    model = next(
        m for m in models if m.transformers["model"].loop[0] and m.transformers["model"].attention == "unmasked"
    )
    with pytest.raises(UnmaskError, match="ALBERT repeats all layers"):
        export_files(model, "albert")


def test_the_card_says_what_is_accepted_and_in_which_order(exported):
    """Of every form, and of a planner too; slots of a circuit's inputs stay masked."""
    for form, part in (("bert", None), ("bert", "planner"), ("torch", None), ("onnx", None)):
        _, folder, _ = exported("group:S3", "mdm", form, length=8, part=part)
        card = (folder / "README.md").read_text(encoding="utf-8")
        assert "after `x y` the point p is at y(x(p))" in card
        assert "1. 0 to 3\n2. 4 to 5\n3. 6\n" in card
        assert ("a bias of" in card) is (form == "bert")
    for pattern, ascii in ((r"\d*x", True), (r"(?u)\d*x", False)):
        _, folder, _ = exported(pattern, "mdm", "onnx", length=4)
        card = (folder / "README.md").read_text(encoding="utf-8")
        assert "A word is accepted if Python's `re.fullmatch` matches the pattern with it" in card
        assert ("`re.ASCII`" in card) is ascii
    _, folder, _ = exported("family:contains-aba", "mdm", "onnx", length=4)
    assert "All other slots stay masked." in (folder / "README.md").read_text(encoding="utf-8")


def test_answers_that_look_like_letters_are_renamed(exported):
    _, _, report = exported("[01]*", "mdm", "bert", length=4)
    assert (report["accept"], report["reject"]) == ("[1]", "[0]")
