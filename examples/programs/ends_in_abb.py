"""The words that end in abb, by a tree: ⌈log2 N⌉ steps, as for every regular language.

A slot holds the effect of a part of the word on all states. The queue lists first the letters and then the slots, and
slot j multiplies its entries 2j and 2j + 1. If N is not a power of two, the queue begins with the last letters. So the
tree keeps the order of the word.
"""

from itertools import product

from unmask.recurrences import BOOLEAN, N, Slots, System, indices, letter, pick, power_of_two_below

STEP = {"a": (1, 1, 1, 1), "b": (0, 2, 3, 0)}  # where a letter leads from each state of (a|b)*abb


def then(first, second):
    return tuple(second[state] for state in first)


maps = set(STEP.values())
while more := {then(f, g) for f, g in product(maps, repeat=2)} - maps:
    maps |= more

(j,) = indices("j")
node = Slots("node", j.range(N - 2), sorted(maps))
early = 2 * (N - power_of_two_below(N))  # this many letters, the last ones, come first in the queue


def factors(slot):
    """The entries 2·slot and 2·slot + 1 of a queue: the letters, then the nodes."""
    entries = [2 * slot, 2 * slot + 1]
    return [pick(e < N, letter((e - early + N) % N).map(STEP.get), node[e - N]) for e in entries]


node.rule(factors(j), then)
root = Slots("root", (), BOOLEAN)
root.rule(factors(N - 2), lambda f, g: then(f, g)[0] == 3)
program = System("ab", (node, root), answer=root[()])
