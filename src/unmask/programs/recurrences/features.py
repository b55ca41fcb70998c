"""What heads bring: features of the value that a row holds.

A value is coded by one feature of its own; a set by a feature for each item, `in` or `out`. A head serves one read of
every region, as long as they agree on what a symbol means.

    variable    features of which exactly one holds, once the row that is read is written
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from unmask.programs.recurrences.regions import Fetch
from unmask.recurrences.functions import MOST_ASKED, check_function
from unmask.recurrences.naming import value_name

Feature = tuple[str, Any]
"""("is", value), ("in", item) or ("out", item)."""

Column = tuple[str, int, Feature]
"""Where a feature stands: ("read", number of the head, feature) or ("found", number of the channel, feature)."""


@dataclass(frozen=True, eq=False)
class Variable:
    """Exclusive features; `choices[i]` holds when the variable has its value i."""

    choices: tuple[Column, ...]


def is_sets(values: Iterable[Any]) -> bool:
    return all(isinstance(value, frozenset) for value in values)


def items_of(values: Iterable[frozenset]) -> list[Any]:
    """All items of some sets, in an order that does not depend on hashing."""
    return sorted({item for value in values for item in value}, key=lambda item: (value_name(item), str(type(item))))


def coded(value: Any, items: Sequence[Any] | None) -> list[Feature]:
    """The features of a value: of a set, where the items are given."""
    return [("is", value)] if items is None else [("in" if item in value else "out", item) for item in items]


def feature_name(feature: Feature) -> str:
    kind, value = feature
    return value_name(value) if kind == "is" else f"{'' if kind == 'in' else '∌'}{value_name(value)}"


@dataclass(eq=False)
class Head:
    """What symbols mean to one head: token → features."""

    meaning: dict[int, frozenset[Feature]] = field(default_factory=dict)
    items: set[Any] = field(default_factory=set)
    sets: set[int] = field(default_factory=set)  # tokens that are read as sets

    @property
    def features(self) -> list[Feature]:
        """In a fixed order."""
        found = {feature for features in self.meaning.values() for feature in features}
        return sorted(found, key=lambda f: (f[0] != "is", value_name(f[1]), f[0], str(type(f[1]))))

    def agrees(self, meaning: dict[int, frozenset[Feature]]) -> bool:
        return all(self.meaning.get(token, features) == features for token, features in meaning.items())


def meaning_of(
    fetch: Fetch, tokens: dict[Any, int], letters: Sequence[str]
) -> tuple[dict[int, frozenset[Feature]], list[Any]]:
    """(token → features, the values that can be read) of a read."""
    held = letters if fetch.source is None else fetch.source.values
    given = {value: fetch.value(value) for value in held}
    if fetch.mapping is not None:
        told = [((value,), result) for value, result in given.items()]
        check_function(lambda one: fetch.value(*one), told[:MOST_ASKED], f"the function of {fetch.name}")
    values = list(dict.fromkeys(given.values()))
    items = items_of(values) if is_sets(values) else None
    meaning = {tokens[value]: frozenset(coded(result, items)) for value, result in given.items()}
    return meaning, values


def variables_of(place: tuple[str, int], values: Sequence[Any]) -> tuple[list[Variable], list[tuple[int, ...]]]:
    """(variables, their values for each of the values that can be read)."""
    kind, number = place
    if is_sets(values):
        items = items_of(values)
        variables = [Variable(((kind, number, ("out", x)), (kind, number, ("in", x)))) for x in items]
        return variables, [tuple(int(x in value) for x in items) for value in values]
    return [Variable(tuple((kind, number, ("is", value)) for value in values))], [(i,) for i in range(len(values))]
