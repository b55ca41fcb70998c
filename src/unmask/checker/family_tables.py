"""Tables of a family: what rows hold and which letters they cover, for trees, chains and loops.

Pairs (what a row holds, the map of its letters) are closed under the table of a row, with the automaton's answer:

start: (letter, its map)          (x, f), (y, g)  →  (table[x][y], f·g), which must be listed too
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import product

import numpy as np

from unmask.checker import family_form
from unmask.checker.certificate import need
from unmask.checker.checked_tables import numbered
from unmask.checker.family_form import Letters, Map
from unmask.checker.family_weights import FamilyRows, HeadContribution
from unmask.numerics.arithmetic import Precision, add, multiply

MOST_PAIRS = 3000


class ListedMaps:
    """The elements of a certificate: maps of states, in increasing order."""

    def __init__(self, elements: list[list[int]], states: int) -> None:
        maps = [tuple(image) for image in elements]
        need(maps == sorted({*maps}), "elements are not in order, each once")
        need(all(len(f) == states and max(f) < states for f in maps), "an element is not a map of the states")
        need(0 < len(maps) <= MOST_PAIRS, "there are no elements, or too many")
        self._images = np.array(maps, dtype=np.int32)
        self._number = {image.tobytes(): i for i, image in enumerate(self._images)}
        self.identity = tuple(range(states))

    def number(self, image: Map) -> int:
        return self._number.get(np.array(image, dtype=np.int32).tobytes(), -1)

    def products(self) -> np.ndarray:
        """[f, g]: f·g, first f and then g; -1 where it is not listed."""
        table = np.empty((len(self._images), len(self._images)), dtype=np.int64)
        for f, image in enumerate(self._images):
            composed = np.ascontiguousarray(self._images[:, image])
            table[f] = [self._number.get(row.tobytes(), -1) for row in composed]
        return table

    def accepting(self, accepting: Sequence[bool]) -> np.ndarray:
        """Of every element: is the state that it takes state 0 to accepting?"""
        return np.array(accepting)[self._images[:, 0]]


class ListedPairs:
    """The pairs of a certificate, and what is held in any of them."""

    def __init__(self, claimed: list[family_form.Pair], maps: ListedMaps, start: Iterable[tuple[int, Map]]) -> None:
        need(claimed == sorted({*claimed}), "pairs are not in order, each once")
        need(0 < len(claimed) <= MOST_PAIRS, "there are no pairs, or too many")
        self.held = sorted({x for x, _ in claimed})
        self._element = np.array([f for _, f in claimed])
        self._place = np.searchsorted(self.held, [x for x, _ in claimed])
        self.products = maps.products()
        need(
            {*self._element.tolist()} == {*range(len(self.products))}, "pairs do not name every element that is listed"
        )
        self._known = np.array([self._code(x, f) for x, f in claimed])
        need(all(self._code(x, maps.number(f)) in self._known for x, f in start), "the pair of a letter is not listed")

    def _code(self, x, f):
        """A number for a pair; of f = -1, none that is listed."""
        return np.where(np.asarray(f) < 0, -1, np.asarray(x) * len(self.products) + f)

    def closed(self, table: np.ndarray) -> None:
        """table[x, y] over what is held, in order, by its number or symbol."""
        made = self._code(table[np.ix_(self._place, self._place)], self.products[np.ix_(self._element, self._element)])
        need(bool(np.isin(made, self._known).all()), "a row may hold a pair that is not listed")

    def answered(self, table: np.ndarray, verdicts: np.ndarray) -> None:
        """Of any two pairs, table[x, y] is the verdict of their product."""
        product = self.products[np.ix_(self._element, self._element)]
        right = verdicts[product]
        written = table[np.ix_(self._place, self._place)]
        need(
            bool((product >= 0).all()) and np.array_equal(written, right),
            "the last row does not say what the automaton says",
        )

    def each_answered(self, written: np.ndarray, verdicts: np.ndarray) -> None:
        """Of any one pair, said[x] is the verdict of its map."""
        right = np.array_equal(written[self._place], verdicts[self._element])
        need(right, "the last row does not say what the automaton says")


# Rows that multiply what two other rows hold (mdm, smdm, topk, pcot): their tables, entry by entry.
#
#     inner[x][y]   what a row takes that is not the last, for symbols x and y in the rows that it reads
#     last[x][y]    what the last row takes
#     taken         in diffusion: a slot takes its symbol if it is masked and neither of the rows that it reads is
#
# each for all flags that these rows may have.


Flags = dict[str, list[list[int]]]
Decide = Callable[[np.ndarray], np.ndarray]
"""Logits [cases, outputs] → what follows from them."""


class NodeTables:
    """Rows of one program that hold some tokens, and those who read them."""

    def __init__(self, rows: FamilyRows, flags: Flags, tokens: Sequence[int]) -> None:
        rows.single_pass(2)
        self._rows, self._flags = rows, flags
        need(all(flags[region] for region in ("read", "inner", "last")), "a region of rows has no flags")
        starts = rows.start(tokens, flags["read"])
        self._sides = [_classes(*rows.head_output(0, head, starts.reshape(-1, rows.width))) for head in (0, 1)]
        self._class = [which.reshape(len(tokens), -1) for _, which in self._sides]

    def table(self, token: int, region: str, decide: Decide) -> np.ndarray:
        """[tokens, tokens]: what a row with this token decides, if it does not depend on flags."""
        own = self._rows.start([token], self._flags[region])[0]
        found = {table.tobytes(): table for row in own for table in self._tables(row, decide)}
        need(len(found) == 1, "what a row takes depends on more than what it reads")
        return next(iter(found.values()))

    def taken(self, tokens: Sequence[int], masked: int, decide: Decide) -> None:
        """Of rows with these tokens, only the masked one takes its symbol, and only where neither factor is masked.

        `masked` is its place here, and 0 that of m among the tokens that are read.
        """
        for region in ("inner", "last"):
            own = self._rows.start(tokens, self._flags[region])
            first, which = numbered(own.reshape(-1, self._rows.width)[:, self._rows.live()])
            classes = which.reshape(len(tokens), -1)
            waits = classes[masked]
            need(not np.isin(waits, np.delete(classes, masked, axis=0)).any(), "a masked row looks like a written one")
            for k, place in enumerate(first):
                for table in self._tables(own.reshape(-1, self._rows.width)[place], decide):
                    right = np.full_like(table, k in waits)
                    right[0], right[:, 0] = False, False
                    need(
                        np.array_equal(table, right), "a slot is not taken exactly where it is masked, its factors not"
                    )

    def _tables(self, own: np.ndarray, decide: Decide) -> Iterable[np.ndarray]:
        """[tokens, tokens] for every two flags of the rows that are read."""
        (left, right) = (added for added, _ in self._sides)
        counts = len(left[1]), len(right[1])
        i, j = (axis.ravel() for axis in np.indices(counts))
        decided = []
        for part in self._rows.parts(i.size):
            added = [(left[0], left[1][i[part]]), (right[0], right[1][j[part]])]
            decided.append(decide(self._rows.logits(np.repeat(own[None], len(i[part]), axis=0), added)))
        grid = np.concatenate(decided).reshape(counts)
        for f, g in np.ndindex(self._class[0].shape[1], self._class[1].shape[1]):
            yield grid[np.ix_(self._class[0][:, f], self._class[1][:, g])]


def _classes(columns: np.ndarray, values: np.ndarray) -> tuple[HeadContribution, np.ndarray]:
    """(different head outputs; which of them each row has)."""
    first, which = numbered(values)
    return (columns, values[first]), which


# Chain of thought (cot): the tables of the row before the next symbol, over its own symbol and the letter it reads.
#
#     first[a], only[a]         after the first letter a, for N >= 2 and for N = 1, whatever the row's own letter is
#     inner[x][a], last[x][a]   after symbol x and letter a
#
# Pairs (symbol, state of the automaton) are closed: (x, q) and letter a lead to (inner[x][a], a(q)).


def check_chain(
    rows: FamilyRows, proof: family_form.FamilyProof, letters: Letters, states: int, verdicts: np.ndarray
) -> int:
    """How many entries of tables were computed; `verdicts` are the symbols that each state is answered with."""
    rows.single_pass(1)
    pairs, flags = proof.pairs, proof.flags["model"]
    need(bool(pairs) and pairs == sorted({*pairs}), "there are no pairs, or they are not in order, each once")
    need(all(q < states for _, q in pairs), "a pair names no state")
    need(not proof.elements and proof.held is None, "a chain has no elements, and holds symbols")
    symbols = sorted({x for x, _ in pairs})
    read = [a for a, _ in letters]
    need(len({*read}) == len(read), "a symbol of the model represents two letters of the automaton")
    chain = _ChainTables(rows, flags, read)
    made = {name: chain.table(flags[name], read) for name in ("first", "only")}
    for name, table in made.items():
        need(bool((table == table[0]).all()), f"the symbol that is called {name} depends on the last letter")
    tables = {name: table[:1] for name, table in made.items()}
    tables |= {name: chain.table(flags[name], symbols) for name in ("inner", "last")}
    need([*proof.tables] == ["first", "only", "inner", "last"], "a chain has the tables first, only, inner and last")
    for name, table in tables.items():
        need(proof.tables[name] == table.tolist(), f"the table {name} is not what the weights compute")
    listed = {*pairs}
    moves = [image for _, image in letters]
    need(
        all((int(x), f[0]) in listed for x, f in zip(tables["first"][0], moves, strict=True)), "a first pair is missing"
    )
    need([*tables["only"][0]] == [verdicts[f[0]] for f in moves], "N = 1 is not answered as the automaton does")
    for x, q in pairs:
        row = symbols.index(x)
        after = zip(tables["inner"][row].tolist(), moves, strict=True)
        need(all((y, f[q]) in listed for y, f in after), "a row may hold a pair that is not listed")
        written = tables["last"][row].tolist() == [verdicts[f[q]] for f in moves]
        need(written, "the last symbol does not say what the automaton says")
    return sum(table.size for table in tables.values())


class _ChainTables:
    def __init__(self, rows: FamilyRows, flags: dict[str, list[list[int]]], letters: Sequence[int]) -> None:
        self._rows = rows
        need(all(flags.values()), "a region of rows has no flags")
        starts = rows.start(letters, flags["letters"])
        self._columns, values = rows.head_output(0, 0, starts.reshape(-1, rows.width))
        self._values = values.reshape(*starts.shape[:2], -1)

    def table(self, flags: list[list[int]], tokens: Sequence[int]) -> np.ndarray:
        """[tokens, letters]: the next symbol, the same for all flags."""
        own = self._rows.start(tokens, flags)
        found = {}
        for f, g in np.ndindex(own.shape[1], self._values.shape[1]):
            i, a = (axis.ravel() for axis in np.indices((len(tokens), len(self._values))))
            written = []
            for part in self._rows.parts(i.size):
                added = [(self._columns, self._values[a[part], g])]
                written.append(self._rows.logits(own[i[part], f], added).argmax(axis=1))
            table = np.concatenate(written).reshape(len(tokens), -1)
            found[table.tobytes()] = table
        need(len(found) == 1, "the next symbol depends on more than the state and the letter")
        return next(iter(found.values()))


# Looped (plt): the table of a loop, over what rows hold in the columns that heads read.
#
#     product[i][j]   what a row holds after a loop in which it read rows that held i and j
#     last[0][i]      what the last row says after the loops, if row 0 holds i
#
# What a row held itself makes no difference: column by column, heads + own is the same for every own number between the
# least and the largest that occurs there, in the rows at first and in all that a loop makes.


class LoopTables:
    """Three heads in the first layer (left, right, the row itself), layers without heads, one head after the loop."""

    def __init__(self, rows: FamilyRows, proof: family_form.FamilyProof, precision: Precision) -> None:
        self._rows, self._p, self._last = rows, precision, len(rows.values) - 1
        counts = [len(values) for values in rows.values]
        right = self._last > 0 and counts == [3, *[0] * (self._last - 1), 1] and rows.program.loop == (0, self._last)
        need(right, "the heads are not three in the first of the looped layers and one after the loop")
        self._own = rows.values[0][2]
        need(np.array_equal(self._own.row, self._own.column), "a row moves its own numbers to other columns")
        need(len(proof.flags["model"]["every"]) == 1, "flags distinguish rows")
        read = [rows.values[0][0].row, rows.values[0][1].row, rows.values[self._last][0].row]
        self.told = np.unique(np.concatenate(read)).astype(np.int64)
        self.held = self._vectors(proof.held)

    def _vectors(self, held: list[list[tuple[int, int]]] | None) -> np.ndarray:
        need(bool(held), "what rows hold is not listed")
        vectors = np.zeros((len(held or ()), self._rows.width), dtype=np.int64)
        for vector, entries in zip(vectors, held or (), strict=True):
            columns = [c for c, _ in entries]
            need(
                columns == sorted({*columns}) and {*columns} <= {*self.told.tolist()},
                "the stored numbers are not in order",
            )
            need(all(entry for _, entry in entries), "a stored number is 0")
            vector[columns] = [entry for _, entry in entries]
        need(len(np.unique(vectors, axis=0)) == len(vectors), "a vector is listed twice")
        return vectors

    def check(self, proof: family_form.FamilyProof, letters: Letters, pad: int) -> tuple[list, np.ndarray, np.ndarray]:
        """(the pairs of letters and pad, product, what is said of each held vector)."""
        rows, count = self._rows, len(self.held)
        start = rows.start([*(a for a, _ in letters), pad], proof.flags["model"]["every"])[:, 0]
        numbers = self._numbers(start)
        identity = tuple(range(len(letters[0][1])))
        pairs = [*zip(numbers.tolist(), [*(f for _, f in letters), identity], strict=True)]
        need(sorted(proof.tables) == ["last", "product"], "a loop has the tables last and product")
        added = [rows.head_output(0, head, self.held) for head in (0, 1)]
        low, high, table = start.min(axis=0), start.max(axis=0), []
        i, j = (axis.ravel() for axis in np.indices((count, count)))
        for part in rows.parts(i.size):
            own = np.repeat(start[:1], len(i[part]), axis=0)
            fetched = [(columns, values[k[part]]) for (columns, values), k in zip(added, (i, j), strict=True)]
            state = rows.heads(own, [*fetched, rows.head_output(0, 2, own)])
            for layer in range(self._last):
                state = rows.mlp(layer, state)
            table.append(self._numbers(state))
            low, high = np.minimum(low, state.min(axis=0)), np.maximum(high, state.max(axis=0))
        self._forgets(added, low, high)
        made, written = np.concatenate(table).reshape(count, count), self._written(start[:1], low, high)
        for name, found in (("product", made), ("last", written[None])):
            need(proof.tables[name] == found.tolist(), f"the table {name} is not what the weights compute")
        return pairs, made, written

    def _numbers(self, vectors: np.ndarray) -> np.ndarray:
        known = {vector[self.told].tobytes(): k for k, vector in enumerate(self.held)}
        numbers = [known.get(vector.tobytes(), -1) for vector in np.ascontiguousarray(vectors[:, self.told])]
        need(-1 not in numbers, "a row may hold what is not listed")
        return np.array(numbers)

    def _forgets(self, added, low: np.ndarray, high: np.ndarray) -> None:
        factors = np.zeros(self._rows.width, dtype=np.int64)
        factors[self._own.column] = self._own.value
        for column in np.flatnonzero(low < high).tolist():
            own = np.arange(low[column], high[column] + 1)
            sides = [np.unique(values[:, columns == column]).tolist() or [0] for columns, values in added]
            for left, right in product(*sides):
                total = add(add(0, left, self._p), right, self._p)
                total = add(add(total, multiply(own, factors[column], self._p), self._p), own, self._p)
                need(
                    bool((total == total[0]).all()), f"column {column} of a row depends on what it was before the loop"
                )

    def _written(self, own: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        rows = self._rows
        needed = np.unique(np.concatenate([rows.mlps[self._last].w1.row, rows.out.row]))
        need(np.array_equal(low[needed], high[needed]), "the answer of the last row depends on its earlier content")
        own = np.repeat(own, len(self.held), axis=0)
        state = rows.heads(own, [rows.head_output(self._last, 0, self.held)])
        return rows.read_out(rows.mlp(self._last, state)).argmax(axis=1)
