"""An automaton with one wrong transition, for every transition: a prover must refute it iff a word differs."""

from itertools import product

import numpy as np

from unmask.problems.automata.automaton import Automaton


def wrong_automata(correct):
    """Every automaton in which one transition goes to the next state instead."""
    for state, token in product(range(correct.states), range(len(correct.tokens))):
        delta = correct.delta.copy()
        delta[state, token] = (delta[state, token] + 1) % correct.states
        yield Automaton(correct.tokens, delta, correct.start, correct.accepting, correct.characters)


def refuted_where_wrong(prove, correct, letters, words, accepted):
    """Whether some word differs, for each wrong automaton; `prove` must find one of them exactly then."""
    outcomes = set()
    for wrong in wrong_automata(correct):
        states = np.full(len(words), wrong.start)
        for index in range(words.shape[1]):
            states = wrong.delta[states, letters.tokens[words[:, index]]]
        differs = wrong.accepting[states] != accepted
        result = prove(wrong)
        assert (result.counterexample is not None) == bool(differs.any())
        if result.counterexample is not None:
            assert differs[words.tolist().index(result.counterexample)]
        outcomes.add(bool(differs.any()))
    return outcomes
