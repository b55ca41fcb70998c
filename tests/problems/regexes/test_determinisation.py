"""Subsets without their worse states accept the same words, and there are far fewer of them."""

import numpy as np
import pytest

from unmask.errors import TooLarge
from unmask.problems.regexes.determinisation import deterministic_automaton
from unmask.problems.regexes.nfa import nfa_of
from unmask.problems.regexes.regex_parser import parse_regex


@pytest.mark.parametrize(
    "pattern",
    [
        ".{0,5}a.{0,4}b",
        ".*a.{2,}",
        "(a{1,3}b?){2,4}",
        "((a|b{0,2}){2,3}a){0,3}",
        r"(\b\w{1,3}\b ?){1,3}",
        "(?m)(^a{0,2}$\n?){1,4}",
    ],
)
def test_leaving_out_worse_states_changes_nothing(pattern: str):
    nfa, whole = nfa_of(parse_regex(pattern)), nfa_of(parse_regex(pattern))
    assert nfa.better
    whole.better.clear()
    smaller, larger = deterministic_automaton(nfa, most_states=5000), deterministic_automaton(whole, most_states=5000)
    assert smaller.states <= larger.states
    pruned, unpruned = smaller.minimal(), larger.minimal()
    assert np.array_equal(pruned.delta, unpruned.delta)
    assert np.array_equal(pruned.accepting, unpruned.accepting)
    assert pruned.characters == unpruned.characters


def test_counted_repetitions_do_not_explode():
    pattern = ".*foo.{0,300}"
    assert deterministic_automaton(nfa_of(parse_regex(pattern)), most_states=5000).states < 1500
    whole = nfa_of(parse_regex(pattern))
    whole.better.clear()
    with pytest.raises(TooLarge):
        deterministic_automaton(whole, most_states=5000)
