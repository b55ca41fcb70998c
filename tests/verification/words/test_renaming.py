"""Patterns: equal for quantities that differ only in the names of variables, and for no others."""

import numpy as np

from unmask.verification.words.network import CERTAIN, Network, UnnamedCases, pattern_of


def letters_and_tables():
    """Four letters, and for each pair of neighbours a table of the two."""
    network = Network()
    letters = [network.letter(2) for _ in range(4)]
    both = []
    for left, right in ((0, 1), (2, 3)):
        basis, (a, b) = network.join([letters[left], letters[right]])
        both.append(network.cases(basis, a & b)[0])
    return network, letters, both


def test_other_names_are_the_same_pattern():
    network, letters, both = letters_and_tables()
    (first_variables, first_pattern), (second_variables, second_pattern) = (
        pattern_of(network, [both[i], letters[2 * i]]) for i in (0, 1)
    )
    assert first_pattern == second_pattern
    assert (first_variables, second_variables) == ((0, 1), (2, 3))


def test_patterns_distinguish_the_order_of_variables_and_the_tables():
    network, letters, both = letters_and_tables()
    of_own = pattern_of(network, [both[0], letters[0]])
    assert pattern_of(network, [both[0], letters[1]])[1] != of_own[1]
    assert pattern_of(network, [both[0], letters[3]])[1] != of_own[1]
    basis, (a, b) = network.join(letters[:2])
    assert pattern_of(network, [network.cases(basis, a | b)[0], letters[0]])[1] != of_own[1]
    assert pattern_of(network, [CERTAIN])[1] != pattern_of(network, [CERTAIN, CERTAIN])[1]


def test_a_variable_that_follows_from_others_makes_no_pattern():
    """The tables alone would call the letter and the table of it independent."""
    network, letters, both = letters_and_tables()
    cut = network.cut(both[0])
    assert pattern_of(network, [cut, letters[0], letters[1]]) is None
    assert pattern_of(network, [cut, letters[2], letters[3]]) is not None


def test_results_are_kept_over_the_same_variables_only():
    network, _, both = letters_and_tables()
    unnamed = UnnamedCases.of(both[0], (0, 1), (np.arange(2),))
    assert unnamed.over((2, 3)).same(both[1])
    assert UnnamedCases.of(network.cut(both[0]), (0, 1), ()) is None
    assert UnnamedCases.of(CERTAIN, (), ()).over(()).constant
