"""Looped (plt), for every N >= 2: N rows and a pad, each loop replaces row i by the product of the rows 2i and 2i + 1.

A row is a vector. What it was itself makes no difference to what it becomes: a column that a head writes is cleared by
the row's own head, whatever number of its range stands there, and every other column never changes. So a loop is a
table of what two rows hold in the columns that heads read; pairs (held, map) are closed under it. After the loops the
last row reads row 0, which covers the word (`halves`), and says what the automaton says.
"""

from itertools import product

import numpy as np

from unmask.numerics.arithmetic import add, multiply
from unmask.programs.language.positions import Expression
from unmask.verification.families.obligations.arithmetic import Arithmetic
from unmask.verification.families.obligations.heads import Read, reads_of, require_copies
from unmask.verification.families.obligations.ledger import Open
from unmask.verification.families.obligations.pairs import Maps, Pool, closed
from unmask.verification.families.obligations.rows import Brought, Rows, distinct, in_parts
from unmask.verification.families.regular.claim import Claim
from unmask.verification.families.regular.halves import Level, require_claims, require_halving

NAME = "model"


def prove_looped(claim: Claim) -> None:
    """All obligations."""
    arithmetic = claim.arithmetic
    N = arithmetic.N
    claim.require_frame(steps=arithmetic.T, padding=arithmetic.z3.IntVal(1), rows=N + 1)
    require_copies(claim.precision, arithmetic)
    program = claim.program(NAME)
    arithmetic.ledger.settle("frame: the loop", "structure", lambda: _structure(claim))
    reads = reads_of(program, 0, claim.precision, arithmetic, NAME)
    own = _own_head(reads)
    left, right = (i for i in range(3) if i != own)
    _require_layout(arithmetic, reads[left].address, reads[right].address)
    assert program.loop is not None
    (answer,) = reads_of(program, program.loop[1], claim.precision, arithmetic, NAME)
    row = arithmetic.row()
    arithmetic.require(
        "layout: the last row reads row 0 after the loops", arithmetic.at(answer.address, row) == 0, [row.n == N]
    )
    loop = Loop(claim, (left, right, own))
    arithmetic.ledger.settle("rows: what a row holds for which map", "enumeration, closure", loop.close)
    arithmetic.ledger.settle("rows: what a row was makes no difference", "enumeration", loop.forgets)
    arithmetic.ledger.settle("language: the last row says what the automaton says", "enumeration", loop.answers)


def _structure(claim: Claim) -> str:
    program = claim.program(NAME)
    heads = [len(layer.heads) for layer in program.layers]
    if program.attention != "unmasked" or program.noise is not None or program.loop is None:
        raise Open("the program is not a looped one without noise")
    first, last = program.loop
    if first != 0 or last != len(heads) - 1 or heads[0] != 3 or any(heads[1:last]) or heads[last] != 1:
        raise Open("the heads are not three in the first looped layer and one after the loop")
    return f"{last} looped layers, one after"


def _own_head(reads: list[Read]) -> int:
    """The head by which a row reads itself; by its expression, which is n."""
    own = [i for i, read in enumerate(reads) if read.address.operator == "n"]
    if len(own) != 1:
        raise Open("not exactly one head of the loop reads its own row")
    return own[0]


