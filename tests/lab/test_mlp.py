import torch
from torch.nn.functional import gelu

from unmask.lab.network.network import Mlp
from unmask.lab.settings.shape import Shape


def test_gelu_has_one_map_up_and_no_gate():
    mlp, x = Mlp(Shape(width=8, hidden=12, mlp="gelu")), torch.randn(3, 5, 8)
    assert mlp.up.weight.shape == (12, 8)
    hidden = x @ mlp.up.weight.T + mlp.up.bias
    torch.testing.assert_close(mlp(x), gelu(hidden) @ mlp.down.weight.T + mlp.down.bias)


def test_bilinear_is_a_product_of_two_maps():
    """Of its hidden units alone, so that twice the input gives four times the product."""
    mlp, x = Mlp(Shape(width=8, hidden=12, mlp="bilinear")), torch.randn(3, 5, 8)
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
    from unmask.lab.network.network import Network

    for gate in ("gelu", "bilinear"):
        network = Network(Shape(width=8, hidden=12, mlp=gate), 4)
        assert [layer.mlp.bilinear for layer in network.layers] == [gate == "bilinear"] * 2
