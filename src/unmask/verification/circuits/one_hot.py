"""OneHotWires: a number as wires, one for each value that it can have; exactly one of them is 1.

    f(x)     = v   ⟺  OR  over a with f(a) = v       of  x = a                      depth 1
    f(x, y)  = v   ⟺  OR  over a, b with f(a, b) = v of  x = a ∧ y = b              depth 2

So every function of one or two numbers of F_p is a table of gates of constant depth.
"""

from collections.abc import Callable, Sequence

from unmask.problems.circuits.circuit import FALSE, TRUE, CircuitBuilder

OneHotWires = dict[int, int]
"""value → the literal that says whether the number has it."""


def constant(value: int) -> OneHotWires:
    return {value: TRUE}


def unary(builder: CircuitBuilder, f: Callable[[int], int], x: OneHotWires) -> OneHotWires:
    """f(x)."""
    if len(x) == 1:
        (a,) = x
        return {f(a): TRUE}
    causes: dict[int, list[int]] = {}
    for a, wire in x.items():
        causes.setdefault(f(a), []).append(wire)
    return _either(builder, causes)


def binary(builder: CircuitBuilder, f: Callable[[int, int], int], x: OneHotWires, y: OneHotWires) -> OneHotWires:
    """f(x, y)."""
    if len(y) == 1:
        (b,) = y
        return unary(builder, lambda a: f(a, b), x)
    causes: dict[int, list[int]] = {}
    for a, wire in x.items():
        cases: dict[int, list[int]] = {}
        for b, other in y.items():
            cases.setdefault(f(a, b), []).append(other)
        for value, others in cases.items():
            # where every b gives the same, x = a alone decides
            pairs = [wire] if len(cases) == 1 else [builder.and_(wire, other) for other in others]
            causes.setdefault(value, []).extend(pairs)
    return _either(builder, causes)


def choose(builder: CircuitBuilder, condition: int, then: OneHotWires, otherwise: OneHotWires) -> OneHotWires:
    """`then` where the condition holds, else `otherwise`."""
    if then == otherwise:
        return then
    return _either(
        builder,
        {
            value: [
                builder.and_(condition, then.get(value, FALSE)),
                builder.and_(condition ^ 1, otherwise.get(value, FALSE)),
            ]
            for value in (*then, *(v for v in otherwise if v not in then))
        },
    )


def at_least(builder: CircuitBuilder, x: OneHotWires, bound: int) -> int:
    """[x >= bound]."""
    if all(value >= bound for value in x):
        return TRUE
    return builder.or_(*(wire for value, wire in x.items() if value >= bound))


def at_most(builder: CircuitBuilder, x: OneHotWires, bound: int) -> int:
    """[x <= bound]."""
    if all(value <= bound for value in x):
        return TRUE
    return builder.or_(*(wire for value, wire in x.items() if value <= bound))


def argmax(builder: CircuitBuilder, scores: Sequence[OneHotWires], without: int | None = None) -> OneHotWires:
    """The index of the largest score, the lowest where there are several; `without` is left out. Depth 3.

    i wins  ⟺  OR_v  score_i = v  ∧  AND_{j<i} score_j < v  ∧  AND_{j>i} score_j <= v
    """
    rivals = [i for i in range(len(scores)) if i != without]
    wins: dict[int, list[int]] = {}
    for i in rivals:
        for v, wire in scores[i].items():
            below = [at_most(builder, scores[j], v - 1 if j < i else v) for j in rivals if j != i]
            wins.setdefault(i, []).append(builder.and_(wire, *below))
    return _either(builder, wins)


def _either(builder: CircuitBuilder, causes: dict[int, list[int]]) -> OneHotWires:
    """Each value with the OR of its causes; what cannot happen is left out, and a value without a rival is certain."""
    if len(causes) == 1:
        return constant(next(iter(causes)))
    wires = {value: builder.or_(*literals) for value, literals in causes.items()}
    possible = {value: wire for value, wire in wires.items() if wire != FALSE}
    if len(possible) == 1:
        return constant(next(iter(possible)))
    certain = [value for value, wire in possible.items() if wire == TRUE]
    return constant(certain[0]) if certain else possible
