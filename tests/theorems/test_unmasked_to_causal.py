"""unmasked → causal: every block that has reached a layer holds the source's stream."""

from dataclasses import replace

import numpy as np
import pytest

from unmask.errors import TooLarge, UnmaskError
from unmask.programs.gadgets.focus import focus
from unmask.theorems import unmasked_to_causal as module
from unmask.theorems.checking.transformer_conversions import check_transformers, random_transformer
from unmask.theorems.unmasked_to_causal import THEOREM


@pytest.mark.parametrize("precision", [1, 2, 3])
def test_unmasked_to_causal_correct(precision):
    seeds = range(150 if precision > 1 else 40)
    found, divided = check_transformers(THEOREM, "unmasked", seeds, precision=precision)
    assert found == []
    assert len(seeds) - divided >= (100 if precision > 1 else 20)
    assert divided > 0, "some sources must divide by zero, and their conversions with them"


def test_more_layers_and_none():
    assert check_transformers(THEOREM, "unmasked", range(20), precision=2, layers=4)[0] == []
    source = replace(random_transformer(0, "unmasked", precision=2), layers=())
    conversion = THEOREM.convert(source, len(source.positions))
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
    assert len(check_transformers(THEOREM, "unmasked", range(40), precision=precision)[0]) > 3


def test_what_cannot_be_converted_is_refused():
    source = random_transformer(1, "causal", precision=2)
    with pytest.raises(UnmaskError, match="unmasked attention, but this one has causal attention"):
        THEOREM.convert(source, 1)
    with pytest.raises(UnmaskError, match="cannot read 0 rows"):
        THEOREM.convert(replace(source, attention="unmasked"), 0)
    with pytest.raises(UnmaskError, match="without a loop"):
        THEOREM.convert(replace(source, attention="unmasked", loop=(0, 1)), 1)
    long = replace(source, attention="unmasked", positions=np.broadcast_to(np.int8(0), (1 << 26, source.width)))
    with pytest.raises(TooLarge, match=r"rows of width .* numbers, .* beyond the limits"):
        THEOREM.convert(long, 1 << 26)
