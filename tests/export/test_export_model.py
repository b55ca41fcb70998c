"""`unmask export`: what it prints, and one error message for each mistake of a user."""

import hashlib
import json
import tracemalloc

import pytest
from safetensors.numpy import load_file

from unmask.api import compile_problem
from unmask.errors import TooLarge, UnmaskError
from unmask.export import export_model
from unmask.export.export_model import REFERENCES, CollectionModel, export_files, word_count, write_collection
from unmask.limits import Budget
from unmask.weights.storage import save


@pytest.fixture
def folder(tmp_path):
    return save(compile_problem("(a|b)*abb", "mdm", length=6), tmp_path / "abb")


def test_a_folder_is_written(folder, unmask, tmp_path):
    code, out, err = unmask("export", folder, "--to", "bert", "--out", tmp_path / "bert")
    assert (code, err) == (0, "")
    assert "README.md, config.json, export.json, model.safetensors" in out
    assert "smallest margin 7.4" in out


def test_json(folder, unmask, tmp_path):
    code, out, _ = unmask("export", folder, "--to", "onnx", "--exact", "--out", tmp_path / "onnx", "--json")
    document = json.loads(out)
    assert code == 0
    assert (document["form"], document["exact"], document["part"], document["kind"]) == (
        "onnx",
        True,
        "predictor",
        "mdm",
    )
    assert document["folder"] == str(tmp_path / "onnx")


def test_quietly(folder, unmask, tmp_path):
    assert unmask("--quiet", "export", folder, "--to", "torch", "--out", tmp_path / "t") == (0, "", "")


WRONG = [
    (("--to", "gpt2"), "gpt2 can store only cot, and this model is of kind mdm; use --to bert, torch, onnx"),
    (
        ("--to", "bert", "--exact"),
        "--exact is not possible for bert, which computes with floats; use --to torch or --to onnx",
    ),
    (
        ("--to", "torch", "--part", "planner"),
        "the torch form always contains both planner and predictor; leave out --part",
    ),
    (("--to", "keras"), "'keras' is not one of 'bert', 'gpt2', 'albert', 'torch', 'onnx'"),
]


@pytest.mark.parametrize(("options", "message"), WRONG)
def test_what_a_kind_has_not(options, message, folder, unmask, tmp_path):
    code, out, err = unmask("export", folder, *options, "--out", tmp_path / "out")
    assert (code, out) == (2, "")
    assert message in err
    assert len(err.splitlines()) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["abb"]


def test_a_model_of_one_transformer_has_no_part(unmask, tmp_path):
    save(compile_problem("(a|b)*abb", "cot", length=6), tmp_path / "cot")
    code, _, err = unmask("export", tmp_path / "cot", "--to", "gpt2", "--part", "predictor", "--out", tmp_path / "out")
    assert code == 2
    assert "a model of kind cot has a single transformer and no predictor; leave out --part" in err


def test_out_exists(folder, unmask, tmp_path):
    (tmp_path / "there").mkdir()
    code, _, err = unmask("export", folder, "--to", "bert", "--out", tmp_path / "there")
    assert code == 2
    assert "exists; an export never replaces files; choose another name" in err
    assert list((tmp_path / "there").iterdir()) == []


def test_not_a_model_folder(unmask, tmp_path):
    code, _, err = unmask("export", tmp_path, "--to", "bert", "--out", tmp_path / "out")
    assert code == 2
    assert "is not a model folder" in err
    assert not (tmp_path / "out").exists()


def test_weights_that_are_refused_leave_nothing(unmask, tmp_path):
    save(compile_problem("random:3", "mdm", length=4), tmp_path / "random")
    code, _, err = unmask("export", tmp_path / "random", "--to", "bert", "--out", tmp_path / "out")
    assert code == 2
    assert "floats do not round and clip like F_p" in err or "BERT attends in both directions" in err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["random"]


def test_a_place_that_cannot_be_written(folder, unmask):
    code, _, err = unmask("export", folder, "--to", "bert", "--out", "/proc/nowhere/out")
    assert code == 2
    assert "cannot be written" in err


# What would not fit is refused before it is built, with an estimate that is near what smaller models take.


@pytest.mark.parametrize(("kind", "form"), [("mdm", "bert"), ("cot", "gpt2"), ("mdm", "torch"), ("plt", "torch")])
def test_the_estimate(kind, form, exported):
    model, folder, _ = exported("group:S3", kind, form, length=8)
    actual = sum(tensor.size for file in folder.glob("*.safetensors") for tensor in load_file(file).values())
    names = ["predictor"] if form == "bert" else list(model.transformers)
    count = export_model.dense_numbers if form == "torch" else export_model.stock_numbers
    assert 0.5 < sum(count(model.transformers[name]) for name in names) / actual < 2


def test_a_model_that_does_not_fit():
    model = compile_problem("group:S3", "mdm", length=8)
    with (
        Budget(memory=1 << 10),
        pytest.raises(
            TooLarge, match=r"the bert form would take about .* MB of memory, .* raise the limit with --limit"
        ),
    ):
        export_files(model, "bert")


@pytest.mark.parametrize(
    ("kind", "form", "exact"),
    [
        ("mdm", "bert", False),
        ("mdm", "torch", False),
        ("mdm", "onnx", True),
        ("plt", "onnx", False),
        ("cot", "gpt2", False),
    ],
)
def test_memory_stays_below_the_estimate(kind, form, exact):
    """Of what NumPy and Python allocate, which is all of an export."""
    model = compile_problem("group:S3", kind, length=8)
    export_files(model, form, exact=exact)  # what is imported and cached is not counted
    names = ["predictor"] if kind == "mdm" and form != "torch" else list(model.transformers)
    tracemalloc.start()
    try:
        export_files(model, form, exact=exact)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < export_model.export_memory(model, form, names, word_count(model))


# `unmask export --collection`: folders, an index, and checksums that are right.


pytest.importorskip("gguf", reason="the package gguf is not installed")


def test_folders_and_checksums(tmp_path):
    small = (
        CollectionModel(
            "abb", "(a|b)*abb", "mdm", 4, order="reversed", forms=("bert", "llama"), gguf=REFERENCES[0].gguf[:1]
        ),
        CollectionModel("chain", "(a|b)*abb", "cot", 4, forms=("gpt2", "llama")),
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
    code, _, err = unmask("export", "--collection", tmp_path / "out", "--to", "llama", "--order", "reversed")
    assert code == 2
    assert "leave out --to, --order" in err
    code, _, err = unmask("export", tmp_path, "--to", "bert")
    assert code == 2
    assert "--out missing" in err


def test_a_collection_is_written_whole_or_not_at_all(tmp_path):
    first = CollectionModel("abb", "(a|b)*abb", "mdm", 4, forms=("bert",))
    wrong = CollectionModel("chain", "(a|b)*abb", "cot", 4, forms=("bert",))
    with pytest.raises(UnmaskError, match="this model is of kind cot"):
        write_collection(tmp_path / "new" / "out", (first, wrong))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.long
def test_the_whole_collection_is_small(tmp_path):
    assert sum(entry["bytes"] for entry in write_collection(tmp_path / "out")) < 100e6
