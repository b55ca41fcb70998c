import numpy as np
import pytest

from unmask.numerics.precision import Precision
from unmask.programs.gadgets.projection import project
from unmask.programs.language.coefficients import ONE
from unmask.testing.gadget_runs import PRECISIONS, bits, blank, settle


def projected(precision, build, size, x, second):
    program = blank()
    entries, chosen, y = program.register("x", size), program.register("chosen", size), program.register("y")
    build(program.layer().mlp, entries, chosen, y)
    return settle(program, precision, (entries, precision.one * x), (chosen, precision.one * second))[:, 0, y[0]]


@pytest.mark.parametrize("precision", PRECISIONS, ids=str)
@pytest.mark.parametrize("size", [1, 2, 3, 8])
def test_every_entry_of_every_vector(precision, size):
    x = bits(size)
    for d in range(size):
        others = np.broadcast_to(np.arange(size) != d, x.shape)
        assert np.array_equal(projected(precision, project, size, x, others), precision.one * x[:, d])


def test_adding_the_unit_vector_needs_p_2():
    def adds(mlp, x, chosen, y):
        units = mlp.units(x.size, bias=-ONE)
        mlp.read(units, x)
        mlp.read(units, chosen)
        mlp.write(units, y)

    both = np.array([[1]])
    assert projected(Precision(2), adds, 1, both, both).tolist() == [4]
    assert projected(Precision(1), adds, 1, both, both).tolist() == [1], "1/2 instead of 1"
