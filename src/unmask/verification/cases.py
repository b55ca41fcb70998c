"""Model × oracle → Verdict, by running cases: every word of the model's length, or a sample of them.

A sample holds members, non-members, words one edit away from them, and random words, so that both answers occur
even where one of them is rare.
"""

import random
from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import islice, product
from math import isqrt

import numpy as np

from unmask.engines.engine import Engine
from unmask.errors import AttendsToNothing, EditsWrittenSlot
from unmask.problems.automaton import Automaton
from unmask.problems.expression import ExpressionProblem
from unmask.reasoners.run import answers
from unmask.reasoners.typed_expressions import is_value, reads_expressions
from unmask.reasoners.words import read_word
from unmask.verification.verdict import Verdict
from unmask.weights.model import Model

MOST_WORDS = 1 << 20
BATCH = 1 << 10

Ranges = Sequence[tuple[int, int, Hashable]]
"""Code points from first to last, and the class they belong to, in increasing order."""

Oracle = Callable[[str], str]
"""A word as a user would type it → `accepted`, `rejected`, or what else there is to say."""


def check_words(
    model: Model, words: Iterator[str], oracle: Oracle, *, engine: Engine, method: str, outputs: int = 1
) -> Verdict:
    """Run every word on the model and the oracle; stop at the first that differs."""
    cases = 0
    while batch := list(islice(words, BATCH)):
        for word, got in zip(batch, outcomes(model, batch, engine, outputs=outputs), strict=True):
            cases += 1
            expected = oracle(word)
            if got != expected:
                return Verdict("refuted", method, cases, counterexample=word, expected=expected, got=got)
    return Verdict("held", method, cases)


def outcomes(model: Model, words: Sequence[str], engine: Engine, *, outputs: int = 1) -> list[str]:
    """What the model says of each word; an error of the run is an outcome too."""
    tokens = np.array([read_word(model, word) for word in words], dtype=np.int64).reshape(len(words), model.length)
    return _outcomes(model, tokens, engine, outputs)


def outcome(accepted: bool, outputs: Sequence[bool]) -> str:
    """The outcome of a right answer; a circuit with several outputs is right only if all of them are."""
    bits = "".join(str(int(bit)) for bit in outputs)
    return ("accepted" if accepted else "rejected") + (f", outputs {bits}" if len(bits) > 1 else "")


def value_outcome(value: int | str | None) -> str:
    """The outcome of an expression; None for a word that is none of its shape."""
    return "rejected" if value is None else f"gives {value}"


def symbols_outcome(model: Model, symbols: list[str]) -> str:
    """What the last symbols of a run say: bits, the value of an expression, or neither."""
    meaning = {model.accept: True, model.reject: False}
    symbols = model.plain(symbols)
    decided = [meaning[symbol] for symbol in symbols if symbol in meaning]
    if len(decided) == len(symbols):
        return outcome(decided[-1], decided)
    if is_value(symbols[-1], model.vocabulary):
        return value_outcome(symbols[-1])
    return f"undecided: {' '.join(symbols)}"


def _outcomes(model: Model, tokens: np.ndarray, engine: Engine, outputs: int) -> list[str]:
    try:
        slots = answers(model, tokens, engine=engine).slots[:, -outputs:]
    except (AttendsToNothing, EditsWrittenSlot) as error:
        if len(tokens) == 1:
            return [f"error: {error}"]
        half = len(tokens) // 2
        return _outcomes(model, tokens[:half], engine, outputs) + _outcomes(model, tokens[half:], engine, outputs)
    return [symbols_outcome(model, model.symbols(row)) for row in slots]


def every_word(model: Model, told_apart: Ranges = ()) -> Iterator[str]:
    """All words over the input symbols, in order; one character stands for all that nobody tells apart."""
    letters = letters_of(model, told_apart)
    gap = gap_between(model, letters)
    return (gap.join(word) for word in product(letters, repeat=model.length))


def letters_of(model: Model, told_apart: Ranges = ()) -> list[str]:
    """How to type each input symbol that a word can hold, once for each class of `told_apart` that it meets.

    `told_apart` are the characters as the other side of a comparison classes them: what shares a token of the model
    need not share one there.
    """
    if model.characters is None:
        return list(model.input_symbols)
    first: dict[tuple[str, Hashable], str] = {}
    for low, high, symbol in model.characters:
        for start, end, other in _within(told_apart, low, high):
            candidates = (chr(c) for c in range(start, min(end, start + 128) + 1))
            shown = next((c for c in candidates if c.isprintable() and not c.isspace()), None)
            if shown is not None or (symbol, other) not in first:
                first.setdefault((symbol, other), shown or chr(start))
    order = {symbol: i for i, symbol in enumerate(model.input_symbols)}
    return [first[key] for key in sorted(first, key=lambda key: order[key[0]])]


def _within(ranges: Ranges, low: int, high: int) -> Iterator[tuple[int, int, Hashable]]:
    """The parts of [low, high] that the ranges cut it into; what they leave out is a class of its own."""
    for start, end, name in ranges:
        if end < low or start > high:
            continue
        if low < start:
            yield low, start - 1, None
        yield max(low, start), min(high, end), name
        low = end + 1
    if low <= high:
        yield low, high, None


def word_count(model: Model, told_apart: Ranges = ()) -> int:
    return len(letters_of(model, told_apart)) ** model.length


def sampled_words(model: Model, automaton: Automaton | None, count: int, seed: int) -> Iterator[str]:
    """`count` words: a quarter each of members, non-members, words one edit away from a member, and any words."""
    rng = random.Random(seed)
    for i in range(count):
        word = None
        if automaton is not None and i % 4 < 3:
            word = automaton.random_word(model.length, accepted=i % 4 != 1, rng=rng)
        if word is None:
            word = _any_word(model, automaton, rng)
        elif i % 4 == 2:
            word = _one_edit_away(word, _any_word(model, automaton, rng), model, rng)
        yield word


def sampled_expressions(expression: ExpressionProblem, count: int, seed: int) -> Iterator[str]:
    """`count` words: three quarters have the shape of the expression, the others only its length."""
    rng = random.Random(seed)
    for i in range(count):
        yield expression.misshapen_word(rng) if i % 4 == 3 else expression.random_word(rng)


def _any_word(model: Model, automaton: Automaton | None, rng: random.Random) -> str:
    if automaton is not None:
        return automaton.spelled([rng.randrange(len(automaton.tokens)) for _ in range(model.length)], rng=rng)
    letters = letters_of(model)
    # half of the words are nearly all one letter: a random graph of many edges has every path
    favoured, rare = rng.choice(letters), isqrt(model.length) + 1
    even = bool(rng.getrandbits(1))
    drawn = (rng.choice(letters) if even or rng.randrange(rare) == 0 else favoured for _ in range(model.length))
    return gap_between(model, letters).join(drawn)


def gap_between(model: Model, letters: Sequence[str]) -> str:
    """What keeps letters apart: nothing where each is a character, unless digits side by side would be one number."""
    return "" if all(len(x) == 1 for x in letters) and not reads_expressions(model.input_symbols) else " "


def _one_edit_away(word: str, other: str, model: Model, rng: random.Random) -> str:
    """The word with one symbol taken from another word."""
    plain = len(word) == model.length
    symbols, others = (list(word), list(other)) if plain else (word.split(), other.split())
    if symbols:
        place = rng.randrange(len(symbols))
        symbols[place] = others[place]
    return ("" if plain else " ").join(symbols)
