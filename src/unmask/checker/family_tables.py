"""Tables of a family: the content of every row and the map of the letters that it covers, for trees, chains and loops.

The pairs (content of a row, map of its letters) of a certificate are closed under the table of a row:

    start: (letter, its map)          (x, f), (y, g)  →  (table[x][y], f·g), which must be listed too

and in the last row the answer is the automaton's.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import product

import numpy as np

from unmask.checker import family_form
from unmask.checker.certificate import need
from unmask.checker.checked_tables import distinct_rows
from unmask.checker.family_form import Letters, Map
from unmask.checker.family_weights import FamilyRows, HeadContribution
from unmask.numerics.arithmetic import Precision, add, multiply

MOST_PAIRS = 3000


class ListedMaps:
    """The elements of a certificate: maps of the automaton's states, in increasing order."""

    def __init__(self, elements: list[list[int]], states: int) -> None:
        maps = [tuple(image) for image in elements]
        need(maps == sorted({*maps}), "elements are not in order, or one is listed twice")
        need(all(len(f) == states and max(f) < states for f in maps), "an element is not a map of the states")
        need(0 < len(maps) <= MOST_PAIRS, "there are no elements, or too many")
        self._images = np.array(maps, dtype=np.int32)
        self._number = {image.tobytes(): i for i, image in enumerate(self._images)}
        self.identity = tuple(range(states))

    def number(self, image: Map) -> int:
        """Return the number of a map, -1 if it is not listed."""
        return self._number.get(np.array(image, dtype=np.int32).tobytes(), -1)

    def products(self) -> np.ndarray:
        """Return the table [f, g] of f·g, first f and then g; -1 where the product is not listed."""
        table = np.empty((len(self._images), len(self._images)), dtype=np.int64)
        for f, image in enumerate(self._images):
            composed = np.ascontiguousarray(self._images[:, image])
            table[f] = [self._number.get(row.tobytes(), -1) for row in composed]
        return table

    def accepting(self, accepting: Sequence[bool]) -> np.ndarray:
        """Return for every element whether the state to which it leads from state 0 accepts."""
        return np.array(accepting)[self._images[:, 0]]


class ListedPairs:
    """The pairs (content, element) of a certificate; `contents` are the different contents in order."""

    def __init__(self, claimed: list[family_form.Pair], maps: ListedMaps, start: Iterable[tuple[int, Map]]) -> None:
        need(claimed == sorted({*claimed}), "pairs are not in order, or one is listed twice")
        need(0 < len(claimed) <= MOST_PAIRS, "there are no pairs, or too many")
        self.contents = sorted({x for x, _ in claimed})
        self._index, elements = np.searchsorted(self.contents, [x for x, _ in claimed]), [f for _, f in claimed]
        products = maps.products()
        need({*elements} == {*range(len(products))}, "a listed element is named by no pair")
        self._elements, self._products = np.array(elements), products[np.ix_(elements, elements)]
        self._codes = self._code(np.array([x for x, _ in claimed]), self._elements)
        start_codes = [self._code(x, maps.number(f)) for x, f in start]
        need(bool(np.isin(start_codes, self._codes).all()), "the pair of a letter is not listed")

    @staticmethod
    def _code(x, f):
        """Return a number for every pair, -1 where f is -1."""
        return np.where(np.asarray(f) < 0, -1, np.asarray(x) * MOST_PAIRS + f)

    def check_closed(self, table: np.ndarray) -> None:
        """Check that the pairs are closed under table[x, y], over the contents in order."""
        codes = self._code(table[np.ix_(self._index, self._index)], self._products)
        need(bool(np.isin(codes, self._codes).all()), "a row may have a pair that is not listed")

    def check_answers_of_two(self, table: np.ndarray, verdicts: np.ndarray) -> None:
        """Check for any two pairs that table[x, y] is the verdict of their product."""
        equal = table[np.ix_(self._index, self._index)] == verdicts[self._products]
        need(bool((equal & (self._products >= 0)).all()), "the answer of the last row is not the automaton's")

    def check_answers(self, answers: np.ndarray, verdicts: np.ndarray) -> None:
        """Check for every pair that answers[x] is the verdict of its map."""
        equal = answers[self._index] == verdicts[self._elements]
        need(bool(equal.all()), "the answer of the last row is not the automaton's")


# Rows that multiply the contents of two other rows (mdm, smdm, topk, pcot): their tables, entry by entry.
#
#     inner[x][y]   the symbol that a row other than the last takes, for symbols x and y in the rows that it reads
#     last[x][y]    the symbol that the last row takes
#     taken         in diffusion: a slot takes its symbol if it is masked and neither of the rows that it reads is
#
# Each table is computed for all flags that these rows may have.


