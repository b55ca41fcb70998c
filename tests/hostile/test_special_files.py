"""Commands refuse pipes, devices and other special files at once, because reading them might never end."""

import os
import shutil
import socket

import pytest

import folder_by_hand
from unmask.api import compile_problem, save_model
from unmask.checker.__main__ import main as check_certificate
from unmask.errors import ProblemError, TooLarge
from unmask.files import path_exists, read_file


def pipe(path):
    os.mkfifo(path)


def unix_socket(path):
    working_folder = os.getcwd()
    os.chdir(path.parent)  # the name of a socket must be short
    try:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path.name)
    finally:
        os.chdir(working_folder)


def device(path):
    path.symlink_to("/dev/zero")


def folder(path):
    path.mkdir()


SPECIAL = {"a pipe": pipe, "a socket": unix_socket, "a device": device, "a folder": folder}


def named(path):
    """Command lines that name a file, by the kind of file."""
    to = ("--to", "mdm", "--out", path.parent / "made")
    return {
        "circuit": ["compile", f"aiger:{path}", *to],
        "blif": ["compile", f"blif:{path}", *to],
        "automaton": ["compile", f"dfa:{path}", "--length", "2", *to],
        "program": ["compile", f"program:{path}", "--length", "2", *to],
        "grammar": ["compile", f"cfg:{path}", "--length", "2", *to],
        "law": ["samplers", f"law:{path}", "--length", "2"],
        "against": ["verify", path.parent / "good", "--against", f"dfa:{path}"],
    }


@pytest.mark.parametrize("kind", SPECIAL)
@pytest.mark.parametrize("name", ["circuit", "blif", "automaton", "program", "grammar", "law", "against"])
def test_a_problem_is_an_ordinary_file(kind, name, tmp_path, unmask):
    folder_by_hand.write(tmp_path / "good")
    SPECIAL[kind](tmp_path / "special")
    code, _, err = unmask(*named(tmp_path / "special")[name])
    assert code == 2
    assert f"is not a file but {kind}" in err
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("kind", SPECIAL)
@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
def test_a_model_is_made_of_ordinary_files(kind, name, tmp_path, unmask):
    model = folder_by_hand.write(tmp_path / "m")
    (model / name).unlink()
    SPECIAL[kind](model / name)
    for arguments in (["run", model, "ab"], ["verify", model, "--against", "a"], ["verify", model, "--against", model]):
        code, _, err = unmask(*arguments)
        assert code == 2
        assert f"is not a file but {kind}" in err


@pytest.mark.parametrize("kind", SPECIAL)
def test_a_certificate_is_an_ordinary_file(kind, tmp_path, capsys):
    SPECIAL[kind](tmp_path / "special")
    assert check_certificate([str(folder_by_hand.write(tmp_path / "m")), str(tmp_path / "special")]) == 2
    assert f"is not a file but {kind}" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["a pipe", "a device"])
def test_special_files_at_the_target_are_not_read(kind, tmp_path, unmask):
    (tmp_path / "out").mkdir()
    SPECIAL[kind](tmp_path / "out" / "config.json")
    code, _, err = unmask("compile", "a", "--length", "2", "--to", "mdm", "--out", tmp_path / "out")
    assert code == 2
    assert "is not a model folder" in err


def test_standard_input_is_no_circuit(tmp_path, unmask):
    """A pipe could contain the file, but might never end; words can be read from it with `-`."""
    reading, writing = os.pipe()
    try:
        code, _, err = unmask("compile", f"aiger:/dev/fd/{reading}", "--to", "mdm", "--out", tmp_path / "m")
    finally:
        os.close(reading)
        os.close(writing)
    assert code == 2
    assert "is not a file but a pipe; save its content in a file and give that file" in err


def test_a_link_to_a_file_is_a_file(tmp_path, unmask):
    model = save_model(compile_problem("a", "cot", length=1), tmp_path / "m")
    shutil.move(model / "config.json", tmp_path / "c")
    (model / "config.json").symlink_to(tmp_path / "c")
    assert unmask("run", model, "a")[0] == 0


def test_sizes_are_exact(tmp_path):
    (tmp_path / "f").write_bytes(b"12345")
    assert read_file(tmp_path / "f", "it", most=5, error=ProblemError) == b"12345"
    with pytest.raises(TooLarge, match="it has more than 4 bytes"):
        read_file(tmp_path / "f", "it", most=4, error=ProblemError)
    with pytest.raises(ProblemError, match="its name is not a valid file name"):
        read_file("a\0b", "it", most=4, error=ProblemError)
    with pytest.raises(ProblemError, match="it is still being written"):
        read_file("/proc/self/status", "it", most=1 << 20, error=ProblemError)  # it reports a size of 0 bytes


def test_any_name_may_be_asked_for(tmp_path):
    (tmp_path / "f").touch()
    (tmp_path / "nowhere").symlink_to("nothing")
    for name in (tmp_path / "f", tmp_path / "nowhere", tmp_path):
        assert path_exists(name)
    for name in (tmp_path / "f" / "g", "x" * 10_000, "a\0b", ""):
        assert not path_exists(name)


@pytest.mark.parametrize("kind", SPECIAL)
def test_a_folder_that_cannot_be_read_is_not_taken_for_a_pattern(kind, tmp_path, unmask, monkeypatch):
    """`--against x` with a folder x means that folder, and never the regex x."""
    monkeypatch.chdir(tmp_path)
    folder_by_hand.write(tmp_path / "good")
    (tmp_path / "x").mkdir()
    SPECIAL[kind](tmp_path / "x" / "config.json")
    code, _, err = unmask("verify", "good", "--against", "x")
    assert code == 2
    assert f"config.json of x is not a file but {kind}" in err
