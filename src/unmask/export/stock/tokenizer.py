"""TokenNames → tokenizer.json and tokenizer_config.json, as `AutoTokenizer` reads them.

Words are split into characters where every input symbol is one, at blanks elsewhere. A class of characters is replaced
by the one that names its token; the class of all others is the unknown token.
"""

from typing import Any

from unmask.export.files.token_names import CharacterClass, TokenNames
from unmask.weights.model import Model


def tokenizer_files(model: Model, tokens: TokenNames, max_rows: int) -> dict[str, dict[str, Any]]:
    """File name → its JSON."""
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
    known = set(tokens.names)
    if tokens.catch_all is not None:
        # a slot's symbol that a user types is one of all other characters, and not that symbol
        stranger = tokens.catch_all.first_not_in(known)
        for name in tokens.names:
            if len(name) == 1 and name in tokens.catch_all and name != tokens.special["unk"]:
                steps.append({"type": "Replace", "pattern": {"String": name}, "content": stranger})
    for kind in tokens.classes:
        if kind is not tokens.catch_all and kind.size > 1:
            name = next(name for name in tokens.names if len(name) == 1 and name in kind)
            steps.append({"type": "Replace", "pattern": {"Regex": _regex(kind)}, "content": name})
    return {"type": "Sequence", "normalizers": steps} if steps else None


def _regex(kind: CharacterClass) -> str:
    return "[" + "".join(f"\\x{{{first:x}}}-\\x{{{last:x}}}" for first, last in kind.ranges) + "]"


def _pre_tokenizer(model: Model) -> dict[str, Any]:
    blanks = {"type": "WhitespaceSplit"}
    each = {"type": "Split", "pattern": {"Regex": "[\\s\\S]"}, "behavior": "Isolated", "invert": False}
    if model.characters is not None:
        return each
    if all(len(symbol) == 1 for symbol in model.input_symbols):
        return {"type": "Sequence", "pretokenizers": [blanks, each]}
    return blanks


def _template(tokens: TokenNames) -> dict[str, Any] | None:
    """A begin symbol stands before every word."""
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
