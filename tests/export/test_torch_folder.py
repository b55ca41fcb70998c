"""Torch folders, plain and exact, run by their own module where unmask cannot be imported."""

import random

import pytest

from unmask.api import compile_problem, run_word
from unmask.engines.fast import FastEngine
from unmask.export.agreement import ExportDisagreement
from unmask.export.export_model import export_files
from unmask.export.folder_files import write_new_folder
from unmask.testing import random_model
from unmask.weights.kinds import KINDS


def canvases(model, words):
    """All canvases of our own run, step by step, each step for all words."""
    traces = [run_word(model, word) for word in words]
    return [
        symbols
        for step in zip(*(trace.canvas for trace in traces), strict=True)
        for symbols in map(model.symbols, step)
    ]


@pytest.mark.parametrize("exact", [False, True], ids=["plain", "exact"])
@pytest.mark.parametrize("kind", KINDS)
def test_compiled_models(kind, exact, exported, outside):
    model, folder, report = exported("(a|b)*abb", kind, "torch", length=7, exact=exact)
    rng = random.Random(80)
    words = ["".join(rng.choice("abc1") for _ in range(7)) for _ in range(6)] + ["aaaaabb", "bababba"]
    assert outside("torch_model", folder=folder, words=words) == canvases(model, words)
    assert report["exact"] is exact


def test_a_looped_model_of_64_letters(exported, outside):
    """Six loops over 65 rows add up what leaks: the scores are sharp enough."""
    model, folder, report = exported("group:S3", "plt", "torch", length=64)
    rng = random.Random(81)
    words = [" ".join(rng.choices(model.input_symbols, k=64)) for _ in range(20)] + [" ".join(["(123)"] * 63 + ["e"])]
    assert outside("torch_model", folder=folder, words=words) == canvases(model, words)
    assert report["agreement"]["least_margin"] == 3.75


@pytest.mark.parametrize("precision", [1, 2, 3, 8])
@pytest.mark.parametrize("kind", KINDS)
def test_random_weights_exactly(kind, precision, outside, tmp_path):
    model = random_model(30 + precision, kind, 4, precision=precision, stochastic=False, engine=FastEngine())
    files, _ = export_files(model, "torch", exact=True)
    folder = write_new_folder(files, tmp_path / "exact")
    words = ["abab", "bbaa", "aaaa"]
    assert outside("torch_model", folder=folder, words=words) == canvases(model, words)


def test_random_weights_are_refused_in_the_plain_form():
    reasons = []
    for seed in range(8):
        try:
            export_files(compile_problem(f"random:{seed}", "cot", length=5), "torch")
        except ExportDisagreement as error:
            reasons.append(str(error))
    assert len(reasons) >= 6
    assert all("floats do not round and clip like F_p; use --to torch --exact" in reason for reason in reasons)


def test_a_word_that_the_model_does_not_read(exported, outside):
    _, folder, _ = exported("(a|b)*abb", "mdm", "torch", length=7)
    good, short, long, empty = outside("torch_refusal", folder=folder, words=["aaaaabb", "abb", "aaaaaabb", ""])
    assert good == [1, 7]
    for message in (short, long, empty):
        assert message.startswith("a word has 7 letters among ")
    _, folder, _ = exported("group:S3", "cot", "torch", length=3)
    shape, stranger, short = outside("torch_refusal", folder=folder, words=["e e (12)", "e e (14)", "e e"])
    assert shape == [1, 3]
    assert stranger.endswith("not ['e', 'e', '(14)']")
    assert short.endswith("not ['e', 'e']")


def test_the_program_on_the_card_runs(exported, outside):
    for exact in (False, True):
        _, folder, _ = exported("(a|b)*abb", "mdm", "torch", length=7, exact=exact)
        assert len(outside("card", folder=folder).splitlines()) == 3
