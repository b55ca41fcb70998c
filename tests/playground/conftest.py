"""A playground, as `unmask serve` starts it, once per session of tests."""

import subprocess
import sys

import pytest

from .client import Client, started


@pytest.fixture(scope="session")
def address():
    with started() as (address, _):
        yield address


@pytest.fixture(scope="session")
def client(address):
    return Client(address)


@pytest.fixture
def own_process(tmp_path):
    """Run Python code in a fresh process in an empty folder, and return its output."""

    def run(code):
        completed = subprocess.run(
            [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60
        )
        return completed.stdout + completed.stderr

    return run
