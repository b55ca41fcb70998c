"""Whole or not at all: what stood there before stands there after anything went wrong, and nothing beside it."""

import os
from pathlib import Path

import pytest

from unmask.errors import FolderError
from unmask.writing import write_file, write_folder


def full(_):
    raise OSError(28, "No space left on device")


def anything(_):
    pass


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_replaced(tmp_path):
    for content in (b"one", b"two"):
        write_file(tmp_path / "x", content)
        assert (tmp_path / "x").read_bytes() == content
    assert names(tmp_path) == ["x"]


def test_a_full_disk_leaves_the_old_file(tmp_path, monkeypatch):
    write_file(tmp_path / "x", b"old")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(FolderError, match="x cannot be written: No space left on device"):
        write_file(tmp_path / "x", b"new")
    assert names(tmp_path) == ["x"]
    assert (tmp_path / "x").read_bytes() == b"old"


def test_a_long_name_is_a_name(tmp_path):
    """What it is called while it is written is no longer than files may be called."""
    for name in ("n" * 255, "😀" * 63):
        write_folder(tmp_path / name, [("x", b"1")], check=anything)
        write_folder(tmp_path / name, [("x", b"2")], check=anything)  # replaced, beside an old one that is hidden
        assert names(tmp_path) == [name]
        assert (tmp_path / name / "x").read_bytes() == b"2"
        (tmp_path / name / "x").unlink()
        (tmp_path / name).rmdir()
        write_file(tmp_path / name, b"3")
        assert names(tmp_path) == [name]
        (tmp_path / name).unlink()


def test_a_device_stays_a_device():
    write_file(Path(os.devnull), b"gone")
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
    """Before the work, or by the time that it is done."""
    asked = []

    def check(target):
        asked.append(target)
        if len(asked) == times:
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
