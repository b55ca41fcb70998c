"""Chain of thought (cot), for every N >= 1: the row before the t-th symbol looks up letter t and moves the state on.

By induction on t: the symbol and the state of the automaton after t letters are one of the pairs that the table of a
row closes; the last symbol says whether that state accepts. The row of the last letter, from which the first symbol
comes, holds that letter, whichever it is.
"""

import numpy as np

from unmask.verification.families.obligations.arithmetic import Term
from unmask.verification.families.obligations.heads import reads_of, require_copies
from unmask.verification.families.obligations.ledger import Open
from unmask.verification.families.obligations.pairs import MOST_PAIRS
from unmask.verification.families.obligations.rows import Brought, Rows, in_parts
from unmask.verification.families.regular.claim import Claim

NAME = "model"


def prove_chain(claim: Claim) -> None:
    """All obligations."""
    arithmetic = claim.arithmetic
    N = arithmetic.N
    claim.require_frame(steps=N, padding=N, rows=2 * N)
    require_copies(claim.precision, arithmetic)
    program = claim.program(NAME)
    if program.attention != "causal" or program.loop is not None or program.noise is not None:
        raise Open("the program is not a causal one without loop and noise")
    reads = reads_of(program, 0, claim.precision, arithmetic, NAME)
    row = arithmetic.row()
    if len(reads) != 1:
        raise Open(f"the program has {len(reads)} heads in its first layer, not 1")
    arithmetic.require(
        "layout: the row before symbol t reads letter t",
        arithmetic.at(reads[0].address, row) == row.n - (N - 1),
        [row.n >= N - 1, row.n < 2 * N - 1],
    )
    chain = Chain(claim)
    arithmetic.ledger.settle("rows: which symbol is written after which state", "enumeration, closure", chain.close)
    arithmetic.ledger.settle("language: the last symbol says what the automaton says", "enumeration", chain.answers)


class Chain:
    """The table of a row: its own symbol and the letter that it looks up → the next symbol."""

    def __init__(self, claim: Claim) -> None:
        self.claim = claim
        self.rows: Rows = claim.rows(NAME)
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
                    raise Open("the next symbol depends on more than the state and the letter")
                result = made
        if result is None:
            raise Open("a region of rows is empty for every N")
        return result

    def _symbols(self, own: np.ndarray, letters: Brought) -> np.ndarray:
        count = letters.values.shape[1]
        i, j = (axis.ravel() for axis in np.indices((own.shape[1], count)))
        said = np.empty(i.size, dtype=np.int64)
        for part in in_parts(i.size, self.rows.step):
            logits, which = self.rows.single_pass(own[:, i[part]], [letters[j[part]]])
            said[part] = logits.argmax(axis=0)[which]
        return said.reshape(own.shape[1], count)

    def _after(self, states: np.ndarray) -> np.ndarray:
        """[states, letters]: the automaton's next state."""
        return self.claim.automaton.delta[states][:, self.claim.letters]

    def first_symbols(self, flags: np.ndarray) -> np.ndarray:
        """The symbol after the first letter, whatever the last letter is, whose row it comes from."""
        said = self.following(flags, self.claim.tokens)
        if (said != said[0]).any():
            raise Open("the first symbol depends on the last letter")
        return said[0]

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
                raise Open(f"more than {MOST_PAIRS:,} pairs of a symbol and a state occur")
        self.pairs = pairs
        return f"{len(pairs)} pairs"

    def answers(self) -> str:
        """After the last letter, for N = 1 and for N >= 2."""
        symbols, states = (np.array(side) for side in zip(*self.pairs, strict=True))
        start = self._after(np.array([self.claim.automaton.start]))
        said = [self.first_symbols(self.only)[None], self.following(self.last, symbols)]
        for found, after in zip(said, (start, self._after(states)), strict=True):
            right = self.claim.verdicts[self.claim.automaton.accepting[after].astype(np.int64)]
            if (found != right).any():
                raise Open("the last symbol does not say what the automaton says")
        return f"{said[0].size + said[1].size:,} cases"
