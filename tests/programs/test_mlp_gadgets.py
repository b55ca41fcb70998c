"""Gadgets of one MLP: every input for small precisions, and the variants that fail."""

import numpy as np
import pytest

from unmask.errors import ProblemError
from unmask.numerics.arithmetic import Precision, multiply
from unmask.programs.gadgets.attention import itself
from unmask.programs.gadgets.mlp import (
    argmax,
    conjunction,
    gate,
    gate_on,
    merge,
    no_preference,
    nor,
    one_hot,
    project,
    select,
    threshold,
    unchosen,
    unless_taken,
    write_nor,
)
from unmask.programs.program import ONE, TOP, ULP, B, whole
from unmask.testing.gadget_runs import PRECISIONS, bits, blank, run_gadget, vectors

each_precision = pytest.mark.parametrize("precision", PRECISIONS, ids=str)


def applied(precision, build, inputs, *, outputs=1):
    """The output columns after `build(mlp, x, y)` on the given rows of inputs."""
    program = blank()
    x, y = program.register("x", inputs.shape[1]), program.register("y", outputs)
    build(program.layer().mlp, x, y)
    return run_gadget(program, precision, (x, inputs))[:, 0, y]


def flags(precision, fan_in):
    """All vectors of flags, or for a large fan-in those with few or many ones."""
    if fan_in <= 10:
        return precision.one * bits(fan_in)
    few = np.concatenate([np.zeros((1, fan_in), int), np.eye(fan_in, dtype=int), np.tri(fan_in, dtype=int)])
    return precision.one * np.concatenate([few, 1 - few])


@each_precision
@pytest.mark.parametrize("fan_in", [0, 1, 2, 3, 4, 8, 10, 16, 40])
def test_nor_of_any_fan_in(precision, fan_in):
    inputs = flags(precision, fan_in)
    expected = precision.one * ~inputs.any(axis=1)

    def in_the_hidden_layer(mlp, x, y):
        mlp.write(nor(mlp, [x]), y)

    def in_the_outer_layer(mlp, x, y):
        write_nor(mlp, [conjunction(mlp, x, [[]] * x.size)], y)

    for build in (in_the_hidden_layer, in_the_outer_layer):
        assert np.array_equal(applied(precision, build, inputs)[:, 0], expected)


@each_precision
@pytest.mark.parametrize("fan_in", [1, 2, 3, 8, 40])
@pytest.mark.parametrize("position", [0, 0.5, 1])
def test_and_of_one_positive_literal_in_any_position(precision, fan_in, position):
    inputs = flags(precision, fan_in)
    k = int(position * (fan_in - 1))
    rest = np.delete(np.arange(fan_in), k)
    result = applied(precision, lambda mlp, x, y: mlp.write(conjunction(mlp, x[[k]], [x[rest]]), y), inputs)
    assert np.array_equal(result[:, 0] == precision.one, (inputs[:, k] != 0) & ~inputs[:, rest].any(axis=1))
    assert set(np.unique(result)) <= {0, precision.one}


@each_precision
def test_gates_of_different_fan_in_stand_side_by_side(precision):
    groups = [[], [0], [1, 2], [0, 1, 2]]
    inputs = bits(3)

    def build(mlp, x, y):
        units = nor(mlp, [x[group] for group in groups])
        mlp.write(units, y[:4])
        write_nor(mlp, [units[group] for group in groups], y[4:])

    result = applied(precision, build, precision.one * inputs, outputs=8) // precision.one
    inner = np.stack([~inputs[:, group].any(axis=1) for group in groups], axis=1)
    outer = np.stack([~inner[:, group].any(axis=1) for group in groups], axis=1)
    assert np.array_equal(result, np.concatenate([inner, outer], axis=1))


def textbook_and(fan_in):
    def build(mlp, x, y):
        unit = mlp.units(1, bias=whole(1 - fan_in))
        mlp.read(unit, x)
        mlp.write(unit, y)

    return build


@each_precision
def test_the_textbook_and_fails_from_fan_in_two_to_the_p(precision):
    for fan_in in range(1, precision.one):
        inputs = precision.one * bits(min(fan_in, 8)) if fan_in <= 8 else flags(precision, fan_in)
        result = applied(precision, textbook_and(fan_in), inputs)
        assert np.array_equal(result[:, 0], precision.one * inputs.all(axis=1))
    fan_in = precision.one
    result = applied(precision, textbook_and(fan_in), np.full((1, fan_in), precision.one))
    assert result[0, 0] == precision.one - 1, "1 - 2^-p instead of 1"
    with pytest.raises(ProblemError, match="does not fit"):
        applied(precision, textbook_and(fan_in + 1), np.full((1, fan_in + 1), precision.one))


