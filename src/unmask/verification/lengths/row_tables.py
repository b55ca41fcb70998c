"""Tables of a row: its result, from its own vector and the outputs of its heads, which is the same for every N.

No MLP, value map or logit reads the columns of codes (`instance.program_at` refuses that for every N). So rows are
vectors over the other columns, and the weights are those of the smallest length. Products, sums and MLPs are those of
the fast engine.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from unmask.engines.prepared_weights import PreparedMlp, SparseProduct
from unmask.engines.visible_keys import distinct_by_hash
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
CELLS_AT_ONCE = 1 << 24
LARGE = 4096  # hidden units
NEVER = -(1 << 40)
"""Below every logit."""


class RowVectors:
    """The computation of rows as vectors [columns, cases], whose columns of codes are 0."""

    def __init__(self, program: Program, precision: Precision, least: int) -> None:
        self.program, self.precision = program, precision
        self.compact = Compact(precision)
        smallest = program_at(program, least)
        try:
            self.transformer = assemble(smallest, precision)
        except AssertionError as error:  # for instance, a number that has more bits than its code
            raise ObligationFailed(f"there are no weights at N = {least}: {error}", (least,)) from error
        self.width = self.transformer.width
        self._columns = {name: smallest.columns(name) for name in smallest.registers}
        every_column = np.arange(self.width)
        self._values = [
            [SparseProduct(h.wv, self.compact, input_rows=every_column) for h in la.heads] for la in self._layers
        ]
        self._domain = CaseVectors(self.compact)
        self._mlps = [self._domain.prepared(layer.mlp) for layer in self._layers]
        self._active_units: dict[int, _ActiveUnits] = {}
        self._out = SparseProduct(self.transformer.out.transposed(), self.compact, every=True, input_rows=every_column)
        self._out_order = np.argsort(self._out.columns)

    @property
    def _layers(self):
        return self.transformer.layers

    def flags(self, arithmetic: Arithmetic, row: AnyRow, properties: Sequence[Term]) -> np.ndarray:
        """Return [columns, combinations]: all position embeddings without codes, for rows with these properties."""
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
        combinations = arithmetic.values(terms, [*row.facts, *properties], MOST_FLAGS)
        vectors = np.zeros((self.width, len(combinations)), dtype=self.compact.narrow)
        for i, values in enumerate(combinations):
            for value, (columns, hot) in zip(values, writers, strict=True):
                if hot is None:
                    vectors[columns, i] = self.precision.one * value
                elif value >= 0:
                    vectors[columns[value], i] = self.precision.one
        return vectors

    @staticmethod
    def _hot(declared: OneHot, width: int, arithmetic: Arithmetic, row: AnyRow) -> Term:
        """Return the number of the column that is 1 in a row, -1 if there is none."""
        z3, value = arithmetic.z3, arithmetic.at(declared.expression, row)
        occurs = z3.And(value >= 0, value < width)
        if declared.only is not None:
            occurs = z3.And(occurs, arithmetic.at(declared.only, row) != 0)
        return z3.If(occurs, value, -1)

    def start(self, tokens: np.ndarray, flags: np.ndarray) -> np.ndarray:
        """Return H⁰ of every token with every combination of flags: [columns, tokens · combinations]."""
        embedded = self.transformer.embed.take(np.asarray(tokens)).T.astype(np.int64)
        total = embedded[:, :, None] + flags.astype(np.int64)[:, None, :]
        bound = self.precision.bound
        return np.clip(total, -bound, bound).reshape(self.width, -1).astype(self.compact.narrow)

    def head_output(self, layer: int, head: int, rows: np.ndarray) -> SomeColumns:
        """Return the output of a head that reads these rows."""
        return self._domain.times(rows, self._values[layer][head])

    def layer(self, layer: int, rows: np.ndarray, outputs: Sequence[SomeColumns]) -> np.ndarray:
        """Return the rows after a layer, from the outputs of its heads."""
        G = self.residual(rows, outputs)
        return self._domain.mlp(G, self._mlp(layer, G))

    def residual(self, rows: np.ndarray, outputs: Sequence[SomeColumns]) -> np.ndarray:
        """Return the rows after the heads of a layer."""
        return self._domain.residual(rows, outputs)

    def hidden(self, layer: int, G: np.ndarray) -> np.ndarray:
        """Return [units, rows]: the hidden units of an MLP, in an arbitrary fixed order."""
        return self._domain.hidden(G, self._mlps[layer]).values

    def _mlp(self, layer: int, rows: np.ndarray) -> PreparedMlp:
        """Return the MLP; if it is large, only with the units that can be above 0 in the range of these rows."""
        if self._mlps[layer].size <= LARGE or rows.shape[1] < 2:
            return self._mlps[layer]
        if layer not in self._active_units:
            self._active_units[layer] = _ActiveUnits(self._layers[layer].mlp, self.compact)
        return self._active_units[layer].reduced(rows.min(axis=1), rows.max(axis=1))

    def logits(self, rows: np.ndarray) -> np.ndarray:
        """Return the logits, [symbols, rows]."""
        return self._out(rows, slice(0, rows.shape[1]))[self._out_order]

    @property
    def step(self) -> int:
        """The number of cases that are computed at a time."""
        largest = max([self.width, *(min(mlp.size, LARGE) for mlp in self._mlps)])
        return max(16, CELLS_AT_ONCE // largest)

    def single_pass(self, rows: np.ndarray, outputs: Sequence[SomeColumns]) -> tuple[np.ndarray, np.ndarray]:
        """Return (distinct logits, which of them each row has) of rows whose heads are all in the first layer."""
        return self.last_layers(self.layer(0, rows, outputs), 1)

    def last_layers(self, rows: np.ndarray, first: int) -> tuple[np.ndarray, np.ndarray]:
        """Return (distinct logits, which of them each row has) after the last layers, which have no heads.

        `first` is the first of these layers.
        """
        state, which = self.distinct_after(first - 1, rows)
        for layer in range(first, len(self._layers)):
            state = self.layer(layer, state, ())
        return self.logits(state), which

    def distinct_after(self, layer: int, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return (distinct rows, which of them each row is); rows that later layers cannot distinguish are equal."""
        read = [later.mlp.w1.row for later in self._layers[layer + 1 :]]
        live = np.unique(np.concatenate([*read, self.transformer.out.column]))
        live = live[rows[live].min(axis=1) != rows[live].max(axis=1)]
        first, which = distinct_by_hash(rows[live])
        return rows[:, first], which

    def check_single_pass(self, heads: int) -> None:
        """Check that later layers have no heads."""
        if any(layer.heads for layer in self._layers[1:]) or len(self._layers[0].heads) != heads:
            raise ObligationFailed(f"the program does not have its {heads} heads in the first layer alone")

    def check_heads(self, counts: Sequence[int]) -> None:
        """Check that the first layers have these numbers of heads, and later layers none."""
        actual = [len(layer.heads) for layer in self._layers]
        if actual != [*counts, *[0] * (len(actual) - len(counts))]:
            raise ObligationFailed(
                f"the program has {actual} heads in its layers, not {list(counts)} in the first ones"
            )

    def live(self) -> np.ndarray:
        """Return the columns of a row that can make a difference to its logits after the heads of the first layer."""
        read = [layer.mlp.w1.row for layer in self._layers]
        return np.unique(np.concatenate([*read, self.transformer.out.column]))


