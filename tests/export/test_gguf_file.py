"""GGUF files in llama.cpp: logits of every row, words of A5, regexes, circuits, programs; and what is refused."""

import itertools
import re
import runpy
from pathlib import Path
from types import SimpleNamespace
from typing import get_args

import numpy as np
import pytest
from safetensors.numpy import load_file
from tokenizers import Tokenizer

from export.permutations import words as a5_words
from unmask.api import compile_problem, run_word
from unmask.errors import UnmaskError
from unmask.export import gguf_file as gguf_module
from unmask.export.agreement import ExportDisagreement
from unmask.export.export_model import export_files
from unmask.export.gguf_file import Arch, GgufChoice, as_halves, as_neighbours, read_gguf
from unmask.export.rope_transformer import rope_passes

PROGRAM = Path(__file__).parents[2] / "examples" / "engines" / "fill_in_llama_cpp.py"
llama_cpp = SimpleNamespace(**runpy.run_path(str(PROGRAM)))
pytest.importorskip("gguf", reason="the package gguf is not installed")
in_llama_cpp = pytest.mark.skipif(llama_cpp.why_not() is not None, reason=str(llama_cpp.why_not()))


def softmax(x):
    powers = np.exp(x - x.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def solved(engine, head, report, word_answers, padding, mask):
    """The share of words with the right answer, and the largest number of passes."""
    correct, most = 0, 0
    for word, answer in word_answers:
        tokens, passes = [*engine.tokens(word), *[mask] * padding], 0
        first = len(tokens) - padding
        while mask in tokens[first:]:
            chance = softmax(engine.rows(tokens) if head is None else engine.rows(tokens) @ head.T)
            confident = [i for i in range(first, len(tokens)) if tokens[i] == mask and chance[i].max() > 0.9]
            if not confident:
                break
            for i in confident:
                tokens[i] = int(chance[i].argmax())
            passes += 1
        names = report["names"]
        correct += (names[tokens[-1]] == report["accept"]) == answer and mask not in tokens
        most = max(most, passes)
    return correct / len(word_answers), most


@in_llama_cpp
@pytest.mark.parametrize(
    ("arch", "dtype"), [*((arch, "f32") for arch in get_args(Arch)), ("llada", "f16"), ("dream", "q8_0")]
)
def test_a5_in_llama_cpp(arch, dtype, exported):
    model, folder, report = exported("group:A5", "mdm", "gguf", length=16, gguf=GgufChoice(arch, dtype))
    word_answers = a5_words(model.input_symbols, 16, 4, seed=41)
    head = load_file(folder / "lm_head.safetensors")["lm_head.weight"] if arch == "eurobert" else None
    engine = llama_cpp.LlamaCpp(folder / "model.gguf", rows=report["max_rows"], embeddings=arch == "eurobert")
    try:
        assert engine.lib.llama_model_is_diffusion(engine.model) is (arch in ("llada", "dream"))
        mask = engine.lib.llama_vocab_mask(engine.vocabulary)
        assert report["tokens"][mask] == "[MASK]"
        assert solved(engine, head, {**report, "names": report["tokens"]}, word_answers, 15, mask) == (1.0, 4)
        if dtype == "f32":  # the pass in NumPy, which the check at export uses
            tokens = [*engine.tokens(word_answers[0][0]), *[mask] * 15]
            rows = engine.rows(tokens) if head is None else engine.rows(tokens) @ head.T
            written = read_gguf((folder / "model.gguf").read_bytes(), _with_head(head), arch)
            expected = rope_passes(written)(np.array([tokens]))[0]
            assert np.abs(rows - expected)[1:].max() < 1e-2
    finally:
        engine.close()


def _with_head(head):
    class Neutral:
        causal = False

    Neutral.head = head
    return Neutral


@in_llama_cpp
def test_a_causal_chain_in_llama_cpp(exported):
    model, folder, report = exported("(a|b)*abb", "cot", "gguf", length=5, gguf=GgufChoice("llama"))
    engine = llama_cpp.LlamaCpp(folder / "model.gguf", rows=report["max_rows"], causal=True)
    try:
        for word in ("ababb", "babab"):
            tokens = engine.tokens(word)
            written = []
            while not written or written[-1] != "[EOS]":
                tokens.append(int(engine.rows(tokens)[-1].argmax()))
                written.append(report["tokens"][tokens[-1]])
            assert len(written) == model.steps + 1
            assert written[-2] == report["accept" if word.endswith("abb") else "reject"]
    finally:
        engine.close()


RULE_110 = "program:examples/programs/rule_110.py"


@in_llama_cpp
def test_a_regex_whose_slots_have_names_made_of_letters(exported):
    """`ab` is the name of a symbol of a slot, and two letters where it is typed."""
    _, folder, report = exported("(ab|ba)*", "mdm", "gguf", length=6)
    assert {"a", "b", "ab", "ba"} <= set(report["tokens"])
    words = ["".join(word) for word in itertools.product("ab", repeat=6)]
    word_answers = [(word, re.fullmatch("(ab|ba)*", word) is not None) for word in [*words, "ab1aba", "abé mm"]]
    mask, read = report["tokens"].index("[MASK]"), Tokenizer.from_file(str(folder / "tokenizer.json"))
    engine = llama_cpp.LlamaCpp(folder / "model.gguf", rows=report["max_rows"])
    try:
        assert [engine.tokens(word) for word in words] == [read.encode(word).ids for word in words]
        engine.tokens = lambda word: read.encode(word).ids
        assert solved(engine, None, {**report, "names": report["tokens"]}, word_answers, 5, mask) == (1.0, 3)
    finally:
        engine.close()


@in_llama_cpp
@pytest.mark.parametrize("dtype", ["f32", "q8_0"])
@pytest.mark.parametrize(("problem", "length"), [(RULE_110, 5), ("family:parity", 5)])
def test_the_example_fills_in_the_order_of_the_planner(problem, length, dtype, exported):
    """A program that edits in place, and a circuit: every answer."""
    model, folder, report = exported(problem, "mdm", "gguf", length=length, gguf=GgufChoice("dream", dtype))
    for word in ("".join(word) for word in itertools.product("01", repeat=length)):
        *_, slots = llama_cpp.filled(folder, word)
        answers = [slots[slot] for slot in report["answer_slots"]]
        assert answers == list(run_word(model, word).output[-len(answers) :])


def test_a_gate_in_eight_bits_is_refused(monkeypatch):
    """A row of the gate holds biases many times as large as its other weights."""
    monkeypatch.setattr(gguf_module, "KEPT_IN_F16", ())
    with pytest.raises(ExportDisagreement, match="eight bits per weight are too few for this predictor") as refused:
        export_files(compile_problem(RULE_110, "mdm", length=5), "gguf", gguf=GgufChoice("llada", "q8_0"))
    assert "computes a wrong position in row" in str(refused.value.__cause__)


TWO_OF_FOUR = """
.model two_of_four
.inputs a b c d
.outputs f
.names a b g
11 1
.names c d h
11 1
.names a b i
1- 1
-1 1
.names c d j
1- 1
-1 1
.names i j k
11 1
.names g h k f
1-- 1
-1- 1
--1 1
.end
"""


def test_a_planner_that_needs_more_than_eight_bits(tmp_path):
    """Its margin would be 28 % of that of F_2; the message names the option that helps."""
    (tmp_path / "two.blif").write_text(TWO_OF_FOUR)
    model = compile_problem(f"blif:{tmp_path / 'two.blif'}", "mdm")
    with pytest.raises(ExportDisagreement, match=r"too few for this planner: .*; use --dtype f16 or f32"):
        export_files(model, "gguf", part="planner", gguf=GgufChoice("dream", "q8_0"))
    _, report = export_files(model, "gguf", part="planner", gguf=GgufChoice("dream", "f16"))
    assert report["margins"]["float32"] > 7.4


def test_the_card_says_what_is_written(exported):
    cards = {
        (problem, kind, part): (exported(problem, kind, "gguf", length=5, part=part)[1] / "README.md").read_text()
        for problem, kind, part in (
            (RULE_110, "mdm", None),
            ("(ab|ba)*", "mdm", None),
            ("(ab|ba)*", "mdm", "planner"),
            ("(ab|ba)*", "topk", None),
        )
    }
    program, regex, planner, topk = cards.values()
    assert "slots 0 to 4, counted from 0, hold its 5 answers: `⊤` means true, `⊥` means false" in program
    assert "A sampler that writes every slot once is not enough." in program
    assert "Write the slots in the order above.\n" in program
    assert "Write the slots in the order above, or every slot whose probability is above 0.9" in regex
    assert "for words over `a`, `b`; do not use it for others" in regex
    assert "those where `[TAKE]` has the largest logit" in planner
    assert "Write the slots in the order above.\n" in topk


def test_the_answers_of_a_program_in_another_order():
    """Slots of the canvas, the first answer first."""
    files, report = export_files(compile_problem(RULE_110, "mdm", length=4), "bert", order="2,3,1,0")
    assert (report["answer_slots"], report["answer_slot"]) == ([3, 2, 0, 1], 1)
    assert b"its 4 answers are, in this order, the `answer_slots` of `export.json`" in files["README.md"]


def test_rows_of_halves_and_of_neighbours():
    rows = np.arange(24.0).reshape(8, 3)
    assert as_neighbours(rows, 2)[:, 0].tolist() == [0, 6, 3, 9, 12, 18, 15, 21]
    assert np.array_equal(as_halves(as_neighbours(rows, 2), 2), rows)


@pytest.mark.parametrize("arch", ["llada", "dream"])
def test_swapped_halves_are_refused(arch, monkeypatch):
    turns = ("dream",) if arch == "dream" else ()
    tensors = gguf_module._gguf_tensors

    def swapped(weights, name):
        with monkeypatch.context() as patch:
            patch.setattr(gguf_module, "TURNS_NEIGHBOURS", turns)
            return tensors(weights, name)

    monkeypatch.setattr(gguf_module, "_gguf_tensors", swapped)
    with pytest.raises(ExportDisagreement, match="computes a wrong position"):
        export_files(compile_problem("(a|b)*abb", "mdm", length=6), "gguf", gguf=GgufChoice(arch))


def test_bad_options():
    with pytest.raises(UnmaskError, match="llada is not causal; use --arch llama"):
        export_files(compile_problem("(a|b)*abb", "cot", length=5), "gguf")
    with pytest.raises(UnmaskError, match="--arch and --dtype are for gguf, not for llama"):
        export_files(compile_problem("(a|b)*abb", "mdm", length=5), "llama", gguf=GgufChoice("dream"))
