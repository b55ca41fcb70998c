"""Numbers of F_p as one-hot wires: tables of one or two numbers, and saturating sums, in constant depth.

    f(x)     = v   ⟺  OR  over a with f(a) = v       of  x = a                      depth 1
    f(x, y)  = v   ⟺  OR  over a, b with f(a, b) = v of  x = a ∧ y = b              depth 2

SUM of n numbers, left to right with a clip after every addition, has a depth that does not depend on n. The running sum
s has m values, numbered 0 … m - 1 here. Nested intervals narrow it down,

    [0, m-1] = I_0 ⊃ I_1 ⊃ … ⊃ I_{m-1} = {s},        |I_k| = m - k,

and the bit b_k says which end of I_{k-1} is missing in I_k: 0 the top, 1 the bottom. A term x moves I_{k-1} by x. While
nothing is clipped, b_k keeps its value. If the top is clipped, the image contains m - 1 but, being smaller than
I_{k-1}, not the bottom of the new I_{k-1}: b_k becomes 1. If the bottom is clipped, b_k becomes 0. So level k is a
set/reset flip-flop that the level above drives,

    b_k(i) = OR_{j<=i} ( top_j ∧ AND_{j<l<=i} ¬bottom_l )  ∨  ( b_k(0) ∧ AND_{l<=i} ¬bottom_l ),

of depth 2 and of O(n²) gates; top and bottom, read off the level above, have depth 2. There are m - 1 levels.
"""

from collections.abc import Callable, Sequence

from unmask.numerics.arithmetic import Precision
from unmask.problems.circuits.circuit import FALSE, TRUE, CircuitBuilder

OneHotWires = dict[int, int]
"""value → the literal "the number has this value"."""


def constant_wires(value: int) -> OneHotWires:
    return {value: TRUE}


def unary_table(builder: CircuitBuilder, f: Callable[[int], int], x: OneHotWires) -> OneHotWires:
    """Return f(x)."""
    if len(x) == 1:
        (a,) = x
        return {f(a): TRUE}
    causes: dict[int, list[int]] = {}
    for a, wire in x.items():
        causes.setdefault(f(a), []).append(wire)
    return or_of_causes(builder, causes)


def binary_table(builder: CircuitBuilder, f: Callable[[int, int], int], x: OneHotWires, y: OneHotWires) -> OneHotWires:
    """Return f(x, y)."""
    if len(y) == 1:
        (b,) = y
        return unary_table(builder, lambda a: f(a, b), x)
    causes: dict[int, list[int]] = {}
    for a, wire in x.items():
        cases: dict[int, list[int]] = {}
        for b, b_wire in y.items():
            cases.setdefault(f(a, b), []).append(b_wire)
        for value, b_wires in cases.items():
            # if f(a, b) is the same for every b, then x = a decides it alone
            pairs = [wire] if len(cases) == 1 else [builder.and_(wire, b_wire) for b_wire in b_wires]
            causes.setdefault(value, []).extend(pairs)
    return or_of_causes(builder, causes)


def choose_wires(builder: CircuitBuilder, condition: int, then: OneHotWires, otherwise: OneHotWires) -> OneHotWires:
    """Return `then` if the condition is true, else `otherwise`."""
    if then == otherwise:
        return then
    return or_of_causes(
        builder,
        {
            value: [
                builder.and_(condition, then.get(value, FALSE)),
                builder.and_(condition ^ 1, otherwise.get(value, FALSE)),
            ]
            for value in (*then, *(v for v in otherwise if v not in then))
        },
    )


def at_least_wire(builder: CircuitBuilder, x: OneHotWires, bound: int) -> int:
    """Return the literal "x >= bound"."""
    if all(value >= bound for value in x):
        return TRUE
    return builder.or_(*(wire for value, wire in x.items() if value >= bound))


def at_most_wire(builder: CircuitBuilder, x: OneHotWires, bound: int) -> int:
    """Return the literal "x <= bound"."""
    if all(value <= bound for value in x):
        return TRUE
    return builder.or_(*(wire for value, wire in x.items() if value <= bound))


def argmax_wires(builder: CircuitBuilder, scores: Sequence[OneHotWires], without: int | None = None) -> OneHotWires:
    """Return the index of the largest score, the lowest if there are several; `without` is left out. Depth 3.

    i wins  ⟺  OR_v  score_i = v  ∧  AND_{j<i} score_j < v  ∧  AND_{j>i} score_j <= v
    """
    candidates = [i for i in range(len(scores)) if i != without]
    wins: dict[int, list[int]] = {}
    for i in candidates:
        for v, wire in scores[i].items():
            below = [at_most_wire(builder, scores[j], v - 1 if j < i else v) for j in candidates if j != i]
            wins.setdefault(i, []).append(builder.and_(wire, *below))
    return or_of_causes(builder, wins)


def or_of_causes(builder: CircuitBuilder, causes: dict[int, list[int]]) -> OneHotWires:
    """Return each value with the OR of its causes. Impossible values are left out; a single value is certain."""
    if len(causes) == 1:
        return constant_wires(next(iter(causes)))
    wires = {value: builder.or_(*literals) for value, literals in causes.items()}
    possible = {value: wire for value, wire in wires.items() if wire != FALSE}
    if len(possible) == 1:
        return constant_wires(next(iter(possible)))
    certain = [value for value, wire in possible.items() if wire == TRUE]
    return constant_wires(certain[0]) if certain else possible


