"""Families of circuits that are compiled as recurrences in N: what the recurrence computes, for every N.

`system_proof` shows that the model computes the recurrence. Here the recurrence is compared with the definition of the
family, which does not mention a recurrence:

parity      the automaton with two states. A slot multiplies two entries of a queue, which cover adjacent letters, and
            the last slot covers the word (`letter_coverage`). The pairs (bit, map of its letters) are closed under the
            rule, and the bit says whether the map accepts.

formula     value(first, l) of circuit_families.py: the letter for l = 0; else value(first, l - 1), joined
            with value(first + h, l - 1), h = 2^(l - 1), if first + h < N: by AND if l is odd, by OR if it is even.
            Entry e of a heap has the children 2e and 2e + 1; its leaves are L … 2L - 1, L = 2^⌈log2 N⌉. By induction
            from the leaves upwards, in the level of the entries Q … 2Q - 1, Q·2^l = L, the first letters of neighbours
            are 2^l apart, and the first letter of Q is letter 0. The value of an entry is value(first, l), negated if
            l is odd, or None if first >= N. The root is entry 1, with first = 0 and l = ⌈log2 N⌉.

contains-aba    the automaton with four states that searches for aba. The recurrence reads the windows of three letters
            that begin with letter 0 … N - 3, which are all windows of a word. The triples (state, last two letters,
            has a window matched) are closed under one more letter, and the state accepts if and only if one has.

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
from unmask.verification.lengths.system_slots import BranchRows, Operand, Search, SystemClaim, is_impossible


def require_family(claim: SystemClaim, family: str) -> None:
    """Settle that the recurrence of the claim computes the circuit family."""
    if family not in MEANINGS:
        raise ObligationFailed(f"no proof for every N is implemented for {family}")
    MEANINGS[family](claim)


def _parity(claim: SystemClaim) -> None:
    """Settle the obligations of parity."""
    arithmetic, space = claim.arithmetic, claim.space
    N = arithmetic.N
    (group,) = space.groups
    arithmetic.require("parity: there are N - 1 slots, and the last is the answer", space.rows == 2 * N - 1)
    for branch_rows in claim.slot_branches:
        numbers = [o.number for o in branch_rows.operands]
        if len(numbers) != 2 or None in numbers:
            raise ObligationFailed("a slot does not read two entries")
        require_entries(arithmetic, branch_rows.name, branch_rows.slot.number, numbers, branch_rows.facts)
    require_levels(arithmetic)
    arithmetic.ledger.settle(
        "parity: a slot holds what the automaton says of its letters", "closure", lambda: _check_pairs(claim, group)
    )


def _check_pairs(claim: SystemClaim, group: Slots) -> str:
    """Check the pairs (letter or value, map of its letters), closed under the rule of every branch."""
    letters = claim.system.letters
    maps = state_maps(Automaton(letters, np.array([[0, 1], [1, 0]]), 0, np.array([False, True])))
    of_letters = maps.generators.tolist()
    start = list(zip(letters, of_letters, strict=True))
    pairs: dict[tuple[Any, int], None] = {}
    while True:
        reached = dict(pairs)
        for branch_rows in claim.slot_branches:
            pools = [start if o.group is None else list(pairs) for o in branch_rows.operands]
            for (a, f), (b, g) in product(*pools):
                arguments = tuple(o.mapping(x) for o, x in zip(branch_rows.operands, (a, b), strict=True))
                value = rule_result(group, branch_rows.branch.case, arguments, group.name)
                reached[value, int(maps.product_table[f, g])] = None
        if len(reached) == len(pairs):
            break
        pairs = reached
    for value, number in pairs:
        if bool(value) != bool(maps.accepting[number]):
            raise ObligationFailed("a slot does not contain the bit that the automaton gives for its letters")
    return f"{len(pairs)} pairs"


def _formula(claim: SystemClaim) -> None:
    """Settle the obligations of formula."""
    arithmetic, space = claim.arithmetic, claim.space
    z3, N, K = arithmetic.z3, arithmetic.N, arithmetic.K
    node, root = space.groups
    leaves = z3.If(K < N, 2 * K, K)
    for branch_rows in claim.slot_branches:
        entry = z3.IntVal(1) if branch_rows.slot.group is root else branch_rows.slot.indices[node.ranges[0].name]
        if len(branch_rows.operands) != (3 if branch_rows.slot.group is root else 2):
            raise ObligationFailed("a node does not read two entries")
        children = branch_rows.operands[:2]
        children_are_entries = [
            _is_entry(operand, 2 * entry + side, leaves, claim) for side, operand in enumerate(children)
        ]
        arithmetic.require(
            f"formula: {branch_rows.name} joins the children of its entry",
            z3.And(*children_are_entries),
            branch_rows.facts,
        )
    _require_heap(claim, leaves)
    arithmetic.ledger.settle(
        "formula: an entry holds the value of its part", "enumeration", lambda: _check_values(claim, root)
    )


def _is_entry(operand: Operand, entry: Term, leaves: Term, claim: SystemClaim) -> Term:
    """Return whether an operand is this entry of the heap: a node, a letter, or None after the end of the word."""
    z3, N = claim.arithmetic.z3, claim.arithmetic.N
    letter = entry - leaves
    if operand.number is None:
        if operand.mapping(operand.read_values[0]) is not None:
            raise ObligationFailed("there is a value after the end of the word")
        return z3.And(letter >= 0, letter >= N)
    if operand.group is None:
        if [operand.mapping(x) for x in claim.system.letters] != [False, True]:
            raise ObligationFailed("a leaf is not its letter")
        return z3.And(letter >= 0, operand.indices[0] == letter, letter < N)
    if operand.group is not claim.space.groups[0]:
        raise ObligationFailed("a node reads something that is not a node")
    return z3.And(letter < 0, operand.indices[0] == entry)


def _require_heap(claim: SystemClaim, leaves: Term) -> None:
    """Settle the first letters of the entries, by induction on the levels of the heap."""
    arithmetic = claim.arithmetic
    z3 = arithmetic.z3
    first = arithmetic.function("first")
    e, Q, q = (arithmetic.variable(name) for name in ("e", "Q", "q"))

    def neighbours(x: Term, count: Term, distance: Term) -> Term:
        return z3.Implies(z3.And(x >= count, x + 1 < 2 * count), first(x + 1) == first(x) + distance)

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


def _check_values(claim: SystemClaim, root: Slots) -> str:
    """Check the rule of every branch against value(first, l), for both parities of its level."""
    cases = 0
    for branch_rows, odd in product(claim.slot_branches, (False, True)):
        group, operands = branch_rows.slot.group, branch_rows.operands
        assert isinstance(group, Slots)
        if group is root and not _may_occur(claim, branch_rows, odd=odd):
            continue
        for arguments in product(*(_arguments(o) for o in operands)):
            a, b = arguments[:2]
            if a is None and (b is not None or group is root):
                continue  # the right child begins after the left one, and the root with letter 0
            answer = rule_result(group, branch_rows.branch.case, arguments, group.name)
            expected = _value(a, b, odd=odd)
            if group is not root and expected is not None:
                expected = expected != odd
            if answer is not expected and (answer is None or expected is None or bool(answer) != expected):
                raise ObligationFailed(f"{branch_rows.name} does not contain the value of its part")
            cases += 1
    return f"{cases} cases"


def _arguments(operand: Operand) -> Iterator[Any]:
    """Yield the arguments that an operand can give to the rule, each once."""
    return iter(dict.fromkeys(operand.mapping(value) for value in operand.read_values))


def _may_occur(claim: SystemClaim, branch_rows: BranchRows, *, odd: bool) -> bool:
    """Return whether the root, whose level is ⌈log2 N⌉, may be in this branch."""
    arithmetic = claim.arithmetic
    return not is_impossible(arithmetic, [*branch_rows.facts, int(odd) == arithmetic.T % 2])


def _value(a: Any, b: Any, *, odd: bool) -> bool | None:
    """Return value(first, l) from the values of the children, which are negated if l - 1 is odd."""
    if a is None:
        return None
    left = bool(a) if odd else not a
    if b is None:
        return left
    right = bool(b) if odd else not b
    return left and right if odd else left or right


def _contains_aba(claim: SystemClaim) -> None:
    """Settle the obligations of contains-aba."""
    N, index = claim.arithmetic.N, _search_index(claim, "contains-aba")
    _require_range(claim, "contains-aba: a window begins with every letter but the last two", N - 2)
    for branch_rows in claim.search_branches:
        _require_letters(claim, branch_rows, [index + k for k in range(3)])
    settle = claim.arithmetic.ledger.settle
    settle(
        "contains-aba: a window is found if and only if the automaton accepts", "closure", lambda: _check_windows(claim)
    )
    settle("contains-aba: the answer is whether one is found", "enumeration", lambda: _check_answer(claim))


def _check_windows(claim: SystemClaim) -> str:
    """Check (state of the automaton, last two letters, has a window matched), closed under one more letter."""
    letters, (branch_rows,) = claim.system.letters, claim.search_branches
    automaton = Automaton(letters, np.array([[1, 0], [1, 2], [3, 0], [3, 3]]), 0, np.array([False, False, False, True]))

    def moves(state: tuple[int, tuple[str, ...], bool]):
        q, last, matched = state
        for number, letter in enumerate(letters):
            window = (*last, letter)
            matches_now = matched or (len(window) == 3 and bool(_results_of_letters(branch_rows, window)))
            yield letter, (int(automaton.delta[q, number]), window[-2:], matches_now)

    def flaw(state: tuple[int, tuple[str, ...], bool]) -> bool | None:
        return True if bool(automaton.accepting[state[0]]) != state[2] else None

    closure = reachable_closure([(automaton.start, (), False)], moves, flaw)
    if closure.witness is not None:
        word = closure.witness.letters
        raise ObligationFailed(f"the windows of {''.join(word)} give the wrong answer", (len(word),))
    return f"{closure.states} states"


def _check_answer(claim: SystemClaim) -> str:
    """Check that the answer is the result of the search, whatever else the slot reads."""
    cases = 0
    for branch_rows, matched in product(claim.slot_branches, (False, True)):
        for answer in _answers(claim, branch_rows, matched=matched):
            if answer != matched:
                raise ObligationFailed("the answer is not whether a window is found")
            cases += 1
    return f"{cases} cases"


def _answers(claim: SystemClaim, branch_rows: BranchRows, *, matched: bool) -> Iterator[bool]:
    """Yield the answers of the only slot for all its reads, given whether its search has a result."""
    (search,), group, case = claim.space.searches, branch_rows.slot.group, branch_rows.branch.case
    assert isinstance(group, Slots)
    search_result = range_result(search.over, frozenset([True] if matched else []))
    for arguments in product(*([search_result] if o.search else _arguments(o) for o in branch_rows.operands)):
        yield bool(rule_result(group, case, arguments, group.name))


def _equal_halves(claim: SystemClaim) -> None:
    """Settle the obligations of equal-halves."""
    arithmetic, index = claim.arithmetic, _search_index(claim, "equal-halves")
    even, half = arithmetic.N % 2 == 0, arithmetic.N / 2  # a division of whole numbers
    _require_range(claim, "equal-halves: if N is even, every letter of the first half is looked at", half, [even])
    for branch_rows in claim.search_branches:
        _require_letters(claim, branch_rows, [index, index + half], [even])
    arithmetic.ledger.settle(
        "equal-halves: the answer is whether N is even and no pair differs", "enumeration", lambda: _check_halves(claim)
    )


def _check_halves(claim: SystemClaim) -> str:
    """Check that the search finds the pairs that differ, and that the answer follows from it and from N mod 2."""
    arithmetic, cases = claim.arithmetic, 0
    for branch_rows, pair in product(claim.search_branches, product(claim.system.letters, repeat=2)):
        if bool(_results_of_letters(branch_rows, pair)) != (pair[0] != pair[1]):
            raise ObligationFailed("the search does not find exactly the pairs that differ")
        cases += 1
    for branch_rows, odd, differs in product(claim.slot_branches, (False, True), (False, True)):
        if is_impossible(arithmetic, [*branch_rows.facts, int(odd) == arithmetic.N % 2]):
            continue
        for answer in _answers(claim, branch_rows, matched=differs):
            if answer != (not odd and not differs):
                raise ObligationFailed("the answer is not whether the halves are equal")
            cases += 1
    return f"{cases} cases"


def _search_index(claim: SystemClaim, family: str) -> Term:
    """Return the index of the only search of the only slot."""
    searches = claim.space.searches
    if len(searches) != 1 or len(claim.space.groups) != 1 or searches[0].group.ranges:
        raise ObligationFailed(f"{family} is not one slot that reads over one range")
    if searches[0].over.kind == "collect":
        raise ObligationFailed(f"{family} collects what it finds, where it should ask whether there is any")
    if len(claim.search_branches) != 1 or not claim.search_branches[0].branch.is_called:
        raise ObligationFailed("the range is not read in the same way throughout")
    return claim.search_rows[searches[0]].indices[searches[0].over.range.name]


def _require_range(claim: SystemClaim, name: str, end: Term, facts: Sequence[Term] = ()) -> None:
    """Settle that the range of the search is 0 … end - 1."""
    arithmetic, space, over = claim.arithmetic, claim.space, claim.space.searches[0].over.range
    arithmetic.require(name, arithmetic.z3.And(space.term(over.first) == 0, space.term(over.last) == end), facts)


def _require_letters(
    claim: SystemClaim, branch_rows: BranchRows, letters: Sequence[Term], facts: Sequence[Term] = ()
) -> None:
    """Settle that the rows of a search read these letters."""
    operands = branch_rows.operands
    if len(operands) != len(letters) or any(o.group is not None or o.number is None for o in operands):
        raise ObligationFailed(f"a row of {branch_rows.name} does not read {len(letters)} letters")
    equal = [o.indices[0] == letter for o, letter in zip(operands, letters, strict=True)]
    goal, facts = claim.arithmetic.z3.And(*equal), [*branch_rows.facts, *facts]
    claim.arithmetic.require(f"{branch_rows.name} looks at its letters", goal, facts)


def _results_of_letters(branch_rows: BranchRows, letters: Sequence[str]) -> frozenset:
    """Return the results of a row of a search that reads these letters."""
    search = branch_rows.slot.group
    assert isinstance(search, Search)
    arguments = tuple(o.mapping(x) for o, x in zip(branch_rows.operands, letters, strict=True))
    return range_items(search.over, arguments, search.group.name)


MEANINGS: dict[str, Callable[[SystemClaim], None]] = {
    "parity": _parity,
    "formula": _formula,
    "contains-aba": _contains_aba,
    "equal-halves": _equal_halves,
}