def _require_layout(arithmetic: Arithmetic, left: Expression, right: Expression) -> None:
    """The rows 0 … N - 1 are a level, row N is the identity."""
    z3, N, row = arithmetic.z3, arithmetic.N, arithmetic.row()
    i = row.n
    for side, factor in enumerate((left, right)):
        entry = 2 * i + side
        arithmetic.require(
            f"layout: the {('left', 'right')[side]} factor of row i is the row 2i{' + 1' * side}, or the pad",
            arithmetic.at(factor, row) == z3.If(z3.And(i < N, entry < N), entry, N),
            [i >= 0, i <= N],
        )
    w = arithmetic.variable("w")
    start, after = Level(arithmetic, "letters", N, N), Level(arithmetic, "level", N, (w + 1) / 2)
    letters = [start.letters(i), start.letters(i + 1), i >= 0, i < N]
    require_claims(arithmetic, "letters", start.claims(i), letters)
    before = Level(arithmetic, "level before", N, w)
    held = [w >= 1, w <= N, i >= 0, i < N]
    held += before.all_claims(z3.IntVal(0), 2 * i, 2 * i + 1, 2 * i + 2)
    arithmetic.require("layout: the factors of a row are adjacent", before.high(2 * i) == before.low(2 * i + 1), held)
    made = [z3.Implies(z3.And(x >= 0, x < N), after.made(x, 2 * x, 2 * x + 1, before)) for x in (i, i + 1)]
    require_claims(arithmetic, "one more loop", after.claims(i), [*held, *made])
    require_halving(arithmetic)
    end = Level(arithmetic, "last level", N, z3.IntVal(1))
    claims = end.all_claims(z3.IntVal(0), z3.IntVal(1))
    arithmetic.require("layout: row 0 covers the word", z3.And(end.low(0) == 0, end.high(0) == N), claims)


