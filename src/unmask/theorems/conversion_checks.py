"""Compare conversions with random saturating sources: the states after every step, and the bound on the size.

The `Alignment` of a conversion says where the converted model stores each state of its source (`alignment`).
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from unmask.engines.engine import Engine
from unmask.engines.reference import ReferenceEngine
from unmask.errors import AttendsToNothing
from unmask.reasoners.decoding import Tape
from unmask.reasoners.run_words import run_batch
from unmask.testing.draws import Draws
from unmask.testing.random_model import cached_model, sample_words
from unmask.theorems.alignment import aligned_difference
from unmask.theorems.theorem import Conversion, SourceSize, Theorem, TransformerConversion, TransformerTheorem
from unmask.traces.trace import Trace
from unmask.traces.trace_differences import Difference
from unmask.weights.model import Model, Price
from unmask.weights.transformer import Attention, Transformer


@dataclass(frozen=True)
class ConversionDisagreement:
    """A word on which a conversion differs from its source."""

    seed: int
    word: list[str]
    difference: Difference | str


def first_disagreement(
    source: Model,
    conversion: Conversion,
    *,
    seed: int,
    words: int = 2,
    tape: Tape | None = None,
    engine: Engine | None = None,
) -> ConversionDisagreement | None:
    """Run source and conversion on a few words; return the first disagreement, None if there is none."""
    engine = engine or ReferenceEngine()
    sampled = sample_words(source, Draws(seed, 1), words)
    outcomes = (_outcomes(model, sampled, engine, tape) for model in (source, conversion.model))
    for word, expected, actual in zip(sampled.tolist(), *outcomes, strict=True):
        difference = _outcome_difference(source, conversion, expected, actual)
        if difference is not None:
            return ConversionDisagreement(seed, source.symbols(word), difference)
    return None


def _outcome_difference(
    source: Model, conversion: Conversion, expected: Trace | AttendsToNothing, actual: Trace | AttendsToNothing
) -> Difference | str | None:
    """Describe the first difference between a run of the source and one of its conversion; None if there is none."""
    if isinstance(expected, AttendsToNothing):
        if isinstance(actual, AttendsToNothing) or actual.output[-1] == conversion.undefined:
            return None
        return "only the source divides by zero"
    if isinstance(actual, AttendsToNothing):
        return f"the conversion divides by zero: {actual}"
    aliases = conversion.model.aliases
    difference = aligned_difference(expected, actual, conversion.alignment, aliases)
    if difference is not None:
        return difference
    symbol, last = expected.output[-1], aliases.get(actual.output[-1], actual.output[-1])
    return None if source.aliases.get(symbol, symbol) == last else f"the last symbol is {symbol!r} against {last!r}"


def theorem_disagreements(
    theorem: Theorem,
    seeds: range,
    *,
    precision: int,
    lengths: tuple[int, ...] = (0, 1, 2, 3),
    sampled: bool = False,
    engine: Engine | None = None,
    growth: bool = True,
    **sizes: Any,
) -> list[ConversionDisagreement]:
    """Convert random models of many shapes and return all disagreements.

    Assert that every result is within its bound and, with `growth`, that the bound grows as the paper states. `growth`
    is False for a conversion whose width is not logarithmic for all sources.
    """
    disagreements = []
    for seed in seeds:
        source = cached_model(seed, theorem.source, lengths[seed % len(lengths)], precision=precision, **sizes)
        conversion = theorem.convert(source)
        assert Price.of(conversion.model).within(theorem.bound(source)), (seed, Price.of(conversion.model))
        grows = theorem.growth(SourceSize.of(source).as_in_the_paper())
        assert grows.as_promised or not growth, (seed, theorem.stem, grows)
        for tape in (None, Tape(seed)) if sampled else (None,):
            disagreement = first_disagreement(source, conversion, seed=seed, tape=tape, engine=engine)
            if disagreement:
                disagreements.append(disagreement)
    return disagreements


def _outcomes(model: Model, words: np.ndarray, engine: Engine, tape: Tape | None) -> list[Trace | AttendsToNothing]:
    """Return the trace of each word, or its division by zero.

    The words run as one batch, unless one of them divides by zero.
    """
    try:
        return [*run_batch(model, words, engine=engine, tape=tape, record=True)]
    except AttendsToNothing as error:
        if len(words) == 1:
            return [error]
        return [outcome for word in words for outcome in _outcomes(model, word[None], engine, tape)]


def random_saturating_transformer(seed: int, attention: Attention, *, precision: int, **sizes: Any) -> Transformer:
    """Return a random saturating transformer; about one in seven divides by zero on some input."""
    model = cached_model(seed, "topk", seed % 4, precision=precision, **sizes)
    return replace(model.transformers["model"], attention=attention)


def two_words(seed: int, source: Transformer) -> np.ndarray:
    """Return tokens [2, N] for a test of a random transformer; N, the length of the conversion, is also drawn."""
    draws = Draws(seed, 77)
    rows = draws.integer(1, len(source.positions))
    return draws.integers(0, source.embed.shape[0] - 1, (2, rows))


def layer_streams(transformer: Transformer, tokens: np.ndarray) -> list[np.ndarray] | None:
    """Return the residual stream before the first layer and after each layer; None for a division by zero."""
    session = ReferenceEngine().session(transformer)
    streams = [session.embed(tokens)]
    try:
        for i in range(len(transformer.layers)):
            streams.append(session.layers(streams[-1], i, i + 1))
    except AttendsToNothing:
        return None
    return streams


def first_transformer_disagreement(
    source: Transformer, conversion: TransformerConversion, tokens: np.ndarray
) -> str | None:
    """Describe the first difference between the conversion and its source; None if there is none."""
    source_streams = layer_streams(source, tokens)
    streams = layer_streams(conversion.transformer, conversion.padded(tokens))
    if source_streams is None or streams is None:
        if source_streams is streams:
            return None
        return f"only the {'conversion' if source_streams else 'source'} divides by zero"
    for location in conversion.streams:
        source_rows, rows = location.rows
        expected = source_streams[location.layer][:, source_rows]
        actual = streams[location.after][:, rows][:, :, location.columns]
        if not np.array_equal(expected, actual):
            word, i, column = np.argwhere(expected != actual)[0]
            where = f"row {source_rows[i]} in row {rows[i]}, column {column}"
            return f"word {word}, after layer {location.layer}, {where}"
    source_rows, rows = conversion.streams[-1].rows
    expected = ReferenceEngine().session(source).logits(source_streams[-1][:, source_rows])
    actual = ReferenceEngine().session(conversion.transformer).logits(streams[-1][:, rows])
    return None if np.array_equal(expected, actual) else "the logits differ"


def transformer_theorem_disagreements(
    theorem: TransformerTheorem, attention: Attention, seeds: range, *, precision: int, **sizes: Any
) -> tuple[list[tuple[int, str]], int]:
    """Convert random transformers; return all disagreements (seed, description) and how many sources divide by zero."""
    disagreements, divided = [], 0
    for seed in seeds:
        source = random_saturating_transformer(seed, attention, precision=precision, **sizes)
        tokens = two_words(seed, source)
        rows = tokens.shape[1]
        conversion = theorem.convert(source, rows)
        assert conversion.price.within(theorem.bound(source, rows)), (seed, conversion.price)
        assert [location.layer for location in conversion.streams[:-1]] == list(range(len(source.layers) + 1))
        divided += layer_streams(source, tokens) is None
        disagreement = first_transformer_disagreement(source, conversion, tokens)
        if disagreement:
            disagreements.append((seed, disagreement))
    return disagreements, divided
