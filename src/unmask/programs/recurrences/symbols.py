"""Values ↔ tokens: what a slot may hold is named in one vocabulary, letters first (see `recurrences/naming.py`)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from unmask.programs.language.vocabulary import Vocabulary, vocabulary_of
from unmask.recurrences.naming import symbol_names, truth_names
from unmask.recurrences.system import System


@dataclass(frozen=True, eq=False)
class Symbols:
    """The vocabulary, and the token of every value."""

    vocabulary: Vocabulary
    token: dict[Any, int]

    def tokens(self, values: Sequence[Any]) -> list[int]:
        return [self.token[value] for value in values]


def symbols_of(system: System, roles: Sequence[str]) -> Symbols:
    """Letters, then the other values in the order of the groups, then the special symbols."""
    names = symbol_names(system)
    vocabulary = vocabulary_of(
        list(names.values()), len(system.letters), (*roles, "reject", "accept"), preferred=truth_names(system)
    )
    token = {value: i for i, value in enumerate(names)}
    return Symbols(vocabulary, {**token, False: vocabulary["reject"], True: vocabulary["accept"]})