class _ActiveUnits:
    """The hidden units of an MLP that can be above 0, for rows in a range.

    A sum of F_p is monotone in each of its terms, and a rounded product in each of its factors. So a unit is largest
    where every column with a positive weight has its highest number, and every other column its lowest.
    """

    def __init__(self, mlp: Mlp, compact: Compact) -> None:
        self._mlp, self._compact = mlp, compact
        w1 = mlp.w1
        self._width, self._size = w1.shape
        doubled = Matrix.from_entries((2 * self._width, self._size), 2 * w1.row + (w1.value < 0), w1.column, w1.value)
        self._product = SparseProduct(doubled, compact, every=True, input_rows=np.arange(2 * self._width))

    def reduced(self, lowest: np.ndarray, highest: np.ndarray) -> PreparedMlp:
        """Return the MLP without the units that are 0 for all rows in this range."""
        mlp = self._mlp
        ends = np.stack([highest, lowest], axis=1).reshape(-1, 1)
        largest = np.empty(self._size, dtype=np.int64)
        largest[self._product.columns] = self._product(ends, slice(0, 1))[:, 0]
        active = np.clip(largest, -self._compact.bound, self._compact.bound) + mlp.b1 > 0
        new_number = np.cumsum(active) - 1
        first, second = active[mlp.w1.column], active[mlp.w2.row]
        count = int(active.sum())
        w1 = Matrix.from_entries(
            (self._width, count), mlp.w1.row[first], new_number[mlp.w1.column[first]], mlp.w1.value[first]
        )
        w2 = Matrix.from_entries(
            (count, self._width), new_number[mlp.w2.row[second]], mlp.w2.column[second], mlp.w2.value[second]
        )
        return CaseVectors(self._compact).prepared(Mlp(w1, mlp.b1[active], w2, mlp.b2))


