"""A regular problem as the product of its letters: elements, their symbols, and a coding."""

from dataclasses import dataclass

import numpy as np

from unmask.errors import TooLarge
from unmask.problems.automata.automaton import Automaton
from unmask.problems.automata.monoid import Monoid, transition_monoid
from unmask.problems.automata.permutation_group import PermutationGroup
from unmask.programs.regular.products.coding import Coding, group_coding, monoid_coding

MOST_ELEMENTS = 1024
LONGEST_NAME = 12


@dataclass(frozen=True, eq=False)
class Products:
    """Token t is the element letters[t]; the element e is written with the symbol symbol_of[e]."""

    coding: Coding
    letters: np.ndarray
    symbols: tuple[str, ...]
    symbol_of: np.ndarray

    @property
    def element_names(self) -> tuple[str, ...]:
        return tuple(self.symbols[s] for s in self.symbol_of)


def elements_of(automaton: Automaton, group: PermutationGroup | None = None) -> PermutationGroup | Monoid:
    """What words are multiplied in: the group of the problem where it is small, else the transition monoid."""
    if group is not None and group.order <= MOST_ELEMENTS:
        return group
    return transition_monoid(automaton, most=MOST_ELEMENTS)


def products_of(automaton: Automaton, group: PermutationGroup | None = None) -> Products:
    """The products of an automaton's words; TooLarge if there are more than a thousand."""
    monoid = elements_of(automaton, group)
    if isinstance(monoid, PermutationGroup):
        letters = np.array(monoid.symbols)
        symbols, symbol_of = _with_symbols(automaton.tokens, letters, list(monoid.names))
        return Products(group_coding(monoid, monoid.names), letters, symbols, symbol_of)
    names = [_word_name(monoid, e, automaton.tokens) for e in range(monoid.size)]
    symbols, symbol_of = _with_symbols(automaton.tokens, monoid.generators, names)
    coding = monoid_coding(monoid, automaton.accepting, names)
    return Products(coding, monoid.generators, symbols, symbol_of)


def try_products(automaton: Automaton, group: PermutationGroup | None = None) -> Products | None:
    """`products_of`, or None where the monoid is too large for one slot per node."""
    try:
        return products_of(automaton, group)
    except TooLarge:
        return None


def _word_name(monoid: Monoid, element: int, tokens: tuple[str, ...]) -> str:
    word = "".join(tokens[t] for t in monoid.word(element)) or "ε"
    return word if len(word) <= LONGEST_NAME else f"f{element}"


def _with_symbols(tokens: tuple[str, ...], letters: np.ndarray, names: list[str]) -> tuple[tuple[str, ...], np.ndarray]:
    """Symbols are the tokens, then the elements that are no token's; a name that is taken gets a number."""
    symbols = list(tokens)
    taken = set(tokens)
    symbol_of = np.full(len(names), -1)
    for token in reversed(range(len(tokens))):
        symbol_of[letters[token]] = token
    for element, name in enumerate(names):
        if symbol_of[element] >= 0:
            continue
        while name in taken:
            name = f"{name}#{element}"
        taken.add(name)
        symbol_of[element] = len(symbols)
        symbols.append(name)
    return tuple(symbols), symbol_of
