"""Documents that once caused a failure, by format: `corpus/FORMAT.json` maps a description to the document."""

import json
import struct
from pathlib import Path

import numpy as np
import pytest

import folder_by_hand
from hostile import targets
from unmask.api import compile_problem, load_model, save_model
from unmask.errors import FolderError, TooLarge
from unmask.problems.circuits.circuit_files import parse_aiger

CORPUS = Path(__file__).parent / "corpus"
TENSORS = targets.packed(folder_by_hand.tensors(), {})


def config(changes, scratch):
    targets.folder((folder_by_hand.config() | changes, TENSORS), scratch)


TARGETS = {
    "circuit": targets.circuit,
    "problem": targets.problem,
    "question": targets.question,
    "config": config,
    "trace": targets.trace,
}
CASES = [(path.stem, name) for path in sorted(CORPUS.glob("*.json")) for name in json.loads(path.read_text())]


@pytest.mark.parametrize(("kind", "name"), CASES, ids=str)
def test_what_once_broke(kind, name, tmp_path):
    TARGETS[kind](json.loads((CORPUS / f"{kind}.json").read_text())[name], tmp_path)


@pytest.mark.parametrize("name", ["blank line", "superscript in a symbol", "5000 digits in a symbol"])
def test_a_circuit_is_refused_with_its_line(name):
    text = json.loads((CORPUS / "circuit.json").read_text())[name]
    with pytest.raises(targets.UnmaskError, match=r"line \d.*not a well-formed AIGER file"):
        parse_aiger(text.encode())


@pytest.mark.parametrize("layers", [0, 1])
def test_no_columns_are_refused(layers, tmp_path):
    stored = {name: np.zeros((rows, 0), np.int8) for name, rows in (("embed", 5), ("pos", 3), ("out", 5))}
    if layers:
        shapes = {"w1": (0, 1), "b1": (1,), "w2": (1, 0), "b2": (0,)}
        stored |= {f"layers.0.mlp.{name}": np.zeros(shape, np.int8) for name, shape in shapes.items()}
    entry = {"model": folder_by_hand.config()["transformers"]["model"] | {"loop": [0, layers]}}
    config = folder_by_hand.config() | {"transformers": entry}
    folder = folder_by_hand.write(tmp_path / "m", config=lambda: config, tensors=lambda: stored)
    with pytest.raises(FolderError, match="a width of at least 1"):
        load_model(folder)


def test_a_hole_of_4_gb_is_refused_before_it_is_read(tmp_path):
    size = (1 << 32) - 200
    header = json.dumps({"embed": {"dtype": "I8", "shape": [size], "data_offsets": [0, size]}}).encode()
    folder = folder_by_hand.write(tmp_path / "m")
    with (folder / "model.safetensors").open("wb") as file:
        file.write(struct.pack("<Q", len(header)) + header)
        file.truncate(8 + len(header) + size)
    with pytest.raises(TooLarge, match="tensor 'embed'"):
        load_model(folder)


def test_more_outputs_than_slots_are_refused(tmp_path, unmask):
    model = save_model(compile_problem("a*", "mdm", length=3), tmp_path / "m")
    code, _, err = unmask("extract", model, "--outputs", 10**9, "--out", tmp_path / "x")
    assert code == 2
    assert "cannot have 1000000000 outputs; use 1 …" in err
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("length", [10**9, 10**30, 16_385])
@pytest.mark.parametrize("symbols", ["a", "ab"])
def test_a_law_of_strings_without_end(length, symbols, tmp_path, unmask):
    """2^(10^9) takes Python minutes, during which no alarm is handled."""
    share = f"1/{len(symbols)}"
    law = {"kind": "ngram", "alphabet": list(symbols), "order": 1, "contexts": {"": dict.fromkeys(symbols, share)}}
    (tmp_path / "law.json").write_text(json.dumps(law))
    code, out, err = unmask("samplers", f"law:{tmp_path / 'law.json'}", "--length", length)
    assert (code, out) == (2, "")
    assert "use a shorter --length" in err


@pytest.mark.parametrize(
    "sampler", ["llada:steps=1000000000000000000000", "p2:steps=100001", "dream:steps=10000000000"]
)
def test_a_sampler_of_passes_without_end(sampler, unmask):
    code, out, err = unmask("samplers", "group:S3", "--length", 4, "--sampler", sampler)
    assert (code, out) == (2, "")
    assert "must be an integer from 1 to 100,000, not" in err
