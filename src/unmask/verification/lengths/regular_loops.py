"""Regular languages for every N: the proofs of the looped transformer (plt) and of the chain of thought (cot).

Looped, for every N >= 2: there are N rows and a pad, and each loop replaces row i by the product of the rows 2i and
2i + 1.

A row is a vector. Its previous content makes no difference to the result of a loop: the row's own head clears every
column that a head writes, for every number that can occur in it, and no other column ever changes. So a loop is a table
of the contents of two rows in the columns that heads read. The pairs (content, map) are closed under this table. After
the loops, the last row reads row 0, which covers the word (`require_halving`), and gives the automaton's answer.
"""

from itertools import product

import numpy as np

from unmask.engines.visible_keys import distinct_by_hash
from unmask.expressions import Expression
from unmask.numerics.arithmetic import add, multiply
from unmask.verification.lengths.head_reads import HeadRead, reads_of, require_copies
from unmask.verification.lengths.letter_coverage import Level, require_claims, require_halving
from unmask.verification.lengths.obligations import Arithmetic, ObligationFailed, Term
from unmask.verification.lengths.regular_trees import MODEL, LanguageClaim
from unmask.verification.lengths.row_tables import (
    MOST_PAIRS,
    PairPool,
    RowVectors,
    chunks,
    pair_closure,
    state_maps,
)
from unmask.verification.transformer_layer import SomeColumns


def prove_looped(claim: LanguageClaim) -> None:
    """Settle all obligations of plt."""
    arithmetic = claim.arithmetic
    N = arithmetic.N
    claim.require_frame(steps=arithmetic.T, padding=arithmetic.z3.IntVal(1), rows=N + 1)
    require_copies(claim.precision, arithmetic)
    program = claim.program(MODEL)
    arithmetic.ledger.settle("frame: the loop", "structure", lambda: _check_loop(claim))
    reads = reads_of(program, 0, claim.precision, arithmetic, MODEL)
    own_head = _own_head(reads)
    left, right = (i for i in range(3) if i != own_head)
    _require_layout(arithmetic, reads[left].address, reads[right].address)
    assert program.loop is not None
    (answer,) = reads_of(program, program.loop[1], claim.precision, arithmetic, MODEL)
    row = arithmetic.row()
    arithmetic.require(
        "layout: the last row reads row 0 after the loops", arithmetic.at(answer.address, row) == 0, [row.n == N]
    )
    loop = LoopTable(claim, (left, right, own_head))
    arithmetic.ledger.settle("rows: what a row holds for which map", "enumeration, closure", loop.close)
    arithmetic.ledger.settle("rows: what a row was makes no difference", "enumeration", loop.check_independence)
    arithmetic.ledger.settle("language: the last row says what the automaton says", "enumeration", loop.check_answers)


def _check_loop(claim: LanguageClaim) -> str:
    """Check where the heads of the loop are."""
    program = claim.program(MODEL)
    heads = [len(layer.heads) for layer in program.layers]
    if program.attention != "unmasked" or program.noise is not None or program.loop is None:
        raise ObligationFailed("the program is not a looped one without noise")
    first, last = program.loop
    if first != 0 or last != len(heads) - 1 or heads[0] != 3 or any(heads[1:last]) or heads[last] != 1:
        raise ObligationFailed("the heads are not three in the first looped layer and one after the loop")
    return f"{last} looped layers, one after"


def _own_head(reads: list[HeadRead]) -> int:
    """Return the index of the head by which a row reads itself: its address is the expression n."""
    own_heads = [i for i, read in enumerate(reads) if read.address.is_variable("n")]
    if len(own_heads) != 1:
        raise ObligationFailed("not exactly one head of the loop reads its own row")
    return own_heads[0]


def _require_layout(arithmetic: Arithmetic, left: Expression, right: Expression) -> None:
    """Settle that the rows 0 … N - 1 are a level and row N is the identity."""
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
    letter_level, level = Level(arithmetic, "letters", N, N), Level(arithmetic, "level", N, (w + 1) / 2)
    letter_facts = [letter_level.letters(i), letter_level.letters(i + 1), i >= 0, i < N]
    require_claims(arithmetic, "letters", letter_level.claims(i), letter_facts)
    previous = Level(arithmetic, "level before", N, w)
    facts = [w >= 1, w <= N, i >= 0, i < N]
    facts += previous.all_claims(z3.IntVal(0), 2 * i, 2 * i + 1, 2 * i + 2)
    arithmetic.require(
        "layout: the factors of a row are adjacent", previous.high(2 * i) == previous.low(2 * i + 1), facts
    )
    products = [z3.Implies(z3.And(x >= 0, x < N), level.is_product(x, 2 * x, 2 * x + 1, previous)) for x in (i, i + 1)]
    require_claims(arithmetic, "one more loop", level.claims(i), [*facts, *products])
    require_halving(arithmetic)
    last_level = Level(arithmetic, "last level", N, z3.IntVal(1))
    claims = last_level.all_claims(z3.IntVal(0), z3.IntVal(1))
    arithmetic.require("layout: row 0 covers the word", z3.And(last_level.low(0) == 0, last_level.high(0) == N), claims)


