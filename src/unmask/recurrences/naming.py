"""Names of values: how a slot's value is written as a symbol.

A value that is a letter is written as the letter; truth values, and whatever Python holds equal to them, are the
symbols by which a model accepts and rejects; any other value has a name of its own, `{NP,VP}` for a set.
"""

from typing import Any

from unmask.errors import text_of
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
            name, tries = value_name(value), 1
            while name in taken:
                tries += 1
                name = f"{value_name(value)}#{tries}"
            taken.add(name)
            names[value] = name
    return names
