"""A head of a program of every N → which row it reads, for every number of bits and of rows.

    score(query, key)  =  SUM over the bits, each bit's columns in order     a fold over F_p, from 0
    equal codes        →  exactly 0,     other codes  →  exp(score) = 0      decided by closure: any number of bits
    one row matches    →  Z = 1, its weight is 1, the others' 0, and any number is copied as it is

What is left is arithmetic of positions: the row that is asked for exists, is seen, and no other has its code.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from unmask.expressions import Expression, constant
from unmask.numerics.arithmetic import Precision, add, divide, exp, multiply
from unmask.programs.declarations import Flag, SignedBits
from unmask.programs.instance import forms_of, pieces_of
from unmask.programs.program import Form, HeadBuilder, Program, Weight, integers
from unmask.verification.lengths.obligations import AnyRow, Arithmetic, ObligationFailed, reachable_closure

ONE = "1"
"""The name under which a form reads the column that is always 1."""


@dataclass(frozen=True)
class HeadRead:
    """Row n reads the row whose code `key` is `address` of n; codes have room for `room` numbers."""

    name: str
    address: Expression
    key: Expression
    room: Expression


def reads_of(
    program: Program, layer: int, precision: Precision, arithmetic: Arithmetic, of: str, row: AnyRow | None = None
) -> list[HeadRead]:
    """Every head of a layer, decided; obligations about what it reads go into the ledger.

    `row` is any row n, with quotients that a proof has named; by default a new variable.
    """
    reads = comparisons_of(program, layer, precision, arithmetic, of)
    for read in reads:
        _positions(program, read, arithmetic, row or arithmetic.row())
    return reads


def comparisons_of(
    program: Program, layer: int, precision: Precision, arithmetic: Arithmetic, of: str
) -> list[HeadRead]:
    """Every head of a layer, as far as it compares codes, of whichever rows."""
    heads = program.layers[layer].heads
    return [
        _comparison(program, head, f"{of}, layer {layer}, head {i}", precision, arithmetic)
        for i, head in enumerate(heads)
    ]


def read_of(
    program: Program,
    head: HeadBuilder,
    name: str,
    precision: Precision,
    arithmetic: Arithmetic,
    row: AnyRow | None = None,
) -> HeadRead:
    """One head, decided; as `reads_of`."""
    read = _comparison(program, head, name, precision, arithmetic)
    _positions(program, read, arithmetic, row or arithmetic.row())
    return read


def _comparison(
    program: Program, head: HeadBuilder, name: str, precision: Precision, arithmetic: Arithmetic
) -> HeadRead:
    found: list[HeadRead] = []

    def decide() -> str:
        found.append(_decided(program, head, name))
        return f"{len(scores_of(program, head, precision))} states"

    arithmetic.ledger.settle(f"{name} scores 0 on equal codes, and no weight on others", "closure", decide)
    return found[0]


def require_copies(precision: Precision, arithmetic: Arithmetic) -> None:
    """exp(0)/Z is 1 where one row matches, and weights 1 and 0 copy any number."""

    def show() -> str:
        one, every = precision.one, np.array(precision.numbers())
        match = int(exp(np.zeros(1, dtype=np.int64), precision)[0])
        if match <= 0 or int(divide(match, match, precision)) != one or int(divide(0, match, precision)) != 0:
            raise ObligationFailed("the weight of a row that alone matches is not 1")
        if (multiply(one, every, precision) != every).any() or multiply(0, every, precision).any():
            raise ObligationFailed("a weight of 1 does not copy every number")
        return f"{every.size} numbers"

    arithmetic.ledger.settle("LOOKUP: one row that matches has the weight 1, and is copied", "enumeration", show)


def weights_among_any(weight: int, precision: Precision) -> set[int]:
    """w/Z for every Z = w + … + w over one row or more; rows that are not seen have no part in any sum."""
    sums: set[int] = set()
    reachable_closure([weight], lambda Z: [("row", int(add(Z, weight, precision)))], sums.add)
    every = np.array(precision.numbers())
    if any(int(divide(0, Z, precision)) for Z in sums) or multiply(0, every, precision).any():
        raise ObligationFailed("a row that is not seen adds something")
    return {int(divide(weight, Z, precision)) for Z in sums}


def _constant_one(program: Program) -> None:
    """The column `one` is 1 in every row, before every layer: declared so, and written by nothing else."""
    declared = program.positions.get("one")
    if type(declared) is not Flag or not declared.expression.value:
        raise ObligationFailed("the column `one` is not declared as 1 in every row")
    _unwritten(program, "one")


def _unwritten(program: Program, name: str) -> None:
    """A column that holds in every layer what the positions say."""
    (column,) = program.columns(name).tolist()
    mlps = [layer.mlp for layer in program.layers]
    targets = [e.target for e in program.embedding]
    targets += [e.target for layer in program.layers for head in layer.heads for e in head.value]
    targets += [e.target for mlp in mlps for e in mlp.outputs] + [c for mlp in mlps for c, _ in mlp.offsets]
    if any((target == column).any() for target in targets):
        raise ObligationFailed(f"something is written to the column `{name}`")


def _decided(program: Program, head: HeadBuilder, name: str) -> HeadRead:
    """The codes that the one block of a head compares."""
    _constant_one(program)
    forms = forms_of(head)
    pieces = pieces_of(head)
    if len(pieces) != 1 or pieces[0] not in head.blocks:
        raise ObligationFailed("the head has other columns than those of one comparison of codes")
    queries = sorted({n for query, _ in forms for n, _ in _reads(program, query) if n in program.codes})
    keys = sorted({n for _, key in forms for n, _ in _reads(program, key) if n in program.codes})
    if len(keys) != 1 or len(queries) > 1:
        raise ObligationFailed("the head compares other than two codes")
    room = {str(program.codes[name]) for name in (*queries, *keys)}
    if len(room) != 1:
        raise ObligationFailed("the codes of a comparison have different numbers of bits")
    address = _number(program, queries[0]) if queries else constant(0)
    return HeadRead(name, address, _number(program, keys[0]), program.codes[keys[0]])


def _number(program: Program, name: str) -> Expression:
    declared = program.positions.get(name)
    if type(declared) is not SignedBits or declared.only is not None:
        raise ObligationFailed(f"the code {name} is not declared as the bits of a number in every row")
    return declared.expression


def _reads(program: Program, form: Form) -> Iterator[tuple[str, Weight]]:
    names = [name for name, labels in program.registers.items() for _ in labels]
    for columns, weight in form:
        for column in np.atleast_1d(columns).tolist():
            yield (ONE if column == int(program.one[0]) else names[column]), weight


def scores_of(program: Program, head: HeadBuilder, precision: Precision) -> list[tuple[int, bool]]:
    """All (score, do the codes differ so far) after any number of bits, in order; raises `Open` where one is wrong."""
    seen: set[Score] = set()

    def flaw(state: Score) -> str | None:
        score, differs = state
        seen.add(state)
        if not differs:
            return None if score == 0 else f"equal codes score {precision.meaning(score)}"
        weight = int(exp(np.array([score]), precision)[0])
        return None if weight == 0 else f"codes that differ have the exponential {precision.meaning(weight)}"

    closure = reachable_closure([(0, False)], _bits(program, forms_of(head), precision), flaw)
    if closure.witness is not None:
        raise ObligationFailed(f"{closure.witness.flaw}, with {len(closure.witness.letters)} bits")
    return sorted(seen)


Score = tuple[int, bool]
"""(score so far, are the codes so far such that the row should not be seen)"""


def _bits(program: Program, forms: Sequence[tuple[Form, Form]], precision: Precision):
    """What one more bit of both codes does to a score."""
    block = [(tuple(_reads(program, q)), tuple(_reads(program, k))) for q, k in forms]
    allowed = {ONE, *program.codes}
    if any(name not in allowed for column in block for form in column for name, _ in form):
        raise ObligationFailed("the head reads columns that are neither a code nor the constant 1")
    asks = any(name in program.codes for query, _ in block for name, _ in query)

    def moves(state: Score) -> Iterator[tuple[tuple[int, int], Score]]:
        # without a code in the query, the code that is asked for is 0: all its bits are -1
        for a, b in product((-1, 1) if asks else (-1,), (-1, 1)):
            score = state[0]
            for query, key in block:
                term = int(multiply(_value(query, a, precision), _value(key, b, precision), precision))
                score = int(add(score, term, precision))
            yield (a, b), (score, state[1] or a != b)

    return moves


def _value(form: Sequence[tuple[str, Weight]], bit: int, precision: Precision) -> int:
    """A form over columns that hold a bit of a code, or a flag, and the constant 1."""
    total = 0
    for name, weight in form:
        value_there = precision.one * (1 if name == ONE else bit)
        total = int(add(total, int(multiply(value_there, int(integers(weight, precision)), precision)), precision))
    return total


@dataclass(frozen=True)
class SeenRows:
    """A head sees the rows with the query's code `target` (all rows, without a target) that are not `hidden`.

    Each of these has the exponential `weight`, all others 0.
    """

    name: str
    target: Expression | None
    room: Expression | None
    hidden: Expression
    weight: int


def seen_of(program: Program, layer: int, precision: Precision, arithmetic: Arithmetic, of: str) -> list[SeenRows]:
    """Every head of a layer that sees rows by their code and a flag, decided for any number of bits."""
    found: list[SeenRows] = []
    for i, head in enumerate(program.layers[layer].heads):
        name = f"{of}, layer {layer}, head {i}"

        def decide(head: HeadBuilder = head, name: str = name) -> str:
            found.append(_seen(program, head, name, precision))
            return f"the exponential is {precision.meaning(found[-1].weight)}"

        what = "weighs rows with its code that are not hidden alike, and no others"
        arithmetic.ledger.settle(f"{name} {what}", "closure", decide)
    return found


def _seen(program: Program, head: HeadBuilder, name: str, precision: Precision) -> SeenRows:
    _constant_one(program)
    forms = forms_of(head)
    blocks = [piece for piece in pieces_of(head) if piece in head.blocks]
    if len(blocks) > 1 or any(first for first, _ in blocks):
        raise ObligationFailed("the head does not start with one comparison of codes, or has several")
    last = blocks[0][1] if blocks else 0
    target, room = None, None
    scores: set[Score] = {(0, False)}
    if blocks:
        sides = [{n for pair in forms[:last] for n, _ in _reads(program, pair[side])} - {ONE} for side in (0, 1)]
        if sides[0] != sides[1] or len(sides[0]) != 1 or not sides[0] <= set(program.codes):
            raise ObligationFailed("the head does not compare one code of both rows")
        (code,) = sides[0]
        target, room, scores = _number(program, code), program.codes[code], set()
        start = [state for _, state in _bits(program, forms[:last], precision)((0, False))]
        reachable_closure(start, _bits(program, forms[:last], precision), scores.add)
    hidden, weight = _hides(program, forms[last:], scores, precision)
    return SeenRows(name, target, room, hidden, weight)


@dataclass(frozen=True)
class RowsBelow:
    """A head sees the rows that are not `hidden` and whose `number` is at most its own, each with this exponential."""

    name: str
    number: Expression
    room: Expression
    hidden: Expression
    weight: int


def at_most_of(program: Program, layer: int, precision: Precision, arithmetic: Arithmetic, of: str) -> RowsBelow:
    """The one head of a layer, by AT MOST and HIDE, decided for any number of bits."""
    (head,) = program.layers[layer].heads
    name, found = f"{of}, layer {layer}, head 0", []

    def decide() -> str:
        below, states = _below(program, head, name, precision)
        found.append(below)
        return f"{states} states"

    what = "weighs rows that are not hidden and have at most its number alike, and no others"
    arithmetic.ledger.settle(f"{name} {what}", "closure", decide)
    return found[0]


def _below(program: Program, head: HeadBuilder, name: str, precision: Precision) -> tuple[RowsBelow, int]:
    _constant_one(program)
    forms = forms_of(head)
    blocks = [piece for piece in pieces_of(head) if piece in head.blocks]
    if len(blocks) != 1 or blocks[0] not in head.rising:
        raise ObligationFailed("the head does not compare codes once, from the lowest bit on")
    first, last = blocks[0]
    sides = [{n for pair in forms[first:last] for n, _ in _reads(program, pair[side])} - {ONE} for side in (0, 1)]
    if sides[0] != sides[1] or len(sides[0]) != 1 or not sides[0] <= set(program.codes):
        raise ObligationFailed("the head does not compare one code of both rows")
    (code,) = sides[0]
    before = 0
    for query, key in forms[:first]:
        read = [tuple(_reads(program, form)) for form in (query, key)]
        if any(n != ONE for form in read for n, _ in form):
            raise ObligationFailed("the head reads other than the constant 1 before it compares codes")
        term = multiply(_value(read[0], 1, precision), _value(read[1], 1, precision), precision)
        before = int(add(before, int(term), precision))
    added = _bits(program, forms[first:last], precision)

    def moves(state: Score) -> Iterator[tuple[tuple[int, int], Score]]:
        for (a, b), (score, _) in added((state[0], False)):
            yield (a, b), (score, b > a if a != b else state[1])  # a higher bit counts more than all below it

    scores: set[Score] = set()
    reachable_closure([state for _, state in moves((before, False))], moves, scores.add)
    hidden, weight = _hides(program, forms[last:], scores, precision)
    return RowsBelow(name, _number(program, code), program.codes[code], hidden, weight), len(scores)


def _hides(
    program: Program, forms: Sequence[tuple[Form, Form]], scores: set[Score], precision: Precision
) -> tuple[Expression, int]:
    """The flag of the rows that are hidden, and the exponential of all others whose code is right."""
    columns = [(tuple(_reads(program, q)), tuple(_reads(program, k))) for q, k in forms]
    names = {n for _, key in columns for n, _ in key} - {ONE}
    if len(names) != 1 or any(n != ONE for query, _ in columns for n, _ in query):
        raise ObligationFailed("the head reads other than one flag of the keys")
    (name,) = names
    declared = program.positions.get(name)
    if type(declared) is not Flag:
        raise ObligationFailed(f"{name} is not a flag in every row")
    _unwritten(program, name)
    seen: set[int] = set()
    for (score, differs), flag in product(scores, (0, 1)):
        for query, key in columns:
            term = multiply(_value(query, 1, precision), _value(key, flag, precision), precision)
            score = int(add(score, int(term), precision))
        weight = int(exp(np.array([score]), precision)[0])
        if not differs and not flag:
            seen.add(weight)
        elif weight:
            raise ObligationFailed(f"a row that should not be seen has the exponential {precision.meaning(weight)}")
    if len(seen) != 1 or min(seen) <= 0:
        raise ObligationFailed("the rows with the code do not have equal positive weights")
    return declared.expression, seen.pop()


def _positions(program: Program, read: HeadRead, arithmetic: Arithmetic, row: AnyRow) -> None:
    """Codes are those of the rows, fit, and the row that is asked for is there to be seen."""
    z3, n = arithmetic.z3, row.n
    assert program.every is not None
    rows, room = arithmetic.at(program.every, row), arithmetic.at(read.room, row)
    here = [*row.facts, n >= 0, n < rows]
    key, address = arithmetic.at(read.key, row), arithmetic.at(read.address, row)
    arithmetic.require(f"{read.name}: the code of row n is n, and has room", z3.And(key == n, rows <= room), here)
    seen = address <= n if program.attention == "causal" else address < rows
    arithmetic.require(f"{read.name}: the row that is asked for is there", z3.And(address >= 0, seen), here)
