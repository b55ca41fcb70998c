"""The order among copies of a repeated body: a better state reaches the end with every word of a worse one."""

import pytest

from problems.agreement import all_words
from unmask.problems.regexes.determinisation import deterministic_automaton
from unmask.problems.regexes.nfa import EMPTY, Chars, Nfa, Repeat, nfa_of, repetition, state_count
from unmask.problems.regexes.regex_parser import parse_regex

# Trees of patterns: simplifications, and the number of states before the automaton is built.


A = Chars(((97, 97),))


def test_loops_are_simplified():
    assert repetition(A, 0, 0) == EMPTY
    assert repetition(A, 1, 1) == A
    assert repetition(EMPTY, 3, None) == EMPTY
    assert repetition(Repeat(A, 0, None), 2, 5) == Repeat(A, 0, None)
    assert repetition(Repeat(A, 0, 1), 2, 5) == Repeat(A, 0, 5)
    assert repetition(Repeat(A, 0, 1), 2, None) == Repeat(A, 0, None)
    assert repetition(Repeat(A, 1, 2), 2, 5) == Repeat(Repeat(A, 1, 2), 2, 5)


@pytest.mark.parametrize(
    "pattern",
    [
        "",
        "a",
        "ab|c",
        "a*",
        "a+",
        "a{3}",
        "a{3,}",
        "a{2,5}",
        "a{,4}",
        "(ab?){1,3}c",
        "((a|b){2,}c){0,2}",
        "^a$",
        "(?>a*)b++",
    ],
)
def test_the_size_is_that_of_the_automaton(pattern: str):
    tree = parse_regex(pattern)
    assert state_count(tree) == nfa_of(tree).states - 1  # the end state is not part of the pattern


PATTERNS = [
    "a{0,3}b",
    "a{2,}",
    "(ab?){1,3}a",
    "(a{0,2}b){0,2}",
    "((a|bb){2,}a?){1,2}",
    r"(\ba\b.){1,3}",
    "(a$\n?){0,3}",
]


def accepted_from(pattern: str, state: int) -> set[str]:
    """Return the short words that lead from a reading state to the end, including its own character."""
    nfa = nfa_of(parse_regex(pattern))
    nfa.start = state
    automaton = deterministic_automaton(nfa, most_states=1000)
    return {word for word in all_words("ab\n", 6) if automaton.accepts(word)}


@pytest.mark.parametrize("pattern", PATTERNS)
def test_better_states_accept_more(pattern: str):
    nfa = nfa_of(parse_regex(pattern))
    assert nfa.better
    for worse, mask in nfa.better.items():
        for better in (state for state in range(nfa.states) if mask >> state & 1):
            assert nfa.reads[worse][0] == nfa.reads[better][0]
            assert accepted_from(pattern, worse) <= accepted_from(pattern, better)


def test_blocks_line_up():
    nfa: Nfa = nfa_of(parse_regex("(?:ab?c){2,5}"))
    assert all(worse in nfa.reads for worse in nfa.better)
    assert len(nfa.better) == 9  # three reading states in each of three optional copies, the required one is best
