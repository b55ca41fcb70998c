"""Reads over a range, for every N: which rows a slot sees, and what it can tell of them, however many they are.

    score     the rows that find for the slot are weighed alike, no other has a weight     closure over bits, then HIDE
    Z         e + e + …, once for every row that is seen, clipped                          closure: at least one row
    share     Σ [e/Z]·v  is 0 if every v is 0, else above 0                                for every Z and every v >= 0

A sum of numbers that are not negative is at least each of them, clipped or not. What a slot makes of its shares it
makes of their signs: a hidden unit reads them with weights of one sign, and has the same value for the least share
above 0 and for the largest number; sums and rounded products of F_p are monotone in each part, so it has this value for
all between.

So any number of rows tell what they tell one by one, together: (signs of the shares, what is found, does one wait),
closed under union.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from unmask.numerics.arithmetic import multiply
from unmask.numerics.precision import Precision
from unmask.programs.language.program import Program
from unmask.recurrences.slots import Slots
from unmask.verification.families.obligations.arithmetic import Term
from unmask.verification.families.obligations.heads import Seen, seen_of, weights_among_any
from unmask.verification.families.obligations.ledger import Open
from unmask.verification.families.obligations.rows import Brought, Rows
from unmask.verification.families.systems.claim import SystemClaim, impossible
from unmask.verification.families.systems.slots import AnySlot, Search
from unmask.verification.folds.closure import close

LAYER = 1
"""Slots look at the rows that find in the second layer."""
MOST_TOLD = 4096
NONE = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True)
class Told:
    """What rows tell: which shares are above 0, what was found, and whether one of them waits."""

    signs: tuple[bool, ...]
    found: frozenset
    waits: bool

    def with_(self, other: "Told") -> "Told":
        signs = tuple(a or b for a, b in zip(self.signs, other.signs, strict=True))
        return Told(signs, self.found | other.found, self.waits or other.waits)


def together(told: Iterable[Told]) -> list[Told]:
    """All that one row or more can tell, if each tells one of these."""
    single = list(dict.fromkeys(told))
    found: dict[Told, None] = {}

    def moves(state: Told) -> Iterable[tuple[Told, Told]]:
        if len(found) > MOST_TOLD:
            raise Open("the rows of a read over a range have too many different outputs")
        return ((one, state.with_(one)) for one in single)

    close(single, moves, lambda state: found.setdefault(state))
    return list(found)


@dataclass(eq=False)
class Shares:
    """The columns that a head writes, those of equal value together, and what they hold if they are not 0."""

    columns: list[np.ndarray]
    held: list[set[int]] = field(default_factory=list)
    """Per share the numbers that a row may add to it, weighed."""
    least: list[int] = field(default_factory=list)

    def signs(self, brought: Brought) -> np.ndarray:
        """[shares, rows]: which of the numbers that rows bring are above 0; each is kept."""
        values = self._values(brought)
        if (values < 0).any():
            raise Open("a row that matches adds a number below 0")
        for held, row in zip(self.held, values, strict=True):
            held.update(np.unique(row).tolist())
        return values > 0

    def _values(self, brought: Brought) -> np.ndarray:
        place = {int(column): i for i, column in enumerate(brought.columns)}
        found = np.zeros((len(self.columns), brought.values.shape[1]), dtype=np.int64)
        for share, columns in enumerate(self.columns):
            values = brought.values[[place[int(c)] for c in columns]]
            if (values != values[:1]).any():
                raise Open("two columns of one share differ")
            found[share] = values[0]
        return found

    def weigh(self, weight: int, precision: Precision) -> str:
        """The least share above 0, for any number of rows of which one has a number above 0."""
        weights = weights_among_any(weight, precision)
        self.least = []
        for held in self.held:
            terms = [(v, int(multiply(w, v, precision))) for w in weights for v in held]
            if any((term > 0) != (v > 0) or term < 0 for v, term in terms):
                raise Open("the contribution of a matching row rounds to zero among many rows")
            self.least.append(min((term for _, term in terms if term), default=1))
        return f"{len(weights)} weights, {sum(map(len, self.held))} numbers"

    def brought(self, signs: np.ndarray, rows: Rows, *, largest: bool) -> Brought:
        """What the head brings if these shares are above 0: the least, or the largest."""
        written = np.unique(np.concatenate([NONE, *self.columns]))
        values = np.zeros((written.size, signs.shape[1]), dtype=rows.compact.narrow)
        for share, least, sign in zip(self.columns, self.least, signs, strict=True):
            number = rows.precision.bound if largest else least
            values[np.searchsorted(written, share)] = np.where(sign, number, 0)
        return Brought(written, values)


class Gathers:
    """The heads of one transformer by which slots look at the rows that find for them."""

    def __init__(self, claim: SystemClaim, program: Program, rows: Rows, name: str) -> None:
        self.claim, self.rows = claim, rows
        self.seen = seen_of(program, LAYER, claim.precision, claim.arithmetic, name)
        self.shown = [self._shown(seen) for seen in self.seen]
        for seen, shown in zip(self.seen, self.shown, strict=True):
            self._targets(seen, shown)
        self.shares = [self._shares(head) for head in range(len(self.seen))]
        self._told: dict[Search, list[Told]] = {}
        self._check_reads()

    def _shown(self, seen: Seen) -> list[Search]:
        """The searches whose rows are not hidden."""
        arithmetic, shown = self.claim.arithmetic, []
        for slot in self.claim.everywhere:
            hidden = arithmetic.at(seen.hidden, slot.row)
            if isinstance(slot.group, Search) and impossible(arithmetic, [*slot.given, hidden != 0]):
                shown.append(slot.group)
                arithmetic.require(f"{seen.name}: {slot.name} is not hidden", hidden == 0, slot.given)
            else:
                arithmetic.require(f"{seen.name}: {slot.name} is hidden", hidden != 0, slot.given)
        if not shown or len({search.group for search in shown}) < len(shown):
            raise Open(f"{seen.name} sees the rows of no read over a range, or of two of one group")
        return shown

    def _targets(self, seen: Seen, shown: list[Search]) -> None:
        """The code of a slot is its number; a row that finds has that of its slot; any other that of some slot."""
        arithmetic, space, name = self.claim.arithmetic, self.claim.space, seen.name
        z3 = arithmetic.z3
        if seen.target is None:
            if len(shown) != 1 or shown[0].group.ranges:
                raise Open(f"{name} reads all rows that match, even those of other slots")
            return
        assert seen.room is not None
        fits = space.rows <= arithmetic.at(seen.room, arithmetic.row())
        arithmetic.require(f"{name}: codes have room", fits)
        for slot in self.claim.everywhere:
            target = arithmetic.at(seen.target, slot.row)
            wanted = self._target(slot, shown)
            if wanted is not None:
                arithmetic.require(f"{name}: {slot.name} has the code of its slot", target == wanted, slot.given)
                continue
            groups = [search.group for search in shown]
            some = [z3.And(target >= space.first[g], target < space.first[g] + space.size(g)) for g in groups]
            arithmetic.require(f"{name}: {slot.name} has the code of some slot", z3.Or(*some), slot.given)

    def _target(self, slot: AnySlot, shown: list[Search]) -> Term | None:
        """The number of the slot for which a row finds, or which asks what is found."""
        if isinstance(slot.group, Search) and slot.group in shown:
            group = slot.group.group
            return self.claim.space.number(group, [slot.indices[over.name] for over in group.ranges])
        asks = isinstance(slot.group, Slots) and any(search.group is slot.group for search in shown)
        return slot.number if asks else None

    def _shares(self, head: int) -> Shares:
        """Columns are one share if they are made of the same columns with the same weights."""
        wv = self.rows.transformer.layers[LAYER].heads[head].wv
        alike: dict[tuple, list[int]] = {}
        for column in np.unique(wv.column).tolist():
            here = wv.column == column
            made = tuple(sorted(zip(wv.row[here].tolist(), wv.value[here].tolist(), strict=True)))
            alike.setdefault(made, []).append(column)
        return Shares([np.array(columns) for columns in alike.values()], [{0} for _ in alike])

    def _check_reads(self) -> None:
        """No unit reads shares with weights of both signs, and nothing reads them after this layer."""
        layers = self.rows.transformer.layers
        listed = np.concatenate([NONE, *(columns for shares in self.shares for columns in shares.columns)])
        w1 = layers[LAYER].mlp.w1
        here = np.isin(w1.row, listed)
        signs = {(int(u), int(np.sign(v))) for u, v in zip(w1.column[here], w1.value[here], strict=True) if v}
        if len({unit for unit, _ in signs}) < len(signs):
            raise Open("a hidden unit reads shares with weights of both signs")
        later = [layer.mlp.w1.row for layer in layers[LAYER + 1 :]]
        if np.isin(np.concatenate([*later, self.rows.transformer.out.column]), listed).any():
            raise Open("shares are read after the layer in which they are fetched")

    def listen(self, tell: Callable[[Search, int], Iterable[Told]]) -> None:
        """What the rows of every search may tell, by `tell` for the head that sees them; then what shares there are."""
        for search in self.claim.space.searches:
            heads = [head for head, shown in enumerate(self.shown) if search in shown]
            if len(heads) != 1:
                raise Open(f"the rows of {search.name} are seen by {len(heads)} heads, not by one")
            self._told[search] = list(dict.fromkeys(tell(search, heads[0])))
        arithmetic = self.claim.arithmetic
        for seen, shares in zip(self.seen, self.shares, strict=True):

            def show(seen: Seen = seen, shares: Shares = shares) -> str:
                return shares.weigh(seen.weight, self.claim.precision)

            arithmetic.ledger.settle(f"{seen.name}: a share is 0 if and only if every row brings 0", "closure", show)

    def told(self, search: Search, *, waiting: bool) -> list[Told]:
        """What all rows that find for a slot tell; without `waiting` none of them waits."""
        return together(told for told in self._told[search] if waiting or not told.waits)

    def told_by_any(self, head: int) -> list[Told]:
        """What a row may hear that does not ask: what the rows of any slot tell."""
        every = [told for search in self.shown[head] for told in self.told(search, waiting=True)]
        return list({told.signs: told for told in every}.values())

    def _brought(self, signs: Sequence[np.ndarray], *, largest: bool) -> list[Brought]:
        pairs = zip(self.shares, signs, strict=True)
        return [shares.brought(sign, self.rows, largest=largest) for shares, sign in pairs]

    def layer(self, rows: np.ndarray, signs: Sequence[np.ndarray]) -> np.ndarray:
        """After the layer: of rows whose shares, per head [shares, rows], are above 0 where the signs say so."""
        low, high = (self.rows.joined(rows, self._brought(signs, largest=largest)) for largest in (False, True))
        if (self.rows.hidden(LAYER, low) != self.rows.hidden(LAYER, high)).any():
            raise Open("a hidden unit distinguishes shares above 0")
        return self.rows.layer(LAYER, low, ())
