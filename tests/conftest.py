"""What several folders of tests share."""

import os
import sys

import pytest

from browser import browser, open_page  # noqa: F401
from unmask.cli import commands

# Two workers on two cores: threads of BLAS and OpenMP would wait for each other. Workers and processes inherit this.
for threads in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(threads, "1")


@pytest.fixture
def unmask(monkeypatch, capfd):
    """Run the command in this process: (exit code, standard output, standard error)."""

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["unmask", *map(str, arguments)])
        capfd.readouterr()
        with pytest.raises(SystemExit) as caught:
            commands.main()
        out, err = capfd.readouterr()
        assert "Traceback" not in out + err
        return caught.value.code, out, err

    return call
