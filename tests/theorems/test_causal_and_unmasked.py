"""unmasked → causal: every block that has reached a layer holds the source's stream."""

from dataclasses import replace
from itertools import chain, islice

import numpy as np
import pytest

from unmask.errors import TooLarge, UnmaskError
from unmask.programs import simulation
from unmask.programs.gadgets.attention import clear, eq, focus, hide
from unmask.testing.draws import Draws
from unmask.theorems import causal_and_unmasked as module
from unmask.theorems.causal_and_unmasked import CAUSAL_TO_UNMASKED as BY_COPIES
from unmask.theorems.causal_and_unmasked import CAUSAL_TO_UNMASKED_BY_BLOCKS as BY_BLOCKS
from unmask.theorems.causal_and_unmasked import UNMASKED_TO_CAUSAL
from unmask.theorems.conversion_checks import (
    first_transformer_disagreement,
    random_saturating_transformer,
    transformer_theorem_disagreements,
)


def wrong(theorem, precision, seeds=range(60), attention="causal"):
    """Return how many of the seeds a conversion gets wrong, counting at most 4."""
    each = (
        transformer_theorem_disagreements(theorem, attention, range(s, s + 1), precision=precision)[0] for s in seeds
    )
    return len(list(islice(chain.from_iterable(each), 4)))


@pytest.mark.parametrize(
    ("precision", "seeds"),
    [(1, 40), (2, 50), (3, 50), *(pytest.param(p, 150, marks=pytest.mark.long) for p in (2, 3))],
)
def test_unmasked_to_causal_correct(precision, seeds):
    disagreements, divided = transformer_theorem_disagreements(
        UNMASKED_TO_CAUSAL, "unmasked", range(seeds), precision=precision
    )
    assert disagreements == []
    assert seeds - divided >= {40: 20, 50: 33, 150: 100}[seeds]
    assert divided > 0, "some sources must divide by zero, and their conversions with them"


def test_more_layers_and_none():
    assert transformer_theorem_disagreements(UNMASKED_TO_CAUSAL, "unmasked", range(20), precision=2, layers=4)[0] == []
    source = replace(random_saturating_transformer(0, "unmasked", precision=2), layers=())
    conversion = UNMASKED_TO_CAUSAL.convert(source, len(source.positions))
    assert conversion.price.padding == 0


@pytest.mark.parametrize("precision", [2, 3])
@pytest.mark.parametrize(
    ("gadget", "instead"),
    [
        ("boost", lambda head, flag: None),  # noqa: ARG005
        ("focus", lambda head, a, b, *, copies: focus(head, a, b, copies=1)),  # noqa: ARG005
    ],
    ids=["no BOOST", "one copy of FOCUS"],
)
def test_a_wrong_construction_is_caught(monkeypatch, gadget, instead, precision):
    monkeypatch.setattr(module, gadget, instead)
    assert wrong(UNMASKED_TO_CAUSAL, precision, range(40), "unmasked") > 3


def test_what_cannot_be_converted_is_refused():
    source = random_saturating_transformer(1, "causal", precision=2)
    with pytest.raises(UnmaskError, match="unmasked attention, but this one has causal attention"):
        UNMASKED_TO_CAUSAL.convert(source, 1)
    with pytest.raises(UnmaskError, match="cannot read 0 rows"):
        UNMASKED_TO_CAUSAL.convert(replace(source, attention="unmasked"), 0)
    with pytest.raises(UnmaskError, match="without a loop"):
        UNMASKED_TO_CAUSAL.convert(replace(source, attention="unmasked", loop=(0, 1)), 1)
    long = replace(source, attention="unmasked", positions=np.broadcast_to(np.int8(0), (1 << 26, source.width)))
    with pytest.raises(TooLarge, match=r"rows of width .* numbers, .* beyond the limits"):
        UNMASKED_TO_CAUSAL.convert(long, 1 << 26)


# causal → unmasked, by log N copies of every row, and by the paper's N blocks.


@pytest.mark.parametrize(
    ("theorem", "precision", "seeds"),
    [
        (BY_COPIES, 1, 30),
        (BY_COPIES, 2, 40),
        (BY_COPIES, 3, 40),
        (BY_BLOCKS, 1, 20),
        (BY_BLOCKS, 2, 40),
        (BY_BLOCKS, 3, 40),
        pytest.param(BY_COPIES, 2, 220, marks=pytest.mark.long),
        pytest.param(BY_COPIES, 3, 220, marks=pytest.mark.long),
        pytest.param(BY_BLOCKS, 2, 300, marks=pytest.mark.long),
        pytest.param(BY_BLOCKS, 3, 300, marks=pytest.mark.long),
    ],
)
def test_causal_to_unmasked_correct(theorem, precision, seeds):
    disagreements, divided = transformer_theorem_disagreements(theorem, "causal", range(seeds), precision=precision)
    assert disagreements == []
    assert seeds - divided >= (100 if seeds > 200 else 15)
    assert divided > 0, "some sources must divide by zero, and their conversions with them"


