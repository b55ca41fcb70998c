"""Rule → conjunctions of features: the features that heads copy, and the table of a rule over them.

    feature     "the row holds this value", or for a set "the item is in (or not in) the set"
    variable    features of which exactly one holds, once the row that is read is written
    cube        result[v1, …, vk] = r  wherever  v_a = x_a ∧ v_b = x_b ∧ …

A head serves one read of every region, as long as the regions agree on what a symbol means. The cubes of a rule exclude
each other. A cube leaves out every variable on which the rest of the table does not depend. An entry of -1 cannot
occur.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod
from typing import Any

import numpy as np

from unmask.errors import TooLarge
from unmask.programs.recurrences.regions import ConstantLeaf, FetchLeaf, Leaf, RangeLeaf
from unmask.recurrences.interpreter import range_result
from unmask.recurrences.rule_functions import MOST_REPEATED_CALLS, check_function, value_name
from unmask.recurrences.slots import Over, subsets

Feature = tuple[str, Any]
"""("is", value), ("in", item) or ("out", item)."""

Column = tuple[str, int, Feature]
"""Where a feature comes from: ("read", number of the head, feature) or ("found", number of the channel, feature)."""


@dataclass(frozen=True, eq=False)
class ReadVariable:
    """Exclusive features; `choices[i]` holds when the variable has its value i."""

    choices: tuple[Column, ...]


def are_sets(values: Iterable[Any]) -> bool:
    return all(isinstance(value, frozenset) for value in values)


def items_of(values: Iterable[frozenset]) -> list[Any]:
    """All items of some sets, in an order that does not depend on hashing."""
    return sorted({item for value in values for item in value}, key=lambda item: (value_name(item), str(type(item))))


def value_features(value: Any, items: Sequence[Any] | None) -> list[Feature]:
    """The features of a value; those of a set if the items are given."""
    return [("is", value)] if items is None else [("in" if item in value else "out", item) for item in items]


def feature_name(feature: Feature) -> str:
    kind, value = feature
    return value_name(value) if kind == "is" else f"{'' if kind == 'in' else '∌'}{value_name(value)}"


@dataclass(eq=False)
class ReadHead:
    """The meaning of symbols for one head: token → features."""

    meaning: dict[int, frozenset[Feature]] = field(default_factory=dict)
    items: set[Any] = field(default_factory=set)
    sets: set[int] = field(default_factory=set)  # tokens that are read as sets

    @property
    def features(self) -> list[Feature]:
        """All features, in a fixed order."""
        features_of_tokens = {feature for features in self.meaning.values() for feature in features}
        return sorted(features_of_tokens, key=lambda f: (f[0] != "is", value_name(f[1]), f[0], str(type(f[1]))))

    def agrees(self, meaning: dict[int, frozenset[Feature]]) -> bool:
        return all(self.meaning.get(token, features) == features for token, features in meaning.items())


def meaning_of(
    fetch: FetchLeaf, tokens: dict[Any, int], letters: Sequence[str]
) -> tuple[dict[int, frozenset[Feature]], list[Any]]:
    """Return (token → features, the values that can be read) of a read."""
    contents = letters if fetch.source is None else fetch.source.values
    results = {value: fetch.value(value) for value in contents}
    if fetch.mapping is not None:
        entries = [((value,), result) for value, result in results.items()][:MOST_REPEATED_CALLS]
        check_function(lambda arguments: fetch.value(*arguments), entries, f"the function of {fetch.name}")
    values = list(dict.fromkeys(results.values()))
    items = items_of(values) if are_sets(values) else None
    meaning = {tokens[value]: frozenset(value_features(result, items)) for value, result in results.items()}
    return meaning, values


def variables_of(source: tuple[str, int], values: Sequence[Any]) -> tuple[list[ReadVariable], list[tuple[int, ...]]]:
    """Return (variables, their values for each of the values that can be read)."""
    kind, number = source
    if are_sets(values):
        items = items_of(values)
        variables = [ReadVariable(((kind, number, ("out", x)), (kind, number, ("in", x)))) for x in items]
        return variables, [tuple(int(x in value) for x in items) for value in values]
    return [ReadVariable(tuple((kind, number, ("is", value)) for value in values))], [(i,) for i in range(len(values))]


MOST_ENTRIES = 1 << 18
NEVER = -1


@dataclass(frozen=True)
class Cube:
    """If all `literals` hold, the result is `result`. `alternatives` has the columns that exclude each literal."""

    literals: tuple[Column, ...]
    alternatives: tuple[tuple[Column, ...], ...]
    result: int


def check_entries(counts: Sequence[int], name: str) -> None:
    """Raise TooLarge for a table that is too large."""
    entries = prod(counts)
    if entries > MOST_ENTRIES:
        raise TooLarge(
            f"the rule of {name} is a table of {_product(counts)} = {entries:,} entries, "
            f"more than {MOST_ENTRIES:,}; let it read fewer values at once, with an intermediate group of slots"
        )


def _product(counts: Sequence[int]) -> str:
    """3 × 2 × 2, or 2^40."""
    same = len(set(counts)) == 1 and len(counts) > 4
    return f"{counts[0]}^{len(counts)}" if same else " × ".join(map(str, counts))


def cubes(variables: Sequence[ReadVariable], results: np.ndarray) -> Iterator[Cube]:
    """Exclusive cubes that cover the table."""
    yield from _cubes(tuple(variables), results, (), ())


def _cubes(
    variables: tuple[ReadVariable, ...],
    results: np.ndarray,
    literals: tuple[Column, ...],
    alternatives: tuple[tuple[Column, ...], ...],
) -> Iterator[Cube]:
    occurring = results[results != NEVER]
    if not occurring.size:
        return
    if (occurring == occurring.flat[0]).all():
        yield Cube(literals, alternatives, int(occurring.flat[0]))
        return
    axis = _decisive(results)
    choices = variables[axis].choices
    for value, column in enumerate(choices):
        other_choices = tuple(other for other in choices if other != column)
        yield from _cubes(
            variables[:axis] + variables[axis + 1 :],
            np.take(results, value, axis=axis),
            (*literals, column),
            (*alternatives, other_choices),
        )


def _decisive(results: np.ndarray) -> int:
    """Return a variable on which the table depends: the one that leaves the fewest distinct results."""
    best, least = -1, None
    for axis in range(results.ndim):
        slices = np.moveaxis(results, axis, 0).reshape(results.shape[axis], -1)
        occurs = slices != NEVER
        low = np.where(occurs, slices, np.iinfo(np.int64).max).min(axis=0)
        high = np.where(occurs, slices, np.iinfo(np.int64).min).max(axis=0)
        if not (occurs.any(axis=0) & (low != high)).any():
            continue
        mixed = sum(np.unique(entries[entries != NEVER]).size for entries in slices)
        if least is None or mixed < least:
            best, least = axis, mixed
    return best if best >= 0 else next(axis for axis, size in enumerate(results.shape) if size > 1)


def all_combinations(values: Sequence[Sequence[Any]]) -> Iterator[tuple[tuple[int, ...], tuple[Any, ...]]]:
    """Yield (numbers, values) of every combination of values."""
    for numbers in product(*(range(len(listed)) for listed in values)):
        yield numbers, tuple(listed[k] for listed, k in zip(values, numbers, strict=True))


class ReadValues:
    """The possible values of the reads of a region, and the variables that distinguish them."""

    def __init__(self) -> None:
        self.values: list[list[Any]] = []
        self.variables: list[ReadVariable] = []
        self._of_read: list[tuple[int, int]] = []  # which variables belong to a read
        self._numbers: list[list[tuple[int, ...]]] = []

    def add(self, values: list[Any], variables: list[ReadVariable], numbers: list[tuple[int, ...]]) -> None:
        first = len(self.variables)
        self.values.append(values)
        self.variables += variables
        self._of_read.append((first, len(self.variables)))
        self._numbers.append(numbers)

    def add_range(self, over: Over, channel: int, items: list[Any]) -> None:
        if over.kind == "collect":
            check_entries([2] * len(items), f"collect({over.range})")
            values: list[Any] = list(subsets(items))
            sets = values
        else:
            items, sets = [True], [frozenset(), frozenset([True])]
            values = [range_result(over, union) for union in sets]
        variables = [ReadVariable((("found", channel, ("out", x)), ("found", channel, ("in", x)))) for x in items]
        self.add(values, variables, [tuple(int(x in union) for x in items) for union in sets])

    def table(self) -> np.ndarray:
        return np.full([len(variable.choices) for variable in self.variables], NEVER, dtype=np.int64)

    def index(self, numbers: Sequence[int]) -> tuple[int, ...]:
        """The index in the table of one combination of values."""
        return tuple(k for read, number in zip(self._numbers, numbers, strict=True) for k in read[number])

    def cube(self, leaves: Sequence[Leaf], numbers: Sequence[int], values: Sequence[Any]) -> Cube:
        """Return one combination as a conjunction; for each(…), only that the set contains the item."""
        literals: list[Column] = []
        alternatives: list[tuple[Column, ...]] = []
        for leaf, (first, last), read, number, value in zip(
            leaves, self._of_read, self._numbers, numbers, values, strict=True
        ):
            if isinstance(leaf, ConstantLeaf):
                continue
            if is_each(leaf):
                pairs = [v.choices for v in self.variables[first:last] if v.choices[1][2] == ("in", value)]
                chosen = [(pair, 1) for pair in pairs]
            else:
                chosen = [(v.choices, k) for v, k in zip(self.variables[first:last], read[number], strict=True)]
            for choices, k in chosen:
                literals.append(choices[k])
                alternatives.append(tuple(choices[:k] + choices[k + 1 :]))
        return Cube(tuple(literals), tuple(alternatives), 1)


def is_each(leaf: Leaf) -> bool:
    """Return whether the leaf is a set whose items are passed one at a time."""
    return not isinstance(leaf, RangeLeaf) and leaf.each
