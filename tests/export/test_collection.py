"""`unmask export --collection`: folders, an index, and checksums that are right."""

import hashlib

import pytest

from unmask.export.collection import REFERENCES, Reference, write_collection

pytest.importorskip("gguf", reason="the package gguf is not installed")


def test_folders_and_checksums(tmp_path):
    small = (
        Reference("abb", "(a|b)*abb", "mdm", 4, order="reversed", forms=("bert", "llama"), gguf=REFERENCES[0].gguf[:1]),
        Reference("chain", "(a|b)*abb", "cot", 4, forms=("gpt2", "llama")),
    )
    entries = write_collection(tmp_path / "out", small)
    names = [entry["folder"] for entry in entries]
    assert names == ["abb-bert", "abb-llama", "abb-gguf-llada-f32", "chain-gpt2", "chain-llama"]
    listed = dict(reversed(line.split("  ", 1)) for line in (tmp_path / "out" / "SHA256SUMS").read_text().splitlines())
    written = {
        path.relative_to(tmp_path / "out").as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in (tmp_path / "out").rglob("*")
        if path.is_file() and path.name != "SHA256SUMS"
    }
    assert listed == written
    assert all(f"{name}/README.md" in listed for name in names)


def test_bad_options(unmask, tmp_path):
    code, _, err = unmask("export", "--collection", tmp_path)
    assert code == 2
    assert "exists; an export never replaces files" in err
    code, _, err = unmask("export", tmp_path, "--collection", tmp_path / "out")
    assert code == 2
    assert "leave out DIR" in err
    code, _, err = unmask("export", tmp_path, "--to", "bert")
    assert code == 2
    assert "--out missing" in err


@pytest.mark.long
def test_the_whole_collection_is_small(tmp_path):
    assert sum(entry["bytes"] for entry in write_collection(tmp_path / "out")) < 100e6