@each_precision
def test_threshold(precision):
    x = np.array(precision.numbers())
    two_columns = np.stack([x, -x], axis=1)
    result = applied(precision, threshold, two_columns, outputs=2)
    assert np.array_equal(result, precision.one * (two_columns > 0))


@each_precision
def test_threshold_with_one_unit_leaves_a_half(precision):
    def one_unit(mlp, x, y):
        units = mlp.units(x.size, bias=ULP)
        mlp.read(units, x, -ONE)
        mlp.write(units, y, -TOP)
        mlp.offset(y, ONE)

    assert applied(precision, one_unit, np.array([[0]]))[0, 0] == precision.one // 2


@each_precision
@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_argmax(precision, size):
    x = vectors(precision, size, most=30_000)
    result = applied(precision, argmax, x, outputs=size)
    assert np.array_equal(result, precision.one * (np.argmax(x, axis=1)[:, None] == np.arange(size)))


def test_argmax_takes_one_mlp_of_the_stated_size():
    program = blank()
    mlp = program.layer().mlp
    argmax(mlp, program.register("x", 5), program.register("y", 5))
    assert mlp.size == 2 * 5 * 4


@each_precision
def test_argmax_without_a_tie_break_has_two_winners(precision):
    def no_tie_break(mlp, x, y):
        argmax(mlp, x, y)
        mlp.biases.clear()

    result = applied(precision, no_tie_break, np.array([[1, 1], [0, 1]]), outputs=2)
    assert result.tolist() == [[precision.one, precision.one], [0, precision.one]]


def test_the_factor_of_the_paper_is_not_a_number_and_its_neighbour_needs_p_2():
    for precision in PRECISIONS:
        assert precision.one * precision.one > precision.bound, "2^p is not in F_p"
        assert (multiply(precision.bound, 1, precision) == precision.one) == (precision.p >= 2)


@each_precision
def test_one_hot_of_every_number(precision):
    values = precision.numbers()
    x = np.array(values)[:, None]
    result = applied(precision, lambda mlp, x, y: one_hot(mlp, x, values, y), x, outputs=precision.size)
    assert np.array_equal(result, precision.one * np.eye(precision.size, dtype=int))


@each_precision
def test_one_hot_with_single_units_leaves_a_half(precision):
    def single(mlp, x, y):
        one_hot(mlp, x, [0], y)
        mlp.outputs[:] = mlp.outputs[::2]

    assert applied(precision, single, np.array([[1]]))[0, 0] == precision.one // 2


@pytest.mark.parametrize("precision", PRECISIONS, ids=str)
def test_gate_on(precision):
    program = blank()
    x, on, plus, minus = (program.register(name) for name in ("x", "on", "plus", "minus"))
    gate_on(program.layer().mlp, program.one, x, on, plus, minus)
    numbers = np.array(list(precision.numbers()))[:, None]
    for flag in (0, 1):
        contents = (x, numbers), (on, np.full_like(numbers, flag * precision.one))
        result = run_gadget(program, precision, *contents)[:, 0]
        assert np.array_equal(result[:, plus], flag * np.maximum(numbers, 0))
        assert np.array_equal(result[:, minus], flag * np.maximum(-numbers, 0))


def test_gate_on_refuses_another_order_of_columns():
    program = blank()
    on, x, plus, minus = (program.register(name) for name in ("on", "x", "plus", "minus"))
    with pytest.raises(AssertionError, match="another order"):
        gate_on(program.layer().mlp, program.one, x, on, plus, minus)


@each_precision
def test_gate(precision):
    program = blank()
    x, off, plus, minus = (program.register(name) for name in ("x", "off", "plus", "minus"))
    gate(program.layer().mlp, x, off, plus, minus)
    numbers = np.array(precision.numbers())[:, None]
    on = run_gadget(program, precision, (x, numbers))
    assert np.array_equal(on[:, 0, plus] - on[:, 0, minus], numbers)
    shut = run_gadget(program, precision, (x, numbers), (off, np.full_like(numbers, precision.one)))
    assert not shut[:, 0, [*plus, *minus]].any()


