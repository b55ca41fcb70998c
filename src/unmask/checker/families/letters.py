"""What words are made of: (number of the model's symbol, map of the automaton's states) of every letter."""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise

from unmask.checker.certificate import need
from unmask.checker.families import form

LAST_CODE_POINT = 0x10FFFF
Map = tuple[int, ...]
Letters = list[tuple[int, Map]]


def letters_of(automaton: form.Automaton, frame: form.Frame) -> Letters:
    """Of every token of the automaton, or of every character: each is read as a symbol, by automaton and model."""
    delta, states = automaton.delta, range(len(automaton.delta))
    need(len(delta) == len(automaton.accepting) > 0, "accepting is not said of every state")
    need(len({len(row) for row in delta}) == 1, "delta is not a table of states and letters")
    need(all(q in states for row in delta for q in row), "delta leads out of the states")
    _check_symbols(frame)
    columns = [*zip(*delta, strict=True)]
    need((automaton.tokens is None) != (automaton.characters is None), "words are made of tokens, or of characters")
    need((automaton.characters is None) == (frame.characters is None), "model and automaton read different things")
    number = {name: frame.vocabulary.index(name) for name in frame.input_symbols}
    if automaton.tokens is not None:
        need(len(automaton.tokens) == len(columns), "the automaton has not one column for each token")
        need({*automaton.tokens} <= {*number}, "the model cannot read a letter of the automaton")
        numbers = [number[name] for name in automaton.tokens]
        need(all(a < b for a, b in pairwise(numbers)), "tokens are not in the order of the model's symbols")
        return [*zip(numbers, columns, strict=True)]
    ours, theirs = automaton.characters or [], frame.characters or []
    for ranges in (ours, theirs):
        starts = [0, *(last + 1 for _, last, _ in ranges)]
        whole = [first for first, *_ in ranges] == starts[:-1] and starts[-1] == LAST_CODE_POINT + 1
        need(whole and starts == sorted({*starts}), "characters are not all code points, in order")
    need(all(k < len(columns) for *_, k in ours), "a character leads to no column of the automaton")
    need(all(name in number for *_, name in theirs), "a character is read as no input symbol")
    points = {first for first, *_ in (*ours, *theirs)}
    return sorted({(number[_at(theirs, x)], columns[_at(ours, x)]) for x in points})


def _check_symbols(frame: form.Frame) -> None:
    special = [name for name in (frame.mask, frame.pad, frame.accept, frame.reject) if name is not None]
    need(len({*frame.vocabulary}) == len(frame.vocabulary), "a symbol occurs twice in the vocabulary")
    need(len({*special}) == len(special) and {*special} <= {*frame.vocabulary}, "special symbols are not in it, or one")
    need(len({*frame.input_symbols}) == len(frame.input_symbols), "an input symbol is listed twice")
    need({*frame.input_symbols} <= {*frame.vocabulary} - {*special}, "an input symbol is special, or not listed")


def _at(ranges: Sequence, point: int):
    """What ranges say of a code point."""
    return ranges[bisect_right(ranges, point, key=lambda part: part[0]) - 1][2]
