"""Tables of a row: what it computes from itself and from what its heads read, which is the same for every N.

The columns of codes are read by no MLP, no value map and no logit (`instance.program_at` refuses that for every N), so
that rows are vectors over the other columns, and the weights are those of the smallest length. Products, sums and MLPs
are those of the fast engine.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from unmask.engines.prepared_weights import PreparedMlp, SparseProduct
from unmask.engines.visible_keys import distinct
from unmask.errors import TooLarge
from unmask.limits import check
from unmask.numerics.arithmetic import Precision
from unmask.numerics.compact import Compact
from unmask.problems.automata.automaton import Automaton
from unmask.problems.automata.groups_and_monoids import Monoid, transition_monoid
from unmask.programs.assembly import assemble
from unmask.programs.declarations import Flag, OneHot
from unmask.programs.instance import program_at
from unmask.programs.program import Program
from unmask.verification.lengths.obligations import AnyRow, Arithmetic, ObligationFailed, Term
from unmask.verification.transformer_layer import CaseVectors, SomeColumns
from unmask.weights.matrices import Matrix
from unmask.weights.transformer import Mlp

MOST_FLAGS = 64
AT_ONCE = 1 << 24  # cells
LARGE = 4096  # hidden units
NEVER = -(1 << 40)
"""Below every logit."""


class RowVectors:
    """Vectors [columns, cases]; the columns of codes are 0."""

    def __init__(self, program: Program, precision: Precision, least: int) -> None:
        self.program, self.precision = program, precision
        self.compact = Compact(precision)
        made = program_at(program, least)
        try:
            self.transformer = assemble(made, precision)
        except AssertionError as flaw:  # a number that has more bits than its code, say
            raise ObligationFailed(f"there are no weights at N = {least}: {flaw}", (least,)) from flaw
        self.width = self.transformer.width
        self._columns = {name: made.columns(name) for name in made.registers}
        place = np.arange(self.width)
        self._values = [[SparseProduct(h.wv, self.compact, input_rows=place) for h in la.heads] for la in self._layers]
        self._domain = CaseVectors(self.compact)
        self._mlps = [self._domain.prepared(layer.mlp) for layer in self._layers]
        self._bounds: dict[int, _Bound] = {}
        self._out = SparseProduct(self.transformer.out.transposed(), self.compact, every=True, input_rows=place)
        self._out_order = np.argsort(self._out.columns)

    @property
    def _layers(self):
        return self.transformer.layers

    def flags(self, arithmetic: Arithmetic, row: AnyRow, where: Sequence[Term]) -> np.ndarray:
        """[columns, combinations]: what the positions may hold beside codes, in rows with these properties."""
        terms, writers = [], []
        for name, declared in self.program.positions.items():
            if name in self.program.codes:
                continue
            columns = self._columns[name]
            if type(declared) is Flag:
                terms.append(arithmetic.z3.If(arithmetic.at(declared.expression, row) != 0, 1, 0))
                writers.append((columns, None))
            elif type(declared) is OneHot:
                terms.append(self._hot(declared, columns.size, arithmetic, row))
                writers.append((columns, columns))
            else:
                raise ObligationFailed(
                    f"the register {name} is declared by {type(declared).__name__}, which the proof does not support"
                )
        found = arithmetic.values(terms, [*row.facts, *where], MOST_FLAGS)
        vectors = np.zeros((self.width, len(found)), dtype=self.compact.narrow)
        for i, values in enumerate(found):
            for value, (columns, hot) in zip(values, writers, strict=True):
                if hot is None:
                    vectors[columns, i] = self.precision.one * value
                elif value >= 0:
                    vectors[columns[value], i] = self.precision.one
        return vectors

    @staticmethod
    def _hot(declared: OneHot, width: int, arithmetic: Arithmetic, row: AnyRow) -> Term:
        z3, value = arithmetic.z3, arithmetic.at(declared.expression, row)
        there = z3.And(value >= 0, value < width)
        if declared.only is not None:
            there = z3.And(there, arithmetic.at(declared.only, row) != 0)
        return z3.If(there, value, -1)

    def start(self, tokens: np.ndarray, flags: np.ndarray) -> np.ndarray:
        """H⁰ of every token under every combination of flags: [columns, tokens · combinations]."""
        embedded = self.transformer.embed.take(np.asarray(tokens)).T.astype(np.int64)
        both = embedded[:, :, None] + flags.astype(np.int64)[:, None, :]
        bound = self.precision.bound
        return np.clip(both, -bound, bound).reshape(self.width, -1).astype(self.compact.narrow)

    def fetched(self, layer: int, head: int, rows: np.ndarray) -> SomeColumns:
        """Return the output of a head that reads these rows."""
        return self._domain.times(rows, self._values[layer][head])

    def layer(self, layer: int, own: np.ndarray, added: Sequence[SomeColumns]) -> np.ndarray:
        """The rows after a layer, given what its heads write."""
        G = self.residual(own, added)
        return self._domain.mlp(G, self._mlp(layer, G))

    def residual(self, own: np.ndarray, added: Sequence[SomeColumns]) -> np.ndarray:
        """The rows after the heads."""
        return self._domain.residual(own, added)

    def hidden(self, layer: int, G: np.ndarray) -> np.ndarray:
        """[units, rows]: the hidden units of an MLP, in some order."""
        return self._domain.hidden(G, self._mlps[layer]).values

    def _mlp(self, layer: int, rows: np.ndarray) -> PreparedMlp:
        """The MLP; of a large one, the hidden units that can be above 0 for rows within the range of these."""
        if self._mlps[layer].size <= LARGE or rows.shape[1] < 2:
            return self._mlps[layer]
        if layer not in self._bounds:
            self._bounds[layer] = _Bound(self._layers[layer].mlp, self.compact)
        return self._bounds[layer].reduced(rows.min(axis=1), rows.max(axis=1))

    def logits(self, rows: np.ndarray) -> np.ndarray:
        """[symbols, rows]"""
        return self._out(rows, slice(0, rows.shape[1]))[self._out_order]

    @property
    def step(self) -> int:
        """How many cases at a time."""
        largest = max([self.width, *(min(mlp.size, LARGE) for mlp in self._mlps)])
        return max(16, AT_ONCE // largest)

    def single_pass(self, own: np.ndarray, added: Sequence[SomeColumns]) -> tuple[np.ndarray, np.ndarray]:
        """(logits, which of them each row has): of rows whose heads all are in the first layer."""
        return self.last_layers(self.layer(0, own, added), 1)

    def last_layers(self, rows: np.ndarray, done: int) -> tuple[np.ndarray, np.ndarray]:
        """Return (logits, which of them each row has), where `done` layers are done and the others have no heads."""
        state, which = self.after(done - 1, rows)
        for layer in range(done, len(self._layers)):
            state = self.layer(layer, state, ())
        return self.logits(state), which

    def after(self, layer: int, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(different rows, which of them each is), where rows are equal if later layers cannot distinguish them."""
        read = [later.mlp.w1.row for later in self._layers[layer + 1 :]]
        live = np.unique(np.concatenate([*read, self.transformer.out.column]))
        live = live[rows[live].min(axis=1) != rows[live].max(axis=1)]
        first, which = distinct(rows[live])
        return rows[:, first], which

    def check_single_pass(self, heads: int) -> None:
        """Check that later layers have no heads."""
        if any(layer.heads for layer in self._layers[1:]) or len(self._layers[0].heads) != heads:
            raise ObligationFailed(f"the program does not have its {heads} heads in the first layer alone")

    def check_heads(self, counts: Sequence[int]) -> None:
        """Check that the first layers have these numbers of heads, and later layers none."""
        found = [len(layer.heads) for layer in self._layers]
        if found != [*counts, *[0] * (len(found) - len(counts))]:
            raise ObligationFailed(f"the program has {found} heads in its layers, not {list(counts)} in the first ones")

    def live(self) -> np.ndarray:
        """The columns of its own that can make a difference to the logits of a row after the first layer's heads."""
        read = [layer.mlp.w1.row for layer in self._layers]
        return np.unique(np.concatenate([*read, self.transformer.out.column]))


