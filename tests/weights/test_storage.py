import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import by_hand
import folder_by_hand
from unmask.api import run_word
from unmask.errors import FolderError
from unmask.testing import random_model
from unmask.weights.kinds import KINDS
from unmask.weights.matrices import Matrix
from unmask.weights.storage import content_hash, load, save, stored_hash
from unmask.weights.transformer import Registers


def same_transformer(left, right):
    assert (left.precision, left.attention, left.loop, left.noise) == (
        right.precision,
        right.attention,
        right.loop,
        right.noise,
    )
    assert left.registers == right.registers
    pairs = zip(left.tensors(positions=True), right.tensors(positions=True), strict=True)
    for (name, ours), (other, theirs) in pairs:
        assert name == other
        assert ours == theirs if isinstance(ours, Matrix) else np.array_equal(ours, theirs), name


def same_model(left, right):
    for name, value in vars(left).items():
        if name not in ("transformers", "token"):
            assert value == getattr(right, name), name
    assert list(left.transformers) == list(right.transformers)
    for name, transformer in left.transformers.items():
        same_transformer(transformer, right.transformers[name])


def bytes_of(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("seed", "p"), [(0, 1), (1, 4), (2, 8)])
def test_a_folder_gives_back_the_model(tmp_path, kind, seed, p):
    model = random_model(seed, kind, 2, precision=p)
    model = replace(model, problem={"ä": [1, None]}, provenance=[{"x": "\ud800"}], aliases={"a": "b"})
    same_model(load(save(model, tmp_path / "model")), model)


def test_registers_and_characters_come_back(tmp_path):
    transformer = by_hand.successor({0: 4}, 2, attention="causal", registers=Registers.of({"t": list("abcde")}))
    model = by_hand.model("cot", {"model": transformer}, characters=((0, 96, "b"), (97, 97, "a")))
    same_model(load(save(model, tmp_path / "model")), model)


def test_wide_and_sparse_tensors_come_back(tmp_path):
    """More than 256 and 65,536 columns: every index type."""
    for width in (300, 70_000):
        embed = Matrix.from_entries((5, width), [0, 4], [width - 1, 1], [15, -15])
        transformer = replace(
            by_hand.successor({}, 2),
            embed=embed,
            positions=np.zeros((2, width), dtype=np.int64),
            out=Matrix.from_entries((5, width), [3], [width - 1], [4]),
        )
        model = by_hand.model("topk", {"model": transformer})
        same_model(load(save(model, tmp_path / str(width))), model)
        assert sum(path.stat().st_size for path in (tmp_path / str(width)).iterdir()) < 5000


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_model_gives_the_same_bytes_and_hash(tmp_path, kind):
    first, second = (random_model(7, kind, 3) for _ in range(2))
    assert bytes_of(save(first, tmp_path / "1")) == bytes_of(save(second, tmp_path / "2"))
    assert content_hash(first) == content_hash(second) == content_hash(load(tmp_path / "1"))
    assert stored_hash(first, tmp_path / "1") == content_hash(first)
    assert content_hash(first) != content_hash(random_model(8, kind, 3))
    assert content_hash(first) != content_hash(replace(first, problem={"other": 1}))


def test_the_keys_of_the_format_page(tmp_path):
    written = json.loads((save(random_model(0, "mdm", 2), tmp_path / "m") / "config.json").read_text())
    assert list(written) == [*folder_by_hand.config(), "files"]
    assert set(written["transformers"]) == {"planner", "predictor"}
    assert written["transformers"]["planner"]["file"] == "planner.safetensors"


def test_a_model_folder_is_replaced(tmp_path):
    target = save(random_model(0, "mdm", 2), tmp_path / "m")
    save(random_model(0, "cot", 2), target)
    assert load(target).kind == "cot"
    assert sorted(p.name for p in target.iterdir()) == ["SHA256SUMS", "config.json", "model.safetensors"]
    assert [p.name for p in tmp_path.iterdir()] == ["m"]


def test_the_current_folder_has_no_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FolderError, match=r"^\. is not a name that a folder can get; give one such as model$"):
        save(random_model(0, "cot", 1), Path())
    assert list(tmp_path.iterdir()) == []


