"""Group → the automaton of its word problem: does the product of these elements equal the identity?"""

import numpy as np

from unmask.problems.automata.automaton import Automaton
from unmask.problems.automata.permutation_group import PermutationGroup, permutation_group

__all__ = ["PermutationGroup", "group_automaton", "permutation_group", "word_problem"]


def group_automaton(spec: str) -> Automaton:
    """The word problem of `A5`, `S5`, `Z12`, `D4`, `gens:(1 2 3)(4 5),(1 2)` (see permutation_group)."""
    return word_problem(permutation_group(spec))


def word_problem(group: PermutationGroup) -> Automaton:
    """One state for each element: state · symbol, from the identity to the identity."""
    tokens = tuple(group.names[i] for i in group.symbols)
    return Automaton(tokens, group.table, 0, np.arange(group.order) == 0)
