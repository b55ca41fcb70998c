"""Arrays survive the way into a page."""

import numpy as np
import pytest

from unmask.viewer.packing import packed, unpacked


@pytest.mark.parametrize(
    ("array", "kind"),
    [
        (np.array([[1, -127, 127], [-127, 127, 0]]), "int8"),  # differences that wrap around
        (np.array([128, -32767, 32767]), "int16"),
        (np.array([[[2**31 - 1]], [[-(2**31) + 1]]]), "int32"),
        (np.zeros((0, 5), dtype=np.int64), "int8"),
        (np.random.default_rng(1).integers(-15, 16, (7, 11, 13)), "int8"),
    ],
)
def test_arrays_come_back(array, kind):
    document = packed(array)
    assert document["type"] == kind
    assert document["shape"] == list(array.shape)
    assert np.array_equal(unpacked(document), array)


def test_steps_that_change_little_take_little():
    steps = np.repeat(np.random.default_rng(2).integers(-15, 16, (1, 100, 100)), 50, axis=0)
    assert len(packed(steps)["data"]) < 1.5 * len(packed(steps[:1])["data"])
