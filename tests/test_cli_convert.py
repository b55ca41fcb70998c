"""`unmask convert`: folder to folder, read on both sides by a reader that shares no code; refusals write nothing."""

import json
import re
from contextlib import suppress
from dataclasses import replace
from itertools import product

import pytest

import outside_reader
from unmask.pipeline import save_model
from unmask.testing import random_model
from unmask.theorems.catalogue import THEOREMS


def config(folder):
    return json.loads((folder / "config.json").read_text(encoding="utf-8"))


def last_symbols(folder):
    aliases, length = config(folder)["aliases"], config(folder)["length"]
    words = map("".join, product("ab", repeat=length))
    last = [outside_reader.run(folder, word)["output"][-1] for word in words]
    return [aliases.get(symbol, symbol) for symbol in last]


def small(kind, length, precision):
    padding = {"plt": 1}.get(kind)
    model = random_model(77, kind, length, precision=precision, padding=padding, steps=2, layers=1, width=3)
    return replace(model, k=None) if kind == "topk" else model


@pytest.mark.parametrize(("length", "precision"), [(1, 2), (2, 3)])
@pytest.mark.parametrize("theorem", THEOREMS, ids=lambda theorem: theorem.stem)
def test_an_outside_reader_sees_the_same_on_both_sides(unmask, tmp_path, theorem, length, precision):
    source, target, again = tmp_path / "source", tmp_path / "target", tmp_path / "again"
    save_model(small(theorem.source, length, precision), source)
    code, out, _ = unmask("convert", source, "--to", theorem.target, "--by", theorem.stem, "--out", target)
    assert code == 0
    prices = re.findall(r"→ (\d+) \(<= (\d+)[,)]", out)
    assert len(prices) == 5
    assert all(int(price) <= int(bound) for price, bound in prices)
    assert last_symbols(target) == last_symbols(source)
    assert config(target)["reasoner"] == theorem.target
    assert config(target)["provenance"][-1]["converted"] == theorem.stem
    unmask("convert", source, "--to", theorem.target, "--by", theorem.stem, "--out", again)
    assert {path.name: path.read_bytes() for path in target.iterdir()} == {
        path.name: path.read_bytes() for path in again.iterdir()
    }


def test_a_flipped_weight_is_seen_from_outside(unmask, tmp_path):
    source, target = tmp_path / "source", tmp_path / "target"
    save_model(small("mdm", 2, 2), source)
    unmask("convert", source, "--to", "plt", "--out", target)
    expected = last_symbols(source)
    file = target / "model.safetensors"
    content, found = file.read_bytes(), 0
    start = 8 + int.from_bytes(content[:8], "little")
    for place in range(start, len(content), max(1, (len(content) - start) // 40)):
        file.write_bytes(content[:place] + bytes([content[place] ^ 4]) + content[place + 1 :])
        with suppress(ValueError, ArithmeticError, IndexError):  # what is refused does not count
            found += last_symbols(target) != expected
    assert found > 0


@pytest.mark.parametrize(
    ("kind", "arguments", "sentence"),
    [
        ("mdm", ["--to", "mdm"], "of kind mdm already"),
        ("mdm", ["--to", "plt", "--by", "magic"], "there is no conversion 'magic'"),
        ("mdm", ["--to", "plt", "--by", "mdm_to_pcot"], "takes mdm to pcot"),
        ("topk", ["--to", "mdm"], "ranks its slots"),
    ],
)
def test_refusals_are_one_sentence_and_write_nothing(unmask, tmp_path, kind, arguments, sentence):
    model = random_model(3, kind, 1, padding=2)
    save_model(replace(model, k=1) if kind == "topk" else model, tmp_path / "source")
    code, out, err = unmask("convert", tmp_path / "source", *arguments, "--out", tmp_path / "target")
    assert (code, out) == (2, "")
    assert sentence in err
    assert len(err.splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["source"]


def test_a_place_that_is_taken_is_refused_before_the_work(unmask, tmp_path):
    save_model(random_model(3, "mdm", 1), tmp_path / "source")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("keep")
    code, out, err = unmask("convert", tmp_path / "source", "--to", "plt", "--out", tmp_path / "mine")
    assert (code, out) == (2, "")
    assert "is not a model folder" in err
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["notes.txt"]
