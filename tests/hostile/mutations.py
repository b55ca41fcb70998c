"""Strategies: a valid document, and damaged versions of it.

json_of(good)      a JSON document with a few values replaced, removed, doubled or nested
text_of(pieces)    a text of tokens of the format, in any order
lines_of(good)     the lines of a good text, some of them cut, doubled, swapped or replaced
"""

import copy

from hypothesis import strategies as st

ODD_TEXTS = ["", " ", "a", "m", "0", "1", "-1", "²", "\ud800", "\x1b[2J", "\u202e", "\0", "a b", "1" * 5000, "x" * 300]
ODD_NUMBERS = [-1, 0, 1, 2, 3, 7, 255, 2**31, 2**53, 2**63, -(2**63), 2**64, 10**30, 0.5, -0.0, 1e308]
odd = st.one_of(
    st.sampled_from(ODD_TEXTS),
    st.sampled_from(ODD_NUMBERS),
    st.sampled_from([None, True, False, [], {}, [[]], {"": {}}, [None], [0, 0], ["a", "a"], [[0, 1, 2]]]),
    st.integers(-3, 9),
    st.lists(st.sampled_from(["a", "b", "m", "0", "1", "□"]), max_size=6),
)


def places(document, path=()):
    """Yield the path of every value inside a document."""
    inside = (
        enumerate(document) if isinstance(document, list) else document.items() if isinstance(document, dict) else ()
    )
    for key, value in inside:
        yield (*path, key)
        yield from places(value, (*path, key))


@st.composite
def json_of(draw, good, *, most=3):
    """Return a strategy for the document with up to `most` damaged values."""
    document = copy.deepcopy(draw(good) if isinstance(good, st.SearchStrategy) else good)
    for _ in range(draw(st.integers(1, most))):
        paths = list(places(document))
        if not paths:
            break
        *way, last = draw(st.sampled_from(paths))
        holder = document
        for key in way:
            holder = holder[key]
        match draw(st.sampled_from(["replace", "replace", "replace", "remove", "nest", "copy", "extra"])):
            case "replace":
                holder[last] = copy.deepcopy(draw(odd))
            case "remove":
                del holder[last]
            case "nest":
                holder[last] = [holder[last]]
            case "copy":
                holder[last] = copy.deepcopy(value_at(document, draw(st.sampled_from(paths))))
            case "extra" if isinstance(holder, dict):
                holder[draw(st.sampled_from(ODD_TEXTS))] = copy.deepcopy(draw(odd))
            case _:
                holder.append(copy.deepcopy(draw(odd)))
    return document


def value_at(document, path):
    for key in path:
        document = document[key]
    return document


def text_of(pieces, *, most=24):
    return st.lists(st.sampled_from(pieces), max_size=most).map("".join)


@st.composite
def lines_of(draw, good, pieces):
    """Return a strategy for damaged lines of a valid text; `pieces` are words that such a text may contain."""
    lines = draw(st.sampled_from(good)).split("\n")
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, max(0, len(lines) - 1)))
        words = lines[at].split(" ") if lines else [""]
        match draw(st.sampled_from(["word", "word", "line", "remove", "double", "cut", "move"])):
            case "word":
                words[draw(st.integers(0, len(words) - 1))] = draw(st.sampled_from(pieces))
                lines[at : at + 1] = [" ".join(words)]
            case "line":
                lines[at : at + 1] = [" ".join(draw(st.lists(st.sampled_from(pieces), max_size=5)))]
            case "remove":
                del lines[at : at + 1]
            case "double":
                lines[at : at + 1] = lines[at : at + 1] * 2
            case "cut":
                del lines[at:]
            case "move":
                lines.insert(0, lines.pop(at)) if lines else None
    return "\n".join(lines)
