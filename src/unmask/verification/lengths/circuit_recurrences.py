"""Families of circuits that are compiled as recurrences in N: what the recurrence computes, for every N.

`system_proof` shows that the model computes the recurrence. Here the recurrence is compared with the definition of the
family, which does not mention a recurrence:

parity      the automaton of two states. A slot multiplies two entries of a queue, which cover adjacent letters, and the
            last slot covers the word (`letter_coverage`). So pairs (bit, map of the automaton), closed under the rule.

formula     value(first, l) of circuit_families.py: the letter for l = 0; else value(first, l - 1), joined
            with value(first + h, l - 1), h = 2^(l - 1), if first + h < N: by AND if l is odd, by OR if it is even.
            Entry e of a heap has the children 2e and 2e + 1, and the leaves L … 2L - 1, L = 2^⌈log2 N⌉. By induction
            from the leaves on, in the level of the entries Q … 2Q - 1, Q·2^l = L, the first letters of neighbours are
            2^l apart, and that of Q is letter 0. An entry holds value(first, l), negated if l is odd, or None if
            first >= N. The root is entry 1, first = 0, l = ⌈log2 N⌉.

contains-aba    the automaton of four states that looks for aba. The recurrence looks at the windows of three letters
            that begin with 0 … N - 3, which are all that a word has. By induction on the letters that are read,
            (state, last two letters, was a window found) closed under one more letter: it accepts if and only if one
            was found.

equal-halves    the definition: N = 2h, and the letters k and k + h are equal for all k < h.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np

from unmask.problems.automata.automaton import Automaton
from unmask.recurrences.interpreter import range_items, range_result, rule_result
from unmask.recurrences.slots import Slots
from unmask.verification.lengths.letter_coverage import require_entries, require_levels
from unmask.verification.lengths.obligations import ObligationFailed, Term, reachable_closure
from unmask.verification.lengths.row_tables import state_maps
from unmask.verification.lengths.system_slots import BranchRows, Operand, Search, SystemClaim, impossible


def require_family(claim: SystemClaim, family: str) -> None:
    """The recurrence of the claim computes the family."""
    if family not in MEANINGS:
        raise ObligationFailed(f"no proof for every N is implemented for {family}")
    MEANINGS[family](claim)


def _parity(claim: SystemClaim) -> None:
    arithmetic, space = claim.arithmetic, claim.space
    N = arithmetic.N
    (group,) = space.groups
    arithmetic.require("parity: there are N - 1 slots, and the last is the answer", space.rows == 2 * N - 1)
    for place in claim.places:
        numbers = [o.number for o in place.branch.operands]
        if len(numbers) != 2 or None in numbers:
            raise ObligationFailed("a slot does not read two entries")
        require_entries(arithmetic, place.name, place.slot.number, numbers, place.given)
    require_levels(arithmetic)
    arithmetic.ledger.settle(
        "parity: a slot holds what the automaton says of its letters", "closure", lambda: _close(claim, group)
    )


def _close(claim: SystemClaim, group: Slots) -> str:
    """Pairs (letter or value, map of the automaton), closed under the rule of every branch."""
    letters = claim.system.letters
    maps = state_maps(Automaton(letters, np.array([[0, 1], [1, 0]]), 0, np.array([False, True])))
    of_letters = maps.generators.tolist()
    start = list(zip(letters, of_letters, strict=True))
    pairs: dict[tuple[Any, int], None] = {}
    while True:
        made = dict(pairs)
        for place in claim.places:
            pools = [start if o.group is None else list(pairs) for o in place.branch.operands]
            for (a, f), (b, g) in product(*pools):
                given = tuple(o.mapping(x) for o, x in zip(place.branch.operands, (a, b), strict=True))
                value = rule_result(group, place.branch.case, given, group.name)
                made[value, int(maps.product_table[f, g])] = None
        if len(made) == len(pairs):
            break
        pairs = made
    for value, number in pairs:
        if bool(value) != bool(maps.accepting[number]):
            raise ObligationFailed("a slot does not contain the bit that the automaton gives for its letters")
    return f"{len(pairs)} pairs"


def _formula(claim: SystemClaim) -> None:
    arithmetic, space = claim.arithmetic, claim.space
    z3, N, K = arithmetic.z3, arithmetic.N, arithmetic.K
    node, root = space.groups
    leaves = z3.If(K < N, 2 * K, K)
    for place in claim.places:
        entry = z3.IntVal(1) if place.slot.group is root else place.slot.indices[node.ranges[0].name]
        if len(place.branch.operands) != (3 if place.slot.group is root else 2):
            raise ObligationFailed("a node does not read two entries")
        children = place.branch.operands[:2]
        operand_values = [
            _operand_value(operand, 2 * entry + side, leaves, claim) for side, operand in enumerate(children)
        ]
        arithmetic.require(
            f"formula: {place.name} joins the children of its entry", z3.And(*operand_values), place.given
        )
    _require_heap(claim, leaves)
    arithmetic.ledger.settle(
        "formula: an entry holds the value of its part", "enumeration", lambda: _joins(claim, root)
    )


def _operand_value(operand: Operand, entry: Term, leaves: Term, claim: SystemClaim) -> Term:
    """The operand is what the entry of the heap holds: a node, a letter, or None behind the word."""
    z3, N = claim.arithmetic.z3, claim.arithmetic.N
    letter = entry - leaves
    if operand.number is None:
        if operand.mapping(operand.read_values[0]) is not None:
            raise ObligationFailed("there is a value after the end of the word")
        return z3.And(letter >= 0, letter >= N)
    if operand.group is None:
        if [operand.mapping(x) for x in claim.system.letters] != [False, True]:
            raise ObligationFailed("a leaf is not its letter")
        return z3.And(letter >= 0, operand.places[0] == letter, letter < N)
    if operand.group is not claim.space.groups[0]:
        raise ObligationFailed("a node reads something that is not a node")
    return z3.And(letter < 0, operand.places[0] == entry)


def _require_heap(claim: SystemClaim, leaves: Term) -> None:
    """Where the part of an entry begins: the induction on the levels, Q entries of which each has 2q or q leaves."""
    arithmetic = claim.arithmetic
    z3 = arithmetic.z3
    first = arithmetic.function("first")
    e, Q, q = (arithmetic.variable(name) for name in ("e", "Q", "q"))

    def neighbours(x: Term, count: Term, apart: Term) -> Term:
        return z3.Implies(z3.And(x >= count, x + 1 < 2 * count), first(x + 1) == first(x) + apart)

    def is_leaf(x: Term) -> Term:
        return z3.Implies(z3.And(x >= leaves, x < 2 * leaves), first(x) == x - leaves)

    at_leaves = [is_leaf(x) for x in (e, e + 1, leaves)]
    arithmetic.require(
        "formula: neighbouring leaves are a letter apart, and the first is letter 0",
        z3.And(neighbours(e, leaves, 1), first(leaves) == 0),
        at_leaves,
    )
    below = [Q >= 1, leaves >= 2 * Q, q >= 1, first(2 * Q) == 0, e >= Q, e < 2 * Q]
    below += [neighbours(2 * e + k, 2 * Q, q) for k in (0, 1, 2)]
    below += [first(x) == first(2 * x) for x in (e, e + 1, Q)]
    arithmetic.require(
        "formula: an entry begins with its left child, the right one q letters behind, in a level of q leaves each",
        z3.And(2 * e >= 2 * Q, 2 * e + 1 < 4 * Q, first(2 * e + 1) == first(e) + q),
        below,
    )
    arithmetic.require(
        "formula: in the level above neighbours are 2q apart, and the first begins with letter 0",
        z3.And(neighbours(e, Q, 2 * q), first(Q) == 0),
        below,
    )


def _joins(claim: SystemClaim, root: Slots) -> str:
    """The rule of every branch, for both parities of its level, as value(first, l) says."""
    cases = 0
    for place, odd in product(claim.places, (False, True)):
        group, operands = place.slot.group, place.branch.operands
        assert isinstance(group, Slots)
        if group is root and not _occurs(claim, place, odd=odd):
            continue
        for given in product(*(_mapped(o) for o in operands)):
            a, b = given[:2]
            if a is None and (b is not None or group is root):
                continue  # the right child begins behind the left one, and the root with letter 0
            answer = rule_result(group, place.branch.case, given, group.name)
            right = _value(a, b, odd=odd)
            if group is not root and right is not None:
                right = right != odd
            if answer is not right and (answer is None or right is None or bool(answer) != right):
                raise ObligationFailed(f"{place.name} does not contain the value of its part")
            cases += 1
    return f"{cases} cases"


def _mapped(operand: Operand) -> Iterator[Any]:
    """What is given to the rule, each once."""
    return iter(dict.fromkeys(operand.mapping(value) for value in operand.read_values))


def _occurs(claim: SystemClaim, place: BranchRows, *, odd: bool) -> bool:
    """Return whether the root, whose level is ⌈log2 N⌉, may be in this branch."""
    arithmetic = claim.arithmetic
    return not impossible(arithmetic, [*place.given, int(odd) == arithmetic.T % 2])


def _value(a: Any, b: Any, *, odd: bool) -> bool | None:
    """value(first, l), from what the children hold, which is negated if l - 1 is odd."""
    if a is None:
        return None
    left = bool(a) if odd else not a
    if b is None:
        return left
    right = bool(b) if odd else not b
    return left and right if odd else left or right


def _contains_aba(claim: SystemClaim) -> None:
    N, at = claim.arithmetic.N, _searched(claim, "contains-aba")
    _require_range(claim, "contains-aba: a window begins with every letter but the last two", N - 2)
    for place in claim.finding:
        _require_letters(claim, place, [at + k for k in range(3)])
    settle = claim.arithmetic.ledger.settle
    settle("contains-aba: a window is found if and only if the automaton accepts", "closure", lambda: _windows(claim))
    settle("contains-aba: the answer is whether one is found", "enumeration", lambda: _passes_on(claim))


def _windows(claim: SystemClaim) -> str:
    """(state of the automaton, the last two letters, was a window found), closed under one more letter."""
    letters, (place,) = claim.system.letters, claim.finding
    automaton = Automaton(letters, np.array([[1, 0], [1, 2], [3, 0], [3, 3]]), 0, np.array([False, False, False, True]))

    def moves(state: tuple[int, tuple[str, ...], bool]):
        q, last, found = state
        for number, letter in enumerate(letters):
            window = (*last, letter)
            found_now = found or (len(window) == 3 and bool(_found_by(place, window)))
            yield letter, (int(automaton.delta[q, number]), window[-2:], found_now)

    def flaw(state: tuple[int, tuple[str, ...], bool]) -> bool | None:
        return True if bool(automaton.accepting[state[0]]) != state[2] else None

    closure = reachable_closure([(automaton.start, (), False)], moves, flaw)
    if closure.witness is not None:
        word = closure.witness.letters
        raise ObligationFailed(f"the windows of {''.join(word)} give the wrong answer", (len(word),))
    return f"{closure.states} states"


def _passes_on(claim: SystemClaim) -> str:
    """The slot holds what its search finds, whatever else it reads."""
    cases = 0
    for place, found in product(claim.places, (False, True)):
        for answer in _answers(claim, place, found=found):
            if answer != found:
                raise ObligationFailed("the answer is not whether a window is found")
            cases += 1
    return f"{cases} cases"


def _answers(claim: SystemClaim, place: BranchRows, *, found: bool) -> Iterator[bool]:
    """What the one slot says, for all that it may read, if its search finds something or nothing."""
    (search,), group, case = claim.space.searches, place.slot.group, place.branch.case
    assert isinstance(group, Slots)
    gathered_value = range_result(search.over, frozenset([True] if found else []))
    for given in product(*([gathered_value] if o.search else _mapped(o) for o in place.branch.operands)):
        yield bool(rule_result(group, case, given, group.name))


def _equal_halves(claim: SystemClaim) -> None:
    arithmetic, at = claim.arithmetic, _searched(claim, "equal-halves")
    even, half = arithmetic.N % 2 == 0, arithmetic.N / 2  # a division of whole numbers
    _require_range(claim, "equal-halves: if N is even, every letter of the first half is looked at", half, [even])
    for place in claim.finding:
        _require_letters(claim, place, [at, at + half], [even])
    arithmetic.ledger.settle(
        "equal-halves: the answer is whether N is even and no pair differs", "enumeration", lambda: _pairs(claim)
    )


def _pairs(claim: SystemClaim) -> str:
    arithmetic, cases = claim.arithmetic, 0
    for place, pair in product(claim.finding, product(claim.system.letters, repeat=2)):
        if bool(_found_by(place, pair)) != (pair[0] != pair[1]):
            raise ObligationFailed("the search does not find exactly the pairs that differ")
        cases += 1
    for place, odd, differs in product(claim.places, (False, True), (False, True)):
        if impossible(arithmetic, [*place.given, int(odd) == arithmetic.N % 2]):
            continue
        for answer in _answers(claim, place, found=differs):
            if answer != (not odd and not differs):
                raise ObligationFailed("the answer is not whether the halves are equal")
            cases += 1
    return f"{cases} cases"


def _searched(claim: SystemClaim, family: str) -> Term:
    """The index of the one search of the one slot."""
    searches = claim.space.searches
    if len(searches) != 1 or len(claim.space.groups) != 1 or searches[0].group.ranges:
        raise ObligationFailed(f"{family} is not one slot that reads over one range")
    if searches[0].over.kind == "collect":
        raise ObligationFailed(f"{family} collects what it finds, where it should ask whether there is any")
    if len(claim.finding) != 1 or not claim.finding[0].branch.counts:
        raise ObligationFailed("the range is not read in the same way throughout")
    return claim.finders[searches[0]].indices[searches[0].over.range.name]


def _require_range(claim: SystemClaim, name: str, end: Term, given: Sequence[Term] = ()) -> None:
    """The search runs from 0 to just before `end`."""
    arithmetic, space, over = claim.arithmetic, claim.space, claim.space.searches[0].over.range
    arithmetic.require(name, arithmetic.z3.And(space.of(over.first) == 0, space.of(over.last) == end), given)


def _require_letters(claim: SystemClaim, place: BranchRows, wanted: Sequence[Term], given: Sequence[Term] = ()) -> None:
    """The rows of a search read these letters."""
    operands = place.branch.operands
    if len(operands) != len(wanted) or any(o.group is not None or o.number is None for o in operands):
        raise ObligationFailed(f"a row of {place.name} does not read {len(wanted)} letters")
    same = [o.places[0] == at for o, at in zip(operands, wanted, strict=True)]
    goal, given = claim.arithmetic.z3.And(*same), [*place.given, *given]
    claim.arithmetic.require(f"{place.name} looks at its letters", goal, given)


def _found_by(place: BranchRows, letters: Sequence[str]) -> frozenset:
    """What a row of a search finds in these letters."""
    search = place.slot.group
    assert isinstance(search, Search)
    given = tuple(o.mapping(x) for o, x in zip(place.branch.operands, letters, strict=True))
    return range_items(search.over, given, search.group.name)


MEANINGS: dict[str, Callable[[SystemClaim], None]] = {
    "parity": _parity,
    "formula": _formula,
    "contains-aba": _contains_aba,
    "equal-halves": _equal_halves,
}
