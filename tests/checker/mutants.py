"""Copies of a JSON document with one change each: every leaf, list and object is changed in several ways."""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

Path = tuple[str | int, ...]
Mutant = tuple[Path, str, Any]
"""(path of the change, its description, the changed document)."""


def mutants(document: Any) -> Iterator[Mutant]:
    """Yield documents that differ in one place, also as JSON text: 1, 1.0 and true are three values."""
    for path, value in nodes(document):
        for description, other in _other_values(value):
            if not is_same(other, value):
                yield path, description, replaced(document, path, other)


def replaced(document: Any, path: Path, value: Any) -> Any:
    """Return the document with another value at a path; the copy shares everything beside the path."""
    if not path:
        return value
    copy, (key, *rest) = document.copy(), path
    copy[key] = replaced(document[key], tuple(rest), value)
    return copy


def is_same(left: Any, right: Any) -> bool:
    """Return whether two documents are equal, with equal types everywhere."""
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return list(left) == list(right) and all(is_same(left[key], right[key]) for key in left)
    if isinstance(left, list):
        return len(left) == len(right) and all(map(is_same, left, right))
    return left == right


def nodes(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    yield path, value
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inside in items:
        yield from nodes(inside, (*path, key))


def _other_values(value: Any) -> Iterator[tuple[str, Any]]:
    for odd in (None, True, False, 0, -1, 1.5, "", "0", [], {}, 1 << 70):
        yield f"{odd!r} instead", odd
    if isinstance(value, list):
        yield from _changed_lists(value)
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


def _changed_lists(value: list) -> Iterator[tuple[str, list]]:
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
