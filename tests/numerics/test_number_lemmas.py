import numpy as np
import pytest

from unmask.numerics import arithmetic, number_lemmas
from unmask.numerics.arithmetic import Precision
from unmask.numerics.number_lemmas import (
    LemmaFails,
    exp_of_bound,
    exp_saturates,
    interleaved_codes,
    interleaved_score,
    scaled_codes,
    sharp_thresholds,
)

TABLE = arithmetic.exp_table
ALL = [Precision(p) for p in range(1, 9)]


@pytest.mark.parametrize("precision", ALL, ids=str)
def test_lemmas_about_exp(precision):
    assert exp_saturates(precision) >= 1
    assert exp_of_bound(precision) == 2


def test_for_p_1_only_the_bound_is_beyond_the_threshold():
    assert exp_saturates(Precision(1)) == 1


def test_sharp_thresholds_of_the_theory_page():
    thresholds = [sharp_thresholds(Precision(p)) for p in (1, 2, 3, 4)]
    assert thresholds == [(1, -3), (6, -9), (17, -23), (45, -56)]


@pytest.mark.parametrize("precision", ALL, ids=str)
@pytest.mark.parametrize("bits", [1, 2, 3])
def test_interleaved_codes(precision, bits):
    assert interleaved_codes(precision, bits) == 4**bits


@pytest.mark.parametrize("precision", ALL, ids=str)
@pytest.mark.parametrize("bits", [1, 2, 3])
@pytest.mark.parametrize("m", [1, 2, 3, 5])
def test_scaled_codes(precision, bits, m):
    assert scaled_codes(precision, bits, m) == 4**bits


@pytest.mark.parametrize("precision", ALL, ids=str)
def test_the_printed_bound_fails_for_two_bits_in_the_scale(precision):
    with pytest.raises(LemmaFails, match=r"codes .* score -\d+ with m = 2"):
        scaled_codes(precision, 2, 2, printed=True)
    assert scaled_codes(precision, 2, 1, printed=True) == 16


def test_one_differing_bit_scores_one_step_less_than_the_bound():
    precision = Precision(2)
    assert interleaved_score((4,), (-4,), precision.half_bound, precision) == -(precision.bound - 1)


def corrupted(entry, value):
    def table(precision):
        damaged = TABLE(precision).copy()
        damaged[precision.bound + entry(precision)] = value(precision)
        return damaged

    return table


@pytest.mark.parametrize(
    ("check", "entry", "value"),
    [
        (exp_saturates, lambda f: f.bound, lambda f: f.bound - 1),
        (exp_saturates, lambda f: -f.bound, lambda _: 1),
        (exp_of_bound, lambda f: f.bound, lambda f: f.bound - 1),
        (exp_of_bound, lambda f: -f.bound, lambda _: 1),
        (lambda f: interleaved_codes(f, 1), lambda _: 0, lambda f: f.one + 1),
        (lambda f: interleaved_codes(f, 1), lambda f: -f.bound, lambda _: 1),
    ],
)
def test_a_corrupted_table_is_refuted(monkeypatch, check, entry, value):
    damaged = corrupted(entry, value)
    monkeypatch.setattr(arithmetic, "exp_table", damaged)
    monkeypatch.setattr(number_lemmas, "exp_table", damaged)
    with pytest.raises(LemmaFails, match=r"exp\("):
        check(Precision(3))


def test_a_rounding_that_goes_up_is_refuted(monkeypatch):
    """Products that round ties away from zero break the exact score."""
    monkeypatch.setattr(number_lemmas, "multiply", lambda a, b, precision: np.clip(a * b // precision.one + 1, -15, 15))
    with pytest.raises(LemmaFails, match="score"):
        scaled_codes(Precision(2), 2, 1)
