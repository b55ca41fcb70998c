"""All items of the paper, then our own results; look-up by label, number or words."""

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


ABBREVIATIONS = {"thm": "theorem", "cor": "corollary", "lem": "lemma", "def": "definition", "prop": "proposition"}


def find(label: str) -> Item:
    """Return the item of a label. The label of an equation leads to the item that it belongs to."""
    label = EQUATIONS.get(label, label)
    for known in (label, f"{label}*"):
        if known in BY_LABEL:
            return BY_LABEL[known]
    labels = [*BY_LABEL, *EQUATIONS]
    close = get_close_matches(label, labels, 3) or [known for known in labels if label.lower() in known][:3]
    hint = f"did you mean {' or '.join(close)}?" if close else "`unmask paper` lists them all"
    raise UnmaskError(f"the paper has no item {label!r}; {hint}")


def search(query: str) -> tuple[Item, ...]:
    """Return the items of a label, a number such as "Theorem 3.1", or words; items with the words in the title first.

    Every word must occur in the label, the number, the kind, the title or the statement of an item.
    """
    if ":" in query and " " not in query.strip():
        return (find(query.strip()),)
    words = [ABBREVIATIONS.get(word.strip(".,;"), word.strip(",;")) for word in query.lower().split()]
    numbered = [item for item in ITEMS if item.number and item.number.lower() == " ".join(words)]
    if numbered:
        return tuple(numbered)
    found = [item for item in ITEMS if words and all(word in _text(item) for word in words)]
    if not found:
        return (find(query),)
    return tuple(sorted(found, key=lambda item: not all(word in _title(item) for word in words)))


def _title(item: Item) -> str:
    return f"{item.label.replace('-', ' ')} {item.label} {item.number or ''} {item.title}".lower()


def _text(item: Item) -> str:
    return f"{_title(item)} {item.kind} {item.statement.lower()}"