Flags = dict[str, list[list[int]]]
Decide = Callable[[np.ndarray], np.ndarray]
"""Logits [cases, outputs] → the decision of each case."""


class NodeTables:
    """The rows of one program that read two rows with these tokens."""

    def __init__(self, rows: FamilyRows, flags: Flags, tokens: Sequence[int]) -> None:
        rows.check_heads(2)
        self._rows, self._flags = rows, flags
        need(all(flags[region] for region in ("read", "inner", "last")), "a region of rows has no combination of flags")
        starts = rows.start(tokens, flags["read"]).reshape(-1, rows.width)
        self._outputs = [_distinct_outputs(*rows.head_output(0, head, starts)) for head in (0, 1)]
        self._classes_of = [which.reshape(len(tokens), -1) for _, which in self._outputs]

    def table(self, token: int, region: str, decide: Decide) -> np.ndarray:
        """Return [tokens, tokens]: the decision of a row with this token; refuse if it depends on flags."""
        rows = self._rows.start([token], self._flags[region])[0]
        tables = (table for row in rows for table in self._tables(row, decide))
        return _only(tables, "the result of a row depends on more than the symbols that it reads")

    def check_taken(self, tokens: Sequence[int], decide: Decide) -> None:
        """Check that exactly a masked row takes its symbol, and only if neither of the rows that it reads is masked.

        The mask is the first of the tokens, and of the tokens that are read.
        """
        for region in ("inner", "last"):
            vectors = self._rows.start(tokens, self._flags[region]).reshape(-1, self._rows.width)
            first, which = distinct_rows(vectors[:, self._rows.live()])
            classes = which.reshape(len(tokens), -1)
            masked_classes, other_classes = classes[0], classes[1:]
            need(
                not np.isin(masked_classes, other_classes).any(),
                "a masked row cannot be distinguished from a written one",
            )
            for k, row in enumerate(first):
                for table in self._tables(vectors[row], decide):
                    expected = np.full_like(table, k in masked_classes)
                    expected[0], expected[:, 0] = False, False
                    equal = np.array_equal(table, expected)
                    need(equal, "a slot is not taken exactly if it is masked and its factors are not")

    def _tables(self, row: np.ndarray, decide: Decide) -> Iterable[np.ndarray]:
        """Yield [tokens, tokens], the decisions of this row, for every two flags of the rows that are read."""
        (left, right) = (output for output, _ in self._outputs)
        counts = len(left[1]), len(right[1])
        i, j = (axis.ravel() for axis in np.indices(counts))
        decided = []
        for chunk in self._rows.chunks(i.size):
            outputs = [(left[0], left[1][i[chunk]]), (right[0], right[1][j[chunk]])]
            decided.append(decide(self._rows.logits(np.repeat(row[None], len(i[chunk]), axis=0), outputs)))
        grid = np.concatenate(decided).reshape(counts)
        for f, g in np.ndindex(self._classes_of[0].shape[1], self._classes_of[1].shape[1]):
            yield grid[np.ix_(self._classes_of[0][:, f], self._classes_of[1][:, g])]


def _distinct_outputs(columns: np.ndarray, values: np.ndarray) -> tuple[HeadContribution, np.ndarray]:
    """Return (the distinct outputs of a head; for every row, the number of its output)."""
    first, which = distinct_rows(values)
    return (columns, values[first]), which


def _only(tables: Iterable[np.ndarray], otherwise: str) -> np.ndarray:
    """Return the only table among these; refuse if two of them differ."""
    distinct = {table.tobytes(): table for table in tables}
    need(len(distinct) == 1, otherwise)
    return next(iter(distinct.values()))


# Chain of thought (cot): the next symbol, as tables over the symbol of the row and the letter that the row reads.
#
#     first[a], only[a]         after the first letter a, for N >= 2 and for N = 1, for every letter in the row itself
#     inner[x][a], last[x][a]   after symbol x and letter a
#
# Pairs (symbol, state of the automaton) are closed: (x, q) and letter a lead to (inner[x][a], a(q)).