class _Bound:
    """Which hidden units can be above 0, for rows between a lowest and a highest.

    A sum of F_p is monotone in each of its terms, and a rounded product in each of its factors: so the largest value of
    a unit is that of the highest number of every column with a positive weight, and the lowest of the others.
    """

    def __init__(self, mlp: Mlp, compact: Compact) -> None:
        self._mlp, self._compact = mlp, compact
        w1 = mlp.w1
        self._width, self._size = w1.shape
        doubled = Matrix.from_entries((2 * self._width, self._size), 2 * w1.row + (w1.value < 0), w1.column, w1.value)
        self._product = SparseProduct(doubled, compact, every=True, input_rows=np.arange(2 * self._width))

    def reduced(self, lowest: np.ndarray, highest: np.ndarray) -> PreparedMlp:
        """The MLP without the units that are 0 for all such rows, which add nothing."""
        mlp = self._mlp
        ends = np.stack([highest, lowest], axis=1).reshape(-1, 1)
        largest = np.empty(self._size, dtype=np.int64)
        largest[self._product.columns] = self._product(ends, slice(0, 1))[:, 0]
        alive = np.clip(largest, -self._compact.bound, self._compact.bound) + mlp.b1 > 0
        place = np.cumsum(alive) - 1
        first, second = alive[mlp.w1.column], alive[mlp.w2.row]
        count = int(alive.sum())
        w1 = Matrix.from_entries(
            (self._width, count), mlp.w1.row[first], place[mlp.w1.column[first]], mlp.w1.value[first]
        )
        w2 = Matrix.from_entries(
            (count, self._width), place[mlp.w2.row[second]], mlp.w2.column[second], mlp.w2.value[second]
        )
        return CaseVectors(self._compact).prepared(Mlp(w1, mlp.b1[alive], w2, mlp.b2))


