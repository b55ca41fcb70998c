"""Parallel chain of thought (pcot), for every N >= 2: step t writes the W = ⌈N/2⌉ entries of level t, row by row.

Row N + W·t + j, 0 <= j < W, is entry j of block t; while it is written it holds m, which is the identity. It reads the
entries 2j and 2j + 1 of the level before, letters for t = 0, or itself where there is none. The very last row, entry
W - 1 of block ⌈log2 N⌉ - 1, reads the entries 0 and 1 instead, of a level with at most two that are not empty
(`halves`).
"""

from unmask.programs.language.positions import Expression, n
from unmask.programs.language.positions import N as LENGTH
from unmask.verification.families.obligations.arithmetic import Arithmetic, Euclid, Row, Term
from unmask.verification.families.obligations.heads import reads_of, require_copies
from unmask.verification.families.obligations.ledger import Open
from unmask.verification.families.regular.claim import Claim
from unmask.verification.families.regular.halves import Level, require_claims, require_halving
from unmask.verification.families.regular.node import Node

NAME = "model"


class _Blocks:
    """Row n as entry j of block t, W entries per block; TW is how many there are in all."""

    def __init__(self, arithmetic: Arithmetic, width: Expression) -> None:
        z3 = arithmetic.z3
        self.W, self.t, self.j = (arithmetic.variable(name) for name in ("W", "t", "j"))
        self.n = arithmetic.variable("n")
        N, T, W, t, j = arithmetic.N, arithmetic.T, self.W, self.t, self.j
        arithmetic.facts += [(N + 1) / 2 == W, W >= 1]
        monotone = z3.And(
            z3.Implies(t < 0, t * W <= -W),
            z3.Implies(t >= 0, t * W >= 0),
            z3.Implies(t >= 1, t * W >= W),
            z3.Implies(t <= T - 2, t * W <= T * W - 2 * W),
            z3.Implies(t == T - 1, t * W == T * W - W),
            z3.Implies(t >= T, t * W >= T * W),
        )
        arithmetic.require("arithmetic: multiples of W are in order", monotone)
        euclid = Euclid(str(n - LENGTH), str(width), t, j)
        self.row = Row(self.n, (self.n - N == t * W + j, j >= 0, j < W, monotone), (euclid,))
        self.inside = [t >= 0, t < T]


def prove_parallel(claim: Claim) -> None:
    """All obligations."""
    arithmetic = claim.arithmetic
    N, T = arithmetic.N, arithmetic.T
    design, program = claim.family.design, claim.program(NAME)
    if not isinstance(design.block, Expression):
        raise Open("the block is not an expression in N")
    if program.attention != "causal" or program.loop is not None or program.noise is not None:
        raise Open("the program is not a causal one without loop and noise")
    blocks = _Blocks(arithmetic, design.block)
    W = blocks.W
    claim.require_frame(steps=T, padding=T * W, rows=N + T * W, block=W)
    require_copies(claim.precision, arithmetic)
    reads = reads_of(program, 0, claim.precision, arithmetic, NAME, blocks.row)
    if len(reads) != 2:
        raise Open(f"the program has {len(reads)} heads in its first layer, not 2")
    _require_reads(arithmetic, blocks, [read.address for read in reads])
    _require_levels(arithmetic, W)
    node = _node(claim, blocks)
    arithmetic.ledger.settle(
        "rows: what a row holds for which map", "enumeration, closure", lambda: node.close(node.mask)
    )
    arithmetic.ledger.settle("language: the last row says what the automaton says", "enumeration", node.answers)


def _require_reads(arithmetic: Arithmetic, blocks: _Blocks, addresses: list[Expression]) -> None:
    """Which rows an entry of a block reads."""
    z3, N, T = arithmetic.z3, arithmetic.N, arithmetic.T
    W, t, j, row = blocks.W, blocks.t, blocks.j, blocks.row
    root = z3.And(t == T - 1, j == W - 1)
    for side, address in enumerate(addresses):
        entry = z3.If(root, side, 2 * j + side)
        letter = z3.If(entry < N, entry, row.n)
        earlier = z3.If(entry < W, N + (t * W - W) + entry, row.n)
        arithmetic.require(
            f"layout: the {('left', 'right')[side]} factor is an entry of the level before, or the row itself",
            arithmetic.at(address, row) == z3.If(t == 0, letter, earlier),
            [*row.facts, *blocks.inside],
        )
    arithmetic.require(
        "layout: the last row is the last entry of the last block",
        (row.n == N + T * W - 1) == root,
        [*row.facts, *blocks.inside],
    )


def _require_levels(arithmetic: Arithmetic, W: Term) -> None:
    """What the entries of a block cover."""
    z3, N = arithmetic.z3, arithmetic.N
    i, w, M = (arithmetic.variable(name) for name in ("i", "w", "M"))
    letters = Level(arithmetic, "letters", N, N)
    require_claims(
        arithmetic, "letters", letters.claims(i), [letters.letters(i), letters.letters(i + 1), i >= 0, i < N]
    )
    before, after = Level(arithmetic, "level before", M, w), Level(arithmetic, "level", W, (w + 1) / 2)
    held = [z3.Or(M == N, M == W), w >= 1, w <= M, i >= 0, i < W]
    held += before.all_claims(z3.IntVal(0), 2 * i, 2 * i + 1, 2 * i + 2)
    arithmetic.require("layout: the factors of a row are adjacent", before.high(2 * i) == before.low(2 * i + 1), held)
    made = [z3.Implies(z3.And(x >= 0, x < W), after.made(x, 2 * x, 2 * x + 1, before)) for x in (i, i + 1)]
    require_claims(arithmetic, "one more block", after.claims(i), [*held, *made])
    arithmetic.require("layout: a block has room for its level", (w + 1) / 2 <= W, held)
    require_halving(arithmetic)
    end = Level(arithmetic, "level before the last", M, w)
    last = [z3.Or(M == N, M == W), w >= 1, w <= 2, *end.all_claims(*(z3.IntVal(k) for k in range(3)))]
    arithmetic.require(
        "layout: the factors of the last row are adjacent and cover the word",
        z3.And(end.low(0) == 0, end.high(0) == end.low(1), end.high(1) == N),
        last,
    )


def node_of(claim: Claim) -> Node:
    """The node of a family that was proved."""
    block = claim.family.design.block
    assert isinstance(block, Expression)
    return _node(claim, _Blocks(claim.arithmetic, block))


def _node(claim: Claim, blocks: _Blocks) -> Node:
    """Any row may be read, itself among them."""
    rows, arithmetic, row = claim.rows(NAME), claim.arithmetic, blocks.row
    T, W, z3 = arithmetic.T, blocks.W, arithmetic.z3
    root = z3.And(blocks.t == T - 1, blocks.j == W - 1)
    return Node(
        claim,
        rows,
        read=rows.flags(arithmetic, row, [row.n >= 0, row.n < arithmetic.N + T * W]),
        inner=rows.flags(arithmetic, row, [*blocks.inside, z3.Not(root)]),
        root=rows.flags(arithmetic, row, [*blocks.inside, root]),
    )
