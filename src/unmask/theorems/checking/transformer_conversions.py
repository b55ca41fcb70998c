"""Check a converter of transformers: every row after every source layer, the logits, the price, divisions by zero."""

from dataclasses import replace
from typing import Any

import numpy as np

from unmask.engines.reference import ReferenceEngine
from unmask.errors import AttendsToNothing
from unmask.testing.draws import Draws
from unmask.testing.random_model import drawn
from unmask.theorems.theorem import TransformerConversion, TransformerTheorem
from unmask.weights.transformer import Attention, Transformer


def random_transformer(seed: int, attention: Attention, *, precision: int, **sizes: Any) -> Transformer:
    """A random saturating transformer; about one in seven divides by zero on some input."""
    model = drawn(seed, "topk", seed % 4, precision=precision, **sizes)
    return replace(model.transformers["model"], attention=attention)


def two_words(seed: int, source: Transformer) -> np.ndarray:
    """Tokens [2, N] that a random transformer is tried on; N, which it is converted for, is drawn too."""
    draws = Draws(seed, 77)
    rows = draws.integer(1, len(source.positions))
    return draws.integers(0, source.embed.shape[0] - 1, (2, rows))


def states(transformer: Transformer, tokens: np.ndarray) -> list[np.ndarray] | None:
    """The stream after 0, 1, … layers; None for a division by zero."""
    session = ReferenceEngine().session(transformer)
    streams = [session.embed(tokens)]
    try:
        for i in range(len(transformer.layers)):
            streams.append(session.layers(streams[-1], i, i + 1))
    except AttendsToNothing:
        return None
    return streams


def disagreement(source: Transformer, conversion: TransformerConversion, tokens: np.ndarray) -> str | None:
    """Where the conversion first differs from its source, or None."""
    ours = states(source, tokens)
    theirs = states(conversion.transformer, conversion.padded(tokens))
    if ours is None or theirs is None:
        return None if ours is theirs else f"only the {'conversion' if ours else 'source'} divides by zero"
    for held in conversion.held:
        here, there = held.rows
        left = ours[held.layer][:, here]
        right = theirs[held.after][:, there][:, :, held.columns]
        if not np.array_equal(left, right):
            word, row, column = np.argwhere(left != right)[0]
            return f"word {word}, after layer {held.layer}, row {here[row]} in row {there[row]}, column {column}"
    here, there = conversion.held[-1].rows
    left, right = (
        ReferenceEngine().session(t).logits(stream[-1][:, rows])
        for t, stream, rows in ((source, ours, here), (conversion.transformer, theirs, there))
    )
    return None if np.array_equal(left, right) else "the logits differ"


def check_transformers(
    theorem: TransformerTheorem, attention: Attention, seeds: range, *, precision: int, **sizes: Any
) -> tuple[list[tuple[int, str]], int]:
    """Every disagreement, and how many sources divide by zero."""
    disagreements, divided = [], 0
    for seed in seeds:
        source = random_transformer(seed, attention, precision=precision, **sizes)
        tokens = two_words(seed, source)
        rows = tokens.shape[1]
        conversion = theorem.convert(source, rows)
        assert conversion.price.within(theorem.bound(source, rows)), (seed, conversion.price)
        assert [h.layer for h in conversion.held[:-1]] == list(range(len(source.layers) + 1))
        divided += states(source, tokens) is None
        wrong = disagreement(source, conversion, tokens)
        if wrong:
            disagreements.append((seed, wrong))
    return disagreements, divided