def check_chain(
    rows: FamilyRows, proof: family_form.FamilyProof, letters: Letters, states: int, verdicts: np.ndarray
) -> int:
    """Check the tables and pairs of a chain; return how many entries of tables were computed.

    `verdicts` holds the answer symbol of every state.
    """
    rows.check_heads(1)
    pairs, flags = proof.pairs, proof.flags["model"]
    need(bool(pairs) and pairs == sorted({*pairs}), "there are no pairs, or not in order, or some twice")
    need(all(q < states for _, q in pairs), "a pair names a state that does not exist")
    need(not proof.elements and proof.held is None, "elements or contents are listed for a chain")
    symbols = sorted({x for x, _ in pairs})
    letter_symbols = [a for a, _ in letters]
    need(len({*letter_symbols}) == len(letter_symbols), "a symbol of the model represents two letters of the automaton")
    chain = _ChainTables(rows, flags, letter_symbols)
    first_tables = {name: chain.table(flags[name], letter_symbols) for name in ("first", "only")}
    for name, table in first_tables.items():
        need(bool((table == table[0]).all()), f"the table {name} depends on the last letter")
    tables = {name: table[:1] for name, table in first_tables.items()}
    tables |= {name: chain.table(flags[name], symbols) for name in ("inner", "last")}
    need([*proof.tables] == ["first", "only", "inner", "last"], "the tables are not first, only, inner, last")
    for name, table in tables.items():
        need(proof.tables[name] == table.tolist(), f"the table {name} is not what the weights compute")
    listed, maps = {*pairs}, [image for _, image in letters]
    first_pairs = zip(tables["first"][0].tolist(), maps, strict=True)
    need(all((x, f[0]) in listed for x, f in first_pairs), "the pair of a first letter is not listed")
    need([*tables["only"][0]] == [verdicts[f[0]] for f in maps], "the answer for N = 1 is not the automaton's")
    for x, q in pairs:
        row = symbols.index(x)
        next_pairs = zip(tables["inner"][row].tolist(), maps, strict=True)
        need(all((y, f[q]) in listed for y, f in next_pairs), "a row may have a pair that is not listed")
        is_correct = tables["last"][row].tolist() == [verdicts[f[q]] for f in maps]
        need(is_correct, "the last symbol is not the automaton's answer")
    return sum(table.size for table in tables.values())


class _ChainTables:
    """The rows of a chain that read one of these letters."""

    def __init__(self, rows: FamilyRows, flags: dict[str, list[list[int]]], letters: Sequence[int]) -> None:
        self._rows = rows
        need(all(flags.values()), "a region of rows has no combination of flags")
        starts = rows.start(letters, flags["letters"])
        self._columns, values = rows.head_output(0, 0, starts.reshape(-1, rows.width))
        self._values = values.reshape(*starts.shape[:2], -1)

    def table(self, flags: list[list[int]], tokens: Sequence[int]) -> np.ndarray:
        """Return [tokens, letters]: the next symbol; refuse if it depends on flags."""
        return _only(self._tables(flags, tokens), "the next symbol depends on more than the state and the letter")

    def _tables(self, flags: list[list[int]], tokens: Sequence[int]) -> Iterable[np.ndarray]:
        """Yield [tokens, letters], the next symbol, for all flags of the row and of the letter."""
        rows = self._rows.start(tokens, flags)
        i, a = (axis.ravel() for axis in np.indices((len(tokens), len(self._values))))
        for f, g in np.ndindex(rows.shape[1], self._values.shape[1]):
            symbols = []
            for chunk in self._rows.chunks(i.size):
                outputs = [(self._columns, self._values[a[chunk], g])]
                symbols.append(self._rows.logits(rows[i[chunk], f], outputs).argmax(axis=1))
            yield np.concatenate(symbols).reshape(len(tokens), -1)


# Looped (plt): the table of a loop, over the contents of rows in the columns that heads read.
#
#     product[i][j]   the content of a row after a loop in which it reads rows with the contents i and j
#     last[0][i]      the symbol of the last row after the loops, if row 0 has the content i
#
# The previous content of the row itself makes no difference: in every column, (heads) + own is the same for every own
# number between the least and the largest that occurs there, in the start rows and in the result of every loop.


