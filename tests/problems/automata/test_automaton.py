"""Automata: validation, reading words, merging tokens."""

import numpy as np
import pytest

from unmask.errors import ProblemError, WordError
from unmask.problems.automata.automaton import Automaton
from unmask.problems.automata.characters import LAST
from unmask.problems.regexes.regex import regex_automaton

PARITY = Automaton(("a", "b"), np.array([[1, 0], [0, 1]]), 0, np.array([True, False]))
TURNS = Automaton(("left", "right"), np.array([[1, 2], [2, 0], [0, 1]]), 0, np.array([True, False, False]))


def test_words_are_strings_or_names():
    assert PARITY.accepts("abba")
    assert PARITY.accepts(["a", "b", "a"])
    assert not PARITY.accepts("ab")
    assert TURNS.accepts("left right")
    assert TURNS.accepts(["left", "left", "left"])
    assert TURNS.accepts("")
    assert TURNS.token_ids(" right  left ").tolist() == [1, 0]
    with pytest.raises(WordError, match="'c' is not an input symbol; use a b"):
        PARITY.accepts("abc")
    with pytest.raises(WordError, match="separated by blanks"):
        TURNS.accepts("leftright")


def test_characters_map_words_to_tokens():
    digits = regex_automaton(r"\d+")
    assert digits.tokens == ("[^0-9]", "[0-9]")
    assert digits.token_ids("a7\U0010ffff\ud800").tolist() == [0, 1, 0, 0]
    assert digits.token_ids(["7", "x"]).tolist() == [1, 0]
    assert digits.token_ids("").tolist() == []
    with pytest.raises(WordError, match="not one character"):
        digits.token_ids(["[0-9]"])


def test_arrays_are_copied_and_read_only():
    delta = np.array([[0]])
    automaton = Automaton(("a",), delta, 0, np.array([True]))
    delta[0, 0] = 5
    assert automaton.accepts("a")
    with pytest.raises(ValueError, match="read-only"):
        automaton.delta[0, 0] = 1
    assert automaton.delta.dtype == np.int32


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((("a",), [[0, 0]], 0, [True]), "one column for each of the 1 tokens"),
        (((), np.zeros((1, 0)), 0, [True]), "at least one"),
        ((("a",), [[1]], 0, [True]), "outside 0 to 0"),
        ((("a",), [[-1]], 0, [True]), "outside 0 to 0"),
        ((("a",), [[0]], 1, [True]), "start state 1"),
        ((("a",), [[0]], 0, [True, False]), "one flag for each of 1 states"),
        ((("a", "a"), [[0, 0]], 0, [True]), "'a' is given twice"),
        ((("a", "b c"), [[0, 0]], 0, [True]), "has a blank"),
        ((("a", ""), [[0, 0]], 0, [True]), "empty"),
        ((("a",), [[0]], 0, [True], ((0, 9, 0),)), "end at 9"),
        ((("a",), [[0]], 0, [True], ((1, LAST, 0),)), "starts at 1, not 0"),
        ((("a",), [[0]], 0, [True], ((0, LAST, 1),)), "name token 1"),
        ((("a", "b"), [[0, 0]], 0, [True], ((0, LAST, 0),)), "no characters"),
    ],
)
def test_what_does_not_fit_is_refused(arguments: tuple, message: str):
    tokens, delta, start, accepting, *characters = arguments
    with pytest.raises(ProblemError, match=message):
        Automaton(tokens, np.array(delta), start, np.array(accepting), *characters)


def test_tokens_are_merged_only_where_characters_are_given():
    alike = np.array([[1, 1], [1, 1]])
    accepting = np.array([True, False])
    assert Automaton(("a", "b"), alike, 0, accepting).minimal().tokens == ("a", "b")
    ranges = ((0, 96, 0), (97, LAST, 1))
    merged = Automaton(("x", "y"), alike, 0, accepting, ranges).minimal()
    assert merged.tokens == ("any",)
    assert merged.characters == ((0, LAST, 0),)
