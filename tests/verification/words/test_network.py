"""Networks of finite variables: joins, cases and cuts against plain evaluation on every word."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unmask.verification.words.network import CERTAIN, Cases, Network, TooManyCases


@st.composite
def networks(draw):
    """(network, quantities): up to 4 letters, then tables of any earlier variables, some of them cut."""
    network = Network()
    quantities_so_far = [network.letter(draw(st.integers(1, 3))) for _ in range(draw(st.integers(0, 4)))]
    for _ in range(draw(st.integers(0, 6))):
        parts = draw(st.lists(st.sampled_from(quantities_so_far or [CERTAIN]), min_size=0, max_size=3))
        basis, chosen = network.join(parts)
        seed, count = draw(st.integers(0, 10**6)), draw(st.integers(1, 3))
        combined = sum((which * 7**k for k, which in enumerate(chosen)), np.zeros(1, dtype=np.int64))
        labels = np.random.default_rng(seed).integers(0, count, 7**4)[combined]
        total = np.prod([network.variables[v].size for v in basis], dtype=int)
        cases, _ = network.cases(basis, np.broadcast_to(labels, (total,)))
        quantities_so_far.append(network.cut(cases) if draw(st.booleans()) else cases)
        branches = draw(st.lists(st.sampled_from(quantities_so_far), min_size=cases.count, max_size=cases.count))
        if not cases.constant and draw(st.booleans()):
            quantities_so_far.append(network.switch(cases, branches, max(branch.count for branch in branches)))
    return network, quantities_so_far


def every_word(network):
    sizes = [range(network.variables[v].size) for v in network.letters]
    words = list(product(*sizes))
    return np.array(words, dtype=np.int64).reshape(len(words), len(sizes))


def values(network, words):
    """Every variable on every word, by its table."""
    variable_values = {}
    for v, variable in enumerate(network.variables):
        if variable.letter is not None:
            variable_values[v] = words[:, variable.letter]
        elif variable.branches:
            selector = variable_values[variable.parents[0]].tolist()
            branches = [case_of(branch, variable_values, len(words)) for branch in variable.branches]
            variable_values[v] = np.array([branches[chosen][i] for i, chosen in enumerate(selector)], dtype=np.int64)
        else:
            rows = zip(*(variable_values[u].tolist() for u in variable.parents), strict=True)
            variable_values[v] = np.array([variable.table[row] for row in rows])
    return variable_values


def case_of(cases, variable_values, count):
    """Return the case of a quantity on each word."""
    if cases.constant:
        return [int(cases.index)] * count
    return [int(cases.index[row]) for row in zip(*(variable_values[v].tolist() for v in cases.variables), strict=True)]


@settings(max_examples=60, deadline=None)
@given(networks())
def test_evaluate(example):
    network, quantities = example
    words = every_word(network)
    variable_values = values(network, words)
    variables = sorted({v for cases in quantities for v in cases.variables})
    evaluated = network.evaluate(words, variables)
    assert all(np.array_equal(evaluated[v], variable_values[v]) for v in variables)
    for v, variable in enumerate(network.variables):
        letters = {index for index in range(len(network.letters)) if variable.support >> index & 1}
        below = {network.variables[u].letter for u in network.below([v])} - {None}
        assert letters == below


@settings(max_examples=60, deadline=None)
@given(networks(), st.data())
def test_a_join_names_the_right_cases(example, data):
    """On every word, the assignment that the basis has there names the case of every part."""
    network, quantities = example
    parts = data.draw(st.lists(st.sampled_from(quantities or [CERTAIN]), max_size=4))
    basis, chosen = network.join(parts)
    assert list(basis) == sorted(set(basis))
    words = every_word(network)
    variable_values = values(network, words)
    sizes = [network.variables[v].size for v in basis]
    index = np.zeros(len(words), dtype=np.int64)
    for v, size in zip(basis, sizes, strict=True):
        index = index * size + variable_values[v]
    for quantity, case in zip(parts, chosen, strict=True):
        assert case.shape == (np.prod(sizes, dtype=int),)
        assert case[index].tolist() == case_of(quantity, variable_values, len(words))


@settings(max_examples=60, deadline=None)
@given(networks(), st.data())
def test_cases_keep_labels_and_drop_what_changes_nothing(example, data):
    network, quantities = example
    parts = data.draw(st.lists(st.sampled_from(quantities or [CERTAIN]), max_size=2))
    basis, _ = network.join(parts)
    sizes = [network.variables[v].size for v in basis]
    labels = np.array(
        data.draw(st.lists(st.integers(0, 2), min_size=int(np.prod(sizes)), max_size=int(np.prod(sizes))))
    )
    cases, order = network.cases(basis, labels)
    assert set(cases.variables) <= set(basis)
    assert sorted(set(cases.index.ravel().tolist())) == list(range(cases.count))
    assert len(set(order.tolist())) == cases.count
    axes = [basis.index(v) for v in cases.variables]
    for assignment, label in zip(product(*map(range, sizes)), labels.tolist(), strict=True):
        assert order[cases.index[tuple(assignment[axis] for axis in axes)]] == label
    for axis in range(len(cases.variables)):
        first = cases.index.take([0], axis)
        assert not (cases.index == first).all()


@settings(max_examples=40, deadline=None)
@given(networks())
def test_cuts_are_the_same_cases_and_are_made_once(example):
    network, quantities = example
    cuts = [network.cut(cases) for cases in quantities]
    words = every_word(network)
    variable_values = values(network, words)
    size = len(network.variables)
    for cases, cut in zip(quantities, cuts, strict=True):
        assert len(cut.variables) <= 1
        assert case_of(cases, variable_values, len(words)) == case_of(cut, variable_values, len(words))
        assert network.cut(Cases(cases.variables, cases.index.copy(), cases.count)).same(cut)
    assert len(network.variables) == size


def chain(length):
    """x_0, then v_i = v_{i-1} xor x_i."""
    network = Network()
    letters = [network.letter(2) for _ in range(length)]
    state = letters[0]
    for letter in letters[1:]:
        basis, (first, second) = network.join([state, letter])
        state = network.cut(network.cases(basis, first ^ second)[0])
    return network, letters, state


def test_too_many_assignments_are_refused_before_they_are_listed():
    network, letters, _ = chain(40)
    with pytest.raises(TooManyCases, match=f"{2**40} assignments of 40 variables"):
        network.join(letters)
    with pytest.raises(TooManyCases):
        network.join(letters[:3], most=7)


def test_what_follows_from_the_rest_is_not_a_choice():
    network, letters, state = chain(3)
    basis, (whole, *_) = network.join([state, *letters])
    assert basis == tuple(network.letters)
    assert whole.tolist() == [(a + b + c) % 2 for a, b, c in product(range(2), repeat=3)]


def test_a_chain_that_is_longer_than_python_recurses():
    """A variable far above a basis of letters."""
    network = Network()
    letters = [network.letter(3) for _ in range(5)]
    state = letters[0]
    for step in range(3000):
        basis, (first, second) = network.join([state, letters[step % 5]])
        table = np.random.default_rng(step).permutation(9)
        state = network.cut(network.cases(basis, table[3 * first + second] % 3)[0])
    words = every_word(network)[:9]
    evaluated = network.evaluate(words, state.variables)[state.variables[0]]
    basis, (above, *_) = network.join([state, *letters], most=10**5)
    assert above.shape == (int(np.prod([network.variables[v].size for v in basis])),)
    assert evaluated.shape == (9,)
