"""Names of values: how a slot's value is written as a symbol.

A value that is a letter is written as the letter. Truth values, and what Python holds equal to them (0 and 1), are the
symbols by which a model accepts and rejects. Any other value has a name of its own: `{NP,VP}` for a set, `=5` for the
number 5 beside a letter "5". A group may give other names with `show`.
"""

from typing import Any

from unmask.errors import ProblemError, shown_value, text_of
from unmask.recurrences.system import System

USUAL_SPECIAL = ("0", "1", "m", "□")


def value_name(value: Any) -> str:
    """A value as people read it."""
    if isinstance(value, frozenset):
        return "{" + ",".join(sorted(map(value_name, value))) + "}"
    if isinstance(value, tuple):
        return "(" + ",".join(map(value_name, value)) + ")"
    return "".join("␣" if c.isspace() else c for c in text_of(value, str)) or "ε"


def is_truth(value: Any) -> bool:
    """Is it 0 or 1, of whichever type? 1.0 and NumPy's True have the token of True, which they equal."""
    return value in (0, 1)


def symbol_names(system: System) -> dict[Any, str]:
    """Letters, then the other values in the order of the groups; truth values have no name here."""
    names: dict[Any, str] = {symbol: symbol for symbol in system.letters}
    taken = {*system.letters, *USUAL_SPECIAL}
    for group in system.groups:
        for value in group.values:
            if value in names or is_truth(value):
                continue
            if value in group.shown:
                name = group.shown[value]
                if name in names.values() or name in USUAL_SPECIAL[2:]:
                    raise ProblemError(
                        f"{group.name} shows {shown_value(value)} as {name!r}, which is a letter or another symbol; "
                        "choose another name in show"
                    )
            else:
                name = _free(value_name(value), taken)
            taken.add(name)
            names[value] = name
    return names


def truth_names(system: System) -> dict[str, str]:
    """Role → name of the symbols that reject and accept, where a group says it or where letters are called 0 and 1."""
    names: dict[str, str] = {}
    for role, truth in (("reject", 0), ("accept", 1)):
        held = [(group, value) for group in system.groups for value in group.values if value == truth]
        shown = next((group.shown[value] for group, value in held if value in group.shown), None)
        numbers = any(type(value) is int for _, value in held)
        if shown is not None:
            names[role] = shown
        elif numbers and str(truth) in system.letters:
            names[role] = f"={truth}"
    return names


def _free(name: str, taken: set[str]) -> str:
    """The name; where it is taken, with = before it, or else with a number behind it."""
    if name not in taken:
        return name
    candidates = (f"={name}", *(f"{name}#{i}" for i in range(2, len(taken) + 3)))
    return next(candidate for candidate in candidates if candidate not in taken)
