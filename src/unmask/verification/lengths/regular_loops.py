"""Regular languages for every N: the proofs of the looped transformer (plt) and of the chain of thought (cot).

Looped, for every N >= 2: there are N rows and a pad, and each loop replaces row i by the product of the rows 2i and
2i + 1.

A row is a vector. What it was itself makes no difference to what it becomes: a column that a head writes is cleared by
the row's own head, whatever number of its range is there, and every other column never changes. So a loop is a
table of what two rows hold in the columns that heads read; pairs (held, map) are closed under it. After the loops the
last row reads row 0, which covers the word (`halves`), and says what the automaton says.
"""

from itertools import product

import numpy as np

from unmask.engines.visible_keys import distinct
from unmask.expressions import Expression
from unmask.numerics.arithmetic import add, multiply
from unmask.verification.lengths.head_reads import HeadRead, reads_of, require_copies
from unmask.verification.lengths.letter_coverage import Level, require_claims, require_halving
from unmask.verification.lengths.obligations import Arithmetic, ObligationFailed, Term
from unmask.verification.lengths.regular_trees import LanguageClaim
from unmask.verification.lengths.row_tables import (
    MOST_PAIRS,
    Pool,
    RowVectors,
    closed,
    in_parts,
    state_maps,
)
from unmask.verification.transformer_layer import SomeColumns

LOOPED = "model"


def prove_looped(claim: LanguageClaim) -> None:
    """All obligations."""
    arithmetic = claim.arithmetic
    N = arithmetic.N
    claim.require_frame(steps=arithmetic.T, padding=arithmetic.z3.IntVal(1), rows=N + 1)
    require_copies(claim.precision, arithmetic)
    program = claim.program(LOOPED)
    arithmetic.ledger.settle("frame: the loop", "structure", lambda: _structure(claim))
    reads = reads_of(program, 0, claim.precision, arithmetic, LOOPED)
    own = _own_head(reads)
    left, right = (i for i in range(3) if i != own)
    _require_layout(arithmetic, reads[left].address, reads[right].address)
    assert program.loop is not None
    (answer,) = reads_of(program, program.loop[1], claim.precision, arithmetic, LOOPED)
    row = arithmetic.row()
    arithmetic.require(
        "layout: the last row reads row 0 after the loops", arithmetic.at(answer.address, row) == 0, [row.n == N]
    )
    loop = LoopTable(claim, (left, right, own))
    arithmetic.ledger.settle("rows: what a row holds for which map", "enumeration, closure", loop.close)
    arithmetic.ledger.settle("rows: what a row was makes no difference", "enumeration", loop.forgets)
    arithmetic.ledger.settle("language: the last row says what the automaton says", "enumeration", loop.answers)


def _structure(claim: LanguageClaim) -> str:
    program = claim.program(LOOPED)
    heads = [len(layer.heads) for layer in program.layers]
    if program.attention != "unmasked" or program.noise is not None or program.loop is None:
        raise ObligationFailed("the program is not a looped one without noise")
    first, last = program.loop
    if first != 0 or last != len(heads) - 1 or heads[0] != 3 or any(heads[1:last]) or heads[last] != 1:
        raise ObligationFailed("the heads are not three in the first looped layer and one after the loop")
    return f"{last} looped layers, one after"


def _own_head(reads: list[HeadRead]) -> int:
    """The head by which a row reads itself; by its expression, which is n."""
    own = [i for i, read in enumerate(reads) if read.address.is_variable("n")]
    if len(own) != 1:
        raise ObligationFailed("not exactly one head of the loop reads its own row")
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
    contents = [w >= 1, w <= N, i >= 0, i < N]
    contents += before.all_claims(z3.IntVal(0), 2 * i, 2 * i + 1, 2 * i + 2)
    arithmetic.require(
        "layout: the factors of a row are adjacent", before.high(2 * i) == before.low(2 * i + 1), contents
    )
    made = [z3.Implies(z3.And(x >= 0, x < N), after.made(x, 2 * x, 2 * x + 1, before)) for x in (i, i + 1)]
    require_claims(arithmetic, "one more loop", after.claims(i), [*contents, *made])
    require_halving(arithmetic)
    end = Level(arithmetic, "last level", N, z3.IntVal(1))
    claims = end.all_claims(z3.IntVal(0), z3.IntVal(1))
    arithmetic.require("layout: row 0 covers the word", z3.And(end.low(0) == 0, end.high(0) == N), claims)


