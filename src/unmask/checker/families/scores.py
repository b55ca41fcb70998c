"""A head of a family → which code it asks for, and of whom: for any number of bits.

    score(query, key)  =  SUM over the bits, each bit's columns in order                a fold over F_p, from 0
    equal codes        →  exactly 0,     other codes  →  exp(score) = 0                 its states are listed and closed

So where one row has the code that is asked for, Z = exp(0), its weight is 1, that of all others 0.
"""

from dataclasses import dataclass
from itertools import product

import numpy as np

from unmask.checker.certificate import need
from unmask.checker.families import form
from unmask.checker.families.instance import is_code
from unmask.numerics.arithmetic import add, divide, multiply
from unmask.numerics.exponential import exp
from unmask.numerics.precision import Precision

State = tuple[int, bool]


@dataclass(frozen=True)
class Read:
    """Row n reads the row whose `key` is `address` of n; both have room."""

    address: form.Formula
    key: form.Formula
    room: form.Formula


def copies(precision: Precision) -> None:
    """A single match has the weight 1, everything else 0, and these copy every number and nothing."""
    one, numbers = precision.one, np.array(precision.numbers())
    match = int(exp(np.zeros(1, dtype=np.int64), precision)[0])
    need(match > 0 and int(divide(match, match, precision)) == one, "the weight of a single match is not 1")
    need(not int(divide(0, match, precision)), "what does not match has a weight")
    copied = np.array_equal(multiply(one, numbers, precision), numbers) and not multiply(0, numbers, precision).any()
    need(copied, "a weight of 1 does not copy every number")


def read_of(
    head: form.Head, columns: list[form.Formula], ones: set[int], precision: Precision, listed: list[State]
) -> Read:
    """What a head compares; `ones` are the columns that are 1 in every row. Its states must be those listed."""
    sides = [{row for row, *_ in entries} - ones for entries in (head.query, head.key)]
    need(all(is_code(columns[row]) for side in sides for row in side), "a head reads what is neither a code nor 1")
    (asked, named) = sides
    need(len(named) == 1 and len(asked) <= 1, "a head compares other than two codes")
    key = columns[min(named)]
    need(all(columns[row][2] == key[2] for row in asked), "a head compares codes with different rooms")
    need({*_closure(head, ones, precision)} == {*listed}, "the scores that are listed are not those of a head")
    need(listed == sorted({*listed}), "the scores of a head are not in order")
    for score, differs in listed:
        weight = int(exp(np.array([score]), precision)[0])
        need(weight == 0 if differs else score == 0, f"codes that {'differ' if differs else 'are equal'} score {score}")
    return Read(columns[min(asked)][1] if asked else 0, key[1], key[2])


def _closure(head: form.Head, ones: set[int], precision: Precision) -> set[State]:
    """All (score, do the codes differ) after any number of bits; without a code in the query, the number 0 is asked."""
    asks = any(row not in ones for row, *_ in head.query)

    def side(entries: list[form.Entry], column: int, bit: int) -> int:
        total = 0
        for row, its, weight in entries:  # by row, hence in the order of the sum
            if its == column:
                term = multiply(precision.one * (1 if row in ones else bit), weight, precision)
                total = int(add(total, int(term), precision))
        return total

    bits = [*product((-1, 1) if asks else (-1,), (-1, 1))]
    terms = {
        (a, b): [int(multiply(side(head.query, c, a), side(head.key, c, b), precision)) for c in range(head.size)]
        for a, b in bits
    }
    found, waiting = {(0, False)}, [(0, False)]
    while waiting:
        score, differs = waiting.pop()
        for a, b in bits:
            after = score
            for term in terms[a, b]:
                after = int(add(after, term, precision))
            state = after, differs or a != b
            if state not in found:
                found.add(state)
                waiting.append(state)
    return found
