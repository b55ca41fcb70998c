"""Vocabularies of compiled problems: letters, what slots may hold, and the symbols that steer a reasoner."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

SPECIAL_NAMES = {
    "mask": ("m", "M", "<mask>"),
    "pad": ("□", "_", "<pad>"),
    "reject": ("0", "⊥", "<reject>"),
    "accept": ("1", "⊤", "<accept>"),
    "begin": ("^", "⊢", "<begin>"),
}


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Symbols by token id: the letters first, then what may be written, then the special ones by role."""

    symbols: tuple[str, ...]
    letters: int
    special: dict[str, int]

    def __getitem__(self, role: str) -> int:
        return self.special[role]

    @property
    def input_symbols(self) -> tuple[str, ...]:
        return self.symbols[: self.letters]

    def name(self, role: str) -> str | None:
        """The symbol of a role, None where the vocabulary has none."""
        return self.symbols[self.special[role]] if role in self.special else None

    def fields(self) -> dict[str, Any]:
        """The symbols of a model, by the names of its fields."""
        roles = {role: self.name(role) for role in ("mask", "pad", "begin", "accept", "reject")}
        return {"vocabulary": self.symbols, "input_symbols": self.input_symbols, **roles}

    @cached_property
    def everything(self) -> np.ndarray:
        return np.arange(len(self.symbols))

    @cached_property
    def verdicts(self) -> np.ndarray:
        """reject, accept: by the truth of what they say."""
        return np.array([self["reject"], self["accept"]])


def vocabulary_of(
    symbols: Sequence[str], letters: int, roles: Sequence[str], *, preferred: Mapping[str, str] | None = None
) -> Vocabulary:
    """Symbols, then one for each role under a name that is free; `preferred` names are tried first."""
    named = list(symbols)
    special = {}
    for role in roles:
        special[role] = len(named)
        first = [preferred[role]] if preferred and role in preferred else []
        named.append(free_name([*first, *SPECIAL_NAMES[role]], named))
    return Vocabulary(tuple(named), letters, special)


def free_name(choices: Sequence[str], taken: Sequence[str]) -> str:
    """The first name that is not taken; the last one, numbered, where all are."""
    free = [name for name in choices if name not in taken]
    numbered = (f"{choices[-1]}{i}" for i in range(len(taken) + 1))
    return free[0] if free else next(name for name in numbered if name not in taken)