@pytest.mark.parametrize("rows", [9, 16, 17, 23])
def test_longer_sources(rows):
    for seed in range(20):
        source = random_saturating_transformer(seed, "causal", precision=2, padding=23, layers=2)
        tokens = Draws(seed, rows).integers(0, source.embed.shape[0] - 1, (1, rows))
        assert first_transformer_disagreement(source, BY_COPIES.convert(source, rows), tokens) is None, seed


@pytest.mark.parametrize("rows", range(1, 9))
def test_fewer_pads_and_layers_than_the_paper(rows):
    source = random_saturating_transformer(3, "causal", precision=2, padding=8)
    ours, papers = (theorem.convert(source, rows).price for theorem in (BY_COPIES, BY_BLOCKS))
    assert ours.padding <= papers.padding
    assert ours.layers <= papers.layers
    assert ours.padding == rows * ((rows - 1).bit_length() - 1) if rows > 1 else ours.padding == 0
    assert papers.padding == rows * (rows - 1)


def one_hide(head, flag, *, copies=2):  # noqa: ARG001
    hide(head, flag, copies=1)


@pytest.mark.parametrize("precision", [2, 3])
class TestWrongConstructionsAreCaught:
    def test_no_boost(self, monkeypatch, precision):
        monkeypatch.setattr(module, "boost", lambda head, flag: None)  # noqa: ARG005
        assert wrong(BY_BLOCKS, precision) > 3

    def test_one_buffer(self, monkeypatch, precision):
        overwrite, layers = module.overwrite, []

        def in_place(gather, own_row, source, buffers):
            layers.append(gather)
            if len(layers) == 1:  # the embeddings are copied as ever
                return overwrite(gather, own_row, source, buffers)
            gather.copy(source, buffers.current)
            clear(own_row, buffers.current)
            return buffers

        wrong_count = 0
        for seed in range(60):
            layers.clear()
            with monkeypatch.context() as patch:
                patch.setattr(module, "overwrite", in_place)
                wrong_count += wrong(BY_BLOCKS, precision, range(seed, seed + 1))
            if wrong_count > 3:
                break
        assert wrong_count > 3

    def test_b_for_r(self, monkeypatch, precision):
        """The fix looks for the row's block; its code is registered directly before that of r."""
        calls = []

        def asks_for_b(head, a, b):
            calls.append(head)
            eq(head, a if len(calls) == 1 else a - a.size, b)

        wrong_count = 0
        for seed in range(40):
            calls.clear()
            with monkeypatch.context() as patch:
                patch.setattr(module, "eq", asks_for_b)
                wrong_count += wrong(BY_BLOCKS, precision, range(seed, seed + 1))
            if wrong_count > 3:
                break
        assert wrong_count > 3

    def test_no_hide_by_copies(self, monkeypatch, precision):
        monkeypatch.setattr(simulation, "hide", lambda head, flag: None)  # noqa: ARG005
        assert wrong(BY_COPIES, precision) > 3

    def test_one_copy_of_focus(self, monkeypatch, precision):
        monkeypatch.setattr(module, "focus_copies", lambda p: 1)  # noqa: ARG005
        assert wrong(BY_COPIES, precision) > 3


@pytest.mark.parametrize("precision", [1, 2, 3])
def test_one_hide_is_caught_where_it_is_too_few(monkeypatch, precision):
    """FOCUS leaves at most 2^(p-1), and exp(2^(p-1) - B) is 0 from p = 3 on."""
    monkeypatch.setattr(module, "hide", one_hide)
    assert (wrong(BY_BLOCKS, precision) > 3) == (precision < 3)


def test_pads_are_a_new_symbol():
    source = random_saturating_transformer(5, "causal", precision=2)
    conversion = BY_COPIES.convert(source, len(source.positions))
    tokens = np.zeros((1, len(source.positions)), dtype=np.int64)
    assert conversion.pad == source.embed.shape[0]
    assert conversion.padded(tokens)[0, len(source.positions) :].tolist() == [conversion.pad] * conversion.price.padding
