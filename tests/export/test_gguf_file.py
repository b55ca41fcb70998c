"""GGUF files in llama.cpp: logits of every row, words of A5; and what is refused."""

import numpy as np
import pytest
from safetensors.numpy import load_file

from export import llama_cpp
from export.permutations import words as a5_words
from unmask.api import compile_problem
from unmask.errors import UnmaskError
from unmask.export import gguf_file as gguf_module
from unmask.export.agreement import ExportDisagreement
from unmask.export.export_model import export_files
from unmask.export.gguf_file import ARCHS, GgufChoice, as_halves, as_neighbours, read_back
from unmask.export.rope_transformer import rope_passes

pytest.importorskip("gguf", reason="the package gguf is not installed")
in_llama_cpp = pytest.mark.skipif(llama_cpp.why_not() is not None, reason=str(llama_cpp.why_not()))


def softmax(x):
    powers = np.exp(x - x.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def solved(engine, head, report, drawn, padding, mask):
    """The share of words with the right answer, and the largest number of passes."""
    right, most = 0, 0
    for word, answer in drawn:
        tokens, passes = [*engine.tokens(word), *[mask] * padding], 0
        first = len(tokens) - padding
        while mask in tokens[first:]:
            chance = softmax(engine.rows(tokens) if head is None else engine.rows(tokens) @ head.T)
            sure = [i for i in range(first, len(tokens)) if tokens[i] == mask and chance[i].max() > 0.9]
            if not sure:
                break
            for i in sure:
                tokens[i] = int(chance[i].argmax())
            passes += 1
        names = report["names"]
        right += (names[tokens[-1]] == report["accept"]) == answer and mask not in tokens
        most = max(most, passes)
    return right / len(drawn), most


@in_llama_cpp
@pytest.mark.parametrize(("arch", "dtype"), [*((arch, "f32") for arch in ARCHS), ("llada", "f16"), ("dream", "q8_0")])
def test_a5_in_llama_cpp(arch, dtype, exported):
    model, folder, report = exported("group:A5", "mdm", "gguf", length=16, gguf=GgufChoice(arch, dtype))
    drawn = a5_words(model.input_symbols, 16, 4, seed=41)
    head = load_file(folder / "lm_head.safetensors")["lm_head.weight"] if arch == "eurobert" else None
    engine = llama_cpp.LlamaCpp(folder / "model.gguf", rows=report["max_rows"], embeddings=arch == "eurobert")
    try:
        assert engine.lib.llama_model_is_diffusion(engine.model) is (arch in ("llada", "dream"))
        mask = engine.lib.llama_vocab_mask(engine.vocabulary)
        assert report["tokens"][mask] == "[MASK]"
        assert solved(engine, head, {**report, "names": report["tokens"]}, drawn, 15, mask) == (1.0, 4)
        if dtype == "f32":  # the pass in NumPy, which the check at export uses
            tokens = [*engine.tokens(drawn[0][0]), *[mask] * 15]
            rows = engine.rows(tokens) if head is None else engine.rows(tokens) @ head.T
            written = read_back((folder / "model.gguf").read_bytes(), _with_head(head), arch)
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


def test_rows_of_halves_and_of_neighbours():
    rows = np.arange(24.0).reshape(8, 3)
    assert as_neighbours(rows, 2)[:, 0].tolist() == [0, 6, 3, 9, 12, 18, 15, 21]
    assert np.array_equal(as_halves(as_neighbours(rows, 2), 2), rows)


@pytest.mark.parametrize("arch", ["llada", "dream"])
def test_swapped_halves_are_refused(arch, monkeypatch):
    turns = ("dream",) if arch == "dream" else ()
    tensors = gguf_module._named

    def swapped(weights, name):
        with monkeypatch.context() as patch:
            patch.setattr(gguf_module, "TURNS_NEIGHBOURS", turns)
            return tensors(weights, name)

    monkeypatch.setattr(gguf_module, "_named", swapped)
    with pytest.raises(ExportDisagreement, match="computes a wrong position"):
        export_files(compile_problem("(a|b)*abb", "mdm", length=6), "gguf", gguf=GgufChoice(arch))


def test_bad_options():
    with pytest.raises(UnmaskError, match="llada is not causal; use --arch llama"):
        export_files(compile_problem("(a|b)*abb", "cot", length=5), "gguf")
    with pytest.raises(UnmaskError, match="--arch and --dtype are for gguf, not for llama"):
        export_files(compile_problem("(a|b)*abb", "mdm", length=5), "llama", gguf=GgufChoice("dream"))
