"""A name that occurs twice in a file is refused, because readers differ in which value they take."""

import json
import struct

import pytest

import folder_by_hand
from unmask.api import compile_problem, load_model, save_model
from unmask.checker.certificate import Refused, parse_json
from unmask.errors import FolderError, UnmaskError
from unmask.problems.catalogue import parse_problem
from unmask.samplers.string_law import read_law


def doubled(document, key):
    """The JSON text of an object with one key twice."""
    text = json.dumps(document)
    entry = f"{json.dumps(key)}: {json.dumps(document[key])}"
    assert text.count(entry) == 1
    return text.replace(entry, f"{entry}, {entry}")


def with_header(content, change):
    (size,) = struct.unpack_from("<Q", content)
    header = change(json.loads(content[8 : 8 + size])).encode()
    header += b" " * (-len(header) % 8)
    return struct.pack("<Q", len(header)) + header + content[8 + size :]


def two_tensors(header):
    return doubled(header, "embed")


def two_tensors_that_differ(header):
    first, second = (json.dumps({**header["embed"], "shape": shape}) for shape in ([5, 4], [4, 5]))
    rest = json.dumps({name: entry for name, entry in header.items() if name != "embed"})
    return f'{{"embed": {first}, "embed": {second}, {rest[1:]}'


def two_shapes(header):
    return json.dumps(header).replace('"shape":', '"shape": [4, 5], "shape":', 1)


def two_metadata(header):
    return '{"__metadata__": {"a": "1"}, "__metadata__": {"a": "2"}, ' + json.dumps(header)[1:]


def one_escaped(header):
    entry = json.dumps(header["embed"])
    return f'{{"\\u0065mbed": {entry}, ' + json.dumps(header)[1:]


@pytest.mark.parametrize("change", [two_tensors, two_tensors_that_differ, two_shapes, two_metadata, one_escaped])
def test_tensors(change, tmp_path, unmask):
    folder = folder_by_hand.write(tmp_path / "m")
    path = folder / "model.safetensors"
    path.write_bytes(with_header(path.read_bytes(), json.dumps))
    load_model(folder)
    path.write_bytes(with_header(path.read_bytes(), change))
    with pytest.raises(FolderError, match=r"is given twice in the header of model.safetensors|not a whole safetensors"):
        load_model(folder)
    assert unmask("run", folder, "ab")[0] == 2


def test_a_checkpoint_of_the_lab(tmp_path):
    torch = pytest.importorskip("torch")
    from safetensors.torch import save

    from unmask.lab.checkpoints import _tensors

    path = tmp_path / "checkpoint.safetensors"
    path.write_bytes(save({"embed": torch.zeros(2)}, metadata={"a": "1"}))
    assert _tensors(path)[1] == {"a": "1"}
    path.write_bytes(with_header(path.read_bytes(), two_tensors))
    with pytest.raises(FolderError, match="'embed' is given twice"):
        _tensors(path)


@pytest.mark.parametrize("key", ["steps", "format", "vocabulary"])
def test_a_config(key, tmp_path):
    folder = folder_by_hand.write(tmp_path / "m")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(doubled(config, key))
    with pytest.raises(FolderError, match=f"'{key}' is given twice"):
        load_model(folder)


def test_an_automaton(tmp_path):
    document = {"alphabet": ["a"], "states": ["q"], "start": "q", "accepting": ["q"], "delta": {"q": {"a": "q"}}}
    path = tmp_path / "x.json"
    for text in (doubled(document, "start"), json.dumps(document).replace('"a": "q"', '"a": "q", "a": "q"')):
        path.write_text(text)
        with pytest.raises(UnmaskError, match="is given twice"):
            parse_problem(f"dfa:{path}")


def test_a_law(tmp_path):
    (tmp_path / "x.json").write_text('{"kind": "uniform", "kind": "uniform"}')
    with pytest.raises(UnmaskError, match="'kind' is given twice"):
        read_law(tmp_path / "x.json")


def test_a_certificate(tmp_path, unmask):
    folder = save_model(compile_problem("a*b", "mdm", length=2), tmp_path / "m")
    assert unmask("verify", folder, "--method", "prove", "--certificate", tmp_path / "c")[0] == 0
    document = json.loads((tmp_path / "c.induction.json").read_text())
    for text in (doubled(document, "model"), json.dumps(document).replace('"table":', '"table": [], "table":', 1)):
        with pytest.raises(Refused, match="twice"):
            parse_json(text.encode())


def test_settings_and_results_of_the_lab(tmp_path):
    from unmask.lab.settings import read_run_config
    from unmask.lab.sweep import read_results

    (tmp_path / "x.json").write_text('{"length": 4, "length": 8}')
    with pytest.raises(UnmaskError, match="'length' is given twice"):
        read_run_config(tmp_path / "x.json")
    (tmp_path / "x.json").write_text('{"format": "unmask-lab/1", "cells": [], "cells": []}')
    with pytest.raises(UnmaskError, match="'cells' is given twice"):
        read_results(tmp_path / "x.json")
