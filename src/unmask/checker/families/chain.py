"""Chain of thought (cot): the tables of the row before the next symbol, over its own symbol and the letter it reads.

    first[a], only[a]         after the first letter a, for N >= 2 and for N = 1, whatever the row's own letter is
    inner[x][a], last[x][a]   after symbol x and letter a

Pairs (symbol, state of the automaton) are closed: (x, q) and letter a lead to (inner[x][a], a(q)).
"""

from collections.abc import Sequence

import numpy as np

from unmask.checker.certificate import need
from unmask.checker.families import form
from unmask.checker.families.letters import Letters
from unmask.checker.families.rows import Rows


def check_chain(rows: Rows, proof: form.Proof, letters: Letters, states: int, verdicts: np.ndarray) -> int:
    """How many entries of tables were computed; `verdicts` are the symbols that each state is answered with."""
    rows.single_pass(1)
    pairs, flags = proof.pairs, proof.flags["model"]
    need(bool(pairs) and pairs == sorted({*pairs}), "there are no pairs, or they are not in order, each once")
    need(all(q < states for _, q in pairs), "a pair names no state")
    need(not proof.elements and proof.held is None, "a chain has no elements, and holds symbols")
    symbols = sorted({x for x, _ in pairs})
    read = [a for a, _ in letters]
    need(len({*read}) == len(read), "a symbol of the model represents two letters of the automaton")
    chain = _Chain(rows, flags, read)
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
        said = tables["last"][row].tolist() == [verdicts[f[q]] for f in moves]
        need(said, "the last symbol does not say what the automaton says")
    return sum(table.size for table in tables.values())


class _Chain:
    def __init__(self, rows: Rows, flags: dict[str, list[list[int]]], letters: Sequence[int]) -> None:
        self._rows = rows
        need(all(flags.values()), "a region of rows has no flags")
        starts = rows.start(letters, flags["letters"])
        self._columns, values = rows.brought(0, 0, starts.reshape(-1, rows.width))
        self._values = values.reshape(*starts.shape[:2], -1)

    def table(self, flags: list[list[int]], tokens: Sequence[int]) -> np.ndarray:
        """[tokens, letters]: the next symbol, the same for all flags."""
        own = self._rows.start(tokens, flags)
        found = {}
        for f, g in np.ndindex(own.shape[1], self._values.shape[1]):
            i, a = (axis.ravel() for axis in np.indices((len(tokens), len(self._values))))
            said = []
            for part in self._rows.parts(i.size):
                brought = [(self._columns, self._values[a[part], g])]
                said.append(self._rows.logits(own[i[part], f], brought).argmax(axis=1))
            table = np.concatenate(said).reshape(len(tokens), -1)
            found[table.tobytes()] = table
        need(len(found) == 1, "the next symbol depends on more than the state and the letter")
        return next(iter(found.values()))
