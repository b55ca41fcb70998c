"""Automaton → its transition monoid: the maps state → state that words induce."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from unmask.errors import TooLarge
from unmask.problems.automata.automaton import Automaton

_MOST_TABLE_ENTRIES = 100_000_000


@dataclass(frozen=True, eq=False)
class Monoid:
    """The maps of all words, first word first: (i · j)(q) = elements[j][elements[i][q]].

    Element 0 is the identity, the map of the empty word. `identity_is_a_word` tells whether some
    nonempty word has that map as well. Element j > 0 is parents[j] followed by the token letters[j],
    and parents[j] < j.
    """

    elements: np.ndarray  # [size, states], the smallest unsigned type that holds a state
    generators: np.ndarray  # int32 [tokens]: the element of each token
    successors: np.ndarray  # int32 [size, tokens]: i · generators[t]
    accepting: np.ndarray  # bool [size]: whether words with this map are accepted
    parents: np.ndarray  # int32 [size]
    letters: np.ndarray  # int32 [size]
    identity_is_a_word: bool
    identity: int = 0

    @property
    def size(self) -> int:
        """The number of elements, the identity included."""
        return len(self.elements)

    def compose(self, i: int, j: int) -> int:
        """i · j: first the words of i, then those of j."""
        return self._index[self.elements[j][self.elements[i]].tobytes()]

    def element(self, ids: Sequence[int]) -> int:
        """The map of a word, given as token indices."""
        at = self.identity
        for token in ids:
            at = int(self.successors[at, token])
        return at

    def word(self, i: int) -> list[int]:
        """A shortest word with this map, as token indices."""
        ids: list[int] = []
        while i != self.identity:
            ids.append(int(self.letters[i]))
            i = int(self.parents[i])
        return ids[::-1]

    @cached_property
    def product_table(self) -> np.ndarray:
        """int32 [size, size]: entry (i, j) is i · j; column j = successors[column parents[j], letters[j]]."""
        if self.size**2 > _MOST_TABLE_ENTRIES:
            raise TooLarge(f"a product table of {self.size:,} elements is too large; use compose instead")
        columns = np.empty((self.size, self.size), dtype=np.int32)
        columns[self.identity] = np.arange(self.size, dtype=np.int32)
        for j in range(1, self.size):
            columns[j] = self.successors[columns[self.parents[j]], self.letters[j]]
        table = np.ascontiguousarray(columns.T)
        table.setflags(write=False)
        return table

    @cached_property
    def _index(self) -> dict[bytes, int]:
        return {row.tobytes(): i for i, row in enumerate(self.elements)}


def transition_monoid(automaton: Automaton, *, most: int = 1_000) -> Monoid:
    """The monoid, found breadth first by appending tokens; refused beyond `most` elements."""
    states, count = automaton.delta.shape
    columns = automaton.delta.T.astype(np.min_scalar_type(states - 1))
    # Tokens that act alike are followed once.
    _, firsts, alike = np.unique(columns, axis=0, return_index=True, return_inverse=True)
    moves, alike = columns[firsts], alike.reshape(-1)
    elements = [np.arange(states, dtype=columns.dtype)]
    index = {elements[0].tobytes(): 0}
    parents, letters, successors = [0], [-1], []
    for i, element in enumerate(elements):  # grows while it is read
        row: list[int] = []
        for k, image in enumerate(moves[:, element]):
            j = index.setdefault(image.tobytes(), len(elements))
            if j == len(elements):
                elements.append(image)
                parents.append(i)
                letters.append(int(firsts[k]))
            row.append(j)
        successors.append(row)
        if len(elements) > most:
            raise TooLarge(
                f"the transition monoid of these {states:,} states has more than {most:,} elements; "
                "store a function as one slot for each state instead"
            )
    table = np.array(successors, dtype=np.int32)[:, alike].reshape(len(elements), count)
    maps = np.stack(elements)
    return Monoid(
        elements=maps,
        generators=table[0].copy(),
        successors=table,
        accepting=automaton.accepting[maps[:, automaton.start]],
        parents=np.array(parents, dtype=np.int32),
        letters=np.array(letters, dtype=np.int32),
        identity_is_a_word=bool((table == 0).any()),
    )
