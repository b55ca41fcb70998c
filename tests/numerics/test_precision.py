from fractions import Fraction

import pytest

from unmask.numerics.precision import Precision


@pytest.mark.parametrize(("p", "size"), [(1, 7), (2, 31), (3, 127), (4, 511)])
def test_sizes_of_the_theory_page(p, size):
    precision = Precision(p)
    assert precision.size == len(precision.numbers()) == size
    assert precision.meaning(precision.bound) == 2**p - Fraction(1, 2**p)
    assert precision.meaning(precision.one) == 1


@pytest.mark.parametrize("p", range(1, 9))
def test_half_of_the_bound_is_rounded_toward_zero(p):
    precision = Precision(p)
    assert precision.meaning(precision.half_bound) == 2 ** (p - 1) - Fraction(1, 2**p)
    assert 2 * precision.half_bound == precision.bound - 1


@pytest.mark.parametrize("p", [0, 9, -1, True, "2", 2.0, None])
def test_only_1_to_8(p):
    with pytest.raises(ValueError, match="from 1 to 8"):
        Precision(p)
