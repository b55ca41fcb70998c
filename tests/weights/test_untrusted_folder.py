"""A folder of any content: loading it fails at once, with one error message that says what is wrong."""

import json
import math
import os
import re
import resource
import struct

import numpy as np
import pytest

import folder_by_hand
import work
from unmask.errors import FolderError, TooLarge, UnmaskError
from unmask.limits import Budget
from unmask.weights.storage import content_hash, load

GOOD = folder_by_hand.config()


def refuse(folder, message, *, kind=UnmaskError, most=200):
    """Check that loading raises this error message, with little work and memory."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    error, steps = work.refused(kind, lambda: load(folder))
    assert re.search(message, str(error))
    assert steps < 2_000_000
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < most * 1024
    assert isinstance(error, (FolderError, TooLarge))
    assert len(str(error)) < 600
    assert "\n" not in str(error)


def test_the_folder_that_is_damaged_below_is_good(tmp_path):
    assert load(folder_by_hand.write(tmp_path / "good")).kind == "plt"


def sparse_embed(entries, shape=(5, 4), **parts):
    def tensors():
        stored = folder_by_hand.tensors()
        del stored["embed"]
        return stored | folder_by_hand.sparse("embed", entries, shape) | parts

    return tensors


def changed(name, tensor):
    return lambda: folder_by_hand.tensors() | {name: tensor}


def without(name):
    return lambda: {n: t for n, t in folder_by_hand.tensors().items() if n != name}


def header(**changes):
    return lambda: folder_by_hand.with_header({name.replace("__", "."): entry for name, entry in changes.items()})


def empty(shape, dtype="I8"):
    return {"dtype": dtype, "shape": shape, "data_offsets": [0, 0]}


def renamed(old, new):
    return lambda: {n.replace(old, new): t for n, t in folder_by_hand.tensors().items()}


def cut(bytes_kept):
    return lambda: folder_by_hand.with_header({})[:bytes_kept]


WEIGHTS = {
    "cut in the body": (cut(-3), r"model.safetensors of \S+ is not a whole safetensors file"),
    "cut in the header": (cut(40), r"model.safetensors of \S+ is not a whole safetensors file"),
    "empty": (cut(0), r"model.safetensors of \S+ is not a whole safetensors file"),
    "garbage": (lambda: b"\xff" * 100, r"model.safetensors of \S+ is not a whole safetensors file"),
    "negative row": (sparse_embed([(-1, 0, 4)]), "tensor embed: entry 0 .* has row -1, outside 0 … 4"),
    "negative column": (sparse_embed([(0, -4, 4)]), "tensor embed: .* has column -4"),
    "row beyond": (sparse_embed([(5, 0, 4)]), "tensor embed: .* has row 5"),
    "duplicate": (sparse_embed([(1, 1, 4), (0, 0, 4), (1, 1, 4)]), "tensor embed: .* row 1, column 1 twice"),
    "10^12 rows": (sparse_embed([(0, 0, 4)], (10**12, 4)), "tensor embed.*beyond"),
    "10^12 cells": (sparse_embed([(0, 0, 4)], (10**6, 10**6)), "beyond|has the shape|would need"),
    "2^31 rows": (sparse_embed([(0, 0, 4)], (2**31 - 1, 4)), "tensor embed claims the shape"),
    "negative shape": (sparse_embed([], (-5, 4)), r"tensor embed.shape must hold 2 sizes from 0, not \[-5, 4\]"),
    "three sizes": (sparse_embed([], (5, 4, 1)), "tensor embed.shape must hold 2 sizes"),
    "no value": (sparse_embed([(0, 0, 4)], **{"embed.val": np.zeros(0, np.int64)}), "tensor embed: .*one length"),
    "nested index": (sparse_embed([], **{"embed.row": np.zeros((1, 1), np.int64)}), "embed.row must have one axis"),
    "2^63 index": (
        sparse_embed([(0, 0, 4)], **{"embed.row": np.array([2**63], np.uint64)}),
        "tensor embed.row holds a number beyond 32 bits",
    ),
    "both forms": (
        lambda: folder_by_hand.tensors() | folder_by_hand.sparse("embed", [], (5, 4)),
        "holds the tensor 'embed.col', which no model has",
    ),
    "value beyond": (changed("embed", np.full((5, 4), 16)), "tensor embed holds 16, outside ±15"),
    "value below": (changed("layers.0.mlp.b2", np.full(4, -16)), "tensor layers.0.mlp.b2 holds -16"),
    "2^64 - 1": (changed("pos", np.full((3, 4), 2**64 - 1, np.uint64)), "tensor pos holds a number beyond 32 bits"),
    "float": (changed("out", np.zeros((5, 4), np.float32)), "tensor 'out' has the type F32; it must hold integers"),
    "nan": (changed("out", np.full((5, 4), np.nan)), "tensor 'out' has the type F64"),
    "bool": (changed("out", np.zeros((5, 4), bool)), "tensor 'out' has the type BOOL"),
    "bfloat16": (header(extra=empty([0], "BF16")), "tensor 'extra' has the type BF16"),
    "missing": (without("layers.0.mlp.b2"), r"model.safetensors of \S+ lacks the tensor 'layers.0.mlp.b2'"),
    "missing embed": (without("embed"), r"model.safetensors of \S+ lacks the tensor 'embed'"),
    "missing part": (without("layers.0.heads.0.wv.val"), "lacks the tensor 'layers.0.heads.0.wv.val'"),
    "extra": (changed("bias", np.zeros(1, np.int8)), "holds the tensor 'bias', which no model has; remove it"),
    "extra in a layer": (changed("layers.0.mlp.b3", np.zeros(1, np.int8)), "holds the tensor 'layers.0.mlp.b3'"),
    "gap": (renamed("layers.0.", "layers.1."), r"layers.1 is not expected; number layers.\* from 0 without gaps"),
    "head gap": (renamed("heads.0", "heads.7"), r"layers.0.heads.7 is not expected"),
    "layer 00": (renamed("layers.0.", "layers.00."), "layers.00 is not expected"),
    "layer 10^30": (renamed("layers.0.", f"layers.{10**30}."), "is not expected"),
    "layer of letters": (changed("layers.x.mlp.b1", np.zeros(1, np.int8)), "layers.x is not expected"),
    "scalar pos": (changed("pos", np.array(3, np.int8)), r"tensor pos must have 2 axes, but its shape is \[\]"),
    "scalar embed": (changed("embed", np.array(3, np.int8)), "tensor embed must have 2 axes"),
    "matrix bias": (changed("layers.0.mlp.b1", np.zeros((1, 1), np.int8)), "layers.0.mlp.b1 must have 1 axes"),
    "rows of pos": (changed("pos", np.zeros((4, 4), np.int8)), "pos of the model has 4 rows, but there are 3"),
    "columns of wv": (changed("layers.0.mlp.w2", np.zeros((1, 5), np.int8)), "tensor layers.0.mlp.w2 has the shape"),
    "empty and huge": (header(pos=empty([2**63, 0])), r"model.safetensors of \S+ is not a whole safetensors file"),
    "empty and too big": (header(extra=empty([2**62, 0, 4])), r"model.safetensors of \S+ is not a whole"),
    "65 axes": (header(extra=empty([0] * 65)), r"model.safetensors of \S+ is not a whole"),
    "10^12 promised": (header(embed=empty([10**12, 4])), r"model.safetensors of \S+ is not a whole"),
    "negative size": (header(embed=empty([-1, 4])), r"model.safetensors of \S+ is not a whole"),
    "long name": (header(**{"x" * 10**6: empty([0])}), "holds the tensor 'xxx.*…x"),
}


@pytest.mark.parametrize("case", WEIGHTS)
def test_damaged_weights(tmp_path, case):
    tensors, message = WEIGHTS[case]
    refuse(folder_by_hand.write(tmp_path / "m", tensors=tensors), message)


def test_wide_activations_are_refused_before_they_are_made(tmp_path):
    """A query width that two sparse tensors agree on, and that no machine could hold."""

    def tensors():
        stored = {n: t for n, t in folder_by_hand.tensors().items() if ".wq" not in n and ".wk" not in n}
        for name in ("wq", "wk"):
            stored |= folder_by_hand.sparse(f"layers.0.heads.0.{name}", [], (4, 1 << 27))
        return stored

    refuse(folder_by_hand.write(tmp_path / "m", tensors=tensors), "3 rows would need 3 × 134217728", kind=TooLarge)


WRONG_TYPES = {
    "reasoner": [None, 3, "rnn", ["mdm"], {}],
    "precision": [None, 0, 9, "2", 2.0, True, [2], 10**30],
    "length": [None, "2", 2.0, True, [2], -1, 10**30],
    "steps": [None, "2", 1.5, False, {}, -1],
    "padding": [None, "1", 1.5, True, -1],
    "block": ["1", 1, 0.5, True],
    "k": ["1", 1, 1.0, [1]],
    "vocabulary": [None, "ab", ["a", 1], {"a": 0}, [], ["a", "b", "□", "0", "0"]],
    "input_symbols": [None, "ab", ["a", None], {}, ["a", "x"], ["a", "□"]],
    "mask": [3, ["m"], "unknown"],
    "pad": [None, 3, {}, "unknown"],
    "accept": [None, 1, ["1"], "unknown"],
    "reject": [None, 0, "1"],
    "begin": [3, [], "a"],
    "aliases": [None, [], "a", {"a": 1}, {"a": "unknown"}],
    "characters": [3, "a", {}, [97], [[97, 97]], [[97, 97, "a", 1]], [["a", "b", "a"]], [[0.5, 1, "a"]]],
    "transformers": [None, [], "model", {}, {"model": None}, {"planner": {}}, {"other": {}}],
}


@pytest.mark.parametrize(
    ("key", "value"), [(key, value) for key, values in WRONG_TYPES.items() for value in values], ids=str
)
def test_wrong_json_values_name_their_key(tmp_path, key, value):
    """The error message names the key, or the quantity that no longer fits."""
    words = {
        "length": "length|rows",
        "padding": "padding|rows",
        "vocabulary": "vocabulary|input_symbols",
        "input_symbols": "input_?.?symbol",
        "transformers": "transformers",
    }
    folder = folder_by_hand.write(tmp_path / "m", config=lambda: GOOD | {key: value})
    refuse(folder, words.get(key, key))


@pytest.mark.parametrize(
    "ranges", [[[97, 97, 9]], [[97, 97, -1]], [[98, 97, "a"]], [[0, 10**30, "a"]], [[-1, 97, "a"]]]
)
def test_wrong_characters(tmp_path, ranges):
    refuse(folder_by_hand.write(tmp_path / "m", config=lambda: GOOD | {"characters": ranges}), "characters")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("file", None),
        ("file", ""),
        ("file", "../model.safetensors"),
        ("file", "/etc/passwd"),
        ("file", ".."),
        ("file", "."),
        ("file", "a/b"),
        ("file", "x\0y"),
        ("file", "\ud800"),
        ("file", "x" * 5000),
        ("file", 3),
        ("attention", None),
        ("attention", "sliding"),
        ("attention", ["causal"]),
        ("loop", [0]),
        ("loop", [0, "1"]),
        ("loop", "01"),
        ("loop", [0, True]),
        ("noise", []),
        ("noise", {"planner": 3}),
        ("noise", {"planner": [0.5]}),
        ("noise", {"other": []}),
        ("extra", 1),
    ],
    ids=str,
)
def test_wrong_entries_of_a_transformer(tmp_path, key, value):
    entry = {"model": GOOD["transformers"]["model"] | {key: value}}
    folder = folder_by_hand.write(tmp_path / "m", config=lambda: GOOD | {"transformers": entry})
    refuse(folder, f"config.json of .*: transformers must be .*{key}")


@pytest.mark.parametrize("loop", [[-1, 1], [1, 0], [0, 2], [0, 10**30]], ids=str)
def test_a_loop_beyond_the_layers(tmp_path, loop):
    entry = {"model": GOOD["transformers"]["model"] | {"loop": loop}}
    refuse(folder_by_hand.write(tmp_path / "m", config=lambda: GOOD | {"transformers": entry}), "the loop")


@pytest.mark.parametrize("columns", [[4], [-1], [0, 0], [10**30]], ids=str)
def test_noise_beyond_the_columns(tmp_path, columns):
    entry = {"model": GOOD["transformers"]["model"] | {"noise": {"predictor": columns}}}
    refuse(folder_by_hand.write(tmp_path / "m", config=lambda: GOOD | {"transformers": entry}), "noise columns")


@pytest.mark.parametrize("key", sorted(set(GOOD) - {"problem", "provenance", "registers"}))
def test_a_missing_key_is_named_or_has_a_default(tmp_path, key):
    folder = folder_by_hand.write(tmp_path / "m", config=lambda: {k: v for k, v in GOOD.items() if k != key})
    if key in ("block", "k", "mask", "begin", "aliases", "characters"):
        assert load(folder).kind == "plt"
    else:
        refuse(folder, key)


def test_comments_may_be_anything(tmp_path):
    for comment in (None, 3, [[]], {"model": ["x"]}, {"model": {"x": ["a", "b", "c", "d"]}}):
        folder = folder_by_hand.write(
            tmp_path / "m",
            config=lambda c=comment: GOOD | {"registers": c, "problem": c, "provenance": c},
        )
        names = load(folder).transformers["model"].registers
        assert names is None or names.names == ("x:a", "x:b", "x:c", "x:d")


CONFIGS = {
    "not JSON": (b"{", "config.json of .* is not JSON"),
    "empty": (b"", "is not JSON"),
    "not UTF-8": (b'{"format": "\xff"}', "is not JSON"),
    "a list": (b"[]", "must be a JSON object"),
    "another format": (json.dumps(GOOD | {"format": "gguf"}).encode(), "must have .*unmask-model/1.*not 'gguf'"),
    "unknown key": (json.dumps(GOOD | {"colour": 1}).encode(), "unknown key 'colour'; remove it"),
    "NaN": (json.dumps(GOOD | {"problem": float("nan")}).encode(), "is not JSON: NaN is not a JSON number"),
    "infinity": (json.dumps(GOOD | {"steps": float("inf")}).encode(), "is not JSON: Infinity"),
    "deep": (b"[" * 100_000 + b"]" * 100_000, "is nested too deeply"),
    "deep object": (b'{"problem":' * 100_000 + b"1" + b"}" * 100_000, "is nested too deeply"),
    "10^5000": (b'{"steps": 1' + b"0" * 5000 + b"}", "is not JSON|steps|format"),
    "length 10^12": (json.dumps(GOOD | {"length": 10**12}).encode(), "1000000000001 rows, beyond the limit"),
    "padding 10^12": (json.dumps(GOOD | {"padding": 10**12}).encode(), "rows, beyond the limit"),
    "steps 10^12": (json.dumps(GOOD | {"steps": 10**12}).encode(), "asks for 1000000000000 steps, beyond"),
    "long vocabulary": (
        json.dumps(GOOD | {"vocabulary": [*folder_by_hand.VOCABULARY, *map(str, range(2, 200_000)), "9"]}).encode(),
        "the vocabulary names '9' twice",
    ),
    "a key twice": (
        json.dumps(GOOD).encode()[:-1] + b', "length": 2}',
        "the key 'length' is given twice in config.json",
    ),
    "a key twice inside": (
        json.dumps(GOOD | {"problem": 0}).encode()[:-1] + b', "aliases": {"a": "b", "a": "b"}}',
        "'a' is",
    ),
    "long key": (json.dumps(GOOD | {"x" * 10**6: 1}).encode(), "unknown key 'xxx"),
}


@pytest.mark.parametrize("case", CONFIGS)
def test_damaged_configs(tmp_path, case):
    text, message = CONFIGS[case]
    refuse(folder_by_hand.write(tmp_path / "m", config=lambda: text), message)


def test_missing_files(tmp_path):
    refuse(tmp_path / "nothing", "is not a model folder: it has no config.json")
    (tmp_path / "file").write_text("x")
    refuse(tmp_path / "file", "is not a folder")
    folder = folder_by_hand.write(tmp_path / "m")
    (folder / "model.safetensors").unlink()
    refuse(folder, "lacks the file model.safetensors")


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
def test_what_is_no_file_is_not_waited_for(tmp_path, name):
    """A named pipe would block, a folder cannot be read."""
    for make in (os.mkfifo, os.mkdir):
        folder = folder_by_hand.write(tmp_path / make.__name__)
        (folder / name).unlink()
        make(folder / name)
        refuse(folder, f"{name} .*is not a file")


def hole(path, tensors):
    """A file that promises tensors of zeros, {name: (dtype, bytes of a number, shape)}, and takes no space."""
    header, end = {}, 0
    for name, (kind, size, shape) in tensors.items():
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [end, end + size * math.prod(shape)]}
        end = header[name]["data_offsets"][1]
    text = json.dumps(header).encode()
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        file.truncate(8 + len(text) + end)


GIGABYTES = {
    "dense": {"embed": ("I64", 8, [1 << 13, 1 << 13])},
    "one row": {"embed": ("I64", 8, [1, 1 << 26])},
    "positions": {"pos": ("I32", 4, [3, 1 << 25])},
    "sparse": {
        **{f"embed.{part}": ("U8", 1, [1 << 26]) for part in ("row", "col", "val")},
        "embed.shape": ("I64", 8, [2]),
    },
}


@pytest.mark.parametrize("case", GIGABYTES)
def test_a_folder_is_read_within_the_budget(tmp_path, case):
    """A sparse file on disk may claim gigabytes; they are refused before memory is allocated."""
    folder = folder_by_hand.write(tmp_path / "m")
    hole(folder / "model.safetensors", GIGABYTES[case])
    with Budget(memory=100 << 20):
        refuse(folder, r"reading model.safetensors would take about .* beyond the limit of 100.0 MB; .* --limit")


def test_the_memory_of_a_matrix_is_estimated(tmp_path):
    """The file is small, but its entries would take much memory."""
    folder = folder_by_hand.write(tmp_path / "m")
    ones = np.ones((1024, 1024), dtype=np.int8)
    folder_by_hand.write(folder, tensors=lambda: {"embed": ones, "pos": ones})
    with Budget(memory=8 << 20):
        refuse(folder, "tensor embed of model.safetensors would take about 24.0 MB")
    entries = np.zeros(1 << 20, dtype=np.uint8)
    parts = {f"embed.{part}": entries for part in ("row", "col", "val")}
    folder_by_hand.write(folder, tensors=lambda: {**parts, "embed.shape": np.array([5, 4])})
    with Budget(memory=8 << 20):
        refuse(folder, "tensor embed of model.safetensors would take about 80.0 MB")


def test_the_time_limit_is_checked_while_a_tensor_is_read(tmp_path, monkeypatch):
    """A large tensor is read in blocks, and the time limit is checked before each."""
    folder = folder_by_hand.write(tmp_path / "m")
    hole(folder / "model.safetensors", {"embed": ("I64", 8, [4, 1 << 23])})
    parts = []
    monkeypatch.setattr("unmask.weights.tensors.check", lambda: parts.append(1))
    refuse(folder, "lacks the tensor 'pos'", most=800)
    assert len(parts) == 8


@pytest.mark.parametrize("size", [1, 3, 4, 7, 100])
def test_tensors_that_are_read_in_parts_are_the_same(tmp_path, monkeypatch, size):
    folder = folder_by_hand.write(tmp_path / "m", tensors=with_wide_types)
    whole = load(folder)
    monkeypatch.setattr("unmask.weights.tensors.READ_AT_ONCE", size)
    monkeypatch.setattr("unmask.weights.matrices.SCANNED_AT_ONCE", size)
    assert content_hash(load(folder)) == content_hash(whole)
    refuse(folder_by_hand.write(tmp_path / "n", tensors=changed("pos", np.full((3, 4), 2**40))), "pos.* beyond 32 bits")


def with_wide_types():
    return {name: tensor.astype(np.int64) for name, tensor in folder_by_hand.tensors().items()}
