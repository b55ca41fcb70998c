"""Character sets against `re` on every code point."""

import re

import pytest

from unmask.problems.automata.characters import (
    EVERYTHING,
    LAST_CODE_POINT,
    category,
    class_members,
    class_name,
    complement,
    contains,
    partition,
    union,
)

ALL = "".join(map(chr, range(LAST_CODE_POINT + 1)))


def by_re(pattern: str, flags: int) -> tuple[tuple[int, int], ...]:
    return tuple((m.start(), m.end() - 1) for m in re.finditer(f"(?:{pattern})+", ALL, flags))


def test_union_and_complement():
    assert union([(5, 9), (1, 2), (3, 4), (8, 12)]) == ((1, 12),)
    assert union([(5, 6), (1, 2)]) == ((1, 2), (5, 6))
    assert complement(()) == EVERYTHING
    assert complement(EVERYTHING) == ()
    assert complement(complement(((0, 3), (7, LAST_CODE_POINT)))) == ((0, 3), (7, LAST_CODE_POINT))
    assert [contains(((2, 3), (6, 6)), p) for p in (1, 2, 3, 4, 6, 7)] == [False, True, True, False, True, False]


@pytest.mark.parametrize("escape", [r"\d", r"\D", r"\s", r"\S", r"\w", r"\W"])
@pytest.mark.parametrize("ascii", [True, False])
def test_categories_agree_with_re_everywhere(escape: str, ascii: bool):
    assert category(escape, ascii=ascii) == by_re(escape, re.ASCII if ascii else 0)


@pytest.mark.parametrize("ascii", [True, False])
@pytest.mark.parametrize(
    ("items", "negated"),
    [
        (((ord("k"), ord("k")),), False),
        (((ord("K"), ord("K")),), True),
        (((ord("s"), ord("s")), r"\d"), False),
        (((ord("a"), ord("z")),), True),
        (((0xDF, 0xDF),), False),
        (((0x130, 0x131),), False),
        (((0x3C3, 0x3C3), (0x345, 0x345)), False),
        (((0x1C4, 0x1C6),), True),
        (((0x10400, 0x10410),), False),
        (((0xF000, 0x10410),), True),
        ((r"\W", (ord("_"), ord("_"))), True),
        (((0xD800, 0xDFFF),), False),
    ],
)
def test_ignoring_case_agrees_with_re_everywhere(items: tuple, negated: bool, ascii: bool):
    body = "".join(i if isinstance(i, str) else f"\\U{i[0]:08x}-\\U{i[1]:08x}" for i in items)
    flags = re.IGNORECASE | (re.ASCII if ascii else 0)
    expected = by_re(f"[{'^' * negated}{body}]", flags)
    assert class_members(items, negated=negated, ascii=ascii, ignore_case=True) == expected


def test_partition_respects_every_set():
    cover, inside = partition([((97, 122),), ((97, 97), (48, 57)), ()])
    assert cover == ((0, 47, 0), (48, 57, 1), (58, 96, 0), (97, 97, 2), (98, 122, 3), (123, LAST_CODE_POINT, 0))
    assert inside == [0, 2, 3, 1]
    assert partition([]) == (((0, LAST_CODE_POINT, 0),), [0])


def test_names_are_short_visible_and_distinct():
    assert class_name(((97, 97),)) == "a"
    assert class_name(((48, 57), (65, 66))) == "[0-9AB]"
    assert class_name(((0, 96), (98, LAST_CODE_POINT))) == "[^a]"
    assert class_name(EVERYTHING) == "any"
    assert class_name(((32, 32),)) == r"\x20"
    assert class_name(((10, 10), (0x2028, 0x2028), (0x1F600, 0x1F601))) == r"[\x0a\u2028😀😁]"
    cover, _ = partition([category(r"\w", ascii=False), category(r"\d", ascii=False), ((93, 94),)])
    names = [class_name(union((first, last) for first, last, t in cover if t == token)) for token in range(4)]
    assert len(set(names)) == 4
    assert all(name.split() == [name] and len(name) < 40 for name in names)
