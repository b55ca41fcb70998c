"""The wheel and the sdist: built from a copy, installed in an empty environment, and run there."""

import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

import distribution
import unmask

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_torch_comes_with_extras_alone_and_only_the_development_environment_pins_it():
    assert not [line for line in PROJECT["dependencies"] if "torch" in line]
    requirements = [
        line for lines in PROJECT["optional-dependencies"].values() for line in lines if line.startswith("torch")
    ]
    assert requirements == ["torch>=2.4", "torch>=2.4"]
    assert "torch==2.13.0\n" in (ROOT / "constraints-dev.txt").read_text(encoding="utf-8")
    assert "-c constraints-dev.txt -e '.[dev]'" in (ROOT / "Makefile").read_text(encoding="utf-8")


def test_versions_agree():
    assert unmask.__version__ == PROJECT["version"]
    assert f"version: {PROJECT['version']}" in (ROOT / "CITATION.cff").read_text(encoding="utf-8").replace('"', "")
    assert f"\n## [{PROJECT['version'].partition('.dev')[0]}] - " in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_a_wheel_that_asks_everybody_for_torch_is_caught(tmp_path):
    wheel = tmp_path / "x.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("x.dist-info/METADATA", "Requires-Dist: torch>=2.4\n")
    with pytest.raises(AssertionError, match="torch"):
        distribution.check_requirements(wheel)


def test_a_wheel_with_tests_is_caught(tmp_path):
    wheel = tmp_path / "x.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name in (
            "unmask/py.typed",
            "unmask/paper/evidence.json",
            "x.dist-info/licenses/LICENSE",
            "tests/test_x.py",
        ):
            archive.writestr(name, "")
    with pytest.raises(AssertionError, match="beside other people's packages"):
        distribution.check_contents(wheel, tmp_path / "never-opened")


@pytest.mark.long
def test_what_is_built_runs_in_an_empty_environment(tmp_path):
    """From what git lists, so that no other file is needed; the wheel is built from the sdist."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout.decode()
    for name in listed.split("\0")[:-1]:
        if (ROOT / name).is_file():
            (tmp_path / "copy" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, tmp_path / "copy" / name)
    subprocess.run(
        [sys.executable, "-m", "build", "--outdir", tmp_path / "dist", tmp_path / "copy"],
        check=True,
        capture_output=True,
    )
    distribution.check(tmp_path / "dist")