def selected(precision, size, build, x, complement_values):
    """Select by an MLP, then merge the two signs by a SELF head."""
    program = blank()
    one = program.one
    entries, complement = program.register("x", size), program.register("others", size)
    plus, minus, y = (program.register(name) for name in ("plus", "minus", "y"))
    build(program.layer().mlp, entries, complement, plus, minus)
    merge(itself(program.layer(), one), plus, minus, y)
    return run_gadget(program, precision, (entries, x), (complement, complement_values))[:, 0, y[0]]


@each_precision
@pytest.mark.parametrize("size", [1, 2, 3, 6])
def test_select(precision, size):
    x = vectors(precision, size)
    for d in range(size):
        complement = np.broadcast_to(precision.one * (np.arange(size) != d), x.shape)
        assert np.array_equal(selected(precision, size, select, x, complement), x[:, d])


@each_precision
def test_select_by_adding_b_first_clips(precision):
    def adds_first(mlp, x, chosen, plus, _):
        units = mlp.units(x.size, bias=-B)
        mlp.read(units, x)
        mlp.read(units, chosen, B)
        mlp.write(units, plus)

    x = np.arange(1, precision.bound + 1)[:, None]
    chosen = np.full_like(x, precision.one)
    assert not selected(precision, 1, adds_first, x, chosen).any(), "every positive number becomes 0"


def test_gadgets_work_at_the_largest_precision():
    precision = Precision(8)
    x = vectors(precision, 3, most=2000)
    result = applied(precision, argmax, x, outputs=3)
    assert np.array_equal(result, precision.one * (np.argmax(x, axis=1)[:, None] == np.arange(3)))


def projected(precision, build, size, x, second):
    program = blank()
    entries, chosen, y = program.register("x", size), program.register("chosen", size), program.register("y")
    build(program.layer().mlp, entries, chosen, y)
    return run_gadget(program, precision, (entries, precision.one * x), (chosen, precision.one * second))[:, 0, y[0]]


@pytest.mark.parametrize("precision", PRECISIONS, ids=str)
@pytest.mark.parametrize("size", [1, 2, 3, 8])
def test_every_entry_of_every_vector(precision, size):
    x = bits(size)
    for d in range(size):
        complement = np.broadcast_to(np.arange(size) != d, x.shape)
        assert np.array_equal(projected(precision, project, size, x, complement), precision.one * x[:, d])


def test_adding_the_unit_vector_needs_p_2():
    def adds(mlp, x, chosen, y):
        units = mlp.units(x.size, bias=-ONE)
        mlp.read(units, x)
        mlp.read(units, chosen)
        mlp.write(units, y)

    both = np.array([[1]])
    assert projected(Precision(2), adds, 1, both, both).tolist() == [4]
    assert projected(Precision(1), adds, 1, both, both).tolist() == [1], "1/2 instead of 1"


# What two logits decide: every pair of logits for small precisions.


def decided(precision, build, inputs, outputs):
    program = blank()
    x, y = program.register("x", inputs.shape[1]), program.register("y", outputs)
    build(program.layer().mlp, x, y)
    return run_gadget(program, precision, (x, inputs))[:, 0, y]


@each_precision
def test_unchosen_is_marked_in_every_column(precision):
    logits = vectors(precision, 2, most=20_000)
    flags = decided(precision, unchosen, logits, 2)
    expected = precision.one * (logits[:, 1] <= logits[:, 0])
    assert np.array_equal(flags, np.stack([expected, expected], axis=1))


@each_precision
def test_flags_are_left_where_nothing_is_chosen(precision):
    logits = vectors(precision, 2, most=20_000)
    flags = precision.one * (np.arange(len(logits))[:, None] >> np.arange(3) & 1)
    inputs = np.concatenate([logits, flags], axis=1)
    left = decided(precision, lambda mlp, x, y: unless_taken(mlp, x[:2], x[2:], y), inputs, 3)
    assert np.array_equal(left, np.where(logits[:, 1:] <= logits[:, :1], flags, 0))


@each_precision
def test_no_preference_only_where_chosen_and_all_lowest(precision):
    logits = vectors(precision, 5)
    logits[::2, 2:] = -precision.bound
    logits[::6, 3] += 1
    flag = decided(precision, lambda mlp, x, y: no_preference(mlp, x[:2], x[2:], y), logits, 1)[:, 0]
    expected = (logits[:, 1] > logits[:, 0]) & (logits[:, 2:] == -precision.bound).all(axis=1)
    assert np.array_equal(flag, precision.one * expected)
    assert 0 < expected.sum() < len(logits)