class LoopTable:
    """The table of a loop, over the contents of rows in the columns that a head reads."""

    def __init__(self, claim: LanguageClaim, heads: tuple[int, int, int]) -> None:
        self.claim, self.heads = claim, heads
        self.rows: RowVectors = claim.rows(MODEL)
        self.maps = state_maps(claim.automaton)
        arithmetic, row = claim.arithmetic, claim.arithmetic.row()
        self.flags = self.rows.flags(arithmetic, row, [row.n >= 0, row.n <= arithmetic.N])
        if self.flags.shape[1] != 1:
            raise ObligationFailed("flags distinguish rows of the loop")
        layers = self.rows.transformer.layers
        self.last = len(layers) - 1
        read_rows = [layers[0].heads[h].wv.row for h in heads[:2]] + [layers[self.last].heads[0].wv.row]
        self.read_columns = np.unique(np.concatenate(read_rows)).astype(np.int64)
        later = [layer.mlp for layer in layers[1 : self.last]]
        written_or_read = [np.concatenate([mlp.w1.row, mlp.w2.column, np.flatnonzero(mlp.b2)]) for mlp in later]
        self.live_columns = np.unique(np.concatenate([self.read_columns, *written_or_read])).astype(np.int64)
        self.vectors: list[np.ndarray] = []
        self._number_of: dict[bytes, int] = {}
        self.lowest = self.highest = self.flags[:, 0].astype(np.int64)
        self.pool: PairPool | None = None

    def _content_numbers(self, vectors: np.ndarray) -> np.ndarray:
        """Return the number of the content of every vector; new contents get new numbers."""
        self._extend_ranges(vectors)
        first, which = distinct_by_hash(vectors[self.read_columns])
        numbers = np.empty(first.size, dtype=np.int64)
        for i, k in enumerate(first.tolist()):
            content = vectors[self.read_columns, k].tobytes()
            if content not in self._number_of:
                self._number_of[content] = len(self._number_of)
                self.vectors.append(vectors[:, k])
            numbers[i] = self._number_of[content]
        return numbers[which]

    def table(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Return the contents after a loop of rows that read the contents left and right, all by number."""
        contents = np.stack(self.vectors, axis=1)
        outputs = [self.rows.head_output(0, h, contents) for h in self.heads[:2]]
        code = left * len(self.vectors) + right
        pairs, inverse = np.unique(code, return_inverse=True)
        first, second = pairs // len(self.vectors), pairs % len(self.vectors)
        numbers = np.empty(pairs.size, dtype=np.int64)
        for chunk in chunks(pairs.size, self.rows.step):
            looped, which = self._looped(outputs[0][first[chunk]], outputs[1][second[chunk]])
            numbers[chunk] = self._content_numbers(looped)[which]
        return numbers[inverse.reshape(-1)]

    def _looped(self, left: SomeColumns, right: SomeColumns) -> tuple[np.ndarray, np.ndarray]:
        """Run one loop on rows that contain the first letter; `check_independence` shows that others give the same.

        Return (distinct rows, which of them each row is); rows that no later layer distinguishes count as equal.
        """
        rows = np.repeat(self.vectors[0][:, None], left.values.shape[1], axis=1)
        by_head = dict(zip(self.heads, (left, right, self.rows.head_output(0, self.heads[2], rows)), strict=True))
        outputs = [by_head[head] for head in range(3)]
        state = self.rows.layer(0, rows, outputs)
        self._extend_ranges(state)
        distinguishing = self.live_columns[state[self.live_columns].min(axis=1) != state[self.live_columns].max(axis=1)]
        first, which = distinct_by_hash(state[distinguishing])
        state = state[:, first]
        for layer in range(1, self.last):
            state = self.rows.layer(layer, state, ())
        return state, which

    def _extend_ranges(self, vectors: np.ndarray) -> None:
        """Extend the range of every column so that it contains these vectors."""
        self.lowest = np.minimum(self.lowest, vectors.min(axis=1))
        self.highest = np.maximum(self.highest, vectors.max(axis=1))

    def close(self) -> str:
        """Compute the pairs of letters, of the pad, and of all their products."""
        claim = self.claim
        tokens = np.concatenate([claim.tokens, [claim.token("pad")]])
        start = self._content_numbers(self.rows.start(tokens, self.flags))
        maps = np.concatenate([self.maps.generators[claim.letters], [0]])
        self.pool = pair_closure(PairPool(start, maps), self.table, self.maps)
        return f"{self.pool.size} pairs, {self.pool.size**2:,} cases"

    def check_independence(self) -> str:
        """Check column by column that (heads) + own is the same for every own number in its range."""
        heads = self.rows.transformer.layers[0].heads
        own_values = heads[self.heads[2]].wv
        if (own_values.row != own_values.column).any():
            raise ObligationFailed("the head by which a row reads itself moves numbers to other columns")
        contents = np.stack(self.vectors, axis=1)
        outputs = [self.rows.head_output(0, h, contents) for h in self.heads[:2]]
        cases = 0
        for column in range(self.rows.width):
            numbers = range(int(self.lowest[column]), int(self.highest[column]) + 1)
            if len(numbers) == 1:
                continue
            factor = own_values.value[own_values.column == column]
            for head_numbers in product(
                *(np.unique(output.values[output.columns == column]).tolist() or [0] for output in outputs)
            ):
                results = {self._residual(head_numbers, x, factor) for x in numbers}
                cases += len(numbers)
                if len(results) != 1:
                    raise ObligationFailed(f"column {column} of a row depends on what it was before the loop")
        return f"{cases:,} cases"

    def _residual(self, head_numbers: tuple[int, ...], own: int, factor: np.ndarray) -> int:
        """Return the sum of the heads' numbers, in their order, plus the row's own number."""
        precision = self.rows.precision
        terms = dict(zip(self.heads[:2], head_numbers, strict=True))
        terms[self.heads[2]] = int(multiply(own, int(factor[0]) if factor.size else 0, precision))
        total = 0
        for head in range(3):
            total = int(add(total, terms[head], precision))
        return int(add(total, own, precision))

    def check_answers(self) -> str:
        """Check the answers of the last row for every content of row 0, whatever the last row contains itself."""
        assert self.pool is not None
        fixed = self.lowest == self.highest
        layer = self.rows.transformer.layers[self.last]
        needed = np.unique(np.concatenate([layer.mlp.w1.row, self.rows.transformer.out.column]))
        if not fixed[needed].all():
            raise ObligationFailed("the answer of the last row depends on its earlier content")
        row_symbols = self.row_symbols(self.pool.contents)
        expected = self.claim.verdicts[self.maps.accepting[self.pool.maps].astype(np.int64)]
        if (row_symbols != expected).any():
            wrong_count = np.count_nonzero(row_symbols != expected)
            raise ObligationFailed(f"{wrong_count:,} of {row_symbols.size:,} products differ from the automaton")
        return f"{row_symbols.size:,} cases"

    def row_symbols(self, contents: np.ndarray) -> np.ndarray:
        """Return the symbols of rows that read these contents after the loops."""
        vectors = np.stack(self.vectors, axis=1)[:, contents]
        rows = np.repeat(self.vectors[0][:, None], contents.size, axis=1)
        state = self.rows.layer(self.last, rows, [self.rows.head_output(self.last, 0, vectors)])
        return self.rows.logits(state).argmax(axis=0)


# Chain of thought (cot), for every N >= 1: the row before the t-th symbol reads letter t and writes the next state.
#
# By induction on t, the symbol and the state of the automaton after t letters are one of the pairs that are closed
# under the table of a row. The last symbol says whether that state accepts. The first symbol is written by the row of
# the last letter, so that it must not depend on this letter.


def prove_chain(claim: LanguageClaim) -> None:
    """Settle all obligations of cot."""
    arithmetic = claim.arithmetic
    N = arithmetic.N
    claim.require_frame(steps=N, padding=N, rows=2 * N)
    require_copies(claim.precision, arithmetic)
    program = claim.program(MODEL)
    if program.attention != "causal" or program.loop is not None or program.noise is not None:
        raise ObligationFailed("the program is not a causal one without loop and noise")
    reads = reads_of(program, 0, claim.precision, arithmetic, MODEL)
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
    arithmetic.ledger.settle(
        "language: the last symbol says what the automaton says", "enumeration", chain.check_answers
    )


class ChainTable:
    """The table of a row: its own symbol and the letter that it reads → the next symbol."""

    def __init__(self, claim: LanguageClaim) -> None:
        self.claim = claim
        self.rows: RowVectors = claim.rows(MODEL)
        self.rows.check_single_pass(1)
        arithmetic = claim.arithmetic
        N, row = arithmetic.N, arithmetic.row()
        n = row.n

        def flags(*properties: Term) -> np.ndarray:
            return self.rows.flags(arithmetic, row, properties)

        self.letter_flags = flags(n >= 0, n < N)
        letters = self.rows.start(claim.tokens, self.letter_flags)
        self.letters = self.rows.head_output(0, 0, letters)  # for every token, for every flags
        self.first, self.only = flags(n == N - 1, N >= 2), flags(n == N - 1, N == 1)
        self.inner, self.last = flags(n >= N, n < 2 * N - 2), flags(n == 2 * N - 2, N >= 2)
        self.pairs: list[tuple[int, int]] = []

    def following(self, flags: np.ndarray, tokens: np.ndarray) -> np.ndarray:
        """Return [tokens, letters]: the next symbol; it must not depend on any flags."""
        rows = self.rows.start(tokens, flags).reshape(self.rows.width, tokens.size, -1)
        result: np.ndarray | None = None
        for k in range(rows.shape[2]):
            for letters in np.arange(self.letters.values.shape[1]).reshape(self.claim.tokens.size, -1).T:
                symbols = self._symbols(rows[:, :, k], self.letters[letters])
                if result is not None and (symbols != result).any():
                    raise ObligationFailed("the next symbol depends on more than the state and the letter")
                result = symbols
        if result is None:
            raise ObligationFailed("a region of rows is empty for every N")
        return result

    def _symbols(self, rows: np.ndarray, letters: SomeColumns) -> np.ndarray:
        count = letters.values.shape[1]
        i, j = (axis.ravel() for axis in np.indices((rows.shape[1], count)))
        symbols = np.empty(i.size, dtype=np.int64)
        for chunk in chunks(i.size, self.rows.step):
            logits, which = self.rows.single_pass(rows[:, i[chunk]], [letters[j[chunk]]])
            symbols[chunk] = logits.argmax(axis=0)[which]
        return symbols.reshape(rows.shape[1], count)

    def _after(self, states: np.ndarray) -> np.ndarray:
        """Return [states, letters]: the automaton's next state."""
        return self.claim.automaton.delta[states][:, self.claim.letters]

    def first_symbols(self, flags: np.ndarray) -> np.ndarray:
        """Return the symbol after each first letter; it must not depend on the last letter, whose row writes it."""
        row_symbols = self.following(flags, self.claim.tokens)
        if (row_symbols != row_symbols[0]).any():
            raise ObligationFailed("the first symbol depends on the last letter")
        return row_symbols[0]

    def close(self) -> str:
        """Compute the pairs (symbol, state of the automaton) after 1, 2, … letters, without the last one."""
        start = self._after(np.array([self.claim.automaton.start]))[0]
        pairs = list(dict.fromkeys(zip(self.first_symbols(self.first).tolist(), start.tolist(), strict=True)))
        settled = 0
        while settled < len(pairs):
            symbols, states = (np.array(numbers) for numbers in zip(*pairs[settled:], strict=True))
            settled = len(pairs)
            next_pairs = zip(
                self.following(self.inner, symbols).ravel().tolist(), self._after(states).ravel().tolist(), strict=True
            )
            pairs = list(dict.fromkeys((*pairs, *next_pairs)))
            if len(pairs) > MOST_PAIRS:
                raise ObligationFailed(f"more than {MOST_PAIRS:,} pairs of a symbol and a state occur")
        self.pairs = pairs
        return f"{len(pairs)} pairs"

    def check_answers(self) -> str:
        """Check the symbol after the last letter, for N = 1 and for N >= 2."""
        symbols, states = (np.array(side) for side in zip(*self.pairs, strict=True))
        start = self._after(np.array([self.claim.automaton.start]))
        both = [self.first_symbols(self.only)[None], self.following(self.last, symbols)]
        for symbols_after, states_after in zip(both, (start, self._after(states)), strict=True):
            expected = self.claim.verdicts[self.claim.automaton.accepting[states_after].astype(np.int64)]
            if (symbols_after != expected).any():
                raise ObligationFailed("the last symbol does not say what the automaton says")
        return f"{both[0].size + both[1].size:,} cases"
