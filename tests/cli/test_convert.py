"""`unmask convert`: source and target are run by a reader that shares no code; a refused conversion writes nothing."""

import json
import re
import shutil
from contextlib import suppress
from dataclasses import replace
from itertools import product

import pytest
from aigverse.algorithms import simulate
from aigverse.io import read_ascii_aiger_into_aig

import outside_reader
from unmask.testing import random_model
from unmask.theorems.all_theorems import THEOREMS
from unmask.weights.storage import save


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
def test_the_outside_reader_runs_source_and_target_alike(unmask, tmp_path, theorem, length, precision):
    source, target, again = tmp_path / "source", tmp_path / "target", tmp_path / "again"
    save(small(theorem.source, length, precision), source)
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


def test_the_outside_reader_notices_a_flipped_weight(unmask, tmp_path):
    source, target = tmp_path / "source", tmp_path / "target"
    save(small("mdm", 2, 2), source)
    unmask("convert", source, "--to", "plt", "--out", target)
    expected = last_symbols(source)
    file = target / "model.safetensors"
    content, differences = file.read_bytes(), 0
    start = 8 + int.from_bytes(content[:8], "little")
    for offset in range(start, len(content), max(1, (len(content) - start) // 40)):
        file.write_bytes(content[:offset] + bytes([content[offset] ^ 4]) + content[offset + 1 :])
        with suppress(ValueError, ArithmeticError, IndexError):  # a folder that is refused does not count
            differences += last_symbols(target) != expected
    assert differences > 0


@pytest.mark.parametrize(
    ("kind", "arguments", "message"),
    [
        ("mdm", ["--to", "mdm"], "of kind mdm already"),
        ("mdm", ["--to", "plt", "--by", "magic"], "unknown conversion 'magic'"),
        ("mdm", ["--to", "plt", "--by", "mdm_to_pcot"], "takes mdm to pcot"),
        ("topk", ["--to", "mdm"], "ranks its slots"),
    ],
)
def test_a_refused_conversion_writes_nothing(unmask, tmp_path, kind, arguments, message):
    model = random_model(3, kind, 1, padding=2)
    save(replace(model, k=1) if kind == "topk" else model, tmp_path / "source")
    code, out, err = unmask("convert", tmp_path / "source", *arguments, "--out", tmp_path / "target")
    assert (code, out) == (2, "")
    assert message in err
    assert len(err.splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["source"]


def test_a_place_that_is_taken_is_refused_before_the_work(unmask, tmp_path):
    save(random_model(3, "mdm", 1), tmp_path / "source")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("keep")
    code, out, err = unmask("convert", tmp_path / "source", "--to", "plt", "--out", tmp_path / "mine")
    assert (code, out) == (2, "")
    assert "is not a model folder" in err
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["notes.txt"]


# `unmask extract`: the circuit of a folder, evaluated by an independent simulator.


KINDS = ("mdm", "smdm", "topk", "plt", "cot", "pcot")


def truth(file):
    """Return every output on all inputs, by an independent simulator; input 0 is the lowest bit of the index."""
    tables = simulate(read_ascii_aiger_into_aig(str(file)))
    return [[table.get_bit(i) for i in range(table.num_bits())] for table in tables]


@pytest.mark.parametrize("kind", KINDS)
def test_the_circuit_of_a_regex_model_answers_as_the_regex(unmask, tmp_path, kind):
    model, file = tmp_path / "model", tmp_path / "model.aag"
    unmask("compile", "(0|1)*011", "--length", "5", "--to", kind, "--out", str(model))
    code, out, _ = unmask("extract", str(model), "--out", str(file), "--json")
    assert code == 0
    assert json.loads(out)["outputs"] == ["answer0", "undecided", "undefined"]
    answer, undecided, undefined = truth(file)
    assert not any(undecided)
    assert not any(undefined)
    config = json.loads((model / "config.json").read_text())
    symbol = {c: next(t for low, high, t in config["characters"] if low <= ord(c) <= high) for c in "01x"}
    number = {c: config["input_symbols"].index(symbol[c]) for c in symbol}  # two bits per position
    for word in map("".join, product("01x", repeat=5)):
        index = sum(number[c] << 2 * position for position, c in enumerate(word))
        assert bool(answer[index]) == (re.fullmatch("(0|1)*011", word) is not None)


def test_nothing_but_the_weights_is_read(unmask, tmp_path):
    model, bare = tmp_path / "model", tmp_path / "bare"
    unmask("compile", "(a|b)*abb", "--length", "6", "--to", "mdm", "--out", str(model))
    shutil.copytree(model, bare)
    config = json.loads((bare / "config.json").read_text())
    config |= {"problem": {}, "provenance": [], "registers": {}}
    (bare / "config.json").write_text(json.dumps(config))
    for folder in (model, bare):
        assert unmask("extract", str(folder), "--out", f"{folder}.aag")[0] == 0
    assert (tmp_path / "model.aag").read_text() == (tmp_path / "bare.aag").read_text()


def test_several_outputs(unmask, tmp_path):
    model, file = tmp_path / "model", tmp_path / "sum.aag"
    unmask("compile", "family:addition", "--length", "6", "--to", "mdm", "--out", str(model))
    unmask("extract", str(model), "--out", str(file))
    *bits, undecided, undefined = truth(file)
    assert not any(undecided) | any(undefined)
    for index in range(64):
        assert sum(bit[index] << i for i, bit in enumerate(bits)) == (index & 7) + (index >> 3)


def test_a_file_that_cannot_be_written(unmask, tmp_path):
    unmask("compile", "ab", "--length", "2", "--to", "mdm", "--out", str(tmp_path / "model"))
    code, _, error = unmask("extract", str(tmp_path / "model"), "--out", str(tmp_path / "none" / "x.aag"))
    assert code == 2
    assert len(error.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("out", "reason"), [("nowhere/m.aag", "nowhere does not exist"), (".", "is a folder; name a file")]
)
def test_a_file_that_cannot_be_written_is_refused_before_the_work(unmask, tmp_path, out, reason):
    code, _, err = unmask("extract", str(tmp_path / "no-model"), "--out", str(tmp_path / out))
    assert code == 2
    assert reason in err
