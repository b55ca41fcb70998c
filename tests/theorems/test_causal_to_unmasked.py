"""causal → unmasked, by log N copies of every row, and by the paper's N blocks."""

import numpy as np
import pytest

from unmask.programs.gadgets.equal import eq
from unmask.programs.gadgets.hide import hide
from unmask.programs.gadgets.lookup import clear
from unmask.programs.simulation import causal_copies
from unmask.testing.draws import Draws
from unmask.theorems import causal_to_unmasked as by_copies
from unmask.theorems import causal_to_unmasked_by_blocks as by_blocks
from unmask.theorems.checking.transformer_conversions import check_transformers, disagreement, random_transformer


@pytest.mark.parametrize(
    ("module", "precision", "seeds"),
    [
        (by_copies, 1, 40),
        (by_copies, 2, 80),
        (by_copies, 3, 80),
        (by_blocks, 1, 20),
        (by_blocks, 2, 60),
        (by_blocks, 3, 60),
        pytest.param(by_copies, 2, 220, marks=pytest.mark.long),
        pytest.param(by_copies, 3, 220, marks=pytest.mark.long),
        pytest.param(by_blocks, 2, 300, marks=pytest.mark.long),
        pytest.param(by_blocks, 3, 300, marks=pytest.mark.long),
    ],
)
def test_causal_to_unmasked_correct(module, precision, seeds):
    found, divided = check_transformers(module.THEOREM, "causal", range(seeds), precision=precision)
    assert found == []
    assert seeds - divided >= (100 if seeds > 200 else 15)
    assert divided > 0, "some sources must divide by zero, and their conversions with them"


@pytest.mark.parametrize("rows", [9, 16, 17, 23])
def test_longer_sources(rows):
    for seed in range(20):
        source = random_transformer(seed, "causal", precision=2, padding=23, layers=2)
        tokens = Draws(seed, rows).integers(0, source.embed.shape[0] - 1, (1, rows))
        assert disagreement(source, by_copies.THEOREM.convert(source, rows), tokens) is None, seed


@pytest.mark.parametrize("rows", range(1, 9))
def test_fewer_pads_and_layers_than_the_paper(rows):
    source = random_transformer(3, "causal", precision=2, padding=8)
    ours, papers = (m.THEOREM.convert(source, rows).price for m in (by_copies, by_blocks))
    assert ours.padding <= papers.padding
    assert ours.layers <= papers.layers
    assert ours.padding == rows * ((rows - 1).bit_length() - 1) if rows > 1 else ours.padding == 0
    assert papers.padding == rows * (rows - 1)


def one_hide(head, flag, *, copies=2):  # noqa: ARG001
    hide(head, flag, copies=1)


def wrong(module, precision, seeds=range(60)):
    return len(check_transformers(module.THEOREM, "causal", seeds, precision=precision)[0])


@pytest.mark.parametrize("precision", [2, 3])
class TestWrongConstructionsAreCaught:
    def test_no_boost(self, monkeypatch, precision):
        monkeypatch.setattr(by_blocks, "boost", lambda head, flag: None)  # noqa: ARG005
        assert wrong(by_blocks, precision) > 3

    def test_one_buffer(self, monkeypatch, precision):
        overwrite, layers = by_blocks.overwrite, []

        def in_place(gather, own_row, source, buffers):
            layers.append(gather)
            if len(layers) == 1:  # the embeddings are copied as ever
                return overwrite(gather, own_row, source, buffers)
            gather.copy(source, buffers.current)
            clear(own_row, buffers.current)
            return buffers

        found = 0
        for seed in range(60):
            layers.clear()
            with monkeypatch.context() as patch:
                patch.setattr(by_blocks, "overwrite", in_place)
                found += wrong(by_blocks, precision, range(seed, seed + 1))
        assert found > 3

    def test_b_for_r(self, monkeypatch, precision):
        """The fix asks for the row's block; its code stands directly before that of r."""
        calls = []

        def asks_for_b(head, a, b):
            calls.append(head)
            eq(head, a if len(calls) == 1 else a - a.size, b)

        found = 0
        for seed in range(40):
            calls.clear()
            with monkeypatch.context() as patch:
                patch.setattr(by_blocks, "eq", asks_for_b)
                found += wrong(by_blocks, precision, range(seed, seed + 1))
        assert found > 3

    def test_no_hide_by_copies(self, monkeypatch, precision):
        monkeypatch.setattr(causal_copies, "hide", lambda head, flag: None)  # noqa: ARG005
        assert wrong(by_copies, precision) > 3

    def test_one_copy_of_focus(self, monkeypatch, precision):
        monkeypatch.setattr(by_copies, "focus_copies", lambda p: 1)  # noqa: ARG005
        assert wrong(by_copies, precision) > 3


@pytest.mark.parametrize("precision", [1, 2, 3])
def test_one_hide_is_caught_where_it_is_too_few(monkeypatch, precision):
    """FOCUS leaves at most 2^(p-1), and exp(2^(p-1) - B) is 0 from p = 3 on."""
    monkeypatch.setattr(by_blocks, "hide", one_hide)
    assert (wrong(by_blocks, precision) > 3) == (precision < 3)


def test_pads_are_a_new_symbol():
    source = random_transformer(5, "causal", precision=2)
    conversion = by_copies.THEOREM.convert(source, len(source.positions))
    tokens = np.zeros((1, len(source.positions)), dtype=np.int64)
    assert conversion.pad == source.embed.shape[0]
    assert conversion.padded(tokens)[0, len(source.positions) :].tolist() == [conversion.pad] * conversion.price.padding
