"""An automaton with one arrow bent, for every arrow: what a prover must refute exactly where some word differs."""

from itertools import product

import numpy as np

from unmask.problems.automata.automaton import Automaton


def bent_automata(right):
    """Every automaton in which one transition goes to the next state instead."""
    for state, token in product(range(right.states), range(len(right.tokens))):
        delta = right.delta.copy()
        delta[state, token] = (delta[state, token] + 1) % right.states
        yield Automaton(right.tokens, delta, right.start, right.accepting, right.characters)


def refuted_where_wrong(prove, right, letters, words, accepted):
    """Whether some word differs, for each bent automaton; `prove` must find one of them exactly then."""
    outcomes = set()
    for bent in bent_automata(right):
        states = np.full(len(words), bent.start)
        for place in range(words.shape[1]):
            states = bent.delta[states, letters.tokens[words[:, place]]]
        differs = bent.accepting[states] != accepted
        found = prove(bent)
        assert (found.counterexample is not None) == bool(differs.any())
        if found.counterexample is not None:
            assert differs[words.tolist().index(found.counterexample)]
        outcomes.add(bool(differs.any()))
    return outcomes
