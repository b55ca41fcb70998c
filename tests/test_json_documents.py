"""Untrusted documents: a report of msgspec becomes one message that names the key and its expected value."""

from typing import Annotated, Any

import msgspec
import pytest

from unmask.errors import UnmaskError
from unmask.files import DocumentErrors, must_be, read_document

ERRORS = DocumentErrors(
    no_object="{name} must be an object",
    unknown="{name} has the unknown key {key!r}; remove it",
    missing="{name} lacks {key!r}",
    wrong="{name}: {key} must be {expected}, not {value}",
    error=UnmaskError,
)


class Leaf(msgspec.Struct, forbid_unknown_fields=True):
    size: Annotated[int, msgspec.Meta(ge=0), must_be("objects whose size is a whole number")]
    colours: tuple[str, ...] = ()


class Tree(msgspec.Struct, forbid_unknown_fields=True):
    kind: Annotated[str, must_be("a string")] = msgspec.field(name="sort")
    leaves: Annotated[dict[str, Leaf], must_be("an object of leaves")] = {}
    root: Annotated[Leaf | None, must_be("a leaf or null")] = None
    anything: Any = None


def test_what_fits_is_read():
    tree = read_document({"sort": "oak", "leaves": {"a": {"size": 3}}, "anything": [{"\ud800": None}]}, Tree, ERRORS)
    assert (tree.kind, tree.leaves["a"].size, tree.anything) == ("oak", 3, [{"\ud800": None}])


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ([], "it must be an object"),
        (None, "it must be an object"),
        ({}, "it lacks 'sort'"),
        ({"sort": "oak", "colour": 1}, "it has the unknown key 'colour'; remove it"),
        ({"sort": "oak", "co`lour": 1}, "it has the unknown key 'co`lour'; remove it"),
        ({"sort": 3}, "it: sort must be a string, not 3"),
        ({"sort": None}, "it: sort must be a string, not None"),
        ({"kind": "oak"}, "it has the unknown key 'kind'; remove it"),
        ({"sort": "oak", "leaves": []}, "it: leaves must be an object of leaves, not []"),
        ({"sort": "oak", "leaves": {"a": 1}}, "it: leaves must be an object of leaves, not {'a': 1}"),
        ({"sort": "oak", "root": {}}, "it: root must be objects whose size is a whole number, not {}"),
        ({"sort": "oak", "root": {"size": True}}, "it: root must be objects whose size is a whole number, not "),
        ({"sort": "oak", "root": {"size": 1.0}}, "it: root must be objects whose size is a whole number, not "),
        ({"sort": "oak", "leaves": {"a": {"size": -1}}}, "it: leaves must be objects whose size is a whole number"),
        ({"sort": "oak", "leaves": {"a": {"size": 1, "x": 1}}}, "it: leaves must be objects with the keys size, colou"),
        ({"sort": "oak", "root": {"size": 1, "colours": ["r", 2]}}, "it: root must be a leaf or null, not "),
        ({"sort": "oak", "\ud800": 1}, r"it: every name must be characters, and '\ud800' holds half of one"),
        ({1: 2}, "it: every key must be Expected `str`"),
    ],
    ids=ascii,
)
def test_what_does_not_fit_is_named(document, message):
    with pytest.raises(UnmaskError) as caught:
        read_document(document, Tree, ERRORS, name="it")
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("key", ["x" * 10**6, "{name}", "a\nb", "` - at `$.root`"])
def test_no_key_breaks_the_message(key):
    with pytest.raises(UnmaskError, match=r"^it .*; remove it$") as caught:
        read_document({"sort": "oak", key: 1}, Tree, ERRORS, name="it")
    assert len(str(caught.value)) < 200
