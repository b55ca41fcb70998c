"""What several folders of tests share."""

import sys

import pytest

from browser import browser, open_page  # noqa: F401
from unmask import cli


@pytest.fixture
def unmask(monkeypatch, capfd):
    """Run the command in this process: (exit code, standard output, standard error)."""

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["unmask", *map(str, arguments)])
        capfd.readouterr()
        with pytest.raises(SystemExit) as caught:
            cli.main()
        out, err = capfd.readouterr()
        assert "Traceback" not in out + err
        return caught.value.code, out, err

    return call