LEVEL_DEPTH = 4
TABLE_DEPTH = 2

LiteralCase = tuple[int, tuple[int, ...]]
"""A value, and literals that together imply it."""


def sum_depth(precision: Precision) -> int:
    """Return the depth that no sum exceeds, whatever its number of terms.

    It has m - 1 levels, the first of which reads the terms alone, and the decoding of the last interval.
    """
    return LEVEL_DEPTH * (precision.size - 1) + 1


def saturating_sum(builder: CircuitBuilder, terms: Sequence[OneHotWires], precision: Precision) -> OneHotWires:
    """Return the SUM of the terms, by the cascade or by a chain of additions, whichever has the smaller depth."""
    start, varying = _folded(terms, precision)
    if not varying:
        return constant_wires(start)
    low, high = _range(start, varying, precision)
    if TABLE_DEPTH * len(varying) <= LEVEL_DEPTH * (high - low):
        return chain_sum(builder, terms, precision)
    return cascade_sum(builder, terms, precision)


def chain_sum(builder: CircuitBuilder, terms: Sequence[OneHotWires], precision: Precision) -> OneHotWires:
    """Return the SUM of the terms, added one by one; the depth grows with the number of terms."""
    bound = precision.bound
    start, varying = _folded(terms, precision)
    total = constant_wires(start)
    for term in varying:
        total = binary_table(builder, lambda a, b: max(-bound, min(bound, a + b)), total, term)
    return total


def cascade_sum(builder: CircuitBuilder, terms: Sequence[OneHotWires], precision: Precision) -> OneHotWires:
    """Return the SUM of the terms by the cascade of flip-flops."""
    start, varying = _folded(terms, precision)
    low, high = _range(start, varying, precision)
    size, start_index = high - low + 1, start - low
    # after i terms, the interval of this level starts at a if starts[i] has a case (a, literals), all true
    starts: list[list[LiteralCase]] = [[(0, ())] for _ in range(len(varying) + 1)]
    first = 0  # its start before any term
    for k in range(1, size):
        top = [
            builder.or_(*(builder.and_(*case, at_least_wire(builder, term, k - a)) for a, case in before))
            for before, term in zip(starts, varying, strict=False)
        ]
        bottom = [
            builder.or_(*(builder.and_(*case, at_most_wire(builder, term, -a - 1)) for a, case in before))
            for before, term in zip(starts, varying, strict=False)
        ]
        initially = start_index == first + size - k  # the start is the top of the interval above, which must stay
        first += initially
        drops_bottom = _flip_flop(builder, top, bottom, initially)
        starts = [_moved(_decoded(builder, cases), bit) for cases, bit in zip(starts, drops_bottom, strict=True)]
    possible = {low + a: wire for a, wire in _decoded(builder, starts[-1]).items() if wire != FALSE}
    return possible if len(possible) > 1 else constant_wires(next(iter(possible)))


def _flip_flop(builder: CircuitBuilder, sets: list[int], resets: list[int], initially: bool) -> list[int]:
    """Return the bit before any term and after each term: 1 if some set has no reset after it."""
    bits = []
    for i in range(len(sets) + 1):
        set_terms = [builder.and_(sets[j], *(x ^ 1 for x in resets[j + 1 : i])) for j in range(i)]
        if initially:
            set_terms.append(builder.and_(*(x ^ 1 for x in resets[:i])))
        bits.append(builder.or_(*set_terms))
    return bits


def _decoded(builder: CircuitBuilder, cases: list[LiteralCase]) -> OneHotWires:
    """Return the start of the interval, one-hot."""
    ways: dict[int, list[int]] = {}
    for a, case in cases:
        ways.setdefault(a, []).append(builder.and_(*case))
    return {a: builder.or_(*literals) for a, literals in ways.items()}


def _moved(lower: OneHotWires, bit: int) -> list[LiteralCase]:
    """Return the start of the next interval as cases: one higher if the bottom is dropped."""
    return [case for a, wire in lower.items() for case in ((a, (wire, bit ^ 1)), (a + 1, (wire, bit)))]


def _folded(terms: Sequence[OneHotWires], precision: Precision) -> tuple[int, list[OneHotWires]]:
    """Return (the sum of the leading constants, the other terms without zeros)."""
    bound, start = precision.bound, 0
    varying: list[OneHotWires] = []
    for term in terms:
        if len(term) == 1:
            (value,) = term
            if not varying:
                start = max(-bound, min(bound, start + value))
                continue
            if value == 0:
                continue
        varying.append(term)
    return start, varying


def _range(start: int, varying: list[OneHotWires], precision: Precision) -> tuple[int, int]:
    """Return the smallest and the largest value that the running sum can have."""
    bound, low, high = precision.bound, start, start
    reached = {start}
    for term in varying:
        reached = {max(-bound, min(bound, s + x)) for s in reached for x in term}
        low, high = min(low, *reached), max(high, *reached)
    return low, high
