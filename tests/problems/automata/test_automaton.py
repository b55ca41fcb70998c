"""Automata: validation, reading words, merging tokens."""

import itertools
import random
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmask.errors import ProblemError, WordError
from unmask.problems.automata.automaton import Automaton, random_character
from unmask.problems.automata.characters import LAST_CODE_POINT
from unmask.problems.regexes.determinisation import regex_automaton

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
        ((("a",), [[0]], 0, [True], ((1, LAST_CODE_POINT, 0),)), "starts at 1, not 0"),
        ((("a",), [[0]], 0, [True], ((0, LAST_CODE_POINT, 1),)), "name token 1"),
        ((("a", "b"), [[0, 0]], 0, [True], ((0, LAST_CODE_POINT, 0),)), "no characters"),
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
    ranges = ((0, 96, 0), (97, LAST_CODE_POINT, 1))
    merged = Automaton(("x", "y"), alike, 0, accepting, ranges).minimal()
    assert merged.tokens == ("any",)
    assert merged.characters == ((0, LAST_CODE_POINT, 0),)


# The least automaton, against Moore's definition of equivalence.


def classes_by_moore(automaton: Automaton) -> int:
    """The number of classes of reachable states, by refining until nothing changes."""
    reachable = {automaton.start}
    while True:
        more = reachable | {int(t) for s in reachable for t in automaton.delta[s]}
        if more == reachable:
            break
        reachable = more
    label = {s: (bool(automaton.accepting[s]),) for s in reachable}
    while True:
        finer = {s: (label[s], *(label[int(t)] for t in automaton.delta[s])) for s in reachable}
        numbers = {value: (k,) for k, value in enumerate(sorted(set(finer.values()), key=repr))}
        if len(numbers) == len(set(label.values())):
            return len(numbers)
        label = {s: numbers[finer[s]] for s in reachable}


@st.composite
def automata(draw: st.DrawFn) -> Automaton:
    states, tokens = draw(st.integers(1, 9)), draw(st.integers(1, 3))
    delta = draw(st.lists(st.integers(0, states - 1), min_size=states * tokens, max_size=states * tokens))
    accepting = draw(st.lists(st.booleans(), min_size=states, max_size=states))
    table = np.array(delta, dtype=np.int32).reshape(states, tokens)
    return Automaton(tuple("abc"[:tokens]), table, draw(st.integers(0, states - 1)), np.array(accepting))


@given(automata(), st.lists(st.text("abc", max_size=8), max_size=20))
def test_minimal_is_least_canonical_and_equivalent(automaton: Automaton, words: list[str]):
    minimal = automaton.minimal()
    assert minimal.states == classes_by_moore(automaton)
    for word in (word for word in words if set(word) <= set(automaton.tokens)):
        assert minimal.accepts(word) == automaton.accepts(word)
    again = minimal.minimal()
    assert again.start == 0 == minimal.start
    assert np.array_equal(again.delta, minimal.delta)
    assert np.array_equal(again.accepting, minimal.accepting)


@given(automata(), st.randoms())
def test_the_numbering_of_the_states_does_not_matter(automaton: Automaton, rng):
    order = list(range(automaton.states))
    rng.shuffle(order)
    number = np.argsort(order)
    shuffled = Automaton(
        automaton.tokens,
        number[automaton.delta[order]],
        int(number[automaton.start]),
        automaton.accepting[order],
    )
    assert np.array_equal(shuffled.minimal().delta, automaton.minimal().delta)
    assert np.array_equal(shuffled.minimal().accepting, automaton.minimal().accepting)


def test_a_chain_is_minimised_quickly():
    n = 20_000
    delta = np.minimum(np.arange(n) + 1, n - 1).reshape(n, 1)
    assert Automaton(("a",), delta, 0, np.arange(n) == n - 2).minimal().states == n


# Counting and drawing words, against brute force.


@pytest.mark.parametrize("pattern", ["(a|b)*abb", "a{2,3}|b?", "", "[^ab]+b", "(?s).*"])
def test_counts_are_those_of_a_brute_count(pattern: str):
    automaton = regex_automaton(pattern)
    for length in range(5):
        words = itertools.product(range(len(automaton.tokens)), repeat=length)
        accepted = sum(automaton.accepts(automaton.spelled(ids)) for ids in words)
        assert automaton.count(length) == accepted


def test_counts_are_exact_beyond_machine_integers():
    assert regex_automaton("(?s).*").count(500) == 1
    assert PARITY.count(300) == 2**299


def test_random_words_are_what_was_asked_for_and_uniform():
    rng = random.Random(1)
    automaton = regex_automaton("(a|b)*abb")
    for length in range(3, 30):
        assert automaton.accepts(automaton.random_word(length, accepted=True, rng=rng) or "")
        assert not automaton.accepts(automaton.random_word(length, accepted=False, rng=rng) or "abb")
    assert automaton.random_word(2, accepted=True, rng=rng) is None
    counts = Counter(PARITY.random_word(4, accepted=True, rng=rng) for _ in range(4000))
    assert len(counts) == 8
    assert min(counts.values()) > 400
    assert all(set(word.split()) <= {"left", "right"} for word in [TURNS.random_word(5, accepted=True, rng=rng) or ""])


def test_characters_are_drawn_from_their_ranges_and_surrogates_are_avoided():
    rng = random.Random(0)
    assert {random_character([(97, 98)], rng) for _ in range(50)} == {"a", "b"}
    assert all(random_character([(0xD7FF, 0xE000)], rng) in "\ud7ff\ue000" for _ in range(20))
    assert random_character([(0xD800, 0xD801)], rng) == "\ud800"
    assert random_character([(0, 200)], None) == " "
