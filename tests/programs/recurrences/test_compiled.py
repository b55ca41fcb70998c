"""Compiled programs hold what the interpreter says, slot by slot."""

from itertools import product

import pytest

from .drawn import drawn_system
from .programs import EDITING, ONCE, check_canvas


def words(system, length, most=40):
    every = list(product(system.letters, repeat=length))
    return every[:: max(1, len(every) // most)]


@pytest.mark.parametrize("kind", ["mdm", "smdm", "topk", "plt", "pcot", "cot"])
@pytest.mark.parametrize("name", ONCE)
def test_slots_that_are_written_once(name, kind):
    make, length = ONCE[name]
    system = make()
    check_canvas(system, kind, length, words(system, length))


@pytest.mark.parametrize("kind", ["mdm", "plt"])
@pytest.mark.parametrize("name", EDITING)
def test_slots_that_are_rewritten(name, kind):
    make, length = EDITING[name]
    system = make()
    check_canvas(system, kind, length, words(system, length, 20))


@pytest.mark.parametrize("length", [1, 2, 3, 7])
def test_other_lengths_and_precisions(length):
    make, _ = ONCE["palindrome"]
    check_canvas(make(), "mdm", length, words(make(), length, 10), precision=3)


@pytest.mark.parametrize("seed", range(12))
def test_programs_that_are_drawn(seed):
    system = drawn_system(seed)
    length = 1 + seed % 4
    for kind in ("mdm", "smdm", "topk", "plt", "pcot", "cot"):
        check_canvas(system, kind, length, words(system, length, 4))


@pytest.mark.parametrize("seed", range(8))
def test_programs_that_are_drawn_and_edit(seed):
    system = drawn_system(seed, edits=True)
    length = 1 + seed % 4
    for kind in ("mdm", "plt"):
        check_canvas(system, kind, length, words(system, length, 4))
