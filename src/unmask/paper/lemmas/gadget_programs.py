"""Programs of a single gadget of any width, and of wrong variants of it.

They call the compiler's own gadgets (`programs.gadgets`). A head consists of pieces: columns before the block, the
block, and columns after it. `score` replaces the columns of a simulated model: their sum can be any number of F_p, here
that of the key's register `score`.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from unmask.expressions import n
from unmask.numerics.arithmetic import Precision
from unmask.programs.gadgets import attention, integers, whole_layers
from unmask.programs.gadgets import mlp as mlp_gadgets
from unmask.programs.program import (
    ABOVE_FAINTEST,
    HALF,
    ONE,
    ONE_HALF,
    TOP,
    ULP,
    B,
    Columns,
    HeadBuilder,
    LayerBuilder,
    MlpBuilder,
    Program,
    whole,
)
from unmask.programs.simulation import CausalCopies
from unmask.testing.gadget_runs import blank

Emit = Callable[[int], Program]
"""width → the program of a gadget of that width."""


# Heads: pieces of columns.


@dataclass(frozen=True, eq=False)
class GadgetRegisters:
    """The registers of a head: `query_code`, `code` and `care` are as wide as the gadget, the others are flags."""

    one: Columns
    score: Columns
    boosted: Columns
    hidden: Columns
    hides: Columns
    asks: Columns
    cares: Columns
    query_code: Columns
    code: Columns
    care: Columns

    @classmethod
    def of(cls, program: Program, width: int) -> "GadgetRegisters":
        single = [program.register(name) for name in ("score", "boosted", "hidden", "hides", "asks", "cares")]
        return cls(program.one, *single, *(program.register(name, width) for name in ("query_code", "code", "care")))


Piece = Callable[[HeadBuilder, GadgetRegisters], None]
INDEXED = frozenset({"query_code", "code", "care"})


@dataclass(frozen=True)
class HeadDesign:
    """A head of any width: pieces before the block, the block, which has `passes` passes, and pieces after it.

    The last `tail` columns that the piece `block` writes do not belong to the block, but come after it.
    """

    before: tuple[Piece, ...] = ()
    block: Piece | None = None
    passes: int = 1
    after: tuple[Piece, ...] = ()
    tail: int = 0

    def emit(self, width: int, *, rows: int = 1, values: int = 0) -> tuple[Program, tuple[int, int, int]]:
        """Return the program, and the numbers of columns at which its three pieces end.

        With `values`, the head copies the register `value` of the rows that it attends to into `fetched`.
        """
        program = blank(rows)
        registers, ends = GadgetRegisters.of(program, width), []
        head = program.layer().head()
        for pieces in (self.before, () if self.block is None else (self.block,), self.after):
            for piece in pieces:
                piece(head, registers)
            ends.append(head.width)
        if values:
            head.copy(program.register("value", values), program.register("fetched", values))
        return program, (ends[0], ends[1] - self.tail, ends[2])


def score(head: HeadBuilder, r: GadgetRegisters) -> None:
    head.column([(r.one, ONE)], [(r.score, ONE)])


def eq(head: HeadBuilder, r: GadgetRegisters) -> None:
    attention.eq(head, r.query_code, r.code)


def eq_scaled(scale: int) -> Piece:
    """EQ with an integer of F_p instead of B (lem:our-pos-enc-properties; FOCUS has [B/2])."""
    weight = np.array([scale])

    def piece(head: HeadBuilder, r: GadgetRegisters) -> None:
        for a, b in zip(r.query_code, r.code, strict=True):
            head.column([(a, weight)], [(b, ONE)])
            head.column([(r.one, weight)], [(r.one, -ONE)])

    return piece


def focus(copies: int) -> Piece:
    return lambda head, r: attention.focus(head, r.query_code, r.code, copies=copies)


def hide(copies: int) -> Piece:
    return lambda head, r: attention.hide(head, r.hidden, copies=copies)


def focus_some(copies: int) -> Piece:
    """FOCUS for the queries that ask and the keys that care."""
    return lambda head, r: attention.focus(head, r.query_code, r.code, copies=copies, asks=r.asks, cares=r.cares)


def hide_from_some(copies: int) -> Piece:
    """HIDE for the queries that `hides` flags."""
    return lambda head, r: attention.hide(head, r.hidden, copies=copies, of=r.hides)


def boost(head: HeadBuilder, r: GadgetRegisters) -> None:
    attention.boost(head, r.boosted)


def hide_later(head: HeadBuilder, r: GadgetRegisters) -> None:
    """`query_code` is the thermometer code of the query's position, `code` the one-hot code of the key's."""
    attention.hide_later(head, r.query_code, r.code)


def see_earlier(copies: int) -> Piece:
    """FOCUS with a care bit per bit, and HIDE: the columns of `simulation.CausalCopies`."""

    def piece(head: HeadBuilder, r: GadgetRegisters) -> None:
        # the copies read the query's code from the lowest bit on
        rows = CausalCopies(n, r.query_code[::-1], r.code, r.care, r.hidden)
        rows.see_earlier(head, copies=copies)

    return piece


def see_all(head: HeadBuilder, r: GadgetRegisters) -> None:  # noqa: ARG001
    attention.see_all(head)


def none_above(copies: int = 2) -> Piece:
    # the lowest bit comes first
    return lambda head, r: attention.none_above(head, r.query_code[::-1], r.code[::-1], copies=copies)


def latest_of(rows: int) -> Program:
    """A head that sees all rows and fetches which of two flags came last."""
    program = blank(rows)
    head = program.layer().head()
    attention.see_all(head)
    attention.latest(head, *(program.register(name) for name in ("plus", "minus", "latest")))
    return program


def eq_without_ones(head: HeadBuilder, r: GadgetRegisters) -> None:
    """Wrong: only B·a_i·b_i, so that a bit that agrees cancels one that differs."""
    for a, b in zip(r.query_code, r.code, strict=True):
        head.column([(a, B)], [(b, ONE)])


def eq_in_halves(head: HeadBuilder, r: GadgetRegisters) -> None:
    """Wrong as EQ: [B/2] instead of B, in one pass, as in FOCUS."""
    attention.match(head, attention.scaled(r.query_code, HALF), r.code, HALF)


def encoded(width: int, bits: int) -> Program:
    """A head whose query forms are the signed bits, times B, of a number in one-hot code of any width."""
    program = blank()
    number, code = program.register("number", width), program.register("code", bits)
    attention.match(program.layer().head(), attention.encoded(number, bits), code)
    return program


def boost_once(head: HeadBuilder, r: GadgetRegisters) -> None:
    """Wrong: a score of -B becomes 0."""
    head.column([(r.boosted, B)], [(r.one, ONE)])


def hide_later_once(head: HeadBuilder, r: GadgetRegisters) -> None:
    """Wrong: a score of B becomes 0."""
    for flag, position in zip(r.query_code, r.code, strict=True):
        head.column([(flag, -B)], [(position, ONE)])


# MLPs: a hidden unit, or an output column, of any fan-in.


def nor(width: int) -> Program:
    """A hidden unit over x_0 … x_(width-1), written to y."""
    program = blank()
    x, y = program.register("x", width), program.register("y")
    mlp = program.layer().mlp
    mlp.write(mlp_gadgets.nor(mlp, [x]), y)
    return program


def outer_nor(width: int) -> Program:
    """An output column over units that copy x_i."""
    program = blank()
    x, y = program.register("x", width), program.register("y")
    mlp = program.layer().mlp
    mlp_gadgets.write_nor(mlp, [mlp_gadgets.conjunction(mlp, x, [[]] * width)], y)
    return program


def conjunction(position: int) -> Callable[[int], Program]:
    """A hidden unit x ∧ ¬y_i, where the column of x comes after `position` columns of y."""

    def emit(width: int) -> Program:
        program = blank()
        first = program.register("y", min(position, width))
        x = program.register("x")
        y = np.concatenate([first, program.register("z", width - first.size)])
        result, mlp = program.register("result"), program.layer().mlp
        mlp.write(mlp_gadgets.conjunction(mlp, x, [y]), result)
        return program

    return emit


def textbook_and(width: int) -> Program:
    """Wrong: ReLU(Σ x_i - (k - 1))."""
    program = blank()
    x, y = program.register("x", width), program.register("y")
    mlp = program.layer().mlp
    unit = mlp.units(1, bias=whole(-(width - 1)))
    mlp.read(unit, x)
    mlp.write(unit, y)
    return program


def plain_or(width: int) -> Program:
    """Wrong if several units may be 1: Σ x_i as an OR."""
    program = blank()
    x, y = program.register("x", width), program.register("y")
    mlp = program.layer().mlp
    mlp.write(mlp_gadgets.conjunction(mlp, x, [[]] * width), y)
    return program


def scaled_nor(width: int) -> Program:
    """Wrong: NOR with the weight -2^-p instead of -1."""
    program = blank()
    x, y = program.register("x", width), program.register("y")
    mlp = program.layer().mlp
    unit = mlp.units(1, bias=ONE)
    mlp.read(unit, x, -ULP)
    mlp.write(unit, y)
    return program


def threshold(width: int) -> Program:
    program = blank()
    x, y = program.register("x", width), program.register("y", width)
    mlp_gadgets.threshold(program.layer().mlp, x, y)
    return program


def threshold_once(width: int) -> Program:
    """Wrong: one unit instead of two."""
    program = blank()
    x, y = program.register("x", width), program.register("y", width)
    _vetoes(program.layer().mlp, x, y, factor=-TOP)
    return program


def threshold_by_one(width: int) -> Program:
    """Wrong: the factor 1 instead of 2^(p-1)."""
    program = blank()
    x, y = program.register("x", width), program.register("y", width)
    _vetoes(program.layer().mlp, x, y, factor=-ONE, copies=2)
    return program


def _vetoes(mlp: MlpBuilder, x: Columns, y: Columns, *, factor, copies: int = 1) -> None:
    for _ in range(copies):
        units = mlp.units(x.size, bias=ULP)
        mlp.read(units, x, -ONE)
        mlp.write(units, y, factor)
    mlp.offset(y, ONE)


def argmax(width: int) -> Program:
    program = blank()
    x, y = program.register("x", width), program.register("y", width)
    mlp_gadgets.argmax(program.layer().mlp, x, y)
    return program


def argmax_variant(*, factor=TOP, copies: int = 2, ties: bool = True) -> Callable[[int], Program]:
    """ARGMAX with another factor, another number of units per rival, or without the 2^-p that breaks ties."""

    def emit(width: int) -> Program:
        program = blank()
        x, y = program.register("x", width), program.register("y", width)
        mlp = program.layer().mlp
        d, j = np.nonzero(~np.eye(width, dtype=bool))
        for pairs, bias in ((j < d, ULP if ties else None), (j > d, None)):
            for _ in range(copies):
                units = mlp.units(int(pairs.sum()), bias=bias)
                mlp.read(units, x[j[pairs]])
                mlp.read(units, x[d[pairs]], -ONE)
                mlp.write(units, y[d[pairs]], -factor)
        mlp.offset(y, ONE)
        return program

    return emit


def select(width: int) -> Program:
    """The two signs of x_d, where `others` is [i ≠ d]."""
    program = blank()
    x, others, _, positive, negative = _selection(program, width)
    mlp_gadgets.select(program.layer().mlp, x, others, positive, negative)
    return program


def select_by_adding(width: int) -> Program:
    """Wrong: ReLU(x_i + B·chosen_i - B), because x_i + B clips before B is subtracted."""
    program = blank()
    x, _, chosen, positive, negative = _selection(program, width)
    mlp = program.layer().mlp
    for sign, column in ((ONE, positive), (-ONE, negative)):
        units = mlp.units(width, bias=-B)
        mlp.read(units, x, sign)
        mlp.read(units, chosen, B)
        mlp.write(units, column)
    return program


def _selection(program: Program, width: int) -> tuple[Columns, ...]:
    """Return x, others = [i ≠ d], chosen = [i = d], and the columns of the two signs."""
    indexed = [program.register(name, width) for name in ("x", "others", "chosen")]
    return (*indexed, program.register("positive"), program.register("negative"))


def one_hot(precision: Precision) -> Program:
    """y_v = [x = v] for every number v."""
    program = blank()
    x, y = program.register("x"), program.register("y", precision.size)
    mlp_gadgets.one_hot(program.layer().mlp, x, precision.numbers(), y)
    return program


def project(width: int) -> Program:
    program = blank()
    x, others, y = program.register("x", width), program.register("others", width), program.register("y")
    mlp_gadgets.project(program.layer().mlp, x, others, y)
    return program


def gate(flags: int) -> Program:
    """The two signs of x, or 0 if one of the flags is 1."""
    program = blank()
    x, off = program.register("x"), program.register("off", flags)
    positive, negative = program.register("positive"), program.register("negative")
    mlp_gadgets.gate(program.layer().mlp, x, off[:1], positive, negative, *(off[i : i + 1] for i in range(1, flags)))
    return program


# Integers.


def sum_of(width: int) -> Program:
    """a + b: registers a.bit…, b.bit…, sum.…; three layers."""
    return _numbers(width, integers.add, 3)


def difference_of(width: int) -> Program:
    return _numbers(width, integers.subtract, 3)


def comparison_of(width: int) -> Program:
    return _numbers(width, integers.at_least, 2)


def _numbers(width: int, gadget, layers: int) -> Program:
    program = blank()
    a, b = integers.rails(program, "a", width), integers.rails(program, "b", width)
    mlps = [program.layer().mlp for _ in range(layers)]
    gadget(program, mlps, "sum", a, b)
    return program


def detect(rows: int) -> Program:
    """[some row has code 1], in every row."""
    program = blank(rows)
    codes, average, occurs = (program.register(name) for name in ("code", "average", "occurs"))
    layer = program.layer()
    whole_layers.detect(whole_layers.everywhere(layer), layer.mlp, codes, average, occurs)
    return program


def empty(rows: int) -> Program:
    """[the head sees no row except the sentinel], in every row; `score` has the score of a row before."""
    program, layer = _scored(rows)
    sentinel, share, alone = (program.register(name) for name in ("sentinel", "share", "alone"))
    whole_layers.empty(layer.heads[0], layer.mlp, sentinel, share, alone)
    return program


def empty_at_zero(rows: int) -> Program:
    """Wrong: the sentinel scores 0, so its share exceeds 1/2 even if a row with a small exponential is visible."""
    return _empty_variant(rows, rise=B)


def empty_hidden_once(rows: int) -> Program:
    """Wrong: a score of the sentinel above 0 is not removed completely."""
    return _empty_variant(rows, copies=1)


def empty_by_threshold(rows: int) -> Program:
    """Wrong: the share is above 0 even if a few other rows are visible."""
    return _empty_variant(rows, by_threshold=True)


def _empty_variant(rows: int, *, copies: int = 2, rise=ABOVE_FAINTEST, by_threshold: bool = False) -> Program:
    program, layer = _scored(rows)
    sentinel, share, alone = (program.register(name) for name in ("sentinel", "share", "alone"))
    head = layer.heads[0]
    attention.hide(head, sentinel, copies=copies)
    head.column([(program.one, rise)], [(sentinel, ONE)])
    head.copy(sentinel, share)
    if by_threshold:
        mlp_gadgets.threshold(layer.mlp, share, alone)
    else:
        units = layer.mlp.units(2, bias=-ONE_HALF)
        layer.mlp.read(units, share)
        layer.mlp.write(units, alone)
    return program


def _scored(rows: int) -> tuple[Program, LayerBuilder]:
    """A layer with one head, in which every key has the score in its register `score`."""
    program = blank(rows)
    layer = program.layer()
    layer.head().column([(program.one, ONE)], [(program.register("score"), ONE)])
    return program, layer
