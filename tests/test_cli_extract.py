"""`unmask extract`: the circuit of a folder, read by somebody else."""

import json
import re
import shutil
from itertools import product

import pytest
from aigverse.algorithms import simulate
from aigverse.io import read_ascii_aiger_into_aig

KINDS = ("mdm", "smdm", "topk", "plt", "cot", "pcot")


def truth(file):
    """Per output its value on every input, by an outside simulator; input 0 is the lowest bit of the index."""
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
    number = {c: config["input_symbols"].index(symbol[c]) for c in symbol}  # two bits per place
    for word in map("".join, product("01x", repeat=5)):
        index = sum(number[c] << 2 * place for place, c in enumerate(word))
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
    ("out", "said"), [("nowhere/m.aag", "nowhere does not exist"), (".", "is a folder; name a file")]
)
def test_a_file_that_cannot_be_written_is_refused_before_the_work(unmask, tmp_path, out, said):
    code, _, err = unmask("extract", str(tmp_path / "no-model"), "--out", str(tmp_path / out))
    assert code == 2
    assert said in err
