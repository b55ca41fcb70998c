"""No command deletes, changes or replaces a file that unmask did not write."""

import hashlib
import json
import os
import shutil

import pytest

import folder_by_hand
from unmask import files as writing
from unmask.api import compile_problem, save_model

COMPILE = ("compile", "a*b", "--length", 2, "--to", "cot", "--out")
CONVERT = ("convert", "source", "--to", "pcot", "--out")
EXPORT = ("export", "source", "--to", "gpt2", "--out")
FOLDERS = {"compile": COMPILE, "convert": CONVERT, "export": EXPORT}


def contents(folder):
    """Return everything below a folder: links with their targets, files with their bytes, folders."""
    return {
        path.relative_to(folder): os.readlink(path)
        if path.is_symlink()
        else path.read_bytes()
        if path.is_file()
        else None
        for path in folder.rglob("*")
    }


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A current folder with a model `source` and a model folder `t` that a command may replace."""
    monkeypatch.chdir(tmp_path)
    save_model(compile_problem("a*b", "cot", length=2), tmp_path / "source")
    save_model(compile_problem("a*b", "mdm", length=2), tmp_path / "t")
    return tmp_path


def foreign_tensors(t):
    shutil.copy(t / "planner.safetensors", t / "mine.safetensors")


def a_folder_named_like_tensors(t):
    (t / "backup.safetensors").mkdir()
    (t / "backup.safetensors" / "thesis.txt").write_text("thesis")


def an_empty_folder(t):
    (t / "results").mkdir()


def a_hidden_file(t):
    (t / ".notes").write_text("notes")


def a_link(t):
    (t / "link.safetensors").symlink_to("../source")


def a_dangling_link(t):
    (t / "link").symlink_to("nowhere")


def a_link_in_the_place_of_a_file(t):
    shutil.move(t / "planner.safetensors", t.parent / "real")
    (t / "planner.safetensors").symlink_to("../real")


def a_hand_made_config(t):
    shutil.rmtree(t)
    folder_by_hand.write(t)
    (t / "other.safetensors").write_text("mine")


def a_format_name_alone(t):
    shutil.rmtree(t)
    t.mkdir()
    (t / "config.json").write_text('{"format": "unmask-model/1"}')


def changed_tensors(t):
    content = bytearray((t / "planner.safetensors").read_bytes())
    content[-1] ^= 1
    (t / "planner.safetensors").write_bytes(content)


def an_edited_config(t):
    text = (t / "config.json").read_text()
    (t / "config.json").write_text(text.replace('"provenance": [', '"provenance": ["kept by hand", ', 1))


def a_space_in_the_config(t):
    (t / "config.json").write_text((t / "config.json").read_text() + " ")


def an_edited_list(t):
    """The user's file with its correct digest."""
    (t / "mine.safetensors").write_text("mine")
    with (t / "SHA256SUMS").open("a") as file:
        file.write(f"{hashlib.sha256(b'mine').hexdigest()}  mine.safetensors\n")


def a_list_of_the_user(t):
    """The output of `sha256sum * > SHA256SUMS`."""
    an_edited_config(t)
    files = sorted(path for path in t.iterdir() if path.name != "SHA256SUMS")
    sums = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files]
    (t / "SHA256SUMS").write_text("".join(sums))


def a_folder_of_version_0_2(t):
    (t / "SHA256SUMS").unlink()


def a_missing_file(t):
    (t / "planner.safetensors").unlink()


def another_export(t):
    shutil.rmtree(t)
    t.mkdir()
    (t / "config.json").write_text('{"format": "unmask-torch/1"}')
    (t / "model.safetensors").write_bytes(b"mine")


def a_file(t):
    shutil.rmtree(t)
    t.write_text("mine")


def a_link_to_a_model(t):
    t.rename(t.parent / "real")
    t.symlink_to("real")


def a_loop(t):
    shutil.rmtree(t)
    t.symlink_to("t")


PLANTED = [
    foreign_tensors,
    a_folder_named_like_tensors,
    an_empty_folder,
    a_hidden_file,
    a_link,
    a_dangling_link,
    a_link_in_the_place_of_a_file,
    a_hand_made_config,
    a_format_name_alone,
    changed_tensors,
    an_edited_config,
    a_space_in_the_config,
    an_edited_list,
    a_list_of_the_user,
    a_folder_of_version_0_2,
    a_missing_file,
    another_export,
    a_file,
    a_link_to_a_model,
    a_loop,
]


@pytest.mark.parametrize("command", FOLDERS)
@pytest.mark.parametrize("plant", PLANTED)
def test_a_folder_with_anything_of_the_user_is_refused(plant, command, folder, unmask):
    plant(folder / "t")
    before = contents(folder)
    code, out, err = unmask(*FOLDERS[command], "t")
    assert (code, out) == (2, "")
    assert "t exists" in err or "t cannot be written" in err
    assert contents(folder) == before


