"""Every item of the paper, in the order in which the paper builds on them, and then our own results."""

from difflib import get_close_matches

from unmask.errors import UnmaskError
from unmask.paper.items.definitions import ASSUMPTIONS, FRAMEWORKS, NUMBERS
from unmask.paper.items.item import Item
from unmask.paper.items.lemmas import LEMMAS
from unmask.paper.items.own import OWN
from unmask.paper.items.results import OTHERS, THEOREMS
from unmask.paper.items.summaries import FIGURES, TAKEAWAYS

ITEMS: tuple[Item, ...] = (*NUMBERS, *FRAMEWORKS, *ASSUMPTIONS, *LEMMAS, *THEOREMS, *OTHERS, *FIGURES, *TAKEAWAYS, *OWN)
BY_LABEL = {item.label: item for item in ITEMS}

EQUATIONS = {
    "eq:mdm-simulates-lt": "thm:lts-mdms",
    "eq:softmax-attention-matrix": "def:transformer-layer*",
    "eq:gumbel-max-sampling": "def:gumbel-max-sampling",
    "eq:ignore-positions-condition": "lem:ignore-positions",
    "eq:focus-on-positions-condition": "lem:focus-on-marked-positions",
    "eq:focusing-attention-dot-product": "lem:focus-on-marked-positions",
    "eq:pos-enc-select-block": "lem:select-block",
    "eq:additional-pos-enc-1": "lem:unmask-conversion-fp",
}
"""Labelled equations that are part of an item."""


def find(label: str) -> Item:
    """The item of a label; that of a labelled equation is the one it belongs to."""
    label = EQUATIONS.get(label, label)
    for known in (label, f"{label}*"):
        if known in BY_LABEL:
            return BY_LABEL[known]
    labels = [*BY_LABEL, *EQUATIONS]
    close = get_close_matches(label, labels, 3) or [k for k in labels if label.lower() in k][:3]
    hint = f"did you mean {' or '.join(close)}?" if close else "`unmask paper` lists them all"
    raise UnmaskError(f"the paper has no item {label!r}; {hint}")
