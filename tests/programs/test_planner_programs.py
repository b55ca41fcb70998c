import numpy as np
import pytest

from unmask.engines.engine import forward
from unmask.engines.reference import ReferenceEngine
from unmask.errors import AttendsToNothing
from unmask.expressions import n
from unmask.numerics.arithmetic import Precision
from unmask.programs.assembly import assemble
from unmask.programs.declarations import SignedBits
from unmask.programs.planner_programs import block_planner, row_of_previous_block
from unmask.testing.gadget_runs import PRECISIONS

SYMBOLS = ("a", "b", "m")
MASK = 2


def states(length, block, blocks):
    """The word after 0, 1, …, all blocks are written."""
    rng = np.random.default_rng(length + 10 * block)
    written = rng.integers(0, MASK, (blocks + 1, length + block * blocks))
    slot = np.arange(written.shape[1]) - length
    return np.where(slot < block * np.arange(blocks + 1)[:, None], written, MASK)


def choices(program, precision, tokens):
    """What the planner's logits decode to; the lowest index wins a tie."""
    transformer = assemble(program, precision)
    session = ReferenceEngine().session(transformer)
    return np.argmax(session.logits(forward(session, transformer, tokens)), axis=-1)


def next_blocks(length, block, blocks):
    slot = np.arange(length + block * blocks) - length
    return (slot >= 0) & (slot // block == np.arange(blocks + 1)[:, None])


@pytest.mark.parametrize("precision", PRECISIONS, ids=str)
@pytest.mark.parametrize("length", [1, 2, 5])
@pytest.mark.parametrize("block", [1, 2, 3, 7])
@pytest.mark.parametrize("blocks", [1, 3, 4])
def test_the_next_block_and_nothing_else_is_chosen(precision, length, block, blocks):
    program = block_planner(SYMBOLS, "m", length=length, block=block, blocks=blocks)
    chosen = choices(program, precision, states(length, block, blocks))
    assert np.array_equal(chosen, next_blocks(length, block, blocks))


def test_the_pointer_as_a_formula():
    assert str(row_of_previous_block(3)) == "(if [n < N + 3] then 0 else n - 3)"


@pytest.mark.parametrize(("length", "block"), [(1, 2), (2, 3), (5, 7), (3, 2)])
def test_the_pointer_of_the_paper_fails(length, block):
    """n - P wraps around below 0: to a row that does not exist, or to a masked row that never comes first."""
    blocks, precision = 3, Precision(2)
    program = block_planner(SYMBOLS, "m", length=length, block=block, blocks=blocks)
    size = len(program.columns("previous"))
    program.positions["previous"] = SignedBits((n - block) % (1 << size))
    tokens = states(length, block, blocks)
    try:
        chosen = choices(program, precision, tokens)
    except AttendsToNothing:
        return
    assert not np.array_equal(chosen, next_blocks(length, block, blocks))


def test_there_must_be_an_input_symbol():
    with pytest.raises(AssertionError, match="N must be at least 1"):
        block_planner(SYMBOLS, "m", length=0, block=2, blocks=2)
