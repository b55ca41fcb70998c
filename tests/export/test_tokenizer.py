"""Tokenizers read what `run` reads: every character has the token that our own reader gives it."""

import random

import pytest

from unmask.export.tokenizer import token_names
from unmask.reasoners.typed_words import read_word
from unmask.weights.storage import load

PATTERNS = ["(a|b)*abb", "[a-c]+[01]*", "[EOS]+x", "[01]*", "m*[MASK]?", "[^ -~]+é?", ".*"]
CHARACTERS = "abcmM01xε□^~ é\n\t[]EOSKA\u0085\u2028\U0001f600\ue000"


@pytest.mark.parametrize("pattern", PATTERNS)
def test_words(pattern, exported, outside):
    model, folder, _ = exported(pattern, "cot", "gpt2", length=8)
    rng = random.Random(91)
    words = ["".join(rng.choice(CHARACTERS) for _ in range(8)) for _ in range(30)]
    words = [word for word in words if "[EOS]" not in word and "[MASK]" not in word]
    assert outside("tokens", folder=folder, words=words) == [read_word(model, word) for word in words]


def test_a_word_that_spells_the_mask(exported, outside):
    """As text it is the mask, as in every tokenizer; the page says how its letters are read."""
    model, folder, _ = exported("[^x]*", "mdm", "bert", length=8)
    words = ["a[MASK]b", "[EOS]abc", "x[PAD]xx"]
    split = outside("tokens", folder=folder, words=words, split_special_tokens=True)
    assert split == [read_word(model, word) for word in words]
    assert len(outside("tokens", folder=folder, words=words[:1])[0]) == 3


def test_names_keep_the_ids(exported):
    model, _, _ = exported("[EOS]+x", "cot", "gpt2", length=8)
    tokens = token_names(model)
    assert len(set(tokens.names)) == len(tokens.names)
    assert tokens.special["eos"] == "[EOS]"
    assert tokens.names[model.token["[EOS]"]] in "EOS"  # the class of the pattern is named by a character of it


def test_symbols_of_several_characters(exported, outside):
    model, folder, _ = exported("group:A5", "cot", "gpt2", length=12)
    word = " ".join(model.input_symbols[:12])
    assert outside("tokens", folder=folder, words=[word]) == [[model.token[s] for s in word.split()]]


def test_a_begin_symbol_stands_first(outside, tmp_path):
    from unmask.engines.fast import FastEngine
    from unmask.export.folder_files import as_json, write_new_folder
    from unmask.export.tokenizer import tokenizer_files
    from unmask.testing import random_model

    model = random_model(3, "cot", 0, engine=FastEngine())
    tokens = token_names(model)
    files = {name: as_json(content) for name, content in tokenizer_files(model, tokens, 64).items()}
    folder = write_new_folder(files, tmp_path / "tokenizer")
    assert outside("tokens", folder=folder, words=["ab"]) == [[model.token["^"], model.token["a"], model.token["b"]]]


def test_the_mask_is_never_a_letter(exported, outside):
    model, folder, _ = exported("(a|b)*abb", "mdm", "bert", length=8)
    assert model.mask == "m"
    assert outside("tokens", folder=folder, words=["m[MASK]1"]) == [[0, model.token["m"], 0]]


def test_the_folder_alone_is_enough(exported):
    """An export says which model it came from."""
    from unmask.weights.storage import content_hash, save

    model, folder, report = exported("(a|b)*abb", "mdm", "bert", length=8)
    again = load(save(model, folder.parent / "again"))
    assert content_hash(again) == report["model_sha256"]
