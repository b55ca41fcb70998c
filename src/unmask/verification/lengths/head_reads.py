"""A head of a program for every N → the row that it reads, for any number of bits and rows.

    score(query, key)  =  SUM over the bits, each bit's columns in order     summed in F_p from 0 on
    equal codes        →  exactly 0,     other codes  →  exp(score) = 0      by closure, for any number of bits
    one row matches    →  Z = 1, its weight is 1, all other weights are 0, and every number is copied exactly

The solver decides the rest, which is arithmetic of positions: the requested row exists, is visible, and no other row
has its code.
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
"""The name of the column that is 1 in every row."""
NamedForm = Sequence[tuple[str, Weight]]
"""(name of a register, weight) of every column that a form reads."""
Score = tuple[int, bool]
"""(score of some bits, whether the row must have no weight according to these bits)"""


@dataclass(frozen=True)
class HeadRead:
    """Row n reads the row whose code `key` equals the `address` of n; codes can represent `capacity` numbers."""

    name: str
    address: Expression
    key: Expression
    capacity: Expression


def reads_of(
    program: Program, layer: int, precision: Precision, arithmetic: Arithmetic, of: str, row: AnyRow | None = None
) -> list[HeadRead]:
    """Return the reads of the heads of a layer; settle that they hold in every row.

    `row` is any row n with the divisions that a proof has named, by default a new one. `of` names the transformer.
    """
    reads = comparisons_of(program, layer, precision, arithmetic, of)
    for read in reads:
        _require_positions(program, read, arithmetic, row or arithmetic.row())
    return reads


def comparisons_of(
    program: Program, layer: int, precision: Precision, arithmetic: Arithmetic, of: str
) -> list[HeadRead]:
    """Return the reads of the heads of a layer; settle only the scores of codes, not which rows have these codes."""
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
    """Return the read of one head; settle that it holds in every row. `row` is as in `reads_of`."""
    read = _comparison(program, head, name, precision, arithmetic)
    _require_positions(program, read, arithmetic, row or arithmetic.row())
    return read


def _comparison(
    program: Program, head: HeadBuilder, name: str, precision: Precision, arithmetic: Arithmetic
) -> HeadRead:
    """Return the read of a head; settle that it gives weight to equal codes alone."""

    def prove() -> tuple[HeadRead, str]:
        return _compared_codes(program, head, name), f"{len(scores_of(program, head, precision))} states"

    return arithmetic.ledger.compute(f"{name} scores 0 on equal codes, and no weight on others", "closure", prove)


def require_copies(precision: Precision, arithmetic: Arithmetic) -> None:
    """Settle that a single match has weight 1 and all else 0, and that these weights copy every number or nothing."""

    def prove() -> str:
        unit, numbers = precision.one, np.array(precision.numbers())
        match_weight = int(exp(np.zeros(1, dtype=np.int64), precision)[0])
        if (
            match_weight <= 0
            or int(divide(match_weight, match_weight, precision)) != unit
            or int(divide(0, match_weight, precision)) != 0
        ):
            raise ObligationFailed("the weight of a row that alone matches is not 1")
        if (multiply(unit, numbers, precision) != numbers).any() or multiply(0, numbers, precision).any():
            raise ObligationFailed("a weight of 1 does not copy every number")
        return f"{numbers.size} numbers"

    arithmetic.ledger.settle("LOOKUP: one row that matches has the weight 1, and is copied", "enumeration", prove)


def weights_among_any(weight: int, precision: Precision) -> set[int]:
    """Return w/Z for every Z = w + … + w over one row or more; check that rows without weight add nothing."""
    sums: set[int] = set()
    reachable_closure([weight], lambda Z: [("row", int(add(Z, weight, precision)))], sums.add)
    numbers = np.array(precision.numbers())
    if any(int(divide(0, Z, precision)) for Z in sums) or multiply(0, numbers, precision).any():
        raise ObligationFailed("a row that is not seen adds something")
    return {int(divide(weight, Z, precision)) for Z in sums}


def _check_constant_one(program: Program) -> None:
    """Check that the column `one` is declared as 1 in every row and that nothing else writes to it."""
    declared = program.positions.get("one")
    if type(declared) is not Flag or not declared.expression.value:
        raise ObligationFailed("the column `one` is not declared as 1 in every row")
    _check_unwritten(program, "one")


def _check_unwritten(program: Program, name: str) -> None:
    """Check that nothing but the position embeddings writes to a column."""
    (column,) = program.columns(name).tolist()
    mlps = [layer.mlp for layer in program.layers]
    targets = [e.target for e in program.embedding]
    targets += [e.target for layer in program.layers for head in layer.heads for e in head.value]
    targets += [e.target for mlp in mlps for e in mlp.outputs] + [c for mlp in mlps for c, _ in mlp.offsets]
    if any((target == column).any() for target in targets):
        raise ObligationFailed(f"something is written to the column `{name}`")


def _compared_codes(program: Program, head: HeadBuilder, name: str) -> HeadRead:
    """Return the read of a head that compares two codes and does nothing else."""
    _check_constant_one(program)
    forms = forms_of(head)
    pieces = pieces_of(head)
    if len(pieces) != 1 or pieces[0] not in head.blocks:
        raise ObligationFailed("the head has other columns than those of one comparison of codes")
    queries = sorted({n for query, _ in forms for n, _ in _named_form(program, query) if n in program.codes})
    keys = sorted({n for _, key in forms for n, _ in _named_form(program, key) if n in program.codes})
    if len(keys) != 1 or len(queries) > 1:
        raise ObligationFailed("the head compares other than two codes")
    capacities = {str(program.codes[name]) for name in (*queries, *keys)}
    if len(capacities) != 1:
        raise ObligationFailed("the codes of a comparison have different numbers of bits")
    address = _number_of_code(program, queries[0]) if queries else constant(0)
    return HeadRead(name, address, _number_of_code(program, keys[0]), program.codes[keys[0]])


def _number_of_code(program: Program, name: str) -> Expression:
    """Return the formula of the number that a code represents."""
    declared = program.positions.get(name)
    if type(declared) is not SignedBits or declared.only is not None:
        raise ObligationFailed(f"the code {name} is not declared as the bits of a number in every row")
    return declared.expression


def _named_form(program: Program, form: Form) -> NamedForm:
    """Return (name of the register, weight) of every column that a form reads."""
    names = [name for name, labels in program.registers.items() for _ in labels]
    one = int(program.one[0])
    return [
        (ONE if column == one else names[column], weight)
        for columns, weight in form
        for column in np.atleast_1d(columns).tolist()
    ]


def scores_of(program: Program, head: HeadBuilder, precision: Precision) -> list[tuple[int, bool]]:
    """Return all (score, whether the codes differ) after any number of bits, in order.

    Raise ObligationFailed if equal codes do not score 0, or different codes have weight.
    """
    reached: set[Score] = set()

    def flaw(state: Score) -> str | None:
        score, differs = state
        reached.add(state)
        if not differs:
            return None if score == 0 else f"equal codes score {precision.meaning(score)}"
        weight = int(exp(np.array([score]), precision)[0])
        return None if weight == 0 else f"codes that differ have the exponential {precision.meaning(weight)}"

    closure = reachable_closure([(0, False)], _bit_moves(program, forms_of(head), precision), flaw)
    if closure.witness is not None:
        raise ObligationFailed(f"{closure.witness.flaw}, with {len(closure.witness.letters)} bits")
    return sorted(reached)


def _bit_moves(program: Program, forms: Sequence[tuple[Form, Form]], precision: Precision):
    """Return the moves of a score: one more bit of both codes."""
    block = [(_named_form(program, q), _named_form(program, k)) for q, k in forms]
    allowed = {ONE, *program.codes}
    if any(name not in allowed for column in block for form in column for name, _ in form):
        raise ObligationFailed("the head reads columns that are neither a code nor the constant 1")
    has_query_code = any(name in program.codes for query, _ in block for name, _ in query)

    def moves(state: Score) -> Iterator[tuple[tuple[int, int], Score]]:
        # a query without a code asks for the number 0, whose bits are all -1
        for a, b in product((-1, 1) if has_query_code else (-1,), (-1, 1)):
            score = state[0]
            for query, key in block:
                score = _next_score(score, query, key, (a, b), precision)
            yield (a, b), (score, state[1] or a != b)

    return moves


def _next_score(score: int, query: NamedForm, key: NamedForm, bits: tuple[int, int], precision: Precision) -> int:
    """Return the score plus one term, query·key, for these bits (or flags) of the two rows."""
    term = multiply(_value(query, bits[0], precision), _value(key, bits[1], precision), precision)
    return int(add(score, int(term), precision))


def _value(form: NamedForm, bit: int, precision: Precision) -> int:
    """Return the value of a form over the constant 1 and columns that all hold this bit (or flag)."""
    total = 0
    for name, weight in form:
        value = precision.one * (1 if name == ONE else bit)
        total = int(add(total, int(multiply(value, int(integers(weight, precision)), precision)), precision))
    return total


@dataclass(frozen=True)
class VisibleRows:
    """The visible rows of a head: those with the query's code `target` that are not `hidden`; any code without target.

    The exponential of a visible row is `weight`, and that of all others is 0.
    """

    name: str
    target: Expression | None
    capacity: Expression | None
    hidden: Expression
    weight: int


def visible_rows_of(
    program: Program, layer: int, precision: Precision, arithmetic: Arithmetic, of: str
) -> list[VisibleRows]:
    """Return the visible rows of the heads of a layer, which depend on a code and a flag."""
    return [
        _visible_rows(program, head, f"{of}, layer {layer}, head {i}", precision, arithmetic)
        for i, head in enumerate(program.layers[layer].heads)
    ]


def _visible_rows(
    program: Program, head: HeadBuilder, name: str, precision: Precision, arithmetic: Arithmetic
) -> VisibleRows:
    """Return the visible rows of a head; settle that they have equal weight, and no others have any."""

    def prove() -> tuple[VisibleRows, str]:
        visible = _rows_with_code(program, head, name, precision)
        return visible, f"the exponential is {precision.meaning(visible.weight)}"

    claim = "weighs rows with its code that are not hidden alike, and no others"
    return arithmetic.ledger.compute(f"{name} {claim}", "closure", prove)


def _rows_with_code(program: Program, head: HeadBuilder, name: str, precision: Precision) -> VisibleRows:
    """Return the visible rows of a head that compares at most one code, and hides rows by a flag."""
    _check_constant_one(program)
    forms = forms_of(head)
    blocks = [piece for piece in pieces_of(head) if piece in head.blocks]
    if len(blocks) > 1 or any(first for first, _ in blocks):
        raise ObligationFailed("the head does not start with one comparison of codes, or has several")
    last = blocks[0][1] if blocks else 0
    target, capacity = None, None
    scores: set[Score] = {(0, False)}
    if blocks:
        code = _common_code(program, forms[:last])
        target, capacity, scores = _number_of_code(program, code), program.codes[code], set()
        start = [state for _, state in _bit_moves(program, forms[:last], precision)((0, False))]
        reachable_closure(start, _bit_moves(program, forms[:last], precision), scores.add)
    hidden, weight = _hidden_rows(program, forms[last:], scores, precision)
    return VisibleRows(name, target, capacity, hidden, weight)


def _common_code(program: Program, forms: Sequence[tuple[Form, Form]]) -> str:
    """Return the code that these columns of a head read in both rows."""
    queries, keys = ({n for pair in forms for n, _ in _named_form(program, pair[i])} - {ONE} for i in (0, 1))
    if queries != keys or len(queries) != 1 or not queries <= set(program.codes):
        raise ObligationFailed("the head does not compare one code of both rows")
    return queries.pop()


@dataclass(frozen=True)
class RowsBelow:
    """The visible rows of a head: those not `hidden` whose `number` is at most its own, each with this exponential."""

    name: str
    number: Expression
    capacity: Expression
    hidden: Expression
    weight: int


def rows_below_of(program: Program, layer: int, precision: Precision, arithmetic: Arithmetic, of: str) -> RowsBelow:
    """Return the visible rows of the single head of a layer, which compares numbers (AT MOST) and hides rows (HIDE)."""
    (head,) = program.layers[layer].heads
    name = f"{of}, layer {layer}, head 0"

    def prove() -> tuple[RowsBelow, str]:
        below, states = _rows_below(program, head, name, precision)
        return below, f"{states} states"

    claim = "weighs rows that are not hidden and have at most its number alike, and no others"
    return arithmetic.ledger.compute(f"{name} {claim}", "closure", prove)


def _rows_below(program: Program, head: HeadBuilder, name: str, precision: Precision) -> tuple[RowsBelow, int]:
    """Return (visible rows of a head that compares numbers, number of different scores)."""
    _check_constant_one(program)
    forms = forms_of(head)
    blocks = [piece for piece in pieces_of(head) if piece in head.blocks]
    if len(blocks) != 1 or blocks[0] not in head.rising:
        raise ObligationFailed("the head does not compare codes once, from the lowest bit on")
    first, last = blocks[0]
    code = _common_code(program, forms[first:last])
    start_score = 0
    for query, key in forms[:first]:
        read = [_named_form(program, form) for form in (query, key)]
        if any(n != ONE for form in read for n, _ in form):
            raise ObligationFailed("the head reads other than the constant 1 before it compares codes")
        start_score = _next_score(start_score, read[0], read[1], (1, 1), precision)
    added = _bit_moves(program, forms[first:last], precision)

    def moves(state: Score) -> Iterator[tuple[tuple[int, int], Score]]:
        for (a, b), (score, _) in added((state[0], False)):
            yield (a, b), (score, b > a if a != b else state[1])  # a higher bit counts more than all below it

    scores: set[Score] = set()
    reachable_closure([state for _, state in moves((start_score, False))], moves, scores.add)
    hidden, weight = _hidden_rows(program, forms[last:], scores, precision)
    return RowsBelow(name, _number_of_code(program, code), program.codes[code], hidden, weight), len(scores)


def _hidden_rows(
    program: Program, forms: Sequence[tuple[Form, Form]], scores: set[Score], precision: Precision
) -> tuple[Expression, int]:
    """Return the flag that hides rows, and the exponential of all other rows whose code matches."""
    columns = [(_named_form(program, q), _named_form(program, k)) for q, k in forms]
    names = {n for _, key in columns for n, _ in key} - {ONE}
    if len(names) != 1 or any(n != ONE for query, _ in columns for n, _ in query):
        raise ObligationFailed("the head reads other than one flag of the keys")
    (name,) = names
    declared = program.positions.get(name)
    if type(declared) is not Flag:
        raise ObligationFailed(f"{name} is not a flag in every row")
    _check_unwritten(program, name)
    weights: set[int] = set()
    for (score, differs), flag in product(scores, (0, 1)):
        for query, key in columns:
            score = _next_score(score, query, key, (1, flag), precision)
        weight = int(exp(np.array([score]), precision)[0])
        if not differs and not flag:
            weights.add(weight)
        elif weight:
            raise ObligationFailed(f"a row that should not be seen has the exponential {precision.meaning(weight)}")
    if len(weights) != 1 or min(weights) <= 0:
        raise ObligationFailed("the rows with the code do not have equal positive weights")
    return declared.expression, weights.pop()


def _require_positions(program: Program, read: HeadRead, arithmetic: Arithmetic, row: AnyRow) -> None:
    """Settle that the code of row n is n, that codes have enough bits, and that the requested row is visible."""
    z3, n = arithmetic.z3, row.n
    assert program.rows_in_length is not None
    rows, capacity = arithmetic.at(program.rows_in_length, row), arithmetic.at(read.capacity, row)
    in_row = [*row.facts, n >= 0, n < rows]
    key, address = arithmetic.at(read.key, row), arithmetic.at(read.address, row)
    arithmetic.require(f"{read.name}: the code of row n is n, and has room", z3.And(key == n, rows <= capacity), in_row)
    visible = address <= n if program.attention == "causal" else address < rows
    arithmetic.require(f"{read.name}: the row that is asked for is there", z3.And(address >= 0, visible), in_row)
