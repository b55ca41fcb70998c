"""Regular languages for every N: the proofs of product trees, by masked diffusion and by parallel chains of thought.

A `LanguageClaim` consists of a family, the letters of its words and the automaton that it is compared with. A
`ProductRow` is the table of a row that multiplies the contents of two other rows.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from unmask.compilers.model_families import ModelFamily
from unmask.engines.visible_keys import distinct_by_hash
from unmask.expressions import Expression, n
from unmask.expressions import N as LENGTH
from unmask.numerics.arithmetic import Precision
from unmask.problems.automata.automaton import Automaton
from unmask.programs.program import Program
from unmask.verification.lengths.head_reads import reads_of, require_copies
from unmask.verification.lengths.letter_coverage import Level, require_claims, require_halving, require_queue
from unmask.verification.lengths.obligations import AnyRow, Arithmetic, Euclid, ObligationFailed, Term
from unmask.verification.lengths.row_tables import (
    NEVER,
    PairPool,
    RowVectors,
    chunks,
    pair_closure,
    state_maps,
)
from unmask.verification.transformer_layer import SomeColumns

MODEL = "model"
"""The name of the only program of plt, cot and pcot."""


@dataclass(frozen=True, eq=False)
class LanguageClaim:
    """The claim that a family decides the language of an automaton, for every N from its least on.

    The family reads letter i as the token `tokens[i]` of its vocabulary, and the automaton as its letter `letters[i]`.
    """

    family: ModelFamily
    precision: Precision
    automaton: Automaton
    tokens: np.ndarray
    letters: np.ndarray
    arithmetic: Arithmetic

    def program(self, name: str) -> Program:
        """Return the program for every N with this name."""
        programs = self.family.design.programs
        if name not in programs or programs[name].rows_in_length is None:
            raise ObligationFailed(f"the family has no program of every N called {name}")
        return programs[name]

    def rows(self, name: str) -> RowVectors:
        return RowVectors(self.program(name), self.precision, self.family.least)

    def token(self, role: str) -> int:
        return self.family.design.vocabulary[role]

    @property
    def verdicts(self) -> np.ndarray:
        """Return the tokens of reject and accept."""
        return self.family.design.vocabulary.verdicts

    def require_frame(self, *, steps: Term, padding: Term, rows: Term, block: Term | None = None) -> None:
        """Settle that steps, slots and rows are exactly these for every N."""
        design, arithmetic = self.family.design, self.arithmetic
        row = arithmetic.row()
        sizes: list[tuple[str, Expression | None, Term | None]] = [
            ("steps", design.steps, steps),
            ("slots or pads", design.padding, padding),
            ("symbols per step", design.block, block),
        ]
        for name, size, expected in sizes:
            if size is None or expected is None:
                if size is not expected:
                    raise ObligationFailed(f"the family has {name} that it should not have, or lacks them")
                continue
            arithmetic.require(f"frame: {name}", arithmetic.at(size, row) == expected)
        for name in design.programs:
            row_count = self.program(name).rows_in_length
            assert row_count is not None
            arithmetic.require(f"frame: rows of the {name}", arithmetic.at(row_count, row) == rows)


# Node: a row that multiplies the contents of two other rows, as a table over symbols.


class ProductRow:
    """The rows of a program with two heads, both in its first layer; a row is masked when it is written.

    `read`, `inner` and `root` are the flags of the rows that are read, of the rows that are written, and of the last
    row.
    """

    def __init__(
        self, claim: LanguageClaim, rows: RowVectors, *, read: np.ndarray, inner: np.ndarray, root: np.ndarray
    ) -> None:
        rows.check_single_pass(2)
        self.claim, self.rows, self.read, self.inner, self.root = claim, rows, read, inner, root
        self.mask = claim.token("mask")
        self.maps = state_maps(claim.automaton)
        symbols = len(claim.family.design.vocabulary.symbols)
        starts = rows.start(np.arange(symbols), read)
        self.outputs: list[tuple[SomeColumns, np.ndarray]] = []
        """Per head the distinct outputs, and the number of the output for every symbol × flags."""
        for head in (0, 1):
            outputs = rows.head_output(0, head, starts)
            first, inverse = distinct_by_hash(outputs.values)
            self.outputs.append((outputs[first], inverse.reshape(symbols, -1)))
        self.excluded: int | None = None  # a symbol that cannot be chosen
        self.pool = PairPool(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))

    def outcomes(self, row: np.ndarray, left: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return (the symbol with the largest logit, this logit) of one row, for these outputs of its two heads."""
        chosen, largest = np.empty(left.size, dtype=np.int64), np.empty(left.size, dtype=np.int64)
        for chunk in chunks(left.size, self.rows.step):
            outputs = [self.outputs[0][0][left[chunk]], self.outputs[1][0][right[chunk]]]
            rows = np.broadcast_to(row[:, None], (row.size, left[chunk].size))
            logits, which = self.rows.single_pass(rows, outputs)
            logits = logits.astype(np.int64)
            if self.excluded is not None:
                logits[self.excluded] = NEVER
            chosen[chunk], largest[chunk] = logits.argmax(axis=0)[which], logits.max(axis=0)[which]
        return chosen, largest

    def symbols(self, flags: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Return the symbols of rows that read the symbols left and right; they must not depend on any flags."""
        rows = self.rows.start(np.array([self.mask]), flags)
        left_outputs, right_outputs = (list(np.unique(classes, axis=1).T) for _, classes in self.outputs)
        count = self.outputs[1][0].values.shape[1]
        result: np.ndarray | None = None
        for k, (output_of_left, output_of_right) in product(range(rows.shape[1]), product(left_outputs, right_outputs)):
            pairs, inverse = np.unique(output_of_left[left] * count + output_of_right[right], return_inverse=True)
            symbols = self.outcomes(rows[:, k], pairs // count, pairs % count)[0][inverse.reshape(-1)]
            if result is not None and (symbols != result).any():
                raise ObligationFailed("the symbol of a row does not depend on its factors alone")
            result = symbols
        if result is None:
            raise ObligationFailed("there are no such rows for any N")
        return result

    def close(self, *neutral: int) -> str:
        """Compute the pairs of letters, of symbols that represent the identity, and of all their products."""
        claim = self.claim
        contents = np.concatenate([claim.tokens, np.array(neutral, dtype=np.int64)])
        maps = np.concatenate([self.maps.generators[claim.letters], np.zeros(len(neutral), dtype=np.int64)])
        self.pool = pair_closure(
            PairPool(contents, maps), lambda *factors: self.symbols(self.inner, *factors), self.maps
        )
        return f"{self.pool.size} pairs, {self.pool.size**2:,} cases"

    def check_answers(self) -> str:
        """Check for every two pairs that the last row gives the automaton's answer."""
        first, second = self.pool.every_two()
        symbols = self.symbols(self.root, self.pool.contents[first], self.pool.contents[second])
        products = self.maps.product_table[self.pool.maps[first], self.pool.maps[second]]
        expected = self.claim.verdicts[self.maps.accepting[products].astype(np.int64)]
        wrong_count = np.count_nonzero(symbols != expected)
        if wrong_count:
            raise ObligationFailed(
                f"in {wrong_count:,} of {symbols.size:,} cases the last row does not say what the automaton says"
            )
        return f"{symbols.size:,} cases"


# Masked diffusion over the queue (mdm, smdm, topk), for every N >= 2.
#
# By induction on the steps: a slot is written in the first step before which both of its factors are written, and never
# again (table of the planner). Its symbol is that of the table of the predictor for the symbols of its factors. So,
# with the layout, the pairs (symbol, map of the letters that the slot covers) are in the closure, and the last slot
# gives the automaton's answer.


MOST_CASES = 1 << 23


def prove_diffusion(claim: LanguageClaim) -> None:
    """Settle all obligations of mdm, smdm and topk."""
    arithmetic, kind = claim.arithmetic, claim.family.kind
    N = arithmetic.N
    claim.require_frame(steps=arithmetic.T, padding=N - 1, rows=2 * N - 1)
    require_copies(claim.precision, arithmetic)
    predictor = "model" if kind == "topk" else "predictor"
    factors = _two_reads(claim, predictor)
    require_queue(arithmetic, *factors)
    node = slot_row(claim, predictor)
    node.excluded = node.mask
    arithmetic.ledger.settle("rows: what a slot holds for which map", "enumeration, closure", node.close)
    arithmetic.ledger.settle("language: the last slot says what the automaton says", "enumeration", node.check_answers)
    if kind == "topk":
        arithmetic.ledger.settle("rows: when a slot takes its symbol", "enumeration", lambda: _check_taken(node))
        return
    planner_factors, row = _two_reads(claim, "planner"), arithmetic.row()
    equal = [arithmetic.at(a, row) == arithmetic.at(b, row) for a, b in zip(planner_factors, factors, strict=True)]
    arithmetic.require(
        "layout: the planner looks at the factors", arithmetic.z3.And(*equal), [row.n >= N, row.n < 2 * N - 1]
    )
    planner = slot_row(claim, "planner")
    planner.pool = node.pool
    arithmetic.ledger.settle(
        "rows: when the planner takes a slot", "enumeration", lambda: _check_taken(planner, planner=True)
    )


def _two_reads(claim: LanguageClaim, name: str) -> tuple[Expression, Expression]:
    """Return the addresses of the two heads of a program; settle which rows they read."""
    program = claim.program(name)
    if program.attention != "unmasked" or program.loop is not None:
        raise ObligationFailed(f"the {name} is not an unmasked transformer without a loop")
    reads = reads_of(program, 0, claim.precision, claim.arithmetic, name)
    if len(reads) != 2:
        raise ObligationFailed(f"the {name} has {len(reads)} heads in its first layer, not 2")
    return reads[0].address, reads[1].address


def slot_row(claim: LanguageClaim, name: str) -> ProductRow:
    """Return the table of a slot, whose factors come earlier: they are letters, or slots other than the last."""
    rows, arithmetic = claim.rows(name), claim.arithmetic
    row, N = arithmetic.row(), arithmetic.N
    n, last = row.n, 2 * N - 2
    return ProductRow(
        claim,
        rows,
        read=rows.flags(arithmetic, row, [n >= 0, n < last]),
        inner=rows.flags(arithmetic, row, [n >= N, n < last]),
        root=rows.flags(arithmetic, row, [n == last]),
    )


def _check_taken(node: ProductRow, *, planner: bool = False) -> str:
    """Check that a slot is taken if and only if it is masked and neither factor is, for all contents of these rows.

    A planner takes a slot by its second output, a topk model by a logit above -B.
    """
    cases = 0
    for row, masked, left, right, waiting in _slot_cases(node):
        chosen, largest = node.outcomes(row, left, right)
        is_taken = chosen == 1 if planner else largest > -node.rows.precision.bound
        if (is_taken != (~waiting if masked else np.zeros_like(waiting))).any():
            raise ObligationFailed("the planner does not choose exactly the masked slots whose factors are written")
        cases += left.size
    return f"{cases:,} cases"


def _slot_cases(node: ProductRow) -> Iterator[tuple[np.ndarray, bool, np.ndarray, np.ndarray, np.ndarray]]:
    """Yield all cases: (slot, is it masked, outputs of its left head and its right head, is a factor masked)."""
    flags = np.unique(np.concatenate([node.inner, node.root], axis=1), axis=1)
    read = np.unique(node.pool.contents)
    written = np.union1d(read, node.claim.verdicts)
    slots: list[tuple[np.ndarray, bool]] = []
    for masked, tokens in ((True, np.array([node.mask])), (False, written)):
        vectors = node.rows.start(tokens, flags)
        slots += [(vectors[:, k], masked) for k in distinct_by_hash(vectors[node.rows.live()])[0]]
    outputs = []
    for _, output_of in node.outputs:
        masked_outputs = np.unique(output_of[node.mask])
        all_outputs = np.concatenate([masked_outputs, np.unique(output_of[read])])
        outputs.append((all_outputs, np.arange(all_outputs.size) < masked_outputs.size))
    (left, left_masked), (right, right_masked) = outputs
    if len(slots) * left.size * right.size > MOST_CASES:
        raise ObligationFailed("there are too many cases of a slot and its factors")
    i, j = (axis.ravel() for axis in np.indices((left.size, right.size)))
    for slot, masked in slots:
        yield slot, masked, left[i], right[j], left_masked[i] | right_masked[j]


# Parallel chain of thought (pcot), for every N >= 2: step t writes the W = ⌈N/2⌉ entries of level t, row by row.
#
# Row N + W·t + j, 0 <= j < W, is entry j of block t. While it is written it holds m, which represents the identity. It
# reads the entries 2j and 2j + 1 of the previous level, which are letters for t = 0; a missing entry is replaced by the
# row itself. The last row, entry W - 1 of block ⌈log2 N⌉ - 1, reads the entries 0 and 1 instead, of a level with at
# most two entries that are not empty (`require_halving`).


class _Blocks:
    """Any row n as entry j of block t, with W entries per block and T blocks."""

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
        self.row = AnyRow(self.n, (self.n - N == t * W + j, j >= 0, j < W, monotone), (euclid,))
        self.inside = [t >= 0, t < T]


def prove_parallel(claim: LanguageClaim) -> None:
    """Settle all obligations of pcot."""
    arithmetic = claim.arithmetic
    N, T = arithmetic.N, arithmetic.T
    design, program = claim.family.design, claim.program(MODEL)
    if not isinstance(design.block, Expression):
        raise ObligationFailed("the block is not an expression in N")
    if program.attention != "causal" or program.loop is not None or program.noise is not None:
        raise ObligationFailed("the program is not a causal one without loop and noise")
    blocks = _Blocks(arithmetic, design.block)
    W = blocks.W
    claim.require_frame(steps=T, padding=T * W, rows=N + T * W, block=W)
    require_copies(claim.precision, arithmetic)
    reads = reads_of(program, 0, claim.precision, arithmetic, MODEL, blocks.row)
    if len(reads) != 2:
        raise ObligationFailed(f"the program has {len(reads)} heads in its first layer, not 2")
    _require_reads(arithmetic, blocks, [read.address for read in reads])
    _require_levels(arithmetic, W)
    node = _block_row(claim, blocks)
    arithmetic.ledger.settle(
        "rows: what a row holds for which map", "enumeration, closure", lambda: node.close(node.mask)
    )
    arithmetic.ledger.settle("language: the last row says what the automaton says", "enumeration", node.check_answers)


def _require_reads(arithmetic: Arithmetic, blocks: _Blocks, addresses: list[Expression]) -> None:
    """Settle which rows an entry of a block reads."""
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
    """Settle which letters the entries of a block cover."""
    z3, N = arithmetic.z3, arithmetic.N
    i, w, M = (arithmetic.variable(name) for name in ("i", "w", "M"))
    letters = Level(arithmetic, "letters", N, N)
    require_claims(
        arithmetic, "letters", letters.claims(i), [letters.letters(i), letters.letters(i + 1), i >= 0, i < N]
    )
    previous, level = Level(arithmetic, "level before", M, w), Level(arithmetic, "level", W, (w + 1) / 2)
    facts = [z3.Or(M == N, M == W), w >= 1, w <= M, i >= 0, i < W]
    facts += previous.all_claims(z3.IntVal(0), 2 * i, 2 * i + 1, 2 * i + 2)
    arithmetic.require(
        "layout: the factors of a row are adjacent", previous.high(2 * i) == previous.low(2 * i + 1), facts
    )
    products = [z3.Implies(z3.And(x >= 0, x < W), level.is_product(x, 2 * x, 2 * x + 1, previous)) for x in (i, i + 1)]
    require_claims(arithmetic, "one more block", level.claims(i), [*facts, *products])
    arithmetic.require("layout: a block has room for its level", (w + 1) / 2 <= W, facts)
    require_halving(arithmetic)
    last_level = Level(arithmetic, "level before the last", M, w)
    last = [z3.Or(M == N, M == W), w >= 1, w <= 2, *last_level.all_claims(*(z3.IntVal(k) for k in range(3)))]
    arithmetic.require(
        "layout: the factors of the last row are adjacent and cover the word",
        z3.And(last_level.low(0) == 0, last_level.high(0) == last_level.low(1), last_level.high(1) == N),
        last,
    )


def block_row_of(claim: LanguageClaim) -> ProductRow:
    """Return the table of a row of a family that was proved."""
    block = claim.family.design.block
    assert isinstance(block, Expression)
    return _block_row(claim, _Blocks(claim.arithmetic, block))


def _block_row(claim: LanguageClaim, blocks: _Blocks) -> ProductRow:
    """Return the table of a row; any row may be read, including itself."""
    rows, arithmetic, row = claim.rows(MODEL), claim.arithmetic, blocks.row
    T, W, z3 = arithmetic.T, blocks.W, arithmetic.z3
    root = z3.And(blocks.t == T - 1, blocks.j == W - 1)
    return ProductRow(
        claim,
        rows,
        read=rows.flags(arithmetic, row, [row.n >= 0, row.n < arithmetic.N + T * W]),
        inner=rows.flags(arithmetic, row, [*blocks.inside, z3.Not(root)]),
        root=rows.flags(arithmetic, row, [*blocks.inside, root]),
    )
