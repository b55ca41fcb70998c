"""The order among copies of a repeated body: a better state reaches the end with every word of a worse one."""

import pytest

from problems.agreement import all_words
from unmask.problems.regexes.determinisation import deterministic
from unmask.problems.regexes.nfa import Nfa, nfa_of
from unmask.problems.regexes.parser import parse_regex

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
    """The short words that lead on from a reading state, with what it reads itself."""
    nfa = nfa_of(parse_regex(pattern))
    nfa.start = state
    automaton = deterministic(nfa, most_states=1000)
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
