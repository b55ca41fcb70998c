"""Attention gadgets: every score and every code for small precisions, and the variants that fail."""

from itertools import product

import numpy as np
import pytest

from unmask.errors import AttendsToNothing
from unmask.expressions import n
from unmask.numerics.arithmetic import Precision, divide, exp, weighted
from unmask.numerics.arithmetic import product as inner_products
from unmask.programs.assembly import assemble
from unmask.programs.gadgets.attention import (
    boost,
    clear,
    constant_code,
    encoded,
    eq,
    focus,
    focus_copies,
    hide,
    itself,
    lookup,
    match,
    scaled,
)
from unmask.programs.program import ONE, B, bits_for
from unmask.testing.gadget_runs import PRECISIONS, bits, blank, run_gadget

each_precision = pytest.mark.parametrize("precision", PRECISIONS, ids=str)


def scores(program, precision, *contents):
    """The score of each row of a batch with itself, in the first head: [batch]."""
    transformer = assemble(program, precision)
    head = transformer.layers[0].heads[0]
    residual = np.zeros((len(contents[0][1]), program.width), dtype=np.int64)
    for columns, values in contents:
        residual[:, columns] = values
    Q, K = (weighted(residual, w.rows(), w.shape[1], precision) for w in (head.wq, head.wk))
    return inner_products(Q[:, None, :], K[:, :, None], precision)[:, 0, 0]


class Scored:
    """One head whose score starts at any s of F_p, by a column (s ¦ one), or at 0; a test adds further columns."""

    def __init__(self, size, *, start=True):
        self.program = blank()
        self.one = self.program.one
        self.s, self.flag = self.program.register("s"), self.program.register("flag")
        self.a, self.b = self.program.register("a", size), self.program.register("b", size)
        self.head = self.program.layer().head()
        if start:
            self.head.column([(self.s, ONE)], [(self.one, ONE)])

    def __call__(self, precision, *, flag=0):
        """(s, match?, score) for all s and all codes a, b."""
        signs = 2 * bits(self.a.size) - 1
        cases = list(product(precision.numbers(), range(len(signs)), range(len(signs))))
        s, a, b = np.array(cases).T
        contents = [
            (self.one, np.full((len(s), 1), precision.one)),
            (self.s, s[:, None]),
            (self.flag, np.full((len(s), 1), flag * precision.one)),
            (self.a, precision.one * signs[a]),
            (self.b, precision.one * signs[b]),
        ]
        return s, a == b, scores(self.program, precision, *contents)


@each_precision
@pytest.mark.parametrize("size", [1, 2, 3])
def test_eq(precision, size):
    scored = Scored(size, start=False)
    eq(scored.head, scored.a, scored.b)
    _, equal, score = scored(precision)
    assert np.array_equal(score, np.where(equal, 0, -precision.bound))


@each_precision
@pytest.mark.parametrize("size", [1, 2, 3])
def test_focus(precision, size):
    scored = Scored(size)
    focus(scored.head, scored.a, scored.b, copies=focus_copies(precision.p))
    s, equal, score = scored(precision)
    top = precision.one * precision.one // 2
    assert np.array_equal(score[equal], np.minimum(s, top)[equal])
    assert np.array_equal(exp(score, precision), np.where(equal, exp(s, precision), 0))
    assert score[~equal].max() <= -precision.bound + 2, "at most -B + 2^(1-p)"


def focus_violations(precision, size, copies):
    scored = Scored(size)
    focus(scored.head, scored.a, scored.b, copies=copies)
    s, equal, score = scored(precision)
    return np.count_nonzero(exp(score, precision) != np.where(equal, exp(s, precision), 0))


@each_precision
@pytest.mark.parametrize("size", [1, 2, 3])
def test_one_copy_of_focus_is_too_few(precision, size):
    assert focus_violations(precision, size, 1) > 0


def test_two_copies_of_focus_are_too_few_below_the_least_precision():
    assert [focus_violations(Precision(1), size, 2) for size in (1, 2, 3)] == [4, 16, 48]


@each_precision
def test_hide(precision):
    scored = Scored(1)
    hide(scored.head, scored.flag)
    s, _, visible = scored(precision)
    assert np.array_equal(visible, s)
    assert np.all(scored(precision, flag=1)[2] == -precision.bound)


@each_precision
def test_a_single_hide_is_survived_by_a_large_score_but_not_after_eq(precision):
    scored = Scored(1)
    hide(scored.head, scored.flag, copies=1)
    s, _, score = scored(precision, flag=1)
    assert exp(score[s == precision.bound], precision).all()

    after_eq = Scored(2, start=False)
    eq(after_eq.head, after_eq.a, after_eq.b)
    hide(after_eq.head, after_eq.flag, copies=1)
    assert np.all(after_eq(precision, flag=1)[2] == -precision.bound)


