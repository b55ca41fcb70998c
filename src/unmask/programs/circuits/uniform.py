"""Families of circuits as recurrences in N: one system for all lengths but the shortest, whose positions are formulas.

| family       | system                                                                  | steps    | slots          |
|--------------|-------------------------------------------------------------------------|----------|----------------|
| parity       | entry 2j ≠ entry 2j + 1 of a queue: the letters, then the slots         | ⌈log2 N⌉ | N - 1          |
| formula      | node j joins 2j and 2j + 1 of a heap, whose leaves are letters, or none | ⌈log2 N⌉ | 2^⌈log2 N⌉ - 1 |
| contains-aba | ∃ i < N - 2: the letters i, i + 1, i + 2 are a, b, a                    | 1        | N - 1          |
| equal-halves | ∀ i < N/2: the letters i and i + N/2 are equal, and N is even           | 1        | N/2 + 1, or 2  |

A gate of parity and formula reads two bits, so that a slot can hold it without a row for each wire; their circuits,
with a slot per wire, take more steps (XOR is two levels of gates) and about three slots for each. In the other two a
row looks at all letters of a window or a pair, where a circuit has a gate with a slot for each of its wires.
"""

from collections.abc import Callable
from typing import Any

from unmask.recurrences.expressions import Expression, N, choose, indices, log2_above, power_of_two_below
from unmask.recurrences.slots import BOOLEAN, Read, Slots, every, letter, number, pick, some
from unmask.recurrences.system import System

Letters = tuple[str, str]
i, j = indices("i j")


def uniform_system(family: str, letters: Letters) -> System | None:
    """The system of a family, where it has one."""
    return UNIFORM[family][1](letters) if family in UNIFORM else None


def least_length(family: str) -> int:
    return UNIFORM[family][0]


def _parity(letters: Letters) -> System:
    """For the tree to keep the order of the word, its last letters stand first where N is no power of two."""
    odd = Slots("odd", j.range(N - 1), BOOLEAN)
    early = 2 * (N - power_of_two_below(N))

    def entry(e: Expression) -> Read:
        return pick(e < N, letter((e - early + N) % N).map(lambda x: x == letters[1]), odd[e - N])

    odd.rule((entry(2 * j), entry(2 * j + 1)), lambda a, b: a != b)
    return System(letters, odd, answer=odd[N - 2], name="parity")


def _formula(letters: Letters) -> System:
    """NAND in every level, of bits that are negated in odd ones: AND there, OR elsewhere. None: the word has ended."""
    leaves = choose(power_of_two_below(N) < N, 2 * power_of_two_below(N), power_of_two_below(N))
    node = Slots("node", j.range(2, leaves), (False, True, None))
    root = Slots("root", (), BOOLEAN)

    def entry(e: Expression) -> Read:
        leaf = letter(e - leaves).or_else(None).map(lambda x: None if x is None else x == letters[1])
        return pick(e < leaves, node[e], leaf)

    def joined(a: Any, b: Any) -> Any:
        return None if a is None else not (a and (b is None or b))

    node.rule((entry(2 * j), entry(2 * j + 1)), joined)
    odd = number(log2_above(N) % 2)
    root.rule((node[2], node[3], odd), lambda a, b, odd: bool(joined(a, b)) != bool(odd))
    return System(letters, (node, root), answer=root[()], name="formula")


def _contains_aba(letters: Letters) -> System:
    a, b = letters
    found = Slots("found", (), BOOLEAN)
    window = (letter(i), letter(i + 1), letter(i + 2))
    found.rule(some(i.range(N - 2), window, lambda *held: held == (a, b, a)), bool)
    return System(letters, found, answer=found[()], name="contains-aba")


def _equal_halves(letters: Letters) -> System:
    """Of an odd word one pair is looked at, and does not count."""
    equal = Slots("equal", (), BOOLEAN)
    half = choose((N % 2).equals(0), N // 2, 1)
    same = every(i.range(half), (letter(i), letter(i + half)), lambda left, right: left == right)
    equal.rule((same, number(N % 2)), lambda same, odd: same and not odd)
    return System(letters, equal, answer=equal[()], name="equal-halves")


UNIFORM: dict[str, tuple[int, Callable[[Letters], System]]] = {
    "parity": (2, _parity),
    "formula": (3, _formula),
    "contains-aba": (3, _contains_aba),
    "equal-halves": (2, _equal_halves),
}
"""Family → the least length of its system, and the system."""
