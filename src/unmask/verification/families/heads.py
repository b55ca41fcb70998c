"""A head of a program of every N → which row it reads, for every number of bits and of rows.

    score(query, key)  =  SUM over the bits, each bit's columns in order     a fold over F_p, from 0
    equal codes        →  exactly 0,     other codes  →  exp(score) = 0      decided by closure: any number of bits
    one row matches    →  Z = 1, its weight is 1, the others' 0, and any number is copied as it is

What is left is arithmetic of positions: the row that is asked for exists, is seen, and no other has its code.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from unmask.numerics.arithmetic import add, divide, multiply
from unmask.numerics.exponential import exp
from unmask.numerics.precision import Precision
from unmask.programs.language.builders import Form, HeadBuilder, Weight
from unmask.programs.language.coefficients import Coefficient
from unmask.programs.language.declarations import Flag, SignedBits
from unmask.programs.language.instance import forms_of, pieces_of
from unmask.programs.language.positions import Expression, constant
from unmask.programs.language.program import Program
from unmask.verification.families.arithmetic import Arithmetic, Row
from unmask.verification.families.ledger import Open
from unmask.verification.folds.closure import close

ONE = "1"
"""The name under which a form reads the column that is always 1."""


@dataclass(frozen=True)
class Read:
    """Row n reads the row whose code `key` is `address` of n; codes have room for so many numbers."""

    name: str
    address: Expression
    key: Expression
    room: Expression


def reads_of(
    program: Program, layer: int, precision: Precision, arithmetic: Arithmetic, of: str, row: Row | None = None
) -> list[Read]:
    """Every head of a layer, decided; obligations about what it reads go into the ledger.

    `row` is any row n, with quotients that a proof has named; by default a new variable.
    """
    reads = comparisons_of(program, layer, precision, arithmetic, of)
    for read in reads:
        _positions(program, read, arithmetic, row or arithmetic.row())
    return reads


def comparisons_of(program: Program, layer: int, precision: Precision, arithmetic: Arithmetic, of: str) -> list[Read]:
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
    row: Row | None = None,
) -> Read:
    """One head, decided; as `reads_of`."""
    read = _comparison(program, head, name, precision, arithmetic)
    _positions(program, read, arithmetic, row or arithmetic.row())
    return read


def _comparison(program: Program, head: HeadBuilder, name: str, precision: Precision, arithmetic: Arithmetic) -> Read:
    found: list[Read] = []

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
            raise Open("the weight of a row that alone matches is not 1")
        if (multiply(one, every, precision) != every).any() or multiply(0, every, precision).any():
            raise Open("a weight of 1 does not copy every number")
        return f"{every.size} numbers"

    arithmetic.ledger.settle("LOOKUP: one row that matches has the weight 1, and is copied", "enumeration", show)


def _constant_one(program: Program) -> None:
    """The column `one` is 1 in every row, before every layer: declared so, and written by nothing else."""
    declared, one = program.positions.get("one"), int(program.one[0])
    if type(declared) is not Flag or not declared.expression.value:
        raise Open("the column `one` is not declared as 1 in every row")
    mlps = [layer.mlp for layer in program.layers]
    targets = [e.target for e in program.embedding]
    targets += [e.target for layer in program.layers for head in layer.heads for e in head.value]
    targets += [e.target for mlp in mlps for e in mlp.outputs] + [c for mlp in mlps for c, _ in mlp.offsets]
    if any((target == one).any() for target in targets):
        raise Open("something is written to the column `one`")


def _decided(program: Program, head: HeadBuilder, name: str) -> Read:
    """The codes that the one block of a head compares."""
    _constant_one(program)
    forms = forms_of(head)
    pieces = pieces_of(head)
    if len(pieces) != 1 or pieces[0] not in head.blocks:
        raise Open("the head has other columns than those of one comparison of codes")
    queries = sorted({n for query, _ in forms for n, _ in _reads(program, query) if n in program.codes})
    keys = sorted({n for _, key in forms for n, _ in _reads(program, key) if n in program.codes})
    if len(keys) != 1 or len(queries) > 1:
        raise Open("the head compares other than two codes")
    room = {str(program.codes[name]) for name in (*queries, *keys)}
    if len(room) != 1:
        raise Open("the codes of a comparison have different numbers of bits")
    address = _number(program, queries[0]) if queries else constant(0)
    return Read(name, address, _number(program, keys[0]), program.codes[keys[0]])


def _number(program: Program, name: str) -> Expression:
    declared = program.positions.get(name)
    if type(declared) is not SignedBits or declared.only is not None:
        raise Open(f"the code {name} is not declared as the bits of a number in every row")
    return declared.expression


def _reads(program: Program, form: Form) -> Iterator[tuple[str, Weight]]:
    names = [name for name, labels in program.registers.items() for _ in labels]
    for columns, weight in form:
        for column in np.atleast_1d(columns).tolist():
            yield (ONE if column == int(program.one[0]) else names[column]), weight


def scores_of(program: Program, head: HeadBuilder, precision: Precision) -> list[tuple[int, bool]]:
    """All (score, do the codes differ so far) after any number of bits, in order; raises `Open` where one is wrong."""
    block = [(tuple(_reads(program, q)), tuple(_reads(program, k))) for q, k in forms_of(head)]
    allowed = {ONE, *program.codes}
    if any(name not in allowed for column in block for form in column for name, _ in form):
        raise Open("the head reads columns that are neither a code nor the constant 1")
    asks = any(name in program.codes for query, _ in block for name, _ in query)

    def value(form: tuple[tuple[str, Weight], ...], bit: int) -> int:
        total = 0
        for name, weight in form:
            held = precision.one * (1 if name == ONE else bit)
            total = int(add(total, int(multiply(held, _integer(weight, precision), precision)), precision))
        return total

    def moves(state: tuple[int, bool]) -> Iterator[tuple[tuple[int, int], tuple[int, bool]]]:
        # without a code in the query, the code that is asked for is 0: all its bits are -1
        for a, b in product((-1, 1) if asks else (-1,), (-1, 1)):
            score = state[0]
            for query, key in block:
                term = int(multiply(value(query, a), value(key, b), precision))
                score = int(add(score, term, precision))
            yield (a, b), (score, state[1] or a != b)

    seen: set[tuple[int, bool]] = set()

    def flaw(state: tuple[int, bool]) -> str | None:
        score, differs = state
        seen.add(state)
        if not differs:
            return None if score == 0 else f"equal codes score {precision.meaning(score)}"
        weight = int(exp(np.array([score]), precision)[0])
        return None if weight == 0 else f"codes that differ have the exponential {precision.meaning(weight)}"

    closure = close([(0, False)], moves, flaw)
    if closure.witness is not None:
        raise Open(f"{closure.witness.flaw}, with {len(closure.witness.letters)} bits")
    return sorted(seen)


def _integer(weight: Weight, precision: Precision) -> int:
    return weight.integer(precision) if isinstance(weight, Coefficient) else int(weight)


def _positions(program: Program, read: Read, arithmetic: Arithmetic, row: Row) -> None:
    """Codes are those of the rows, fit, and the row that is asked for is there to be seen."""
    z3, n = arithmetic.z3, row.n
    assert program.every is not None
    rows, room = arithmetic.at(program.every, row), arithmetic.at(read.room, row)
    here = [*row.facts, n >= 0, n < rows]
    key, address = arithmetic.at(read.key, row), arithmetic.at(read.address, row)
    arithmetic.require(f"{read.name}: the code of row n is n, and has room", z3.And(key == n, rows <= room), here)
    seen = address <= n if program.attention == "causal" else address < rows
    arithmetic.require(f"{read.name}: the row that is asked for is there", z3.And(address >= 0, seen), here)
