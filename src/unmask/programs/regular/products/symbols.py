"""The symbols of a tree of products: letters, elements of the monoid, and what steers a reasoner."""

from collections.abc import Sequence

import numpy as np

from unmask.programs.language.vocabulary import Vocabulary, vocabulary_of
from unmask.programs.regular.products.elements import Products


def products_vocabulary(products: Products, roles: Sequence[str]) -> Vocabulary:
    """Letters and products; reject and accept come with every vocabulary."""
    return vocabulary_of(products.symbols, len(products.letters), (*roles, "reject", "accept"))


def symbols_with_elements(products: Products, vocabulary: Vocabulary) -> tuple[np.ndarray, np.ndarray]:
    """(symbols, their elements): letters, products, and the identity for mask, pad and begin."""
    letters = np.arange(len(products.letters))
    others = np.flatnonzero(products.symbol_of >= len(products.letters))
    neutral = [i for role, i in vocabulary.special.items() if role in ("mask", "pad", "begin")]
    symbols = np.concatenate([letters, products.symbol_of[others], np.array(neutral, dtype=np.int64)])
    return symbols, np.concatenate([products.letters, others, np.zeros(len(neutral), dtype=np.int64)])
