"""Sets of characters as sorted, disjoint, non-adjacent ranges of code points.

If the content of a class such as `[^\\W\\d_]` depends on Unicode's tables, `re` itself decides it, so that the sets
agree with `re` on every code point, including lone surrogates.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np

Ranges = tuple[tuple[int, int], ...]
Item = tuple[int, int] | str  # a range of code points, or an escape such as r"\d"

LAST_CODE_POINT = 0x10FFFF
EVERYTHING: Ranges = ((0, LAST_CODE_POINT),)
NEWLINE: Ranges = ((10, 10),)
_LAST_OF_PLANE_0 = 0xFFFF
_ASCII_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def union(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """The union of ranges in any order."""
    merged: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    return tuple(merged)


def complement(ranges: Ranges) -> Ranges:
    """Every code point that is not in `ranges`."""
    edges = [-1, *(edge for pair in ranges for edge in pair), LAST_CODE_POINT + 1]
    gaps = ((edges[k] + 1, edges[k + 1] - 1) for k in range(0, len(edges), 2))
    return tuple(gap for gap in gaps if gap[0] <= gap[1])


def contains(ranges: Ranges, point: int) -> bool:
    """Whether a code point lies in one of the ranges."""
    k = bisect_right(ranges, (point, LAST_CODE_POINT)) - 1
    return k >= 0 and point <= ranges[k][1]


@lru_cache(maxsize=32)
def category(escape: str, *, ascii: bool) -> Ranges:
    r"""The characters that \d, \D, \s, \S, \w or \W matches."""
    if escape[1].isupper():
        return complement(category(escape.lower(), ascii=ascii))
    text = "".join(map(chr, range(128))) if ascii else _every_character()
    runs = re.finditer(escape + "+", text, re.ASCII if ascii else re.UNICODE)
    return tuple((match.start(), match.end() - 1) for match in runs)


@lru_cache(maxsize=4096)
def class_members(items: tuple[Item, ...], *, negated: bool, ascii: bool, ignore_case: bool) -> Ranges:
    """The characters that the class [items], or [^items], matches."""
    pairs: list[tuple[int, int]] = []
    for item in items:
        pairs.extend(category(item, ascii=ascii) if isinstance(item, str) else (item,))
    plain = complement(union(pairs)) if negated else union(pairs)
    if not ignore_case:
        return plain
    # Only characters that have a case can behave differently, so only those are tried.
    reach = max((item[1] for item in items if not isinstance(item, str)), default=0)
    cased = _ASCII_LETTERS if ascii and reach <= _LAST_OF_PLANE_0 else _cased_characters()
    flags = re.IGNORECASE | (re.ASCII if ascii else re.UNICODE)
    matching = set(re.findall(_class_pattern(items, negated=negated), cased, flags))
    return _symmetric_difference(plain, [ord(c) for c in cased if (c in matching) != contains(plain, ord(c))])


def partition(sets: Sequence[Ranges]) -> tuple[tuple[tuple[int, int, int], ...], list[int]]:
    """The coarsest partition of all code points that respects every set.

    Return (first, last, block) ranges that cover 0..LAST_CODE_POINT, with blocks numbered by their first code point,
    and for each block the mask of the sets that contain it.
    """
    flips: dict[int, int] = {0: 0}
    for k, ranges in enumerate(sets):
        for first, last in ranges:
            flips[first] = flips.get(first, 0) ^ (1 << k)
            flips[last + 1] = flips.get(last + 1, 0) ^ (1 << k)
    flips.pop(LAST_CODE_POINT + 1, None)
    starts = sorted(flips)
    blocks: dict[int, int] = {}
    cover: list[tuple[int, int, int]] = []
    inside = 0
    for start, following in zip(starts, [*starts[1:], LAST_CODE_POINT + 1], strict=True):
        inside ^= flips[start]
        cover.append((start, following - 1, blocks.setdefault(inside, len(blocks))))
    return tuple(cover), list(blocks)


def blocks_in(inside: Sequence[int], sets: int) -> list[int]:
    """For each set, the mask of the blocks in it. `partition` returns the inverse."""
    return [sum(1 << block for block, mask in enumerate(inside) if mask >> k & 1) for k in range(sets)]


def class_name(ranges: Ranges, *, most_ranges: int = 6) -> str:
    """A short name without blanks: `a`, `[0-9A-F]`, `[^a-z]`, `any`.

    Classes of a partition get distinct names: a name shows the first code point of its class, and
    only the class with the last code point is written as a complement.
    """
    if ranges == EVERYTHING:
        return "any"
    if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
        return _escaped_character(ranges[0][0], special="")
    inverted = ranges[-1][1] == LAST_CODE_POINT
    parts = [
        _escaped_character(first)
        if first == last
        else f"{_escaped_character(first)}{'-' * (last > first + 1)}{_escaped_character(last)}"
        for first, last in (complement(ranges) if inverted else ranges)
    ]
    cut = "…" if len(parts) > most_ranges else ""
    return f"[{'^' * inverted}{''.join(parts[:most_ranges])}{cut}]"


def _escaped_character(point: int, *, special: str = "[]^-\\…") -> str:
    """One character of a name, escaped unless it is visible."""
    character = chr(point)
    if character.isprintable() and not character.isspace():
        return f"\\{character}" if character in special else character
    if point <= 0xFF:
        return f"\\x{point:02x}"
    return f"\\u{point:04x}" if point <= 0xFFFF else f"\\U{point:08x}"


def _class_pattern(items: tuple[Item, ...], *, negated: bool) -> str:
    """The class as a pattern in which every code point is escaped."""
    parts = (item if isinstance(item, str) else _range_text(*item) for item in items)
    return f"[{'^' * negated}{''.join(parts)}]"


def _range_text(first: int, last: int) -> str:
    return f"\\U{first:08x}" if first == last else f"\\U{first:08x}-\\U{last:08x}"


def _symmetric_difference(ranges: Ranges, points: Sequence[int]) -> Ranges:
    """The symmetric difference of a set and some points."""
    flips: dict[int, int] = {}
    for first, last in (*ranges, *((point, point) for point in points)):
        flips[first] = flips.get(first, 0) ^ 1
        flips[last + 1] = flips.get(last + 1, 0) ^ 1
    edges = sorted(point for point, flip in flips.items() if flip)
    return tuple((first, last - 1) for first, last in zip(edges[::2], edges[1::2], strict=True))


def _every_character() -> str:
    """The string of all code points in order, surrogates included."""
    return np.arange(LAST_CODE_POINT + 1, dtype="<u4").tobytes().decode("utf-32-le", "surrogatepass")


@lru_cache(maxsize=1)
def _cased_characters() -> str:
    """The characters that differ from their lower or upper case."""
    text = _every_character()
    blocks = (text[start : start + 256] for start in range(0, LAST_CODE_POINT + 1, 256))
    changing = (block for block in blocks if block.lower() != block or block.upper() != block)
    return "".join(c for block in changing for c in block if c.lower() != c or c.upper() != c)