def chunks(count: int, step: int):
    """Yield slices of at most `step` cases."""
    for first in range(0, count, step):
        check()
        yield slice(first, min(first + step, count))


# Pairs (content of a row, map of its letters on the automaton's states), closed under the table of a row.
#
#     start: (letter, its map)          (x, f), (y, g)  →  (table[x, y], f·g)
#
# The closure contains every pair that occurs for some N, by induction on the tree.


MOST_PAIRS = 3000


def state_maps(automaton: Automaton) -> Monoid:
    """Return the maps of words on the automaton's states, with their products; element 0 is the identity.

    The compiler uses the same function, so its result is checked here against the definition.
    """
    try:
        monoid = transition_monoid(automaton, most=MOST_PAIRS)
    except TooLarge as error:
        raise ObligationFailed(f"the automaton has more than {MOST_PAIRS:,} maps") from error
    maps = monoid.elements
    conditions = (
        np.array_equal(maps[0], np.arange(automaton.states)),
        np.array_equal(maps[monoid.generators], automaton.delta.T),
        np.array_equal(monoid.accepting, automaton.accepting[maps[:, automaton.start]]),
    )
    if not all(conditions) or not all(_is_product_column(monoid, j) for j in range(monoid.size)):
        raise ObligationFailed("the transition monoid is not that of the automaton")
    return monoid


def _is_product_column(monoid: Monoid, j: int) -> bool:
    """Return whether i · j, in the table, is the map i and then the map j, for every i."""
    check()
    return np.array_equal(monoid.elements[monoid.product_table[:, j]], monoid.elements[j][monoid.elements])


@dataclass(frozen=True)
class PairPool:
    """Pairs (content, map), both as numbers."""

    contents: np.ndarray
    maps: np.ndarray

    @property
    def size(self) -> int:
        return self.contents.size

    def every_two(self) -> tuple[np.ndarray, np.ndarray]:
        """Return all (first, second), as indices into the pool."""
        first, second = np.indices((self.size, self.size))
        return first.ravel(), second.ravel()


Table = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""(left, right), the contents of two rows → the content of a row that reads them."""


def pair_closure(start: PairPool, table: Table, maps: Monoid) -> PairPool:
    """Return the least pool that contains the start and is closed under the table."""
    pairs = list(dict.fromkeys(zip(start.contents.tolist(), start.maps.tolist(), strict=True)))
    listed = set(pairs)
    settled = 0
    while settled < len(pairs):
        check()
        count = len(pairs)
        contents, map_numbers = (np.array(side, dtype=np.int64) for side in zip(*pairs, strict=True))
        new, every = np.arange(settled, count), np.arange(count)
        first = np.concatenate([np.repeat(new, count), np.repeat(every[:settled], new.size)])
        second = np.concatenate([np.tile(every, new.size), np.tile(new, settled)])
        codes = (
            table(contents[first], contents[second]) << 32 | maps.product_table[map_numbers[first], map_numbers[second]]
        )
        for code in np.unique(codes).tolist():
            pair = code >> 32, code & (1 << 32) - 1
            if pair not in listed:
                listed.add(pair)
                pairs.append(pair)
        settled = count
        if len(pairs) > MOST_PAIRS:
            raise ObligationFailed(f"more than {MOST_PAIRS:,} pairs of a symbol and a map occur")
    contents, map_numbers = (np.array(side, dtype=np.int64) for side in zip(*pairs, strict=True))
    return PairPool(contents, map_numbers)
