import numpy as np
import pytest
import torch

from unmask.errors import TooLarge
from unmask.lab.network.encodings import PLACE_BITS, code_width, codes
from unmask.lab.network.network import Network, Past
from unmask.lab.network.places import PlaceTable
from unmask.lab.settings.shape import Shape
from unmask.lab.tasks.layout import NOBODY
from unmask.lab.tasks.task import Task
from unmask.lab.tasks.words import Stream, words


def test_bits_name_the_row_and_its_operands():
    task = Task.of("group:Z2", 4, "tree")
    table = codes("bits", task.pointers)
    assert table.shape == (2, 7, code_width("bits"))
    own, left, right = np.split(table[0, 5], 3)
    for part, place in ((own, 5), (left, task.pointers[0, 5, 0]), (right, task.pointers[0, 5, 1])):
        assert sum(1 << bit for bit in range(PLACE_BITS) if part[bit] > 0) == place
    assert task.pointers[0, 0, 0] == NOBODY
    assert not table[0, 0, PLACE_BITS:].any()


@pytest.mark.parametrize("encoding", ["positions", "learned", "none"])
def test_other_encodings_tell_nothing_about_operands(encoding):
    tree, elsewhere = Task.of("group:Z2", 4, "tree").pointers, np.full((2, 7, 2), NOBODY)
    assert (codes(encoding, tree) == codes(encoding, elsewhere)).all()
    assert codes(encoding, tree).shape[-1] == code_width(encoding)


def test_too_many_rows_for_the_code():
    with pytest.raises(TooLarge, match="at most 256 rows, but this task has 300"):
        codes("bits", np.zeros((1, 300, 2), dtype=int))


@pytest.mark.parametrize("beta", [None, 3.0])
def test_a_chain_may_read_its_rows_one_by_one(beta):
    """What is kept of the rows before gives the stream that a whole pass gives."""
    task = Task.of("group:S3", 6, "cot")
    network = Network(Shape(width=16, hidden=32, beta=beta), len(task.vocabulary))
    table, past = PlaceTable(task, "bits"), Past()
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
    task = Task.of("group:S3", 6, framework)
    network = Network(Shape(width=16, hidden=32, beta=3.0), len(task.vocabulary))
    tokens = torch.from_numpy(task.states(words(task.source, 3, 6, 0, Stream.training))[:, 0])
    places = PlaceTable(task, "bits").at(0)
    with torch.inference_mode():
        whole, asked = network(tokens, places), network(tokens, places, asked=task.taught)
    assert asked.shape[1] == task.layout.padding
    torch.testing.assert_close(asked, whole[:, task.taught])


def test_a_causal_row_sees_nothing_of_later_ones():
    task = Task.of("group:S3", 6, "cot")
    network, table = Network(Shape(width=16, hidden=32), len(task.vocabulary)), PlaceTable(task, "bits")
    tokens = torch.from_numpy(words(task.source, 1, 11, 0, Stream.training))
    changed = tokens.clone()
    changed[0, 8] = (changed[0, 8] + 1) % 6
    with torch.inference_mode():
        before, after = network(tokens, table.at(0, 11)), network(changed, table.at(0, 11))
    torch.testing.assert_close(before[:, :8], after[:, :8])
    assert not torch.allclose(before[:, 8:], after[:, 8:])


def test_beta_hands_the_wiring_over():
    """With a large β a head reads its operand alone; of one that is not handed over, nothing is known."""
    task = Task.of("group:S3", 4, "tree")
    tokens = torch.from_numpy(task.states(words(task.source, 2, 4, 0, Stream.training))[:, 0])
    for handed in (2, 1):
        seen = {}
        shape = Shape(width=16, hidden=32, heads=2, layers=1, beta=50.0, handed=handed, encoding="none")
        network = Network(shape, len(task.vocabulary))
        with torch.inference_mode():
            network(tokens, PlaceTable(task, "none").at(0), seen.__setitem__)
        for slot in range(4, 7):
            for operand in range(2):
                weight = seen["layers.0.weights"][:, operand, slot, task.pointers[0, slot, operand]]
                assert bool((weight > 0.99).all()) == (operand < handed)
