"""ONNX: the bytes are checked by `onnx.checker`, the passes run by onnxruntime, where unmask cannot be imported."""

import re

import numpy as np
import pytest

from export.permutations import words as a5_words
from unmask.engines.fast import FastEngine
from unmask.export.agreement import decisions, mask_of, observe_passes
from unmask.export.export_model import export_files
from unmask.export.folder_files import write_new_folder
from unmask.testing import random_model
from unmask.weights.kinds import KINDS


def words_of(model, count, seed=90):
    letters = [model.token[symbol] for symbol in model.input_symbols]
    return np.random.default_rng(seed).choice(letters, size=(count, model.length))


@pytest.mark.parametrize("kind", KINDS)
def test_plain_passes_decide_as_f_p(kind, exported, outside):
    model, folder, report = exported("(a|b)*abb", kind, "onnx", length=7)
    for observed in observe_passes(model, report["part"], words_of(model, 6))[:6]:
        (logits,) = outside("onnx_pass", folder=folder, inputs=observed.tokens.tolist())
        logits = np.array(logits)[:, observed.rows[0] : observed.rows[1]]
        without = mask_of(model, report["part"])
        if without is not None:
            logits[..., without] = -np.inf
        expected = decisions(observed.logits, without)
        assert (logits.argmax(axis=-1) == expected.symbol)[expected.clear].all()


@pytest.mark.parametrize("precision", [1, 2, 7, 8])
@pytest.mark.parametrize("kind", KINDS)
def test_exact_passes_of_random_weights(kind, precision, outside, tmp_path):
    model = random_model(60 + precision, kind, 3, precision=precision, stochastic=False, engine=FastEngine())
    files, report = export_files(model, "onnx", exact=True)
    folder = write_new_folder(files, tmp_path / "onnx")
    for observed in observe_passes(model, report["part"], words_of(model, 2))[:3]:
        logits, zero_rows = outside("onnx_pass", folder=folder, inputs=observed.tokens.tolist())
        assert np.array_equal(np.array(logits)[:, observed.rows[0] : observed.rows[1]], observed.logits)
        assert zero_rows == [0]


def test_sizes(exported):
    _, _, plain = exported("group:A5", "mdm", "onnx", length=16)
    _, _, exact = exported("group:A5", "mdm", "onnx", length=16, exact=True)
    assert plain["nodes"] < 50 < exact["nodes"] < 1000


@pytest.mark.parametrize(("kind", "exact"), [*((kind, False) for kind in KINDS), ("mdm", True), ("pcot", True)])
def test_the_program_on_the_card_answers(kind, exact, exported, outside):
    """Onnxruntime, NumPy and export.json; `m` and `1` are typed as letters, and are the mask and an answer as well."""
    _, folder, _ = exported("(a|b)*abb", kind, "onnx", length=7, exact=exact)
    words = ["ababbbb", "aaaaabb", "bababba", "bbbbabb", "aaaaamb", "1aaaabb"]
    expected = ["accepted" if re.fullmatch("(a|b)*abb", word) else "rejected" for word in words]
    assert [line.split()[1] for line in outside("card", folder=folder, words=words).splitlines()] == expected


def test_letters_that_are_symbols_of_slots(exported, outside):
    _, folder, report = exported("[01]*m?", "mdm", "onnx", length=5)
    assert {report["mask"], report["accept"], report["reject"]} <= set("M01")
    words = ["01101", "0110m", "0110M", "00000", "mm000"]
    expected = ["accepted" if re.fullmatch("[01]*m?", word) else "rejected" for word in words]
    assert [line.split()[1] for line in outside("card", folder=folder, words=words).splitlines()] == expected


def test_symbols_of_several_letters_and_values(exported, outside):
    model, folder, _ = exported("group:A5", "mdm", "onnx", length=16)
    word_answers = a5_words(model.input_symbols, 16, 6, seed=4)
    lines = outside("card", folder=folder, words=[word for word, _ in word_answers]).splitlines()
    assert [line.endswith("accepted") for line in lines] == [answer for _, answer in word_answers]
    _, folder, _ = exported("expr:(a+b)*c", "mdm", "onnx")
    assert outside("card", folder=folder, words=["(4+5)*2=", "(0+1)*7="]).split() == ["18", "7"]


def test_a_planner_or_a_predictor_alone(exported, outside):
    """One pass of a pair: which slots are written first, and what would be."""
    _, folder, _ = exported("(a|b)*abb", "mdm", "onnx", length=7, part="planner")
    assert outside("card", folder=folder) == "[0, 1, 2]\n"
    _, folder, report = exported("random:3", "mdm", "onnx", length=4, exact=True)
    assert report["order"] is None
    assert outside("card", folder=folder).startswith("['")
    assert "The word determines which slots" in (folder / "README.md").read_text(encoding="utf-8")