class LoopTable:
    """The table of a loop, over what rows hold in the columns that a head reads."""

    def __init__(self, claim: LanguageClaim, heads: tuple[int, int, int]) -> None:
        self.claim, self.heads = claim, heads
        self.rows: RowVectors = claim.rows(LOOPED)
        self.maps = state_maps(claim.automaton)
        arithmetic, row = claim.arithmetic, claim.arithmetic.row()
        self.flags = self.rows.flags(arithmetic, row, [row.n >= 0, row.n <= arithmetic.N])
        if self.flags.shape[1] != 1:
            raise ObligationFailed("flags distinguish rows of the loop")
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
        contents = np.stack(self.vectors, axis=1)
        added = [self.rows.fetched(0, h, contents) for h in self.heads[:2]]
        code = left * len(self.vectors) + right
        pairs, back = np.unique(code, return_inverse=True)
        first, second = pairs // len(self.vectors), pairs % len(self.vectors)
        made = np.empty(pairs.size, dtype=np.int64)
        for part in in_parts(pairs.size, self.rows.step):
            looped, which = self._looped(added[0][first[part]], added[1][second[part]])
            made[part] = self._numbers(looped)[which]
        return made[back.reshape(-1)]

    def _looped(self, left: SomeColumns, right: SomeColumns) -> tuple[np.ndarray, np.ndarray]:
        """Run one loop on rows that held the first letter; `forgets` shows that any other content gives the same.

        Return (different rows, which of them each row is); rows that no later layer distinguishes count as equal.
        """
        own = np.repeat(self.vectors[0][:, None], left.values.shape[1], axis=1)
        by_head = dict(zip(self.heads, (left, right, self.rows.fetched(0, self.heads[2], own)), strict=True))
        added = [by_head[head] for head in range(3)]
        state = self.rows.layer(0, own, added)
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
        maps = np.concatenate([self.maps.generators[claim.letters], [0]])
        self.pool = closed(Pool(start, maps), self.table, self.maps)
        return f"{self.pool.size} pairs, {self.pool.size**2:,} cases"

    def forgets(self) -> str:
        """Column by column: (heads) + own is the same for every own number that may be there."""
        heads = self.rows.transformer.layers[0].heads
        own = heads[self.heads[2]].wv
        if (own.row != own.column).any():
            raise ObligationFailed("the head by which a row reads itself moves numbers to other columns")
        contents = np.stack(self.vectors, axis=1)
        added = [self.rows.fetched(0, h, contents) for h in self.heads[:2]]
        cases = 0
        for column in range(self.rows.width):
            numbers = range(int(self.lowest[column]), int(self.highest[column]) + 1)
            if len(numbers) == 1:
                continue
            factor = own.value[own.column == column]
            for order in product(*(np.unique(one.values[one.columns == column]).tolist() or [0] for one in added)):
                results = {self._summed(order, x, factor) for x in numbers}
                cases += len(numbers)
                if len(results) != 1:
                    raise ObligationFailed(f"column {column} of a row depends on what it was before the loop")
        return f"{cases:,} cases"

    def _summed(self, added: tuple[int, ...], own: int, factor: np.ndarray) -> int:
        precision = self.rows.precision
        terms = dict(zip(self.heads[:2], added, strict=True))
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
            raise ObligationFailed("the answer of the last row depends on its earlier content")
        row_symbols = self.row_symbols(self.pool.contents)
        right = self.claim.verdicts[self.maps.accepting[self.pool.maps].astype(np.int64)]
        if (row_symbols != right).any():
            raise ObligationFailed(
                f"{np.count_nonzero(row_symbols != right):,} of {row_symbols.size:,} products differ from the automaton"
            )
        return f"{row_symbols.size:,} cases"

    def row_symbols(self, contents: np.ndarray) -> np.ndarray:
        """The symbol of a row that reads what is held, by number."""
        read = np.stack(self.vectors, axis=1)[:, contents]
        own = np.repeat(self.vectors[0][:, None], contents.size, axis=1)
        state = self.rows.layer(self.last, own, [self.rows.fetched(self.last, 0, read)])
        return self.rows.logits(state).argmax(axis=0)


# Chain of thought (cot), for every N >= 1: the row before the t-th symbol looks up letter t and moves the state on.
#
# By induction on t: the symbol and the state of the automaton after t letters are one of the pairs that the table of a
# row closes; the last symbol says whether that state accepts. The row of the last letter, from which the first symbol
# comes, holds that letter, whichever it is.


CHAIN = "model"


def prove_chain(claim: LanguageClaim) -> None:
    """All obligations."""
    arithmetic = claim.arithmetic
    N = arithmetic.N
    claim.require_frame(steps=N, padding=N, rows=2 * N)
    require_copies(claim.precision, arithmetic)
    program = claim.program(CHAIN)
    if program.attention != "causal" or program.loop is not None or program.noise is not None:
        raise ObligationFailed("the program is not a causal one without loop and noise")
    reads = reads_of(program, 0, claim.precision, arithmetic, CHAIN)
    row = arithmetic.row()
    if len(reads) != 1:
        raise ObligationFailed(f"the program has {len(reads)} heads in its first layer, not 1")
    arithmetic.require(
        "layout: the row before symbol t reads letter t",
        arithmetic.at(reads[0].address, row) == row.n - (N - 1),
        [row.n >= N - 1, row.n < 2 * N - 1],
    )
    chain = ChainTable(claim)
    arithmetic.ledger.settle("rows: which symbol is written after which state", "enumeration, closure", chain.close)
    arithmetic.ledger.settle("language: the last symbol says what the automaton says", "enumeration", chain.answers)


