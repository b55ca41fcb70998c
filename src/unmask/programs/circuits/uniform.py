"""Families of circuits as recurrences in N: one system for all lengths but the shortest, whose positions are formulas.

| family  | system                                                                  | steps    | slots            |
|---------|-------------------------------------------------------------------------|----------|------------------|
| parity  | entry 2j ≠ entry 2j + 1 of a queue: the letters, then the slots         | ⌈log2 N⌉ | N - 1            |
| formula | node j joins 2j and 2j + 1 of a heap, whose leaves are letters, or none | ⌈log2 N⌉ | 2^⌈log2 N⌉ - 1   |

A gate of these families reads two bits, so that a slot can hold it without a row for each wire; their circuits, with a
slot per wire, take more steps (XOR is two levels of gates) and about three slots for each.
"""

from collections.abc import Callable
from typing import Any

from unmask.recurrences.expressions import Expression, N, choose, indices, log2_above, power_of_two_below
from unmask.recurrences.slots import BOOLEAN, Read, Slots, letter, number, pick
from unmask.recurrences.system import System

Letters = tuple[str, str]
(j,) = indices("j")


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


UNIFORM: dict[str, tuple[int, Callable[[Letters], System]]] = {"parity": (2, _parity), "formula": (3, _formula)}
"""Family → the least length of its system, and the system."""