@each_precision
def test_boost(precision):
    scored = Scored(1)
    boost(scored.head, scored.flag)
    s, _, score = scored(precision)
    assert np.array_equal(score, s)
    assert np.all(scored(precision, flag=1)[2] == precision.bound)


@each_precision
@pytest.mark.parametrize("size", [1, 2])
def test_boosted_queries_can_still_be_focused_and_hidden(precision, size):
    scored = Scored(size)
    boost(scored.head, scored.flag)
    focus(scored.head, scored.a, scored.b, copies=focus_copies(precision.p))
    _, equal, score = scored(precision, flag=1)
    assert np.array_equal(exp(score, precision), np.where(equal, precision.bound, 0))
    hide(scored.head, scored.flag)
    assert not exp(scored(precision, flag=1)[2], precision).any()


def ignoring(rows, *, with_boost):
    """Rows from the third on are ignored: hidden as keys; their own scores are all -B."""
    program = blank(rows)
    one = program.one
    ignored = program.flag("ignored", n >= 2)
    x, y = program.register("x"), program.register("y")
    head = program.layer().head()
    head.column([(ignored, -B)], [(one, ONE)])
    if with_boost:
        boost(head, ignored)
    hide(head, ignored)
    head.copy(x, y)
    return program, x, y


@each_precision
def test_without_boost_a_row_that_sees_nothing_divides_by_zero(precision):
    contents = precision.one * np.array([[[1], [1], [0], [0]]])
    program, x, y = ignoring(4, with_boost=True)
    residual = run_gadget(program, precision, (x, contents))
    weight = divide(precision.one, min(2 * precision.one, precision.bound), precision)
    assert (residual[0, :2, y] == 2 * weight).all(), "two visible rows of score 0"
    assert (residual[0, 2:, y] == min(2 * precision.one, precision.bound)).all(), "two of score B: B / B each"
    program, x, _ = ignoring(4, with_boost=False)
    with pytest.raises(AttendsToNothing) as caught:
        run_gadget(program, precision, (x, contents))
    assert (caught.value.layer, caught.value.head, caught.value.row) == (0, 0, 2)


@each_precision
@pytest.mark.parametrize("rows", [1, 2, 3, 8, 9])
def test_lookup_copies_any_number_from_any_row(precision, rows):
    rng = np.random.default_rng(rows)
    program = blank(rows)
    size = bits_for(rows)
    row_code = program.code("own", n, size)
    address, x, y = program.register("address", size), program.register("x", 3), program.register("y", 3)
    lookup(program.layer(), address, row_code).copy(x, y)
    targets = rng.integers(0, rows, (50, rows))
    codes = precision.one * (2 * (targets[..., None] >> np.arange(size - 1, -1, -1) & 1) - 1)
    numbers = rng.integers(-precision.bound, precision.bound + 1, (50, rows, 3))
    residual = run_gadget(program, precision, (address, codes), (x, numbers))
    assert np.array_equal(residual[..., y], np.take_along_axis(numbers, targets[..., None], axis=1))


@each_precision
@pytest.mark.parametrize("attention", ["unmasked", "causal"])
def test_self_clears_moves_and_negates(precision, attention):
    rows = 5
    program = blank(rows)
    row_code = program.code("own", n, 3)
    x, moved, negated = (program.register(name, 2) for name in ("x", "moved", "negated"))
    head = itself(program.layer(), row_code)
    clear(head, x)
    head.copy(x, moved)
    head.copy(x, negated, -ONE)
    numbers = np.random.default_rng(0).integers(-precision.bound, precision.bound + 1, (20, rows, 2))
    residual = run_gadget(program, precision, (x, numbers), attention=attention)
    assert not residual[..., x].any()
    assert np.array_equal(residual[..., moved], numbers)
    assert np.array_equal(residual[..., negated], -numbers)


@each_precision
@pytest.mark.parametrize("count", [1, 2, 5, 8])
def test_a_query_may_be_a_constant_or_a_one_hot_code(precision, count):
    size = bits_for(count)
    signs = precision.one * (2 * (np.arange(count)[:, None] >> np.arange(size - 1, -1, -1) & 1) - 1)
    numbers, keys = (grid.ravel() for grid in np.mgrid[:count, :count])
    for value in (None, *range(count)):
        program = blank()
        one, hot, b = program.one, program.register("hot", count), program.register("b", size)
        forms = encoded(hot, size) if value is None else constant_code(value, size, one)
        match(program.layer().head(), forms, b)
        ones = np.full((count * count, 1), precision.one)
        contents = [(one, ones), (hot, precision.one * np.eye(count, dtype=int)[numbers]), (b, signs[keys])]
        expected = keys == (numbers if value is None else value)
        assert np.array_equal(scores(program, precision, *contents), np.where(expected, 0, -precision.bound))


def test_scaled_codes_name_each_bit():
    assert scaled(np.array([4, 5]), B) == [[(4, B)], [(5, B)]]
