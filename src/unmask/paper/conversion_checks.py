"""Checks of the simulations: random saturating sources through the real converters, the whole aligned state."""

from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any

from unmask.engines.fast import FastEngine
from unmask.errors import UnmaskError
from unmask.paper.item import Check, Effort, Evidence, NotBuilt, Refuted, require
from unmask.reasoners.run import run
from unmask.testing import random_model
from unmask.testing.draws import Draws
from unmask.testing.random_model import all_words, sample_words
from unmask.theorems.theorem import Conversion, Price, Theorem, TransformerTheorem
from unmask.traces.trace import Trace
from unmask.verification.conversions import check_source, check_theorem
from unmask.verification.transformer_conversions import check_transformers
from unmask.weights.model import Model
from unmask.weights.transformer import Attention


def built(stem: str) -> Theorem:
    """The theorem of a stem."""
    found = _theorem(stem)
    assert isinstance(found, Theorem)
    return found


def converter(stem: str, *, seeds: int = 24, lengths: tuple[int, ...] = (0, 1, 2, 3), **sizes: Any) -> Check:
    """Random models of the source kind: whole state after every step, price within the bound; p = 2, 3."""

    def check(effort: Effort) -> Evidence:
        cases = 0
        for precision in (2, 3):
            drawn = range(effort.of(seeds))
            wrong = check_theorem(
                built(stem), drawn, precision=precision, lengths=lengths, engine=FastEngine(), **sizes
            )
            if wrong:
                first = wrong[0]
                raise Refuted(f"{stem}: random:{first.seed} at p = {precision} on {first.word}: {first.what}")
            cases += len(drawn)
        return Evidence(f"random models through {stem}: every aligned state, the price, Z = 0; p = 2, 3", cases)

    return check


def same_tape(stem: str, *, seeds: int) -> Check:
    """The same with a noise tape: the same path."""

    def check(effort: Effort) -> Evidence:
        wrong = check_theorem(built(stem), range(effort.of(seeds)), precision=2, sampled=True, engine=FastEngine())
        if wrong:
            raise Refuted(f"{stem}: random:{wrong[0].seed} with a tape, on {wrong[0].word}: {wrong[0].what}")
        return Evidence(f"random models through {stem} with and without one tape for both", effort.of(seeds))

    return check


def of_transformers(stem: str, attention: Attention, *, seeds: int = 60) -> Check:
    """Random transformers: every row after every source layer, the logits, the price; p = 1, 2, 3."""

    def check(effort: Effort) -> Evidence:
        theorem, cases = _theorem(stem), 0
        assert isinstance(theorem, TransformerTheorem)
        for precision in (1, 2, 3):
            drawn = range(effort.of(seeds))
            wrong, _ = check_transformers(theorem, attention, drawn, precision=precision)
            if wrong:
                raise Refuted(f"{stem}: random transformer {wrong[0][0]} at p = {precision}: {wrong[0][1]}")
            cases += len(drawn)
        return Evidence(f"random transformers through {stem}: every layer, the price, Z = 0; p = 1 … 3", cases)

    return check


def several(*checks: Check) -> Check:
    """All of them."""

    def check(effort: Effort) -> Evidence:
        found = [one(effort) for one in checks]
        return Evidence("; ".join(evidence.method for evidence in found), sum(e.cases for e in found))

    return check


def topk_by_threshold(effort: Effort) -> Evidence:
    """The converse, for models without k; a model that ranks with a fixed k < P is refused."""
    theorem, cases = built("topk_to_mdm"), 0
    for seed in range(effort.of(40)):
        source = random_model(seed, "topk", seed % 4, precision=2)
        if source.k is not None and source.k < source.padding:
            try:
                theorem.convert(source)
            except UnmaskError:
                continue
            raise Refuted(f"topk_to_mdm converts random:{seed}, which ranks")
        wrong = check_source(source, theorem.convert(source), seed=seed, engine=FastEngine())
        require(wrong is None, f"topk_to_mdm: random:{seed}: {wrong}")
        cases += 1
    return Evidence("random topk models without k through topk_to_mdm", cases)


def chain(kinds: str, stems: Sequence[str], *, seeds: int, **sizes: Any) -> Check:
    """Conversions one after the other, from random models: the last symbol on every word, every price."""

    def check(effort: Effort) -> Evidence:
        cases = 0
        for seed in range(effort.of(seeds)):
            source = random_model(seed, built(stems[0]).source, 1, precision=2, **sizes)
            last = source
            for _, theorem, conversion in hops(source, stems):
                require(
                    Price.of(conversion.model).within(theorem.bound(last)),
                    f"random:{seed}: {theorem.stem} costs more than its bound",
                )
                last = conversion.model
            for word in all_words(source).tolist():
                ours, theirs = _last_symbol(source, word), _last_symbol(last, word)
                require(ours == theirs, f"random:{seed} on {source.symbols(word)}: {ours!r} became {theirs!r}")
                cases += 1
        return Evidence(f"random models through the chain {kinds}, on every word", cases)

    return check


def hops(source: Model, stems: Sequence[str]) -> Iterator[tuple[Model, Theorem, Conversion]]:
    """(what goes in, by which theorem, what comes out) along a chain."""
    for stem in stems:
        theorem = built(stem)
        conversion = theorem.convert(source)
        yield source, theorem, conversion
        source = conversion.model


def dumped(effort: Effort) -> Evidence:
    """The stored stream alone: what the slots hold after every step is the looped model's stream after that loop."""
    theorem, cases = built("plt_to_mdm"), 0
    for seed in range(effort.of(12)):
        source = random_model(seed, "plt", 1 + seed % 2, precision=2, padding=seed % 2, stochastic=False)
        conversion = theorem.convert(source)
        words = sample_words(source, Draws(seed, 1), 2).tolist()
        wrong = check_source(source, conversion, seed=seed, words=len(words), engine=FastEngine())
        require(wrong is None, f"random:{seed}: {wrong}")
        require(conversion.alignment.copies, "the alignment says nothing of the stream")
        cases += len(words) * source.steps
    return Evidence("residual streams dumped into slots, decoded and read back, after every loop", cases)


def _theorem(stem: str) -> Theorem | TransformerTheorem:
    try:
        return import_module(f"unmask.theorems.{stem}").THEOREM
    except (ImportError, AttributeError):
        raise NotBuilt(f"theorems/{stem}.py") from None


def _last_symbol(model: Model, word: list[int]) -> str:
    trace: Trace = run(model, word, engine=FastEngine(), canvas=False)
    return model.plain(trace.output[-1:])[0]
