"""An automaton with one arrow wrong, for every arrow: what a prover must refute exactly where some word differs."""

from itertools import product

import numpy as np

from unmask.problems.automata.automaton import Automaton


def wrong_automata(right):
    """Every automaton in which one transition goes to the next state instead."""
    for state, token in product(range(right.states), range(len(right.tokens))):
        delta = right.delta.copy()
        delta[state, token] = (delta[state, token] + 1) % right.states
        yield Automaton(right.tokens, delta, right.start, right.accepting, right.characters)


def refuted_where_wrong(prove, right, letters, words, accepted):
    """Whether some word differs, for each wrong automaton; `prove` must find one of them exactly then."""
    outcomes = set()
    for wrong in wrong_automata(right):
        states = np.full(len(words), wrong.start)
        for place in range(words.shape[1]):
            states = wrong.delta[states, letters.tokens[words[:, place]]]
        differs = wrong.accepting[states] != accepted
        found = prove(wrong)
        assert (found.counterexample is not None) == bool(differs.any())
        if found.counterexample is not None:
            assert differs[words.tolist().index(found.counterexample)]
        outcomes.add(bool(differs.any()))
    return outcomes
