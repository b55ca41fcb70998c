"""Check a converter of models on random saturating ones: the whole aligned state after every step, and the price."""

from dataclasses import dataclass
from typing import Any

from unmask.engines.engine import Engine
from unmask.engines.reference import ReferenceEngine
from unmask.errors import AttendsToNothing
from unmask.reasoners.run import run
from unmask.reasoners.tape import Tape
from unmask.testing.draws import Draws
from unmask.testing.random_model import random_model, sample_words
from unmask.theorems.theorem import Conversion, Price, Theorem
from unmask.traces.alignment import aligned_difference
from unmask.traces.compare import Difference
from unmask.traces.trace import Trace
from unmask.weights.model import Model


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
    for word in sample_words(source, Draws(seed, 1), words).tolist():
        ours = _run(source, word, engine, tape)
        theirs = _run(conversion.model, word, engine, tape)
        spelled = source.symbols(word)
        if isinstance(ours, AttendsToNothing):
            if not isinstance(theirs, AttendsToNothing):
                return Disagreement(seed, spelled, "only the source divides by zero")
            continue
        if isinstance(theirs, AttendsToNothing):
            return Disagreement(seed, spelled, f"the conversion divides by zero: {theirs}")
        found = aligned_difference(ours, theirs, conversion.alignment, conversion.model.aliases)
        if found is not None:
            return Disagreement(seed, spelled, found)
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
    """Convert random models of many shapes; every disagreement, and an assertion on the price."""
    found = []
    for seed in seeds:
        source = random_model(seed, theorem.source, lengths[seed % len(lengths)], precision=precision, **sizes)
        conversion = theorem.convert(source)
        assert Price.of(conversion.model).within(theorem.bound(source)), (seed, Price.of(conversion.model))
        for tape in (None, Tape(seed)) if sampled else (None,):
            disagreement = check_source(source, conversion, seed=seed, tape=tape, engine=engine)
            if disagreement:
                found.append(disagreement)
    return found


def _run(model: Model, word: list[int], engine: Engine, tape: Tape | None) -> Trace | AttendsToNothing:
    try:
        return run(model, word, engine=engine, tape=tape, record=True)
    except AttendsToNothing as error:
        return error
