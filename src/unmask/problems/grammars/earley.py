"""Grammar × word → is it derived? By Earley's items, from the rules as they were written: the oracle.

    (A → α • β, i) in set j    α derives the letters i … j - 1, in a place where A may stand

A nonterminal that derives ε is also stepped over when it is expected, so that one pass over a set is enough.
"""

from collections.abc import Sequence

from unmask.problems.grammars.notation import Alternative, Grammar

_Item = tuple[str, Alternative, int, int]
"""(left side, right side, how much of it is done, where it began)."""


def derives(grammar: Grammar, word: Sequence[str]) -> bool:
    """Is the word in the language?"""
    empty = derive_empty(grammar)
    sets: list[dict[_Item, None]] = [{} for _ in range(len(word) + 1)]
    sets[0].update({(grammar.start, rhs, 0, 0): None for rhs in grammar.rules[grammar.start]})
    for j, items in enumerate(sets):
        waiting = list(items)
        while waiting:
            for item in _next(grammar, sets, j, waiting.pop(), empty):
                if item not in items:
                    items[item] = None
                    waiting.append(item)
        if j < len(word):
            for name, rhs, done, first in items:
                if done < len(rhs) and rhs[done] == word[j]:
                    sets[j + 1][name, rhs, done + 1, first] = None
    return any((grammar.start, rhs, len(rhs), 0) in sets[-1] for rhs in grammar.rules[grammar.start])


def _next(grammar: Grammar, sets: list[dict[_Item, None]], j: int, item: _Item, empty: set[str]) -> list[_Item]:
    """What an item of set j adds to it."""
    name, rhs, done, first = item
    if done == len(rhs):
        return [
            (above, symbols, place + 1, begin)
            for above, symbols, place, begin in list(sets[first])
            if place < len(symbols) and symbols[place] == name
        ]
    expected = rhs[done]
    if expected not in grammar.rules:
        return []
    items: list[_Item] = [(expected, symbols, 0, j) for symbols in grammar.rules[expected]]
    return [*items, (name, rhs, done + 1, first)] if expected in empty else items


def derive_empty(grammar: Grammar) -> set[str]:
    """The nonterminals that derive ε."""
    empty: set[str] = set()
    changed = True
    while changed:
        changed = False
        for name, alternatives in grammar.rules.items():
            if name not in empty and any(all(symbol in empty for symbol in rhs) for rhs in alternatives):
                empty.add(name)
                changed = True
    return empty
