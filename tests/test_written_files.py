"""Files are written completely or not at all: after any failure the old content is there, and no temporary file."""

import os
import re
from pathlib import Path

import pytest

from unmask import files
from unmask.errors import FolderError
from unmask.files import write_file, write_folder


def full(_):
    raise OSError(28, "No space left on device")


def anything(folder):
    return [path.name for path in folder.iterdir()] if folder.exists() else []


OWN = re.compile(b"")
"""Any file is earlier output."""


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_replaced(tmp_path):
    for content in (b"one", b"two"):
        write_file(tmp_path / "x", content, earlier=OWN)
        assert (tmp_path / "x").read_bytes() == content
    assert names(tmp_path) == ["x"]


def test_a_full_disk_leaves_the_old_file(tmp_path, monkeypatch):
    write_file(tmp_path / "x", b"old", earlier=OWN)
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(FolderError, match="x cannot be written: No space left on device"):
        write_file(tmp_path / "x", b"new", earlier=OWN)
    assert names(tmp_path) == ["x"]
    assert (tmp_path / "x").read_bytes() == b"old"


def test_a_long_name_is_a_name(tmp_path):
    """The temporary name is not longer than file names may be."""
    for name in ("n" * 255, "😀" * 63):
        write_folder(tmp_path / name, [("x", b"1")], check=anything)
        write_folder(tmp_path / name, [("x", b"2")], check=anything)  # replaced, next to a hidden leftover
        assert names(tmp_path) == [name]
        assert (tmp_path / name / "x").read_bytes() == b"2"
        (tmp_path / name / "x").unlink()
        (tmp_path / name).rmdir()
        write_file(tmp_path / name, b"3", earlier=OWN)
        assert names(tmp_path) == [name]
        (tmp_path / name).unlink()


def test_a_device_stays_a_device():
    write_file(Path(os.devnull), b"gone", earlier=OWN)
    assert not Path(os.devnull).is_file()


def test_a_full_disk_leaves_the_old_folder(tmp_path, monkeypatch):
    write_folder(tmp_path / "new" / "x", [("a", b"old")], check=anything)
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(FolderError, match="x cannot be written: No space left on device"):
        write_folder(tmp_path / "new" / "x", [("a", b"1"), ("b", b"2")], check=anything)
    assert names(tmp_path / "new") == ["x"]
    assert names(tmp_path / "new" / "x") == ["a"]


@pytest.mark.parametrize("times", [1, 2])
def test_a_place_that_is_refused_is_left_alone(tmp_path, times):
    """The check refuses before the work, or after it."""
    targets = []

    def check(target):
        targets.append(target)
        if len(targets) == times:
            raise FolderError("taken")

    with pytest.raises(FolderError, match="taken"):
        write_folder(tmp_path / "x", [("a", b"1")], check=check)
    assert names(tmp_path) == []


def test_an_interrupt_leaves_nothing_half_written(tmp_path):
    def interrupted():
        yield "a", b"1"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_folder(tmp_path / "x", interrupted(), check=anything)
    assert names(tmp_path) == []


@pytest.mark.parametrize("failing", ["fsync", "mkdir", "rename", "chmod"])
def test_a_full_disk_leaves_no_parent_folders(tmp_path, monkeypatch, failing):
    if failing == "mkdir":
        monkeypatch.setattr(files.tempfile, "mkdtemp", lambda **_: full(_))
    elif failing == "fsync":
        monkeypatch.setattr(os, "fsync", full)
    else:
        monkeypatch.setattr(Path, failing, lambda *_: full(_))
    (tmp_path / "p").mkdir()
    with pytest.raises(FolderError, match="o cannot be written: No space left on device"):
        write_folder(tmp_path / "p" / "q" / "r" / "o", [("a", b"1")], check=anything)
    assert names(tmp_path) == ["p"]
    assert names(tmp_path / "p") == []


def test_a_parent_folder_that_is_in_use_stays(tmp_path, monkeypatch):
    def meanwhile(_):
        (tmp_path / "p" / "mine").write_text("mine")
        full(_)

    monkeypatch.setattr(os, "fsync", meanwhile)
    with pytest.raises(FolderError):
        write_folder(tmp_path / "p" / "q" / "o", [("a", b"1")], check=anything)
    assert names(tmp_path / "p") == ["mine"]


def test_a_file_that_is_not_earlier_output_stays(tmp_path):
    (tmp_path / "x").write_bytes(b"thesis")
    with pytest.raises(FolderError, match="x exists and is not an earlier output of this command"):
        write_file(tmp_path / "x", b"page", earlier=re.compile(b"page"))
    assert (tmp_path / "x").read_bytes() == b"thesis"
    for before in (b"", b"page 1"):
        (tmp_path / "x").write_bytes(before)
        write_file(tmp_path / "x", b"page 2", earlier=re.compile(b"page"))
        assert (tmp_path / "x").read_bytes() == b"page 2"
    assert names(tmp_path) == ["x"]


@pytest.mark.parametrize("exists", [True, False])
def test_a_link_stays_a_link(tmp_path, exists):
    if exists:
        (tmp_path / "real").write_bytes(b"page 1")
    (tmp_path / "x").symlink_to("real")
    write_file(tmp_path / "x", b"page 2", earlier=re.compile(b"page"))
    assert (tmp_path / "x").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"page 2"


def test_a_file_that_appears_while_another_is_written_stays(tmp_path, monkeypatch):
    fsync = os.fsync

    def meanwhile(number):
        (tmp_path / "x").write_bytes(b"thesis")
        fsync(number)

    monkeypatch.setattr(os, "fsync", meanwhile)
    with pytest.raises(FolderError, match="not an earlier output"):
        write_file(tmp_path / "x", b"page", earlier=re.compile(b"page"))
    assert names(tmp_path) == ["x"]
    assert (tmp_path / "x").read_bytes() == b"thesis"


def test_a_file_that_appears_in_the_old_folder_stays(tmp_path, monkeypatch):
    """After the last check, while the old folder is being removed."""
    write_folder(tmp_path / "x", [("a", b"old")], check=anything)
    unlink = Path.unlink

    def meanwhile(self, *_, **__):
        (self.parent / "mine").write_text("mine")
        unlink(self)

    monkeypatch.setattr(Path, "unlink", meanwhile)
    with pytest.raises(FolderError, match="x is written; files that appeared in the old folder meanwhile were kept in"):
        write_folder(tmp_path / "x", [("a", b"new")], check=anything)
    assert (tmp_path / "x" / "a").read_bytes() == b"new"
    assert [path.read_text() for path in tmp_path.rglob("mine")] == ["mine"]
