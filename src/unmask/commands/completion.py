"""What the shell may offer for an argument that has been typed in part."""

from collections.abc import Iterable

# Named groups have no list of their own: any S, A, Z, D with a number is one.
EXAMPLES = {
    "regex": ["regex:"],
    "dfa": ["dfa:"],
    "group": ["group:A5", "group:S5", "group:Z12", "group:D4"],
    "aiger": ["aiger:"],
    "random": ["random:"],
}
PLANNERS = ("uniform:1", "confidence:1", "threshold:1", "left-to-right:1", "blockwise:4:confidence:1")


def complete_problem(incomplete: str) -> Iterable[str]:
    """Every prefix of a PROBLEM, with the names that can follow it."""
    from unmask.problems.families import FAMILIES
    from unmask.problems.problem import PARSERS

    named = {**EXAMPLES, "family": [f"family:{name}" for name in FAMILIES]}
    for prefix in (*PARSERS, "random"):
        yield from (text for text in named.get(prefix, [f"{prefix}:"]) if text.startswith(incomplete))


def complete_theorem(incomplete: str) -> Iterable[str]:
    from unmask.theorems import THEOREMS

    return (theorem.stem for theorem in THEOREMS if theorem.stem.startswith(incomplete))


def complete_label(incomplete: str) -> Iterable[str]:
    from unmask.paper.items import ITEMS

    return (item.label for item in ITEMS if item.label.startswith(incomplete))


def complete_planner(incomplete: str) -> Iterable[str]:
    return (name for name in PLANNERS if name.startswith(incomplete))
