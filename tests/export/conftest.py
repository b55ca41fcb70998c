"""One process without unmask for all tests of this folder, and exported folders."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from unmask.api import compile_problem
from unmask.export.export_model import export_files
from unmask.export.folder_files import write_new_folder


@pytest.fixture(scope="session")
def outside(tmp_path_factory):
    """outside("bert", folder=…, words=…) → the answer of a process that cannot import unmask."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error"}
    errors = (tmp_path_factory.mktemp("outside") / "errors").open("w+")
    process = subprocess.Popen(
        [sys.executable, "-I", Path(__file__).parent / "outside.py"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
        text=True,
        env=environment,
        cwd=tmp_path_factory.mktemp("elsewhere"),
    )

    def ask(job, **arguments):
        process.stdin.write(json.dumps({"job": job, **{k: _plain(v) for k, v in arguments.items()}}) + "\n")
        process.stdin.flush()
        line = process.stdout.readline()
        if not line:
            errors.seek(0)
            raise AssertionError(errors.read()[-3000:])
        return json.loads(line)

    assert ask("has_unmask") is False
    yield ask
    process.stdin.close()
    process.wait(timeout=30)
    process.stdout.close()
    errors.close()


@pytest.fixture(scope="session")
def exported(tmp_path_factory):
    """exported(problem, kind, form, …) → (model, folder, export.json); the same call gives the same folder."""
    folders = {}

    def export(problem, kind, form, *, length=None, precision=2, **options):
        key = (problem, kind, form, length, precision, *sorted(options.items()))
        if key not in folders:
            model = compile_problem(problem, kind, length=length, precision=precision)
            files, report = export_files(model, form, **options)
            folders[key] = model, write_new_folder(files, tmp_path_factory.mktemp("exported") / form), report
        return folders[key]

    return export


def _plain(value):
    return str(value) if isinstance(value, Path) else value
