"""Model → the words that an export is checked on: words of its problem where the folder names one, and any words."""

import random
from collections.abc import Iterable, Iterator

import numpy as np

from unmask.errors import UnmaskError
from unmask.pipeline import verify_model
from unmask.reasoners.words import read_word
from unmask.weights.model import Model

SEED = 20


def check_words(model: Model, count: int) -> np.ndarray:
    """Token ids [batch, N]: at most `count`, half of them drawn from the problem, half from the alphabet."""
    rng = random.Random(SEED)
    words = [read_word(model, word) for word in _of_the_problem(model, count - count // 2)]
    letters = [model.token[symbol] for symbol in model.input_symbols]
    for i in range(count // 2):
        # every third word is nearly all one letter: averages and long runs show there
        favoured = rng.choice(letters) if letters else 0
        words.append(
            [favoured if i % 3 == 0 and rng.random() < 0.9 else rng.choice(letters) for _ in range(model.length)]
        )
    return np.unique(np.array(words, dtype=np.int64).reshape(len(words), model.length), axis=0)


def _of_the_problem(model: Model, count: int) -> list[str]:
    """Members, non-members and words beside them, as `verify --method sample` draws them."""
    drawn: list[str] = []

    def keep(words: Iterable[str], _: int) -> Iterator[str]:
        for word in words:
            drawn.append(word)
            yield word

    try:
        verify_model(model, method="sample", cases=count, seed=SEED, progress=keep)
    except UnmaskError:  # the folder names no problem, or another's: the problem is a comment
        return []
    return drawn