class LoopTables:
    """A loop of layers with three heads in the first (left, right, the row itself); then a layer with one head."""

    def __init__(self, rows: FamilyRows, proof: family_form.FamilyProof, precision: Precision) -> None:
        self._rows, self._p, self._last = rows, precision, len(rows.values) - 1
        counts = [len(values) for values in rows.values]
        need(self._last > 0 and rows.program.loop == (0, self._last), "the loop is not all layers except the last")
        expected = [3, *[0] * (self._last - 1), 1]
        need(counts == expected, "there are not three heads in the first layer, one in the last, and none in between")
        self._own = rows.values[0][2]
        need(np.array_equal(self._own.row, self._own.column), "a row moves its own numbers to other columns")
        need(len(proof.flags["model"]["every"]) == 1, "rows have different flags")
        read_rows = [rows.values[0][0].row, rows.values[0][1].row, rows.values[self._last][0].row]
        self.read_columns = np.unique(np.concatenate(read_rows)).astype(np.int64)
        self.vectors = self._listed_vectors(proof.held)

    def _listed_vectors(self, listed: list[list[tuple[int, int]]] | None) -> np.ndarray:
        """Return the listed contents as vectors."""
        need(bool(listed), "no contents of rows are listed")
        vectors = np.zeros((len(listed or ()), self._rows.width), dtype=np.int64)
        for vector, entries in zip(vectors, listed or (), strict=True):
            columns = [c for c, _ in entries]
            need(columns == sorted({*columns}), "the columns of a content are not in order")
            need({*columns} <= {*self.read_columns.tolist()}, "a content names a column that no head reads")
            need(all(entry for _, entry in entries), "a number of a content is 0")
            vector[columns] = [entry for _, entry in entries]
        need(len(np.unique(vectors, axis=0)) == len(vectors), "a content is listed twice")
        return vectors

    def check(self, proof: family_form.FamilyProof, letters: Letters, pad: int) -> tuple[list, np.ndarray, np.ndarray]:
        """Check the tables; return (the pairs of letters and pad, product, the answer symbol for each vector)."""
        rows, count = self._rows, len(self.vectors)
        start = rows.start([*(a for a, _ in letters), pad], proof.flags["model"]["every"])[:, 0]
        numbers = self._vector_numbers(start)
        identity = tuple(range(len(letters[0][1])))
        pairs = [*zip(numbers.tolist(), [*(f for _, f in letters), identity], strict=True)]
        need(sorted(proof.tables) == ["last", "product"], "the tables are not last and product")
        outputs = [rows.head_output(0, head, self.vectors) for head in (0, 1)]
        low, high, table = start.min(axis=0), start.max(axis=0), []
        i, j = (axis.ravel() for axis in np.indices((count, count)))
        for chunk in rows.chunks(i.size):
            own = np.repeat(start[:1], len(i[chunk]), axis=0)
            chosen_outputs = [(columns, values[k[chunk]]) for (columns, values), k in zip(outputs, (i, j), strict=True)]
            state = rows.heads(own, [*chosen_outputs, rows.head_output(0, 2, own)])
            for layer in range(self._last):
                state = rows.mlp(layer, state)
            table.append(self._vector_numbers(state))
            low, high = np.minimum(low, state.min(axis=0)), np.maximum(high, state.max(axis=0))
        self._check_independence(outputs, low, high)
        product_table, answers = np.concatenate(table).reshape(count, count), self._last_symbols(start[:1], low, high)
        for name, computed in (("product", product_table), ("last", answers[None])):
            need(proof.tables[name] == computed.tolist(), f"the table {name} is not what the weights compute")
        return pairs, product_table, answers

    def _vector_numbers(self, vectors: np.ndarray) -> np.ndarray:
        """Return the number of the listed content of every vector."""
        number_of = {vector[self.read_columns].tobytes(): k for k, vector in enumerate(self.vectors)}
        contents = np.ascontiguousarray(vectors[:, self.read_columns])
        numbers = [number_of.get(content.tobytes(), -1) for content in contents]
        need(-1 not in numbers, "a row may have a content that is not listed")
        return np.array(numbers)

    def _check_independence(self, outputs: Sequence[HeadContribution], low: np.ndarray, high: np.ndarray) -> None:
        """Check that the residual sum is the same for every own number between `low` and `high`, column by column."""
        factors = np.zeros(self._rows.width, dtype=np.int64)
        factors[self._own.column] = self._own.value
        for column in np.flatnonzero(low < high).tolist():
            own_numbers = np.arange(low[column], high[column] + 1)
            head_numbers = [np.unique(values[:, columns == column]).tolist() or [0] for columns, values in outputs]
            for left, right in product(*head_numbers):
                total = add(add(0, left, self._p), right, self._p)
                total = add(add(total, multiply(own_numbers, factors[column], self._p), self._p), own_numbers, self._p)
                constant = bool((total == total[0]).all())
                need(constant, f"column {column} of a row depends on its previous content")

    def _last_symbols(self, own: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """Return the symbol of the last row for each content of row 0, after the loops."""
        rows = self._rows
        needed = np.unique(np.concatenate([rows.mlps[self._last].w1.row, rows.out.row]))
        need(np.array_equal(low[needed], high[needed]), "the answer of the last row depends on its previous content")
        own = np.repeat(own, len(self.vectors), axis=0)
        state = rows.heads(own, [rows.head_output(self._last, 0, self.vectors)])
        return rows.read_out(rows.mlp(self._last, state)).argmax(axis=1)
