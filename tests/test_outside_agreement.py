"""Runs of the library are repeated by a reader that knows only the format page and shares no code.

Random models of every kind, over all lengths 0 … 6 and p = 1 … 4, deterministic and sampled: canvas, output and
verdict must agree symbol by symbol, and so must errors. `make check-long` takes more seeds.
"""

from functools import lru_cache
from itertools import product

import pytest

import folder_by_hand
import outside_reader
from unmask.api import ENGINES, compile_problem, load_model, run_word, save_model
from unmask.errors import AttendsToNothing, EditsWrittenSlot
from unmask.traces.trace import trace_result
from unmask.weights.kinds import KINDS

SEEDS = range(28)
MORE = range(28, 78)
loaded = lru_cache(maxsize=64)(load_model)  # folders do not change after they are read


def shape(seed):
    """Return the length and the precision of a seed; 7 and 4 have no common factor, so all pairs occur."""
    return seed % 7, 1 + seed % 4


def ours(folder, word, engine="reference", **options):
    try:
        return trace_result(run_word(loaded(folder), word, engine=ENGINES[engine](), **options))
    except AttendsToNothing as error:
        return "Z = 0", error.layer, error.head, error.row
    except EditsWrittenSlot as error:
        return "edits", error.step, error.slot


def theirs(folder, word, **options):
    try:
        return outside_reader.run(folder, word, **options)
    except outside_reader.Undefined as error:
        return "Z = 0", error.layer, error.head, error.row
    except outside_reader.Reselected as error:
        return "edits", error.step, error.slot


def words(seed, length):
    """Return two words of a length, which depend on the seed."""
    everything = list(product("ab", repeat=length))
    return sorted({"".join(everything[(seed * k) % len(everything)]) for k in (3, 5)})


def disagreements(folder, seed, length):
    for word in words(seed, length):
        for options in ({}, {"sample": True, "seed": seed}, {"sample": True, "seed": seed + 1000}):
            expected = theirs(folder, word, **options)
            for engine in ENGINES:
                left = ours(folder, word, engine, **options)
                if left != expected:
                    yield word, engine, options, left, expected


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seeds", [SEEDS, pytest.param(MORE, marks=pytest.mark.long)])
def test_every_run_is_reproduced(tmp_path, kind, seeds):
    for seed in seeds:
        length, precision = shape(seed)
        model = compile_problem(f"random:{seed}", kind, length=length, precision=precision)
        folder = save_model(model, tmp_path / str(seed))
        assert list(disagreements(folder, seed, length)) == [], (kind, seed)


def test_all_lengths_and_precisions_are_among_the_seeds():
    assert {shape(seed) for seed in SEEDS} == set(product(range(7), (1, 2, 3, 4)))


@pytest.mark.parametrize("kind", ["mdm", "plt", "cot"])
def test_a_changed_weight_is_noticed(tmp_path, kind):
    """Our model against a folder with one other logit weight: for some seed the runs must differ."""
    noticed = 0
    for seed in range(8):
        model = compile_problem(f"random:{seed}", kind, length=2, precision=2)
        good, bad = save_model(model, tmp_path / f"good{seed}"), save_model(model, tmp_path / f"bad{seed}")
        name = "predictor" if kind == "mdm" else "model"
        for row in range(len(model.vocabulary)):
            folder_by_hand.change_a_weight(
                bad / f"{name}.safetensors", "out", (row, 0), lambda value: 15 if value <= 0 else -15
            )
        noticed += any(ours(good, word) != theirs(bad, word) for word in ("aa", "ab", "ba", "bb"))
    assert noticed > 0


def test_a_single_changed_weight_is_noticed(tmp_path):
    """One entry of one tensor."""
    for seed in range(20):
        model = compile_problem(f"random:{seed}", "cot", length=2, precision=2)
        good, bad = save_model(model, tmp_path / f"good{seed}"), save_model(model, tmp_path / f"bad{seed}")
        folder_by_hand.change_a_weight(
            bad / "model.safetensors", "out", (3, 1), lambda value: 15 if value <= 0 else -15
        )
        if ours(good, "ab") != theirs(bad, "ab"):
            return
    pytest.fail("no run depended on the changed weight")


def test_a_folder_written_by_hand(tmp_path):
    folder = folder_by_hand.write(tmp_path / "hand")
    for word in ("aa", "ab", "ba", "bb"):
        assert ours(folder, word) == theirs(folder, word)
        assert ours(folder, word)["accepted"] is (word == "bb")