def in_parts(count: int, step: int):
    """Slices of at most `step` cases."""
    for first in range(0, count, step):
        check()
        yield slice(first, min(first + step, count))


# Pairs (what a row holds, the map of its letters in the automaton), closed under the table of a row.
#
#     start: (letter, its map)          (x, f), (y, g)  →  (table[x, y], f·g)
#
# The closure says, once for all N, what rows can hold for which products; by induction on the tree no other pair
# occurs.


MOST_PAIRS = 3000


def state_maps(automaton: Automaton) -> Monoid:
    """The maps of states that words have, with their products; element 0 is the identity.

    The compiler uses the same function, so the result is compared with its definition: a fault is not shared.
    """
    try:
        monoid = transition_monoid(automaton, most=MOST_PAIRS)
    except TooLarge as found:
        raise ObligationFailed(f"the automaton has more than {MOST_PAIRS:,} maps") from found
    maps = monoid.elements
    right = (
        np.array_equal(maps[0], np.arange(automaton.states)),
        np.array_equal(maps[monoid.generators], automaton.delta.T),
        np.array_equal(monoid.accepting, automaton.accepting[maps[:, automaton.start]]),
    )
    if not all(right) or not all(_is_column(monoid, j) for j in range(monoid.size)):
        raise ObligationFailed("the transition monoid is not that of the automaton")
    return monoid


def _is_column(monoid: Monoid, j: int) -> bool:
    """Return whether i · j, in the table, is the map i and then the map j, for every i."""
    check()
    return np.array_equal(monoid.elements[monoid.product_table[:, j]], monoid.elements[j][monoid.elements])


@dataclass(frozen=True)
class Pool:
    """Pairs: what is held, by number, and the map."""

    contents: np.ndarray
    maps: np.ndarray

    @property
    def size(self) -> int:
        return self.contents.size

    def every_two(self) -> tuple[np.ndarray, np.ndarray]:
        """All (first, second), as places in the pool."""
        first, second = np.indices((self.size, self.size))
        return first.ravel(), second.ravel()


Table = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""(left, right), what two rows hold → what a row holds that reads them."""


def closed(start: Pool, table: Table, maps: Monoid) -> Pool:
    """The least pool that holds the start and what the table makes of any two of its pairs."""
    pairs = list(dict.fromkeys(zip(start.contents.tolist(), start.maps.tolist(), strict=True)))
    known = set(pairs)
    settled = 0
    while settled < len(pairs):
        check()
        count = len(pairs)
        contents, numbers = (np.array(side, dtype=np.int64) for side in zip(*pairs, strict=True))
        new, every = np.arange(settled, count), np.arange(count)
        first = np.concatenate([np.repeat(new, count), np.repeat(every[:settled], new.size)])
        second = np.concatenate([np.tile(every, new.size), np.tile(new, settled)])
        made = table(contents[first], contents[second]) << 32 | maps.product_table[numbers[first], numbers[second]]
        for code in np.unique(made).tolist():
            pair = code >> 32, code & (1 << 32) - 1
            if pair not in known:
                known.add(pair)
                pairs.append(pair)
        settled = count
        if len(pairs) > MOST_PAIRS:
            raise ObligationFailed(f"more than {MOST_PAIRS:,} pairs of a symbol and a map occur")
    contents, numbers = (np.array(side, dtype=np.int64) for side in zip(*pairs, strict=True))
    return Pool(contents, numbers)
