"""Commands that are interrupted end without a traceback and leave nothing behind."""

import sys

import pytest

from hostile.interrupted import attempts

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


def test_a_few_interrupted_commands():
    assert attempts(12, seed=3, seconds=1) == []


@pytest.mark.long
@pytest.mark.parametrize("seed", range(4))
def test_hundreds_of_interrupted_commands(seed):
    assert attempts(150, seed=seed) == []
