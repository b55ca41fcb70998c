"""Runs of a second or two: accuracy rises, a kill changes nothing, two processes do what one does."""

import json
import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
import torch

from lab.small import small
from unmask.errors import FolderError
from unmask.lab import training
from unmask.lab.checkpoints import remove_run
from unmask.lab.settings import LabError, read_run_config, run_config_of
from unmask.lab.training import load_trained, train

ROOT = Path(__file__).parents[2]


def weights(folder):
    return load_trained(folder).network.state_dict()


def equal(left, right):
    return left.keys() == right.keys() and all(torch.equal(left[name], right[name]) for name in left)


@pytest.mark.parametrize("framework", ["cot", "tree", "scan", "looped"])
def test_accuracy_rises(framework):
    run = train(small(framework, steps=600, evaluate_every=50, converged=0.99))
    first, last = run.progress.history[0], run.progress.history[-1]
    assert first.right < 0.9
    assert run.progress.ended == "converged"
    assert run.right > 0.97
    assert last.loss < first.loss


def test_the_same_numbers_again_and_after_a_stop(tmp_path, monkeypatch):
    """Stopped after the first look, and gone on with: the same weights as in one go."""
    whole = train(small(), tmp_path / "whole")
    again = train(small(), tmp_path / "again")
    assert equal(weights(tmp_path / "whole"), weights(tmp_path / "again"))
    assert [m.loss for m in whole.progress.history] == [m.loss for m in again.progress.history]

    class Stop(Exception):
        pass

    def told(_):
        raise Stop

    with pytest.raises(Stop):
        train(small(), tmp_path / "stopped", told=told)
    assert json.loads((tmp_path / "stopped" / "config.json").read_text())["steps"] == 60
    seen = []
    monkeypatch.setattr(training.Trainer, "learn", lambda self, step: seen.append(step) or _learn(self, step))
    resumed = train(small(), tmp_path / "stopped")
    assert seen[0] == 20  # it did not begin anew
    assert equal(weights(tmp_path / "whole"), weights(tmp_path / "stopped"))
    assert resumed.right == whole.right
    assert not equal(weights(tmp_path / "whole"), train(small(seed=1)).trained.network.state_dict())


_learn = training.Trainer.learn


def test_two_processes_agree(tmp_path):
    """`accelerate launch` with two processes: the weights of one process, but for the order of sums.

    --cpu would make one process whatever their number; --multi_gpu makes them, and --device says what they run on.
    """
    config = small(steps=20, evaluate_every=10)
    (tmp_path / "config.json").write_bytes(msgspec.json.encode(config))
    launch = ["-m", "accelerate.commands.launch", "--multi_gpu", "--num_processes", "2", "--num_machines", "1"]
    launch += ["--mixed_precision", "no", "--dynamo_backend", "no", "--main_process_port", "0", "-m", "unmask"]
    command = [sys.executable, *launch, "lab", "train", "config.json", "--out", "two", "--json", "--device", "cpu"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
    completed = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=300
    )
    assert completed.returncode == 0, completed.stderr
    assert len([line for line in completed.stdout.splitlines() if line.startswith("{")]) == 1  # one of them speaks
    assert json.loads((tmp_path / "two" / "result.json").read_text())["processes"] == 2
    assert train(config, tmp_path / "one").processes == 1
    one, two = weights(tmp_path / "one"), weights(tmp_path / "two")
    assert one.keys() == two.keys()
    for name in one:
        torch.testing.assert_close(one[name], two[name], rtol=1e-3, atol=1e-3)


def test_a_folder_of_another_run_is_refused(tmp_path):
    train(small(steps=2, evaluate_every=2), tmp_path / "run")
    with pytest.raises(
        FolderError, match="contains another run, whose framework is tree, not scan; choose another folder"
    ):
        train(small("scan", steps=2, evaluate_every=2), tmp_path / "run")
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "diary.txt").write_text("mine")
    with pytest.raises(FolderError, match="is not a folder of the lab"):
        train(small(), tmp_path / "taken")


@pytest.mark.parametrize("other", [{"problem": "group:S3"}, {"seed": 1}, {"framework": "scan"}])
def test_a_checkpoint_of_another_run_is_refused(tmp_path, other):
    """Of another task, or of the same one with another seed, whose weights have the same shapes."""
    mine, theirs = small(steps=2, evaluate_every=2), msgspec.structs.replace(small(steps=2, evaluate_every=2), **other)
    train(mine, tmp_path / "mine")
    train(theirs, tmp_path / "theirs")
    for name in ("model.safetensors", "checkpoint.safetensors"):
        (tmp_path / "theirs" / name).replace(tmp_path / "mine" / name)
    with pytest.raises(FolderError, match=r"contains weights that do not belong to its config\.json"):
        load_trained(tmp_path / "mine")
    with pytest.raises(FolderError, match="is not a checkpoint of this run; remove it"):
        train(mine, tmp_path / "mine")
    (tmp_path / "mine" / "model.safetensors").write_bytes(b"no tensors")
    with pytest.raises(FolderError, match="is damaged"):
        load_trained(tmp_path / "mine")


def test_what_a_kill_leaves_of_a_file_is_in_nobodys_way(tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    for name in (".config.json.a4711.unmask-partial", ".checkpoint.safetensors.b4711.unmask-partial"):
        (folder / name).write_bytes(b"half")
    train(small(steps=2, evaluate_every=2), folder)
    assert not list(folder.glob(".*"))
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / ".config.json.4711").write_text("mine")
    with pytest.raises(FolderError, match="is not a folder of the lab"):
        train(small(), tmp_path / "other")


@pytest.mark.parametrize("name", ["model.safetensors", "result.json"])
def test_a_file_of_the_user_in_the_folder_of_a_run_stays(tmp_path, name):
    """And a run that is over may go on where it is: it replaces what it wrote itself."""
    folder, config = tmp_path / "run", small(steps=2, evaluate_every=2)
    for _ in range(2):
        train(config, folder)
    (folder / name).write_bytes(b"mine")
    with pytest.raises(FolderError, match="exists and is not an earlier output"):
        train(config, folder)
    remove_run(folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == {name: b"mine"}


def test_the_folder_of_a_run_that_cannot_be_written_is_not_created(tmp_path, monkeypatch):
    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(FolderError, match="No space left on device"):
        train(small(), tmp_path / "p" / "q")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("document", "sentence"),
    [
        ([], "must be a JSON object"),
        ({"frame": "tree"}, "has no setting 'frame'; remove it"),
        (
            {"framework": "rnn"},
            "its framework must be direct, cot, tree, scan, looped or, of a program, program, not 'rnn'",
        ),
        ({"shape": {"mlp": "relu"}}, "the shape of .*: its mlp must be bilinear or gelu, not"),
        ({"length": 1}, "its length must be an integer from 2 to 128"),
        ({"cpu_seconds": float("inf")}, r"its cpu_seconds must be a number above 0 and at most 10\^9, not inf"),
        ({"shape": {"width": 10}}, "width must be a multiple of its heads, 4"),
        ({"framework": "cot", "objective": "masking"}, "random masking needs slots that are written once"),
    ],
)
def test_a_config_that_cannot_be(document, sentence):
    with pytest.raises(LabError, match=sentence):
        run_config_of(document)


def test_a_config_file(tmp_path):
    path = tmp_path / "config.json"
    with pytest.raises(LabError, match="cannot be read"):
        read_run_config(path)
    path.write_text("{")
    with pytest.raises(LabError, match="is not JSON"):
        read_run_config(path)
    path.write_text('{"problem": "group:A5"}')
    assert read_run_config(path).problem == "group:A5"
