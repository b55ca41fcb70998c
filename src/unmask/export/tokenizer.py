"""Vocabulary of a model → token strings in the order of their ids, and tokenizer.json as `AutoTokenizer` reads it.

The model's tokens come first and keep their ids; `[PAD]`, `[EOS]`, `[UNK]` and other special tokens follow. The mask is
`[MASK]` and never `m`, which a user may type. A class of characters is named by one of its characters, by which the
tokenizer replaces the others. The class of all remaining characters is the unknown token, so that every character is
readable. Words are split into characters if every input symbol is one character, otherwise at blanks.
"""

from dataclasses import dataclass
from typing import Any

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

    def first_not_in(self, used: set[str]) -> str:
        """Return a character of the class that is not used as another token, if possible a visible one."""
        free = [
            chr(c)
            for first, last in self.ranges
            for c in range(first, min(last, first + 200) + 1)
            if chr(c) not in used
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

    def letters(self, model: Model) -> set[str]:
        """Return the tokens of the input symbols, without the one for all other characters."""
        read = {self.names[model.token[symbol]] for symbol in model.input_symbols}
        return read - {self.special["unk"]} if self.catch_all else read


def token_names(model: Model, more: tuple[str, ...] = ()) -> TokenNames:
    """Return the tokens of the model, then [PAD], [EOS] and `more`; then [UNK] if no class has all other characters."""
    classes = _classes(model)
    largest = max(classes, key=lambda c: c.size, default=None)
    catch_all = largest if largest is not None and largest.size > ALL_CHARACTERS // 2 else None
    typed = [char_class for char_class in classes if char_class is not catch_all]
    names = list(model.vocabulary)
    for i, symbol in enumerate(names):
        if symbol not in model.input_symbols and len(symbol) == 1 and any(symbol in char_class for char_class in typed):
            names[i] = _free(f"[{symbol}]", names)  # this character names its class
    for char_class in typed:
        names[model.token[char_class.symbol]] = char_class.first_not_in(set(names) - {char_class.symbol})
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
    ranges_by_symbol: dict[str, list[tuple[int, int]]] = {}
    for first, last, symbol in model.characters:
        low, high = SURROGATES  # they never occur in text
        pieces = (
            [(first, min(last, low - 1)), (max(first, high + 1), last)]
            if first <= high and last >= low
            else [(first, last)]
        )
        ranges_by_symbol.setdefault(symbol, []).extend((a, b) for a, b in pieces if a <= b)
    return tuple(CharacterClass(symbol, tuple(ranges)) for symbol, ranges in ranges_by_symbol.items())


def _free(name: str, used: list[str]) -> str:
    """Return the name, or a similar one if it is used: a character class of the regex may be called [EOS]."""
    return name if name not in used else _free(f"[{name}]", used)


def tokenizer_files(model: Model, tokens: TokenNames, max_rows: int) -> dict[str, dict[str, Any]]:
    """Return file name → JSON document."""
    special = {role: name for role, name in tokens.special.items() if role != "unk" or not tokens.catch_all}
    added = [
        {
            "id": tokens.names.index(name),
            "content": name,
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
            "special": True,
        }
        for name in special.values()
    ]
    return {
        "tokenizer.json": {
            "version": "1.0",
            "truncation": None,
            "padding": None,
            "added_tokens": sorted(added, key=lambda entry: entry["id"]),
            "normalizer": _normalizer(tokens),
            "pre_tokenizer": _pre_tokenizer(model),
            "post_processor": _template(tokens),
            "decoder": None,
            "model": {
                "type": "WordLevel",
                "vocab": {name: i for i, name in enumerate(tokens.names)},
                "unk_token": tokens.special["unk"],
            },
        },
        "tokenizer_config.json": {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "model_max_length": max_rows,
            "clean_up_tokenization_spaces": False,
            "model_input_names": ["input_ids", "attention_mask"],
            **{
                f"{role}_token": tokens.special[role]
                for role in ("mask", "bos", "eos", "pad", "unk")
                if role in tokens.special
            },
        },
    }


def _normalizer(tokens: TokenNames) -> dict[str, Any] | None:
    steps = []
    names = set(tokens.names)
    if tokens.catch_all is not None:
        # if a user types the symbol of a slot, it is read as one of all other characters, not as that symbol
        other = tokens.catch_all.first_not_in(names)
        for name in tokens.names:
            if len(name) == 1 and name in tokens.catch_all and name != tokens.special["unk"]:
                steps.append({"type": "Replace", "pattern": {"String": name}, "content": other})
    for char_class in tokens.classes:
        if char_class is not tokens.catch_all and char_class.size > 1:
            name = next(name for name in tokens.names if len(name) == 1 and name in char_class)
            steps.append({"type": "Replace", "pattern": {"Regex": _regex(char_class)}, "content": name})
    return {"type": "Sequence", "normalizers": steps} if steps else None


def _regex(char_class: CharacterClass) -> str:
    return "[" + "".join(f"\\x{{{first:x}}}-\\x{{{last:x}}}" for first, last in char_class.ranges) + "]"


def _pre_tokenizer(model: Model) -> dict[str, Any]:
    blanks = {"type": "WhitespaceSplit"}
    each = {"type": "Split", "pattern": {"Regex": "[\\s\\S]"}, "behavior": "Isolated", "invert": False}
    if model.characters is not None:
        return each
    if all(len(symbol) == 1 for symbol in model.input_symbols):
        return {"type": "Sequence", "pretokenizers": [blanks, each]}
    return blanks


def _template(tokens: TokenNames) -> dict[str, Any] | None:
    """Return the template that puts a begin symbol before every word."""
    if "bos" not in tokens.special:
        return None
    name = tokens.special["bos"]
    before, word = {"SpecialToken": {"id": name, "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}
    second = {"Sequence": {"id": "B", "type_id": 0}}
    return {
        "type": "TemplateProcessing",
        "single": [before, word],
        "pair": [before, word, second],
        "special_tokens": {name: {"id": name, "ids": [tokens.id("bos")], "tokens": [name]}},
    }
