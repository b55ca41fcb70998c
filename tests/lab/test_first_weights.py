"""The weights that a network begins with, and the stream that they give."""

import msgspec
import pytest
import torch

from lab.small import small
from unmask.lab.network.network import Network
from unmask.lab.network.places import PlaceTable
from unmask.lab.settings.shape import Shape
from unmask.lab.training.train import new_network


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
    weight = Network(Shape(width=64), 1000).token.weight
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
