"""The least automaton, against Moore's definition of equivalence."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from unmask.problems.automata.automaton import Automaton


def classes_by_moore(automaton: Automaton) -> int:
    """The number of classes of reachable states, by refining until nothing changes."""
    reachable = {automaton.start}
    while True:
        more = reachable | {int(t) for s in reachable for t in automaton.delta[s]}
        if more == reachable:
            break
        reachable = more
    label = {s: (bool(automaton.accepting[s]),) for s in reachable}
    while True:
        finer = {s: (label[s], *(label[int(t)] for t in automaton.delta[s])) for s in reachable}
        numbers = {value: (k,) for k, value in enumerate(sorted(set(finer.values()), key=repr))}
        if len(numbers) == len(set(label.values())):
            return len(numbers)
        label = {s: numbers[finer[s]] for s in reachable}


@st.composite
def automata(draw: st.DrawFn) -> Automaton:
    states, tokens = draw(st.integers(1, 9)), draw(st.integers(1, 3))
    delta = draw(st.lists(st.integers(0, states - 1), min_size=states * tokens, max_size=states * tokens))
    accepting = draw(st.lists(st.booleans(), min_size=states, max_size=states))
    table = np.array(delta, dtype=np.int32).reshape(states, tokens)
    return Automaton(tuple("abc"[:tokens]), table, draw(st.integers(0, states - 1)), np.array(accepting))


@given(automata(), st.lists(st.text("abc", max_size=8), max_size=20))
def test_minimal_is_least_canonical_and_equivalent(automaton: Automaton, words: list[str]):
    minimal = automaton.minimal()
    assert minimal.states == classes_by_moore(automaton)
    for word in (word for word in words if set(word) <= set(automaton.tokens)):
        assert minimal.accepts(word) == automaton.accepts(word)
    again = minimal.minimal()
    assert again.start == 0 == minimal.start
    assert np.array_equal(again.delta, minimal.delta)
    assert np.array_equal(again.accepting, minimal.accepting)


@given(automata(), st.randoms())
def test_the_numbering_of_the_states_does_not_matter(automaton: Automaton, rng):
    order = list(range(automaton.states))
    rng.shuffle(order)
    number = np.argsort(order)
    shuffled = Automaton(
        automaton.tokens,
        number[automaton.delta[order]],
        int(number[automaton.start]),
        automaton.accepting[order],
    )
    assert np.array_equal(shuffled.minimal().delta, automaton.minimal().delta)
    assert np.array_equal(shuffled.minimal().accepting, automaton.minimal().accepting)


def test_a_chain_is_minimised_quickly():
    n = 20_000
    delta = np.minimum(np.arange(n) + 1, n - 1).reshape(n, 1)
    assert Automaton(("a",), delta, 0, np.arange(n) == n - 2).minimal().states == n