class ChainTable:
    """The table of a row: its own symbol and the letter that it looks up → the next symbol."""

    def __init__(self, claim: LanguageClaim) -> None:
        self.claim = claim
        self.rows: RowVectors = claim.rows(CHAIN)
        self.rows.check_single_pass(1)
        arithmetic = claim.arithmetic
        N, row = arithmetic.N, arithmetic.row()
        n = row.n

        def flags(*where: Term) -> np.ndarray:
            return self.rows.flags(arithmetic, row, where)

        self.letter_flags = flags(n >= 0, n < N)
        letters = self.rows.start(claim.tokens, self.letter_flags)
        self.letters = self.rows.fetched(0, 0, letters)  # token by token, and flags by flags within each
        self.first, self.only = flags(n == N - 1, N >= 2), flags(n == N - 1, N == 1)
        self.inner, self.last = flags(n >= N, n < 2 * N - 2), flags(n == 2 * N - 2, N >= 2)
        self.pairs: list[tuple[int, int]] = []

    def following(self, flags: np.ndarray, tokens: np.ndarray) -> np.ndarray:
        """[tokens, letters]: the next symbol; the same for all flags of the region and of the letter's row."""
        own = self.rows.start(tokens, flags).reshape(self.rows.width, tokens.size, -1)
        result: np.ndarray | None = None
        for k in range(own.shape[2]):
            for letters in np.arange(self.letters.values.shape[1]).reshape(self.claim.tokens.size, -1).T:
                made = self._symbols(own[:, :, k], self.letters[letters])
                if result is not None and (made != result).any():
                    raise ObligationFailed("the next symbol depends on more than the state and the letter")
                result = made
        if result is None:
            raise ObligationFailed("a region of rows is empty for every N")
        return result

    def _symbols(self, own: np.ndarray, letters: SomeColumns) -> np.ndarray:
        count = letters.values.shape[1]
        i, j = (axis.ravel() for axis in np.indices((own.shape[1], count)))
        row_symbols = np.empty(i.size, dtype=np.int64)
        for part in in_parts(i.size, self.rows.step):
            logits, which = self.rows.single_pass(own[:, i[part]], [letters[j[part]]])
            row_symbols[part] = logits.argmax(axis=0)[which]
        return row_symbols.reshape(own.shape[1], count)

    def _after(self, states: np.ndarray) -> np.ndarray:
        """[states, letters]: the automaton's next state."""
        return self.claim.automaton.delta[states][:, self.claim.letters]

    def first_symbols(self, flags: np.ndarray) -> np.ndarray:
        """The symbol after the first letter, whatever the last letter is, whose row it comes from."""
        row_symbols = self.following(flags, self.claim.tokens)
        if (row_symbols != row_symbols[0]).any():
            raise ObligationFailed("the first symbol depends on the last letter")
        return row_symbols[0]

    def close(self) -> str:
        """Pairs (symbol, state of the automaton) after 1, 2, … letters, but the last."""
        start = self._after(np.array([self.claim.automaton.start]))[0]
        pairs = list(dict.fromkeys(zip(self.first_symbols(self.first).tolist(), start.tolist(), strict=True)))
        settled = 0
        while settled < len(pairs):
            symbols, states = (np.array(side) for side in zip(*pairs[settled:], strict=True))
            settled = len(pairs)
            made = zip(
                self.following(self.inner, symbols).ravel().tolist(), self._after(states).ravel().tolist(), strict=True
            )
            pairs = list(dict.fromkeys((*pairs, *made)))
            if len(pairs) > MOST_PAIRS:
                raise ObligationFailed(f"more than {MOST_PAIRS:,} pairs of a symbol and a state occur")
        self.pairs = pairs
        return f"{len(pairs)} pairs"

    def answers(self) -> str:
        """After the last letter, for N = 1 and for N >= 2."""
        symbols, states = (np.array(side) for side in zip(*self.pairs, strict=True))
        start = self._after(np.array([self.claim.automaton.start]))
        row_symbols = [self.first_symbols(self.only)[None], self.following(self.last, symbols)]
        for found, after in zip(row_symbols, (start, self._after(states)), strict=True):
            right = self.claim.verdicts[self.claim.automaton.accepting[after].astype(np.int64)]
            if (found != right).any():
                raise ObligationFailed("the last symbol does not say what the automaton says")
        return f"{row_symbols[0].size + row_symbols[1].size:,} cases"
