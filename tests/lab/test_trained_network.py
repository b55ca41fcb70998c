import msgspec
import numpy as np
import pytest
import torch
from torch.nn.functional import gelu

from lab.small import small
from unmask.errors import TooLarge
from unmask.lab.settings import Shape
from unmask.lab.task_layouts import NO_OPERAND, ROW_BITS
from unmask.lab.task_sources import Stream, words
from unmask.lab.tasks import LabTask
from unmask.lab.trained_network import KeyValueCache, NetworkMlp, PlaceTable, TrainedNetwork, code_width, pointer_codes
from unmask.lab.training import new_network


def test_bits_name_the_row_and_its_operands():
    task = LabTask.of("group:Z2", 4, "tree")
    table = pointer_codes("bits", task.pointers)
    assert table.shape == (2, 7, code_width("bits"))
    own, left, right = np.split(table[0, 5], 3)
    for part, place in ((own, 5), (left, task.pointers[0, 5, 0]), (right, task.pointers[0, 5, 1])):
        assert sum(1 << bit for bit in range(ROW_BITS) if part[bit] > 0) == place
    assert task.pointers[0, 0, 0] == NO_OPERAND
    assert not table[0, 0, ROW_BITS:].any()


@pytest.mark.parametrize("encoding", ["positions", "learned", "none"])
def test_other_encodings_tell_nothing_about_operands(encoding):
    tree, elsewhere = LabTask.of("group:Z2", 4, "tree").pointers, np.full((2, 7, 2), NO_OPERAND)
    assert (pointer_codes(encoding, tree) == pointer_codes(encoding, elsewhere)).all()
    assert pointer_codes(encoding, tree).shape[-1] == code_width(encoding)


def test_too_many_rows_for_the_code():
    with pytest.raises(TooLarge, match="at most 256 rows, but this task has 300"):
        pointer_codes("bits", np.zeros((1, 300, 2), dtype=int))


@pytest.mark.parametrize("beta", [None, 3.0])
def test_a_chain_may_read_its_rows_one_by_one(beta):
    """What is kept of the rows before gives the stream that a whole pass gives."""
    task = LabTask.of("group:S3", 6, "cot")
    network = TrainedNetwork(Shape(width=16, hidden=32, beta=beta), len(task.vocabulary))
    table, past = PlaceTable(task, "bits"), KeyValueCache()
    tokens = torch.from_numpy(words(task.source, 3, 11, 0, Stream.training))
    with torch.inference_mode():
        whole = network(tokens, table.at(0, 11))
        parts = [
            network(tokens[:, first:last], table.at(0, last, first), past=past)
            for first, last in ((0, 6), (6, 7), (7, 11))
        ]
    torch.testing.assert_close(torch.cat(parts, dim=1), whole)


@pytest.mark.parametrize("framework", ["cot", "scan", "tree", "direct"])
def test_the_rows_that_are_asked_are_those_of_a_whole_pass(framework):
    """The last layer leaves the rows out that no step writes, and nothing else changes."""
    task = LabTask.of("group:S3", 6, framework)
    network = TrainedNetwork(Shape(width=16, hidden=32, beta=3.0), len(task.vocabulary))
    tokens = torch.from_numpy(task.states(words(task.source, 3, 6, 0, Stream.training))[:, 0])
    places = PlaceTable(task, "bits").at(0)
    with torch.inference_mode():
        whole, asked = network(tokens, places), network(tokens, places, needed_rows=task.supervised_rows)
    assert asked.shape[1] == task.layout.padding
    torch.testing.assert_close(asked, whole[:, task.supervised_rows])


def test_a_causal_row_sees_nothing_of_later_ones():
    task = LabTask.of("group:S3", 6, "cot")
    network, table = TrainedNetwork(Shape(width=16, hidden=32), len(task.vocabulary)), PlaceTable(task, "bits")
    tokens = torch.from_numpy(words(task.source, 1, 11, 0, Stream.training))
    changed = tokens.clone()
    changed[0, 8] = (changed[0, 8] + 1) % 6
    with torch.inference_mode():
        before, after = network(tokens, table.at(0, 11)), network(changed, table.at(0, 11))
    torch.testing.assert_close(before[:, :8], after[:, :8])
    assert not torch.allclose(before[:, 8:], after[:, 8:])


