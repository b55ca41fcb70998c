from dataclasses import replace

import numpy as np
import pytest

import by_hand
from unmask.errors import WeightsError
from unmask.numerics.arithmetic import Precision
from unmask.testing import random_model
from unmask.weights.matrices import Matrix
from unmask.weights.transformer import Head, Layer, Mlp, Noise, Registers


@pytest.fixture(scope="module")
def good():
    """Width 4, two layers, one head each at least."""
    return random_model(5, "plt", 2, layers=2, width=4).transformers["model"]


def with_mlp(layer, **fields):
    return replace(layer, mlp=replace(layer.mlp, **fields))


def with_head(layer, **fields):
    return replace(layer, heads=(replace(layer.heads[0], **fields), *layer.heads[1:]))


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("pos", lambda t: {"positions": t.positions[:, :3]}),
        ("out", lambda _: {"out": Matrix.zeros((5, 3))}),
        ("layers.0.heads.0.wq", lambda t: {"layers": (with_head(t.layers[0], wq=Matrix.zeros((3, 2))), t.layers[1])}),
        ("layers.0.heads.0.wk", lambda t: {"layers": (with_head(t.layers[0], wk=Matrix.zeros((4, 9))), t.layers[1])}),
        ("layers.1.heads.0.wv", lambda t: {"layers": (t.layers[0], with_head(t.layers[1], wv=Matrix.zeros((4, 3))))}),
        ("layers.1.mlp.w1", lambda t: {"layers": (t.layers[0], with_mlp(t.layers[1], w1=Matrix.zeros((5, 9))))}),
        ("layers.1.mlp.b1", lambda t: {"layers": (t.layers[0], with_mlp(t.layers[1], w1=Matrix.zeros((4, 9))))}),
        ("layers.0.mlp.w2", lambda t: {"layers": (with_mlp(t.layers[0], w2=Matrix.zeros((9, 4))), t.layers[1])}),
        ("layers.0.mlp.b2", lambda t: {"layers": (with_mlp(t.layers[0], b2=np.zeros(3, np.int64)), t.layers[1])}),
    ],
)
def test_a_wrong_shape_names_its_tensor(good, name, change):
    with pytest.raises(WeightsError, match=rf"tensor {name} has the shape .*, but it must be"):
        replace(good, **change(good))


@pytest.mark.parametrize("worst", [16, -16, 1000])
def test_a_value_outside_f_p_names_its_tensor(worst):
    embed, out = by_hand.one_hot(2), by_hand.one_hot(2)
    with pytest.raises(WeightsError, match=rf"tensor embed holds {worst}, outside ±15"):
        by_hand.transformer([[worst, 0], [0, 0]], [[0, 0]], out)
    with pytest.raises(WeightsError, match=rf"tensor pos holds {worst}"):
        by_hand.transformer(embed, [[0, worst]], out)
    layer = Layer((), replace(Mlp.nothing(2), b2=np.array([0, worst])))
    with pytest.raises(WeightsError, match=rf"tensor layers.0.mlp.b2 holds {worst}"):
        by_hand.transformer(embed, [[0, 0]], out, layers=[layer])
    assert by_hand.transformer([[15, 0], [0, -15]], [[0, 0]], out).width == 2


def test_floats_are_refused(good):
    with pytest.raises(WeightsError, match="tensor pos must hold integers, not float64"):
        replace(good, positions=good.positions.astype(np.float64))


@pytest.mark.parametrize("loop", [(-1, 1), (1, 0), (0, 3), (3, 3)])
def test_a_loop_lies_within_the_layers(good, loop):
    with pytest.raises(WeightsError, match="must lie within the 2 layers"):
        replace(good, loop=loop)


@pytest.mark.parametrize("loop", [(0, 0), (0, 2), (1, 1), (2, 2)])
def test_empty_loops_are_loops(good, loop):
    assert replace(good, loop=loop).loop == loop


@pytest.mark.parametrize("noise", [Noise((4,), ()), Noise((0,), (0,)), Noise((), (-1,))])
def test_noise_columns_are_different_columns(good, noise):
    with pytest.raises(WeightsError, match=r"noise columns must be different columns in 0 … 3"):
        replace(good, noise=noise)


def test_attention_and_registers_are_checked(good):
    with pytest.raises(WeightsError, match="attention must be 'unmasked' or 'causal'"):
        replace(good, attention="sliding")
    with pytest.raises(WeightsError, match="the registers name 1 columns, but the width is 4"):
        replace(good, registers=Registers.of({"x": [""]}))
    named = replace(good, registers=Registers.of({"x": ["0", "1", "2", "3"]}))
    assert named.column_name(2) == "x:2"
    assert good.column_name(2) == "column 2"


def test_parameters_counts_nonzero_weights_without_positions():
    transformer = by_hand.transformer(by_hand.one_hot(2), [[3, 3]], [[1, 1], [0, 1]])
    assert transformer.parameters == 2 + 3
    head = Head(Matrix.zeros((2, 1)), Matrix.zeros((2, 1)), by_hand.matrix([[0, 1], [0, 0]]))
    assert replace(transformer, layers=(Layer((head,), Mlp.nothing(2)),)).parameters == 2 + 3 + 1


def test_weights_cannot_be_changed(good):
    with pytest.raises(ValueError, match="read-only"):
        good.positions[0, 0] = 1
    with pytest.raises(ValueError, match="read-only"):
        good.layers[0].mlp.b2[0] = 1


def test_tensors_of_different_precision_do_not_mix(good):
    """What fits F_2 need not fit F_1."""
    with pytest.raises(WeightsError, match="outside ±3, the numbers of F_1"):
        replace(good, precision=Precision(1))


STATE = {"one": [""], "state": ["q0", "q1"]}


def test_columns_have_names():
    registers = Registers.of(STATE)
    assert registers.width == 3
    assert [registers.column_name(c) for c in range(3)] == ["one", "state:q0", "state:q1"]
    assert Registers.from_json(registers.to_json(), width=3) == registers


@pytest.mark.parametrize("data", [None, [], "x", {"a": "bc"}, {"a": [1, 2, 3]}, {"a": ["x"]}, {"a": {}}])
def test_a_comment_that_does_not_fit_is_no_error(data):
    assert Registers.from_json(data, width=3) is None
