"""Every way to break a JSON document in one place: each leaf, each list, each object, in several ways."""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

Path = tuple[str | int, ...]
Mutant = tuple[Path, str, Any]
"""(where, what was done, the document after it)."""


def mutants(document: Any) -> Iterator[Mutant]:
    """Each differs from the document in one place, as JSON text too: 1, 1.0 and true are three values."""
    for path, value in nodes(document):
        for what, other in _others(value):
            if not same(other, value):
                yield path, what, replaced(document, path, other)


def replaced(document: Any, path: Path, value: Any) -> Any:
    """The document with another value at a path; what lies beside the path is shared."""
    if not path:
        return value
    copy, (key, *rest) = document.copy(), path
    copy[key] = replaced(document[key], tuple(rest), value)
    return copy


def same(one: Any, other: Any) -> bool:
    """Equal and of equal types, all the way down."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other


def nodes(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    yield path, value
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inside in items:
        yield from nodes(inside, (*path, key))


def _others(value: Any) -> Iterator[tuple[str, Any]]:
    for odd in (None, True, False, 0, -1, 1.5, "", "0", [], {}, 1 << 70):
        yield f"{odd!r} instead", odd
    if isinstance(value, list):
        yield from _other_lists(value)
    elif isinstance(value, dict):
        for key in value:
            yield f"without {key}", {name: inside for name, inside in value.items() if name != key}
        yield "another key", {**value, "comment": None}
    elif isinstance(value, str):
        yield "a longer string", value + " "
        yield "a shorter string", value[1:]
        yield "a list of it", [value]
    elif value is not None:
        for step in (-2, -1, 1, 2):
            yield f"{step:+}", int(value) + step
        yield "a string", str(value)
        yield "a float", float(value)
        yield "a bool", bool(value)
        yield "an integer", int(value)
        yield "a list of it", [value]
        yield "negative", -int(value)


def _other_lists(value: list) -> Iterator[tuple[str, list]]:
    for i, inside in enumerate(value):
        yield f"without {i}", value[:i] + value[i + 1 :]
        yield f"{i} twice", value[: i + 1] + value[i:]
        if i:
            yield f"{i - 1} and {i} swapped", [*value[: i - 1], inside, value[i - 1], *value[i + 1 :]]
    for odd in (None, 0, [], {}):
        yield f"with {odd!r} at the end", [*value, odd]
    if value:
        yield "with its first at the end", [*value, deepcopy(value[0])]
    yield "backwards", value[::-1]