def test_an_empty_folder_and_missing_parents_are_filled(tmp_path):
    (tmp_path / "empty").mkdir()
    for name in ("empty", "new/deep/folder"):
        assert load(save(random_model(0, "cot", 1), tmp_path / name)).kind == "cot"


def a_file(target):
    target.write_text("mine")


def a_folder_of_files(target):
    target.mkdir()
    (target / "thesis.txt").write_text("mine")


def another_config(target):
    target.mkdir()
    (target / "config.json").write_text('{"format": "something else"}')


def a_model_and_a_file_beside_it(target):
    save(random_model(0, "cot", 1), target)
    (target / "notes.txt").write_text("mine")


def a_link(target):
    (target.parent / "elsewhere").mkdir()
    target.symlink_to(target.parent / "elsewhere")


@pytest.mark.parametrize("make", [a_file, a_folder_of_files, another_config, a_model_and_a_file_beside_it, a_link])
def test_anything_else_is_left_alone(tmp_path, make):
    target = tmp_path / "place"
    make(target)
    before = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    with pytest.raises(FolderError, match="exists and is not a"):
        save(random_model(0, "cot", 1), target)
    assert {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()} == before


@pytest.mark.parametrize("target", ["x" * 400, "file/below"])
def test_a_path_that_cannot_be_written_is_one_error_message(tmp_path, target):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(FolderError, match="cannot be written"):
        save(random_model(0, "cot", 1), tmp_path / target)
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def break_after(monkeypatch, method, calls, error):
    """Path.method works `calls` times, then raises."""
    original, left = getattr(Path, method), [calls]

    def broken(self, *arguments, **options):
        if left[0] == 0:
            left[0] = -1
            raise error
        left[0] -= 1
        return original(self, *arguments, **options)

    monkeypatch.setattr(Path, method, broken)


FULL = OSError(28, "No space left on device")


BREAKS = [("write_bytes", 0), ("write_bytes", 1), ("write_bytes", 2), ("chmod", 0), ("rename", 0)]


@pytest.mark.parametrize(
    ("method", "calls", "occupied"),
    [(*b, occupied) for b in BREAKS for occupied in (False, True)] + [("rename", 1, True)],
)
@pytest.mark.parametrize("error", [FULL, KeyboardInterrupt()], ids=["full", "interrupted"])
def test_a_failure_midway_leaves_everything_as_it_was(tmp_path, monkeypatch, method, calls, error, occupied):
    """At each file, and at each move: there are two moves if a folder exists already."""
    target = tmp_path / "model"
    if occupied:
        save(random_model(0, "cot", 2), target)
    before = bytes_of(target) if occupied else None
    model = random_model(1, "mdm", 2)
    break_after(monkeypatch, method, calls, error)
    with pytest.raises(FolderError if error is FULL else KeyboardInterrupt):
        save(model, target)
    monkeypatch.undo()
    assert [p.name for p in tmp_path.iterdir()] == (["model"] if occupied else [])
    if occupied:
        assert bytes_of(target) == before


def test_the_folder_can_be_read_by_others(tmp_path):
    target = save(random_model(0, "cot", 2), tmp_path / "model")
    assert target.stat().st_mode & 0o777 == 0o755
    assert all(os.access(path, os.R_OK) for path in target.iterdir())


@pytest.mark.parametrize(("word", "accepted"), [("aa", False), ("ab", False), ("ba", False), ("bb", True)])
def test_a_folder_written_by_hand(tmp_path, word, accepted):
    model = load(folder_by_hand.write(tmp_path / "hand"))
    assert run_word(model, word).accepted is accepted


def test_vectors_may_be_sparse(tmp_path):
    """Entries of a vector count in `row` or in `col`."""
    for index in range(2):

        def tensors(index=index):
            stored = folder_by_hand.tensors()
            del stored["layers.0.mlp.b2"]
            entries = [(2, 0, 3)] if index == 0 else [(0, 2, 3)]
            return stored | folder_by_hand.sparse("layers.0.mlp.b2", entries, [4])

        model = load(folder_by_hand.write(tmp_path / str(index), tensors=tensors))
        assert model.transformers["model"].layers[0].mlp.b2.tolist() == [0, 0, 3, 0]
