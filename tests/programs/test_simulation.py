import numpy as np
import pytest

from unmask.engines.reference import ReferenceEngine
from unmask.expressions import N
from unmask.numerics.arithmetic import Precision
from unmask.programs.assembly import assemble
from unmask.programs.gadgets.attention import focus_copies
from unmask.programs.program import Program, bits_for
from unmask.programs.simulation import CausalCopies, rows_of_copies


def visible(rows, precision):
    """Which copies each copy sees, where all scores were 0."""
    program = Program(("x",), 1, rows, rows * bits_for(rows))
    copies = CausalCopies.of(program, N, rows)
    copies.see_earlier(program.layer().head(), copies=focus_copies(precision.p))
    values = {}
    session = ReferenceEngine().session(assemble(program, precision))
    tokens = np.zeros((1, program.rows), dtype=np.int64)
    session.layers(session.embed(tokens), 0, 1, watch=lambda name, value: values.update({name: value[0] > 0}))
    return values["layers.0.heads.0.weights"]


@pytest.mark.parametrize("p", [1, 2, 3])
@pytest.mark.parametrize("rows", [*range(1, 18), 31, 32, 33])
def test_every_copy_sees_each_earlier_row_once_and_in_order(rows, p):
    row, position = rows_of_copies(rows)
    assert np.array_equal(position, np.arange(rows * bits_for(rows)))
    for query, keys in zip(row, visible(rows, Precision(p)), strict=True):
        assert row[keys].tolist() == list(range(query + 1))


def test_registers_are_logarithmic():
    program = Program(("x",), 1, 1000, 10_000)
    copies = CausalCopies.of(program, N, 1000)
    assert copies.levels == 10
    assert program.width == 2 + 3 * copies.levels
    head = program.layer().head()
    copies.see_earlier(head, copies=2)
    assert head.width == 4 * copies.levels + 2