class Loop:
    """The table of a loop, over what rows hold in the columns that a head reads."""

    def __init__(self, claim: Claim, heads: tuple[int, int, int]) -> None:
        self.claim, self.heads = claim, heads
        self.rows: Rows = claim.rows(NAME)
        self.maps = Maps(claim.automaton)
        arithmetic, row = claim.arithmetic, claim.arithmetic.row()
        self.flags = self.rows.flags(arithmetic, row, [row.n >= 0, row.n <= arithmetic.N])
        if self.flags.shape[1] != 1:
            raise Open("flags distinguish rows of the loop")
        layers = self.rows.transformer.layers
        self.last = len(layers) - 1
        read = [layers[0].heads[h].wv.row for h in heads[:2]] + [layers[self.last].heads[0].wv.row]
        self.told = np.unique(np.concatenate(read)).astype(np.int64)
        later = [layer.mlp for layer in layers[1 : self.last]]
        written = [np.concatenate([mlp.w1.row, mlp.w2.column, np.flatnonzero(mlp.b2)]) for mlp in later]
        self.telling = np.unique(np.concatenate([self.told, *written])).astype(np.int64)
        self.vectors: list[np.ndarray] = []
        self._number: dict[bytes, int] = {}
        self.lowest = self.highest = self.flags[:, 0].astype(np.int64)
        self.pool: Pool | None = None

    def _numbers(self, vectors: np.ndarray) -> np.ndarray:
        """What rows hold, by number."""
        self._widen(vectors)
        first, which = distinct(vectors[self.told])
        numbers = np.empty(first.size, dtype=np.int64)
        for i, k in enumerate(first.tolist()):
            raw = vectors[self.told, k].tobytes()
            if raw not in self._number:
                self._number[raw] = len(self._number)
                self.vectors.append(vectors[:, k])
            numbers[i] = self._number[raw]
        return numbers[which]

    def table(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        held = np.stack(self.vectors, axis=1)
        brought = [self.rows.fetched(0, h, held) for h in self.heads[:2]]
        code = left * len(self.vectors) + right
        pairs, back = np.unique(code, return_inverse=True)
        first, second = pairs // len(self.vectors), pairs % len(self.vectors)
        made = np.empty(pairs.size, dtype=np.int64)
        for part in in_parts(pairs.size, self.rows.step):
            looped, which = self._looped(brought[0][first[part]], brought[1][second[part]])
            made[part] = self._numbers(looped)[which]
        return made[back.reshape(-1)]

    def _looped(self, left: Brought, right: Brought) -> tuple[np.ndarray, np.ndarray]:
        """One loop of rows that were the first letter's, say: `forgets` shows that this makes no difference.

        (different rows, which of them each is): rows that later layers do not tell apart, nor those who read them.
        """
        own = np.repeat(self.vectors[0][:, None], left.values.shape[1], axis=1)
        by_head = dict(zip(self.heads, (left, right, self.rows.fetched(0, self.heads[2], own)), strict=True))
        brought = [by_head[head] for head in range(3)]
        state = self.rows.layer(0, own, brought)
        self._widen(state)
        telling = self.telling[state[self.telling].min(axis=1) != state[self.telling].max(axis=1)]
        first, which = distinct(state[telling])
        state = state[:, first]
        for layer in range(1, self.last):
            state = self.rows.layer(layer, state, ())
        return state, which

    def _widen(self, vectors: np.ndarray) -> None:
        """Every vector counts for the ranges of the columns."""
        self.lowest = np.minimum(self.lowest, vectors.min(axis=1))
        self.highest = np.maximum(self.highest, vectors.max(axis=1))

    def close(self) -> str:
        """Pairs of letters, of the pad, and of all their products."""
        claim = self.claim
        tokens = np.concatenate([claim.tokens, [claim.token("pad")]])
        start = self._numbers(self.rows.start(tokens, self.flags))
        maps = np.concatenate([self.maps.of_letters(claim.letters), [0]])
        self.pool = closed(Pool(start, maps), self.table, self.maps)
        return f"{self.pool.size} pairs, {self.pool.size**2:,} cases"

    def forgets(self) -> str:
        """Column by column: (heads) + own is the same for every own number that may stand there."""
        heads = self.rows.transformer.layers[0].heads
        own = heads[self.heads[2]].wv
        if (own.row != own.column).any():
            raise Open("the head by which a row reads itself moves numbers to other columns")
        held = np.stack(self.vectors, axis=1)
        brought = [self.rows.fetched(0, h, held) for h in self.heads[:2]]
        cases = 0
        for column in range(self.rows.width):
            numbers = range(int(self.lowest[column]), int(self.highest[column]) + 1)
            if len(numbers) == 1:
                continue
            factor = own.value[own.column == column]
            for order in product(*(np.unique(one.values[one.columns == column]).tolist() or [0] for one in brought)):
                results = {self._summed(order, x, factor) for x in numbers}
                cases += len(numbers)
                if len(results) != 1:
                    raise Open(f"column {column} of a row depends on what it was before the loop")
        return f"{cases:,} cases"

    def _summed(self, brought: tuple[int, ...], own: int, factor: np.ndarray) -> int:
        precision = self.rows.precision
        terms = dict(zip(self.heads[:2], brought, strict=True))
        terms[self.heads[2]] = int(multiply(own, int(factor[0]) if factor.size else 0, precision))
        total = 0
        for head in range(3):
            total = int(add(total, terms[head], precision))
        return int(add(total, own, precision))

    def answers(self) -> str:
        """After the loops: what the last row says of what it reads in row 0, whatever it holds itself."""
        assert self.pool is not None
        fixed = self.lowest == self.highest
        layer = self.rows.transformer.layers[self.last]
        needed = np.unique(np.concatenate([layer.mlp.w1.row, self.rows.transformer.out.column]))
        if not fixed[needed].all():
            raise Open("the answer of the last row depends on its earlier content")
        said = self.said(self.pool.held)
        right = self.claim.verdicts[self.maps.accepting(self.pool.maps).astype(np.int64)]
        if (said != right).any():
            raise Open(
                f"{np.count_nonzero(said != right):,} of {said.size:,} products are not answered as the automaton does"
            )
        return f"{said.size:,} cases"

    def said(self, held: np.ndarray) -> np.ndarray:
        """The symbol of a row that reads what is held, by number."""
        read = np.stack(self.vectors, axis=1)[:, held]
        own = np.repeat(self.vectors[0][:, None], held.size, axis=1)
        state = self.rows.layer(self.last, own, [self.rows.fetched(self.last, 0, read)])
        return self.rows.logits(state).argmax(axis=0)
