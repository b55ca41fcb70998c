"""Check a converter of models on random saturating ones: the whole aligned state after every step, and the price."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from unmask.engines.engine import Engine
from unmask.engines.reference import ReferenceEngine
from unmask.errors import AttendsToNothing
from unmask.reasoners.run import run_batch
from unmask.reasoners.tape import Tape
from unmask.testing.draws import Draws
from unmask.testing.random_model import drawn, sample_words
from unmask.theorems.alignment import aligned_difference
from unmask.theorems.size import Size
from unmask.theorems.theorem import Conversion, Theorem
from unmask.traces.compare import Difference
from unmask.traces.trace import Trace
from unmask.weights.model import Model
from unmask.weights.price import Price


@dataclass(frozen=True)
class Disagreement:
    """A word on which a conversion does not do what its source does."""

    seed: int
    word: list[str]
    what: Difference | str


def check_source(
    source: Model,
    conversion: Conversion,
    *,
    seed: int,
    words: int = 2,
    tape: Tape | None = None,
    engine: Engine | None = None,
) -> Disagreement | None:
    """Run both on a few words; the first disagreement, or None."""
    engine = engine or ReferenceEngine()
    sampled = sample_words(source, Draws(seed, 1), words)
    outcomes = (_outcomes(model, sampled, engine, tape) for model in (source, conversion.model))
    for word, ours, theirs in zip(sampled.tolist(), *outcomes, strict=True):
        spelled = source.symbols(word)
        if isinstance(ours, AttendsToNothing):
            if not isinstance(theirs, AttendsToNothing):
                return Disagreement(seed, spelled, "only the source divides by zero")
            continue
        if isinstance(theirs, AttendsToNothing):
            return Disagreement(seed, spelled, f"the conversion divides by zero: {theirs}")
        difference = aligned_difference(ours, theirs, conversion.alignment, conversion.model.aliases)
        if difference is not None:
            return Disagreement(seed, spelled, difference)
        last = conversion.model.aliases.get(theirs.output[-1], theirs.output[-1])
        if source.aliases.get(ours.output[-1], ours.output[-1]) != last:
            return Disagreement(seed, spelled, f"the last symbol is {ours.output[-1]!r} against {last!r}")
    return None


def check_theorem(
    theorem: Theorem,
    seeds: range,
    *,
    precision: int,
    lengths: tuple[int, ...] = (0, 1, 2, 3),
    sampled: bool = False,
    engine: Engine | None = None,
    **sizes: Any,
) -> list[Disagreement]:
    """Convert random models of many shapes; every disagreement, and assertions on the price and its growth."""
    disagreements = []
    for seed in seeds:
        source = drawn(seed, theorem.source, lengths[seed % len(lengths)], precision=precision, **sizes)
        conversion = theorem.convert(source)
        assert Price.of(conversion.model).within(theorem.bound(source)), (seed, Price.of(conversion.model))
        growth = theorem.growth(Size.of(source).as_in_the_paper())
        assert growth.as_promised, (seed, theorem.stem, growth)
        for tape in (None, Tape(seed)) if sampled else (None,):
            disagreement = check_source(source, conversion, seed=seed, tape=tape, engine=engine)
            if disagreement:
                disagreements.append(disagreement)
    return disagreements


def _outcomes(model: Model, words: np.ndarray, engine: Engine, tape: Tape | None) -> list[Trace | AttendsToNothing]:
    """The trace of each word, or how it divides by zero; all at once unless one of them does."""
    try:
        return [*run_batch(model, words, engine=engine, tape=tape, record=True)]
    except AttendsToNothing as error:
        if len(words) == 1:
            return [error]
        return [outcome for word in words for outcome in _outcomes(model, word[None], engine, tape)]
