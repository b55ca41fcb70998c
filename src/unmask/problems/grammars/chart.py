"""BinaryGrammar → System: which nonterminals derive the letters i … j (Cocke, Younger and Kasami).

    cell[i, i] = {A : A → letter i}
    cell[i, j] = {A : A → B C, B in cell[i, k], C in cell[k + 1, j], i <= k < j}

With few nonterminals a slot holds the set. With many there is a truth value for each of them, in groups of their own:
the vocabulary would have to name all sets.
"""

from collections.abc import Iterator
from functools import reduce
from itertools import count
from operator import or_

from unmask.problems.grammars.binary import BinaryGrammar
from unmask.recurrences import BOOLEAN, N, Slots, System, collect, each, indices, letter, some, subsets

MOST_IN_SETS = 10
i, j, k = indices("i j k")


def chart(grammar: BinaryGrammar, *, sets: bool | None = None) -> System:
    """The system that recognises the grammar's words; `sets` chooses how a factor's nonterminals are held."""
    if sets is None:
        sets = len(grammar.nonterminals) <= MOST_IN_SETS
    groups, whole = _in_sets(grammar) if sets else _one_by_one(grammar)
    taken = {group.name for group in groups}
    accepted = Slots(next(name for name in _others("accepted") if name not in taken), (), BOOLEAN)
    accepted.rule((), lambda: grammar.empty, where=N.equals(0))
    accepted.rule(whole[0, N - 1], (lambda derived: grammar.start in derived) if sets else (lambda derived: derived))
    return System(tuple(grammar.letters), (*groups, accepted), answer=accepted[()])


def _others(name: str) -> Iterator[str]:
    """The name, then others for one that a nonterminal has."""
    return (name + "'" * primes for primes in count())


def _in_sets(grammar: BinaryGrammar) -> tuple[list[Slots], Slots]:
    cell = Slots("cell", (i.range(N), j.range(i, N)), subsets(grammar.nonterminals))
    cell.rule(letter(i), grammar.letters.__getitem__, where=i.equals(j))
    halves = each(cell[i, k]), each(cell[k + 1, j])
    cell.rule(collect(k.range(i, j), halves, lambda left, right: grammar.pairs.get((left, right), ())), frozenset)
    return [cell], cell


def _one_by_one(grammar: BinaryGrammar) -> tuple[list[Slots], Slots]:
    groups = {name: Slots(name, (i.range(N), j.range(i, N)), BOOLEAN) for name in grammar.nonterminals}
    for name, group in groups.items():
        group.rule(letter(i), lambda x, a=name: a in grammar.letters[x], where=i.equals(j))
        splits = [
            some(k.range(i, j), (groups[left][i, k], groups[right][k + 1, j]), lambda first, second: first and second)
            for (left, right), derived in grammar.pairs.items()
            if name in derived
        ]
        group.rule(splits, lambda *found: reduce(or_, found, False))
    return list(groups.values()), groups[grammar.start]
