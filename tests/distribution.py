"""A built wheel and sdist are what they should be, and run where nothing else is installed.

`make dist` calls this on the folder that it built: `python tests/distribution.py dist`.
"""

import email
import json
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from email.message import Message
from pathlib import Path


def one(folder: Path, pattern: str) -> Path:
    found = sorted(folder.glob(pattern))
    assert len(found) == 1, f"{folder} holds {len(found)} files {pattern}, not one"
    return found[0]


def metadata_of(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return email.message_from_bytes(archive.read(name))


def check_contents(wheel: Path, sdist: Path) -> None:
    """Typed, licensed, without tests; the sdist can build and test itself."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert "unmask/py.typed" in names
    assert "unmask/paper/evidence.json" in names
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)
    tops = {name.split("/")[0] for name in names}
    assert len(tops) == 2, f"the wheel puts {sorted(tops)} beside other people's packages"
    assert not [name for name in names if "/test_" in name or name.startswith("tests/")]
    with tarfile.open(sdist) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    assert {
        "LICENSE",
        "README.md",
        "pyproject.toml",
        "Makefile",
        "constraints-dev.txt",
        "src/unmask/py.typed",
        "tests/cli/test_commands.py",
    } <= inside
    assert not [
        name for name in inside if name.startswith((".venv", "dist", "site", "models")) or "__pycache__" in name
    ]


def check_requirements(wheel: Path) -> None:
    """torch comes with extras alone, in any recent version."""
    required = metadata_of(wheel).get_all("Requires-Dist") or []
    torch = [line for line in required if line.startswith("torch")]
    found = {line.replace('"', "'").replace(" ", "") for line in torch}
    assert {"torch>=2.4;extra=='lab'", "torch>=2.4;extra=='torch'"} <= found, torch
    assert all(line.startswith("torch>=2.4;extra==") for line in found), torch
    plain = {line.split(">")[0] for line in required if "extra" not in line}
    assert plain == {"msgspec", "numpy", "rich", "safetensors", "typer"}, plain


def check_installed(wheel: Path, scratch: Path) -> None:
    """In an empty environment, away from the source: version, compile, run, doctor."""
    environment = scratch / "environment"
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    python, unmask = environment / "bin" / "python", environment / "bin" / "unmask"
    pip = [python, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "install", wheel], check=True, cwd=scratch)

    def call(*arguments: str, code: int = 0) -> str:
        done = subprocess.run([unmask, *arguments], cwd=scratch, capture_output=True, text=True, check=False)
        assert done.returncode == code, f"unmask {' '.join(arguments)}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout

    assert call("--version") == f"unmask {metadata_of(wheel)['Version']}\n"
    call("compile", "(a|b)*abb", "--length", "6", "--to", "mdm", "--out", "abb")
    assert json.loads(call("run", "abb", "ababbb", "--json", code=1))["accepted"] is False
    assert "accepted after 3 steps" in call("run", "abb", "aaaabb", "--engine", "both")
    found = json.loads(call("doctor", "--json"))
    assert found["healthy"]
    assert {extra["name"]: extra["installed"] for extra in found["extras"]}["lab"] is False
    listed = json.loads(call("paper", "--json"))
    assert listed
    where = subprocess.run(
        [python, "-c", "import unmask, unmask.api; print(unmask.__file__)"],
        cwd=scratch,
        capture_output=True,
        text=True,
        check=True,
    )
    assert Path(where.stdout.strip()).is_relative_to(environment)


def check(folder: Path) -> None:
    wheel, sdist = one(folder, "*.whl"), one(folder, "*.tar.gz")
    check_contents(wheel, sdist)
    check_requirements(wheel)
    with tempfile.TemporaryDirectory() as scratch:
        check_installed(wheel.resolve(), Path(scratch))
    print(f"{wheel.name} and {sdist.name}: installed and run in an empty environment")


if __name__ == "__main__":
    check(Path(sys.argv[1]))
