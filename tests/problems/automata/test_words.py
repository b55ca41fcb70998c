"""Counting and drawing words, against brute force."""

import itertools
import random
from collections import Counter

import pytest

from problems.automata.test_automaton import PARITY, TURNS
from unmask.problems.automata.words import random_character
from unmask.problems.regexes.regex import regex_automaton


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
    drawn = Counter(PARITY.random_word(4, accepted=True, rng=rng) for _ in range(4000))
    assert len(drawn) == 8
    assert min(drawn.values()) > 400
    assert all(set(word.split()) <= {"left", "right"} for word in [TURNS.random_word(5, accepted=True, rng=rng) or ""])


def test_characters_are_drawn_from_their_ranges_and_surrogates_are_avoided():
    rng = random.Random(0)
    assert {random_character([(97, 98)], rng) for _ in range(50)} == {"a", "b"}
    assert all(random_character([(0xD7FF, 0xE000)], rng) in "\ud7ff\ue000" for _ in range(20))
    assert random_character([(0xD800, 0xD801)], rng) == "\ud800"
    assert random_character([(0, 200)], None) == " "
