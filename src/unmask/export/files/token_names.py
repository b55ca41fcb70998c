"""Vocabulary of a model → the token strings of a stock tokenizer, in the order of its ids.

The model's tokens come first and keep their ids; `[PAD]`, `[EOS]`, `[UNK]` and what else a format asks for come behind
them. The mask is `[MASK]` and never `m`, which a user may type. A class of characters is named by one that it holds;
the class of all other characters is the tokenizer's unknown token, so that every character is read.
"""

from dataclasses import dataclass

from unmask.weights.model import Model

ALL_CHARACTERS = 0x110000
SURROGATES = (0xD800, 0xDFFF)


@dataclass(frozen=True)
class CharacterClass:
    """The code points that are read as one token."""

    symbol: str
    ranges: tuple[tuple[int, int], ...]

    @property
    def size(self) -> int:
        return sum(last - first + 1 for first, last in self.ranges)

    def __contains__(self, character: str) -> bool:
        return any(first <= ord(character) <= last for first, last in self.ranges)

    def first_not_in(self, taken: set[str]) -> str:
        """A character of the class that is no token of another meaning; visible if there is one."""
        free = [
            chr(c)
            for first, last in self.ranges
            for c in range(first, min(last, first + 200) + 1)
            if chr(c) not in taken
        ]
        return next((c for c in free if c.isprintable() and not c.isspace()), free[0] if free else "")


@dataclass(frozen=True)
class TokenNames:
    """`names[id]` is a token's string; `special` maps a role such as `mask` to its string."""

    names: tuple[str, ...]
    special: dict[str, str]
    classes: tuple[CharacterClass, ...]
    catch_all: CharacterClass | None

    def id(self, role: str) -> int | None:
        return self.names.index(self.special[role]) if role in self.special else None


def token_names(model: Model, more: tuple[str, ...] = ()) -> TokenNames:
    """The tokens of the model, then [PAD], [EOS], and `more`; [UNK] where nothing catches every character."""
    classes = _classes(model)
    largest = max(classes, key=lambda c: c.size, default=None)
    catch_all = largest if largest is not None and largest.size > ALL_CHARACTERS // 2 else None
    typed = [kind for kind in classes if kind is not catch_all]
    names = list(model.vocabulary)
    for i, symbol in enumerate(names):
        if symbol not in model.input_symbols and len(symbol) == 1 and any(symbol in kind for kind in typed):
            names[i] = _free(f"[{symbol}]", names)  # who types this character means its class
    for kind in typed:
        names[model.token[kind.symbol]] = kind.first_not_in(set(names) - {kind.symbol})
    special: dict[str, str] = {}
    for role, symbol in (("mask", model.mask), ("bos", model.begin), ("pad", model.pad)):
        if symbol is not None:
            special[role] = names[model.token[symbol]] = _free(f"[{role.upper()}]", names)
    for role in ("pad", "eos", *more, *(() if catch_all else ("unk",))):
        if role not in special:
            special[role] = _free(f"[{role.upper()}]", names)
            names.append(special[role])
    if catch_all:
        special["unk"] = names[model.token[catch_all.symbol]]
    return TokenNames(tuple(names), special, classes, catch_all)


def _classes(model: Model) -> tuple[CharacterClass, ...]:
    if model.characters is None:
        return ()
    found: dict[str, list[tuple[int, int]]] = {}
    for first, last, symbol in model.characters:
        low, high = SURROGATES  # no text holds them
        parts = (
            [(first, min(last, low - 1)), (max(first, high + 1), last)]
            if first <= high and last >= low
            else [(first, last)]
        )
        found.setdefault(symbol, []).extend((a, b) for a, b in parts if a <= b)
    return tuple(CharacterClass(symbol, tuple(ranges)) for symbol, ranges in found.items())


def _free(name: str, taken: list[str]) -> str:
    """The name, or one like it: a character class of the regex may be called [EOS]."""
    return name if name not in taken else _free(f"[{name}]", taken)
