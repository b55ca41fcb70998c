"""`unmask export`: what it prints, and one sentence for each thing that a user can get wrong."""

import json

import pytest

from unmask.pipeline import compile_problem, save_model


@pytest.fixture
def folder(tmp_path):
    return save_model(compile_problem("(a|b)*abb", "mdm", length=6), tmp_path / "abb")


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
    (("--to", "gpt2"), "gpt2 can store only cot, and this model is a mdm; use --to bert, torch, onnx"),
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


@pytest.mark.parametrize(("options", "sentence"), WRONG)
def test_what_a_kind_has_not(options, sentence, folder, unmask, tmp_path):
    code, out, err = unmask("export", folder, *options, "--out", tmp_path / "out")
    assert (code, out) == (2, "")
    assert sentence in err
    assert len(err.splitlines()) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["abb"]


def test_a_model_of_one_transformer_has_no_part(unmask, tmp_path):
    save_model(compile_problem("(a|b)*abb", "cot", length=6), tmp_path / "cot")
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
    save_model(compile_problem("random:3", "mdm", length=4), tmp_path / "random")
    code, _, err = unmask("export", tmp_path / "random", "--to", "bert", "--out", tmp_path / "out")
    assert code == 2
    assert "floats do not round and clip like F_p" in err or "BERT attends in both directions" in err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["random"]


def test_a_place_that_cannot_be_written(folder, unmask):
    code, _, err = unmask("export", folder, "--to", "bert", "--out", "/proc/nowhere/out")
    assert code == 2
    assert "cannot be written" in err
