"""Every byte of a hundred compiled and converted folders is what it was when its hash was recorded."""

import json

import pytest

from frozen_folders import HASHES, frozen_cases
from unmask.weights.storage import content_hash

RECORDED = json.loads(HASHES.read_text(encoding="utf-8"))
CASES = dict(frozen_cases())


def test_a_hundred_folders_are_frozen():
    assert len(RECORDED) >= 100
    assert RECORDED.keys() == CASES.keys()


@pytest.mark.parametrize("name", RECORDED)
def test_no_byte_has_changed(name):
    assert content_hash(CASES[name]()) == RECORDED[name]
