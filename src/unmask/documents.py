"""JSON document × declared shape → value, or an error message: what is wrong, where, what to do.

A shape is a `msgspec.Struct`; `said("…")` tells what a field must be, in the words that its reader is shown.
What msgspec reports about a document that does not fit is put into words here and nowhere else.
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar, get_args, get_origin

import msgspec

from unmask.errors import UnmaskError, shortened

Shape = TypeVar("Shape", bound=msgspec.Struct)
_UNKNOWN = re.compile(r"Object contains unknown field `(.*?)`(?: - at `[^`]*`)?", re.DOTALL)
_MISSING = re.compile(r"Object missing required field `(.*?)`(?: - at `[^`]*`)?")
_WHERE = re.compile(r"`\$([^`]*)`$")
"""The end of a message: … - at `$.transformers[...].loop[1]`."""


PLAIN = {str: "a string", bool: "true or false", int: "an integer", dict: "an object", list: "a list"}
"""What a field must be that says no more than its type."""


def said(description: str) -> msgspec.Meta:
    """What a field must be, for `Annotated`: “a list of strings”."""
    return msgspec.Meta(description=description)


@dataclass(frozen=True)
class Sentences:
    """How a kind of document says what is wrong, with {name}, {key}, {expected} and {value} to fill in."""

    no_object: str
    unknown: str
    missing: str
    wrong: str
    error: type[UnmaskError]

    def refusal(self, sentence: str, **words: Any) -> UnmaskError:
        return self.error(sentence.format(**words))


def parse(content: bytes, what: str, *, error: type[UnmaskError], decimal: Callable[[str], Any] = float) -> Any:
    """JSON in UTF-8, every key of an object given once; `what` begins the sentence: “the law x.json”."""
    try:
        return json.loads(content.decode("utf-8"), object_pairs_hook=distinct_keys(error), parse_float=decimal)
    except (ValueError, RecursionError) as problem:
        raise error(f"{what} is not JSON in UTF-8 ({problem}); correct the file") from None


def distinct_keys(error: type[UnmaskError], where: str = "") -> Callable[[list[tuple[str, Any]]], dict[str, Any]]:
    """How an object is made of its pairs: what a key means that is given twice, two readers need not agree on."""

    def made(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in pairs:
            if key in found:
                raise error(f"the key {shortened(key)!r} is given twice{where}; give it once")
            found[key] = value
        return found

    return made


def names_in(document: dict[str, Any], key: str, whose: str, *, empty: bool, error: type[UnmaskError]) -> list[str]:
    """A list of distinct strings under a key; `whose` is “an automaton”, `empty` says whether there may be none."""
    names = document[key]
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise error(f"{key!r} of {whose} must be a list of strings")
    if not names and not empty:
        raise error(f"{key!r} of {whose} is empty; give at least one")
    if len(set(names)) < len(names):
        raise error(f"{key!r} of {whose} names something twice; give each name once")
    return names


def object_in(value: Any, where: str, whose: str, *, error: type[UnmaskError]) -> dict[str, Any]:
    """A value that must be an object; `where` it stands."""
    if not isinstance(value, dict):
        raise error(f"{where} of {whose} must be an object")
    return value


def read(document: Any, shape: type[Shape], sentences: Sentences, *, name: str = "") -> Shape:
    """The document as its shape declares it; anything else is refused in a sentence of this kind of document."""
    if not isinstance(document, dict):
        raise sentences.refusal(sentences.no_object, name=name)
    try:
        return msgspec.convert(document, shape)
    except msgspec.ValidationError as error:
        raise _refusal(str(error), document, shape, sentences, name) from None
    except UnicodeEncodeError as error:  # msgspec looks names up in UTF-8
        half = f"characters, and {shortened(ascii(error.object))} holds half of one (a surrogate)"
        raise sentences.refusal(sentences.wrong, name=name, key="every name", expected=half, value=half) from None


def _refusal(report: str, document: dict, shape: type[msgspec.Struct], sentences: Sentences, name: str) -> UnmaskError:
    place = _WHERE.search(report)
    inside = re.findall(r"\.(\w+)", place[1]) if place is not None else []
    unknown, missing = _UNKNOWN.fullmatch(report), _MISSING.fullmatch(report)
    if not inside and unknown is not None:
        return sentences.refusal(sentences.unknown, name=name, key=shortened(unknown[1]))
    if not inside and missing is not None:
        return sentences.refusal(sentences.missing, name=name, key=missing[1])
    described, last = _descend(shape, [*inside, *([missing[1]] if missing is not None else [])])
    if unknown is not None:
        keys = ", ".join(field.encode_name for field in msgspec.structs.fields(last))
        whose = "objects with" if len(inside) == 1 else f'objects whose "{inside[-1]}" has'
        described = f"{whose} the keys {keys}, not {shortened(unknown[1])!r}"
    key = inside[0] if inside else "every key"
    value = shortened(repr(document.get(key)), most=24)
    return sentences.refusal(sentences.wrong, name=name, key=key, expected=described or report, value=value)


def _descend(shape: type[msgspec.Struct], names: list[str]) -> tuple[str, type[msgspec.Struct]]:
    """The innermost description on the way along these fields, and the shape of the last one that has fields."""
    described = ""
    for name in names:
        declared = next(field.type for field in msgspec.structs.fields(shape) if field.encode_name == name)
        described = PLAIN.get(get_origin(declared) or declared, described)
        for part in _parts(declared):
            if isinstance(part, msgspec.Meta) and part.description:
                described = part.description
            elif isinstance(part, type) and issubclass(part, msgspec.Struct):
                shape = part
    return described, shape


def _parts(declared: Any) -> Iterator[Any]:
    """A type and all that it is made of: `Annotated[X, meta]`, `X | None`, `dict[str, X]`."""
    yield declared
    for part in (*get_args(declared), *getattr(declared, "__metadata__", ())):
        yield from _parts(part)
