"""Layers, alphabet and width of compiled models are within the stated extents; only `places` depends on N."""

import pytest

from programs.recurrences import programs
from unmask.api import compile_problem, compiler_of
from unmask.compilers.model_families import extent_of
from unmask.compilers.system_compiler import SystemCompiler
from unmask.expressions import n
from unmask.numerics.arithmetic import Precision
from unmask.programs.program import Program
from unmask.weights.model import Extent, Price

PROBLEMS = [
    ("(a|b)*abb", (0, 1, 2, 5, 16, 33)),
    ("group:S3", (0, 1, 5, 9)),
    ("((a|b)*a(a|b){4}b(a|b)*c)*", (0, 1, 3, 4)),  # |Q| slots per node
    ("family:parity", (1, 2, 5, 16)),
    ("family:addition", (2, 6)),
    ("family:reachability", (1, 4, 9)),
    ("expr:a*b+c in 0..4 compact", (6,)),
]


@pytest.mark.parametrize(("problem", "lengths"), PROBLEMS)
def test_every_compiler_keeps_what_it_promises(problem, lengths):
    compiler = compiler_of(problem)
    for kind in compiler.kinds:
        extents = []
        for length in lengths if compiler.length is None else [compiler.length]:
            price = Price.of(compile_problem(problem, kind, length=length))
            extents.append(compiler.extent(kind, length))
            promised = extents[-1].price(*compiler.bound(kind, length))
            assert price.within(promised), (kind, length, price, promised)
            assert extents[-1].places <= (length + 40) ** 3
        assert len({extent.without_places for extent in extents}) == 1, kind


def test_far_beyond_what_can_be_built():
    """A regular language at N = 2^k: only the width grows, by one or three columns per bit."""
    compiler = compiler_of("(a|b)*abb")
    for kind in compiler.kinds:
        near, far = (compiler.extent(kind, 1 << k) for k in (20, 39))
        assert near.without_places == far.without_places
        assert far.width - near.width <= 3 * 22


@pytest.mark.parametrize("system", [programs.parity, programs.palindrome, programs.tree_product])
def test_recurrences_are_counted(system):
    compiler = SystemCompiler(system(), {})
    for kind in compiler.kinds:
        extents = []
        for length in (8, 16):
            extents.append(compiler.extent(kind, length))
            price = Price.of(compiler.compile(kind, length, Precision(2)))
            assert price.within(extents[-1].price(*compiler.bound(kind, length)))
        assert extents[0].without_places == extents[1].without_places


def test_a_register_that_grows_with_the_length_is_seen():
    """One column per row is fixed at every length, and another number at the next."""
    extents = []
    for rows in (8, 16):
        program = Program(("a", "b"), 2, rows, rows)
        program.code("here", n)
        program.register("one per row", rows)
        extents.append(extent_of([program], 2, rows))
    assert [(extent.per_bit, extent.fixed) for extent in extents] == [(1, 9), (1, 17)]
    assert extents[0].without_places != extents[1].without_places


def test_the_width_of_an_extent():
    assert [Extent(1, 2, 10, 3, places).width for places in (1, 2, 3, 4, 5)] == [13, 13, 16, 16, 19]