def test_beta_hands_the_wiring_over():
    """With a large β a head reads its operand alone; of one that is not handed over, nothing is known."""
    task = LabTask.of("group:S3", 4, "tree")
    tokens = torch.from_numpy(task.states(words(task.source, 2, 4, 0, Stream.training))[:, 0])
    for handed in (2, 1):
        seen = {}
        shape = Shape(width=16, hidden=32, heads=2, layers=1, beta=50.0, handed=handed, encoding="none")
        network = TrainedNetwork(shape, len(task.vocabulary))
        with torch.inference_mode():
            network(tokens, PlaceTable(task, "none").at(0), seen.__setitem__)
        for slot in range(4, 7):
            for operand in range(2):
                weight = seen["layers.0.weights"][:, operand, slot, task.pointers[0, slot, operand]]
                assert bool((weight > 0.99).all()) == (operand < handed)


def test_gelu_has_one_map_up_and_no_gate():
    mlp, x = NetworkMlp(Shape(width=8, hidden=12, mlp="gelu")), torch.randn(3, 5, 8)
    assert mlp.up.weight.shape == (12, 8)
    hidden = x @ mlp.up.weight.T + mlp.up.bias
    torch.testing.assert_close(mlp(x), gelu(hidden) @ mlp.down.weight.T + mlp.down.bias)


def test_bilinear_is_a_product_of_two_maps():
    """Of its hidden units alone, so that twice the input gives four times the product."""
    mlp, x = NetworkMlp(Shape(width=8, hidden=12, mlp="bilinear")), torch.randn(3, 5, 8)
    left, right = mlp.up.weight.chunk(2)
    biases = mlp.up.bias.chunk(2)
    product = (x @ left.T + biases[0]) * (x @ right.T + biases[1])
    torch.testing.assert_close(mlp(x), product @ mlp.down.weight.T + mlp.down.bias)
    with torch.no_grad():
        mlp.up.bias.zero_()
        mlp.down.bias.zero_()
        torch.testing.assert_close(mlp(2 * x), 4 * mlp(x))


def test_of_two_gates_in_one_network_each_is_what_it_says():
    """The switch reaches the layers."""
    from unmask.lab.trained_network import TrainedNetwork

    for gate in ("gelu", "bilinear"):
        network = TrainedNetwork(Shape(width=8, hidden=12, mlp=gate), 4)
        assert [layer.mlp.bilinear for layer in network.layers] == [gate == "bilinear"] * 2


# The weights that a network begins with, and the stream that they give.


def network_of(**switches):
    config = small()
    return new_network(msgspec.structs.replace(config, shape=Shape(width=16, hidden=32, **switches)), config.task)


@pytest.mark.parametrize("scale", [0.25, 16.0, 0.0])
def test_code_scale_scales_the_code_and_nothing_else(scale):
    plain, scaled = (network_of(code_scale=s).state_dict() for s in (1.0, scale))
    for name, values in plain.items():
        torch.testing.assert_close(scaled[name], values * (scale if name == "code.weight" else 1))


def test_a_code_is_drawn_as_torch_draws_it():
    weight = network_of(encoding="learned").code.weight
    assert weight.abs().max().item() == pytest.approx(1 / 16, rel=0.01)  # uniform up to 1/√256


def test_how_large_tokens_are():
    torch.manual_seed(0)
    weight = TrainedNetwork(Shape(width=64), 1000).token.weight
    assert weight.std().item() == pytest.approx(0.5, rel=0.02)
    assert weight.mean().item() == pytest.approx(0, abs=0.01)


@pytest.mark.parametrize("encoding", ["bits", "none"])
def test_a_row_begins_with_its_token_and_its_code(encoding):
    network, task = network_of(encoding=encoding), small().task
    tokens, places = torch.arange(task.rows)[None] % 4, PlaceTable(task, encoding).at(0)
    expected = network.token.weight[tokens]
    if encoding == "bits":
        expected = expected + places.codes @ network.code.weight.T
    torch.testing.assert_close(network.embed(tokens, places), expected)
