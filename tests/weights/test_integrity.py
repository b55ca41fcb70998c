"""A folder is complete or absent, and its files are those that its config.json describes."""

import json
import resource
import signal
import subprocess
import sys

import pytest
from safetensors.numpy import load, save

from command_line import ENVIRONMENT
from outside_reader import run as run_outside
from unmask.api import compile_problem, load_model, save_model
from unmask.errors import FolderError


@pytest.fixture
def folder(tmp_path):
    return save_model(compile_problem("(a|b)*abb", "mdm", length=4), tmp_path / "m")


def changed_config(folder, change):
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    change(config)
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")


def change_a_weight(folder):
    """A file that is valid, of the same size, and of another model."""
    path = folder / "predictor.safetensors"
    tensors = load(path.read_bytes())
    name = next(name for name in sorted(tensors) if name.endswith(".val") and tensors[name].size)
    tensors[name] = -tensors[name]
    before = path.stat().st_size
    path.write_bytes(save(tensors))
    assert path.stat().st_size == before


def test_config_describes_every_file(folder):
    files = json.loads((folder / "config.json").read_text(encoding="utf-8"))["files"]
    assert files.keys() == {"planner.safetensors", "predictor.safetensors"}
    assert all(entry["size"] == (folder / name).stat().st_size for name, entry in files.items())
    load_model(folder)


def test_a_changed_weight_is_found(folder):
    change_a_weight(folder)
    with pytest.raises(FolderError, match=r"predictor\.safetensors .* is not the file .* SHA-256 .* remove \"files\""):
        load_model(folder)


def test_files_of_two_models_are_not_one(folder, tmp_path):
    other = save_model(compile_problem("(a|b)*ab", "mdm", length=4), tmp_path / "other")
    (folder / "planner.safetensors").write_bytes((other / "planner.safetensors").read_bytes())
    (folder / "predictor.safetensors").write_bytes((other / "predictor.safetensors").read_bytes())
    with pytest.raises(FolderError):
        load_model(folder)


def test_a_folder_without_descriptions_is_still_a_folder(folder):
    change_a_weight(folder)
    changed_config(folder, lambda config: config.pop("files"))
    load_model(folder)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"planner.safetensors": {"size": 1}}, "files"),
        ({"planner.safetensors": {"size": 1, "sha256": "0"}}, "files"),
        ({"planner.safetensors": {"size": 1, "sha256": "0" * 64, "md5": "0"}}, "files"),
        ({"../secret": {"size": 1, "sha256": "0" * 64}}, "no transformer has"),
        ([], "files"),
    ],
)
def test_descriptions_are_checked_like_all_else(folder, entry, message):
    changed_config(folder, lambda config: config.update(files=entry))
    with pytest.raises(FolderError, match=message):
        load_model(folder)


def test_an_outside_reader_needs_none_of_it(folder):
    change_a_weight(folder)
    run_outside(folder, "aabb")


@pytest.mark.parametrize(("problem", "fits"), [("group:A5", True), ("(a|b)*abb", True), ("group:S5", False)])
def test_a_folder_that_does_not_fit_is_absent(tmp_path, problem, fits):
    """Files of at most 16 KB: those of A5 as an mdm are smaller, a table of S5 is not."""

    def small_files():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 14, 1 << 14))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    kind = "mdm" if fits else "cot"
    command = [sys.executable, "-m", "unmask", "compile", problem, "--length", "4", "--to", kind, "--out", "m", "-q"]
    process = subprocess.run(
        command, cwd=tmp_path, env=ENVIRONMENT, preexec_fn=small_files, capture_output=True, check=False, text=True
    )
    if fits:
        assert process.returncode == 0
        load_model(tmp_path / "m")
    else:
        assert (process.returncode, process.stdout) == (2, "")
        assert "cannot be written" in process.stderr
        assert list(tmp_path.iterdir()) == []
