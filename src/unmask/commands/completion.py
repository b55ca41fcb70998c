"""Shell completion of problems, conversions, paper items and planners."""

from collections.abc import Iterable

PLANNERS = ("uniform:1", "confidence:1", "threshold:1", "left-to-right:1", "blockwise:4:confidence:1")


def complete_problem(incomplete: str) -> Iterable[str]:
    """Offer the prefixes of problems, with names that can follow them."""
    from unmask.problems.catalogue import CATALOGUE

    offered = (f"{row.prefix}:{example}" for row in CATALOGUE for example in row.examples)
    return (text for text in offered if text.startswith(incomplete))


def complete_theorem(incomplete: str) -> Iterable[str]:
    from unmask.theorems.catalogue import THEOREMS

    return (theorem.stem for theorem in THEOREMS if theorem.stem.startswith(incomplete))


def complete_label(incomplete: str) -> Iterable[str]:
    from unmask.paper.items.all_items import ITEMS

    return (item.label for item in ITEMS if item.label.startswith(incomplete))


def complete_planner(incomplete: str) -> Iterable[str]:
    return (name for name in PLANNERS if name.startswith(incomplete))
