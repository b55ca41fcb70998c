"""Node: a row that multiplies what two other rows hold, as a table over symbols; and what it says in the last row."""

from itertools import product

import numpy as np

from unmask.verification.families.obligations.ledger import Open
from unmask.verification.families.obligations.pairs import Maps, Pool, closed
from unmask.verification.families.obligations.rows import NEVER, Brought, Rows, distinct, in_parts
from unmask.verification.families.regular.claim import Claim


class Node:
    """Rows with two heads, both in the first layer, that hold m while they are written.

    `read`, `inner` and `root` are the flags of rows that are read, of rows that are written, and of the last row.
    """

    def __init__(self, claim: Claim, rows: Rows, *, read: np.ndarray, inner: np.ndarray, root: np.ndarray) -> None:
        rows.check_single_pass(2)
        self.claim, self.rows, self.read, self.inner, self.root = claim, rows, read, inner, root
        self.mask = claim.token("mask")
        self.maps = Maps(claim.automaton)
        symbols = len(claim.family.design.vocabulary.symbols)
        starts = rows.start(np.arange(symbols), read)
        self.brought: list[tuple[Brought, np.ndarray]] = []  # per head: one per class, and symbol × flags → class
        for head in (0, 1):
            brought = rows.fetched(0, head, starts)
            first, inverse = distinct(brought.values)
            self.brought.append((brought[first], inverse.reshape(symbols, -1)))
        self.never: int | None = None  # the symbol that is never chosen
        self.pool = Pool(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))

    def outcomes(self, own: np.ndarray, left: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(what is chosen, its logit) for one row, and classes of what is brought."""
        chosen, largest = np.empty(left.size, dtype=np.int64), np.empty(left.size, dtype=np.int64)
        for part in in_parts(left.size, self.rows.step):
            brought = [self.brought[0][0][left[part]], self.brought[1][0][right[part]]]
            mine = np.broadcast_to(own[:, None], (own.size, left[part].size))
            logits, which = self.rows.single_pass(mine, brought)
            logits = logits.astype(np.int64)
            if self.never is not None:
                logits[self.never] = NEVER
            chosen[part], largest[part] = logits.argmax(axis=0)[which], logits.max(axis=0)[which]
        return chosen, largest

    def symbols(self, flags: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """What a row takes for symbols left and right; the same for all flags of its own and of the rows it reads."""
        own = self.rows.start(np.array([self.mask]), flags)
        lefts, rights = (list(np.unique(classes, axis=1).T) for _, classes in self.brought)
        base = self.brought[1][0].values.shape[1]
        result: np.ndarray | None = None
        for k, (of_left, of_right) in product(range(own.shape[1]), product(lefts, rights)):
            pairs, back = np.unique(of_left[left] * base + of_right[right], return_inverse=True)
            made = self.outcomes(own[:, k], pairs // base, pairs % base)[0][back.reshape(-1)]
            if result is not None and (made != result).any():
                raise Open("the symbol of a row does not depend on its factors alone")
            result = made
        if result is None:
            raise Open("there are no such rows for any N")
        return result

    def close(self, *neutral: int) -> str:
        """Pairs of letters, of symbols that stand for the identity, and of all their products."""
        claim = self.claim
        held = np.concatenate([claim.tokens, np.array(neutral, dtype=np.int64)])
        maps = np.concatenate([self.maps.of_letters(claim.letters), np.zeros(len(neutral), dtype=np.int64)])
        self.pool = closed(Pool(held, maps), lambda *sides: self.symbols(self.inner, *sides), self.maps)
        return f"{self.pool.size} pairs, {self.pool.size**2:,} cases"

    def answers(self) -> str:
        """accept or reject in the last row, as the automaton says, for every two pairs."""
        first, second = self.pool.every_two()
        said = self.symbols(self.root, self.pool.held[first], self.pool.held[second])
        whole = self.maps.products(self.pool.maps[first], self.pool.maps[second])
        right = self.claim.verdicts[self.maps.accepting(whole).astype(np.int64)]
        wrong = np.count_nonzero(said != right)
        if wrong:
            raise Open(f"in {wrong:,} of {said.size:,} cases the last row does not say what the automaton says")
        return f"{said.size:,} cases"