def test_the_files_are_listed(folder, unmask):
    foreign_tensors(folder / "t")
    a_folder_named_like_tensors(folder / "t")
    changed_tensors(folder / "t")
    err = unmask(*COMPILE, "t")[2]
    assert "(backup.safetensors/, mine.safetensors, planner.safetensors); choose another name" in err
    for number in range(20):
        (folder / "t" / f"{number:02}.txt").touch()
    assert "00.txt, 01.txt, 02.txt, 03.txt, 04.txt, 05.txt, 06.txt, 07.txt and 15 more" in unmask(*COMPILE, "t")[2]


@pytest.mark.parametrize("command", ["compile", "convert"])
def test_a_folder_that_unmask_wrote_is_replaced(command, folder, unmask):
    assert unmask(*FOLDERS[command], "t")[0] == 0
    assert unmask(*FOLDERS[command], "t")[0] == 0
    assert sorted(path.name for path in folder.iterdir()) == ["source", "t"]


@pytest.mark.parametrize("moment", ["_temporary_folder", "_write_and_sync", "_move_folder"])
def test_a_file_that_is_planted_meanwhile_is_kept(moment, folder, unmask, monkeypatch):
    original = getattr(writing, moment)

    def meanwhile(*arguments):
        if (folder / "t").is_dir():
            (folder / "t" / "mine").write_text("mine")
        return original(*arguments)

    monkeypatch.setattr(writing, moment, meanwhile)
    code, _, err = unmask(*COMPILE, "t")
    assert code == 2
    assert "t exists" in err
    assert "(mine)" in err
    assert json.loads((folder / "t" / "config.json").read_text())["reasoner"] == "mdm"
    assert sorted(path.name for path in folder.iterdir()) == ["source", "t"]


def test_a_file_that_is_planted_in_the_last_moment_is_kept(folder, unmask, monkeypatch):
    """After the second check: the folder is checked once more under a temporary name."""
    rename = writing.Path.rename

    def meanwhile(self, target):
        if self.name == "t" and not (self / "mine").exists():
            (self / "mine").write_text("mine")
        return rename(self, target)

    monkeypatch.setattr(writing.Path, "rename", meanwhile)
    code, _, err = unmask(*COMPILE, "t")
    assert code == 2
    assert "(mine)" in err
    assert (folder / "t" / "mine").read_text() == "mine"
    assert json.loads((folder / "t" / "config.json").read_text())["reasoner"] == "mdm"
    assert sorted(path.name for path in folder.iterdir()) == ["source", "t"]


FILES = {
    "x.html": ("view", "source", "ab", "--out", "x.html"),
    "x.svg": ("view", "source", "ab", "--svg", "x.svg"),
    "x.json": ("run", "source", "ab", "--trace", "x.json"),
    "x.aag": ("extract", "source", "--out", "x.aag"),
    "s.html": ("samplers", "a*b", "--length", 2, "--sampler", "llada", "--words", 2, "--out", "s.html"),
    "c.induction.json": ("verify", "t", "--method", "prove", "--certificate", "c"),
    "c.cnf": ("verify", "t", "--method", "prove", "--by", "sat", "--certificate", "c"),
    "c.drat": ("verify", "t", "--method", "prove", "--by", "sat", "--certificate", "c"),
    "r.md": ("prove", "a*b", "--to", "cot", "--every-length", "--out", "r.md"),
    "r.html": ("prove", "a*b", "--to", "cot", "--every-length", "--out", "r.html"),
    "p.json": ("prove", "a*b", "--to", "cot", "--every-length", "--certificate", "p"),
    "p.smt2": ("prove", "a*b", "--to", "cot", "--every-length", "--certificate", "p"),
    "p.family.json": ("prove", "a*b", "--to", "cot", "--every-length", "--certificate", "p"),
}


@pytest.mark.parametrize("file", FILES)
def test_a_file_is_replaced_if_it_is_earlier_output(file, folder, unmask):
    for _ in range(2):
        assert unmask(*FILES[file])[0] in (0, 1)
        assert (folder / file).read_bytes()


@pytest.mark.parametrize(
    "text", ["thesis", "<!doctype html><title>thesis</title>", '{"mine": 1}', "aag 1 1 0 1 0\n2\n2\n"]
)
@pytest.mark.parametrize("file", FILES)
def test_a_file_of_the_user_is_refused(file, text, folder, unmask):
    (folder / file).write_text(text)
    before = contents(folder)
    code, out, err = unmask(*FILES[file])
    assert (code, out) == (2, "")
    assert f"{file} exists and is not an earlier output of this command" in err
    assert contents(folder) == before


@pytest.mark.parametrize("target", ["source/config.json", "source/model.safetensors", "t/SHA256SUMS"])
@pytest.mark.parametrize("command", ["x.html", "x.svg", "x.json", "x.aag"])
def test_no_output_replaces_a_part_of_a_model(command, target, folder, unmask):
    before = contents(folder)
    assert unmask(*FILES[command][:-1], target)[0] == 2
    assert contents(folder) == before
