"""Checks of the conversions between frameworks, on random saturating sources.

A theorem is named by its *stem*, such as `mdm_to_plt`. A conversion is compared with its source in all aligned states
(`theorems.alignment`) after every step, and its size with the bound of the theorem.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

from unmask.engines.fast import FastEngine
from unmask.errors import UnmaskError
from unmask.numerics.arithmetic import Precision
from unmask.paper.checks.evidence import Check, Effort, Evidence, NotBuilt, Refuted, require
from unmask.programs.residual_slots import noise_distance
from unmask.reasoners.run_words import run
from unmask.testing import random_model
from unmask.testing.draws import Draws
from unmask.testing.random_model import all_words, cached_model, sample_words
from unmask.theorems.alignment import aligned_difference
from unmask.theorems.all_theorems import THEOREMS, TRANSFORMER_THEOREMS, VARIANTS, theorem_with_option
from unmask.theorems.conversion_checks import (
    first_disagreement,
    random_saturating_transformer,
    theorem_disagreements,
    transformer_theorem_disagreements,
    two_words,
)
from unmask.theorems.theorem import Conversion, SourceSize, Theorem, TransformerTheorem, rounded_up
from unmask.traces.trace import Trace
from unmask.weights.model import Model, Price
from unmask.weights.transformer import Attention

PRECISIONS = (2, 3)


def theorem_with_stem(stem: str) -> Theorem:
    """Return the theorem with this stem; raise `NotBuilt` if there is none."""
    theorem = _theorem(stem)
    assert isinstance(theorem, Theorem)
    return theorem


def conversion_check(
    stem: str,
    *,
    seeds: int = 26,
    lengths: tuple[int, ...] = (0, 1, 2, 3),
    precisions: tuple[int, ...] = PRECISIONS,
    growth: bool = True,
    **sizes: Any,
) -> Check:
    """Return the check of a conversion: all aligned states and the size, for the same number of random models per p."""

    def check(effort: Effort) -> Evidence:
        theorem, drawn_seeds = theorem_with_stem(stem), range(effort.of(seeds))
        for precision in precisions:
            wrong = theorem_disagreements(
                theorem,
                drawn_seeds,
                precision=precision,
                lengths=lengths,
                engine=FastEngine(),
                growth=growth,
                **sizes,
            )
            if wrong:
                first = wrong[0]
                raise Refuted(f"{stem}: random:{first.seed} at p = {precision} on {first.word}: {first.difference}")
        sources = [
            cached_model(seed, theorem.source, lengths[seed % len(lengths)], precision=precision, **sizes)
            for precision in precisions
            for seed in drawn_seeds
        ]
        return Evidence(
            f"{len(sources)} random models through {stem}, two words each: every aligned state, the size within its "
            f"bound, no division by zero; {sizes_of(sources)}, p = {', '.join(map(str, precisions))}, "
            f"{describe_seeds(drawn_seeds)}",
            len(sources),
        )

    return check


def fewer_slots(stem: str, other_stem: str, *, lengths: tuple[int, ...] = (8, 16, 32, 64)) -> Check:
    """Return the check that a conversion of random chains has fewer slots than another, both within their bounds."""

    def check(effort: Effort) -> Evidence:
        theorem, other = theorem_with_stem(stem), theorem_with_stem(other_stem)
        sources = [
            cached_model(seed, theorem.source, n, precision=1, layers=1)
            for n in lengths
            for seed in range(effort.of(2))
        ]
        for source in sources:
            price, other_price = (Price.of(t.convert(source).model) for t in (theorem, other))
            require(price.within(theorem.bound(source)), f"{stem} at N = {source.length}: {price}")
            require(other_price.within(other.bound(source)), f"{other_stem} at N = {source.length}: {other_price}")
            slots, other_slots = price.padding, other_price.padding
            require(slots < other_slots, f"N = {source.length}: {slots} and {other_slots} slots")
        return Evidence(
            f"{len(sources)} random chains through {stem} and {other_stem}: both within their bounds, fewer slots "
            f"by {stem}; {sizes_of(sources)}, p = 1",
            len(sources),
        )

    return check


def at_most_n_slots(effort: Effort) -> Evidence:
    """Check that chains of ⌈log2 N⌉ steps become models with ⌈log2 N⌉ steps and at most N slots, for N = 6 … 64."""
    theorem, lengths = theorem_with_stem("cot_to_mdm_mirrored"), range(6, 65) if effort.percent >= 100 else (6, 9, 64)
    for n in lengths:
        source = cached_model(n, "cot", n, precision=1, steps=(n - 1).bit_length(), layers=1, width=3)
        model = theorem.convert(source).model
        require(model.steps == source.steps, f"N = {n}: {model.steps} steps for {source.steps}")
        require(model.padding == source.steps + 3 <= n, f"N = {n}: {model.padding} slots")
        if n < 10:
            wrong = first_disagreement(source, theorem.convert(source), seed=n, engine=FastEngine())
            require(wrong is None, f"cot_to_mdm_mirrored, N = {n}: {wrong}")
    return Evidence(
        f"random chains of ⌈log2 N⌉ steps as masked diffusion with ⌈log2 N⌉ steps and ⌈log2 N⌉ + 3 ≤ N slots, N = "
        f"{describe_range(lengths)}, p = 1; every aligned state for N < 10",
        len(lengths),
    )


def sizes_of(sources: Sequence[Model]) -> str:
    """Describe the ranges of N, T and P of some models."""
    measured = {
        "N": [source.length for source in sources],
        "T": [source.steps for source in sources],
        "P": [source.padding for source in sources],
    }
    return ", ".join(f"{name} = {describe_range(numbers)}" for name, numbers in measured.items())


def describe_range(numbers: Sequence[int]) -> str:
    low, high = min(numbers), max(numbers)
    return str(low) if low == high else f"{low} … {high}"


def describe_seeds(seeds: range) -> str:
    return f"seeds {describe_range(seeds)}" if len(seeds) > 1 else f"seed {seeds[0]}"


def same_tape(stem: str, *, seeds: int) -> Check:
    """Return the check that a conversion follows the same path as its source with the same noise tape."""

    def check(effort: Effort) -> Evidence:
        drawn_seeds = range(effort.of(seeds))
        wrong = theorem_disagreements(
            theorem_with_stem(stem), drawn_seeds, precision=2, sampled=True, engine=FastEngine()
        )
        if wrong:
            raise Refuted(f"{stem}: random:{wrong[0].seed} with a tape, on {wrong[0].word}: {wrong[0].difference}")
        return Evidence(
            f"{len(drawn_seeds)} random models through {stem} without a tape and with the same tape for both, p = 2, "
            f"{describe_seeds(drawn_seeds)}",
            len(drawn_seeds),
        )

    return check


def transformer_check(stem: str, attention: Attention, *, seeds: int = 60) -> Check:
    """Return the check of a theorem about single transformers: every row after every layer, the logits, the size."""

    def check(effort: Effort) -> Evidence:
        theorem, rows, divided = _theorem(stem), [], 0
        assert isinstance(theorem, TransformerTheorem)
        drawn_seeds = range(effort.of(seeds))
        for precision in (1, 2, 3):
            wrong, dividing = transformer_theorem_disagreements(theorem, attention, drawn_seeds, precision=precision)
            if wrong:
                raise Refuted(f"{stem}: random transformer {wrong[0][0]} at p = {precision}: {wrong[0][1]}")
            sources = [random_saturating_transformer(seed, attention, precision=precision) for seed in drawn_seeds]
            rows += [two_words(seed, source).shape[1] for seed, source in zip(drawn_seeds, sources, strict=True)]
            divided += dividing
        return Evidence(
            f"{len(rows)} random transformers of one or two layers through {stem}, on two words each: every row after "
            f"every layer, the logits, the size within its bound; {divided} divide by zero, as do their conversions; "
            f"N = {min(rows)} … {max(rows)}, p = 1 … 3, {describe_seeds(drawn_seeds)}",
            len(rows),
        )

    return check


def topk_by_threshold(effort: Effort) -> Evidence:
    """Check topk_to_mdm on models without k; it must refuse models that choose exactly k < P slots."""
    theorem, sources = theorem_with_stem("topk_to_mdm"), []
    drawn_seeds = range(effort.of(90))
    for seed in drawn_seeds:
        source = cached_model(seed, "topk", seed % 4, precision=2 + seed % 2)
        if source.k is not None and source.k < source.padding:
            try:
                theorem.convert(source)
            except UnmaskError:
                continue
            raise Refuted(f"topk_to_mdm converts random:{seed}, which ranks")
        conversion = theorem.convert(source)
        require(Price.of(conversion.model).within(theorem.bound(source)), f"random:{seed} costs more than its bound")
        wrong = first_disagreement(source, conversion, seed=seed, engine=FastEngine())
        require(wrong is None, f"topk_to_mdm: random:{seed}: {wrong}")
        sources.append(source)
    require(sources, "no random model chooses by its threshold")
    return Evidence(
        f"{len(sources)} random topk models without k through topk_to_mdm, two words each, {sizes_of(sources)}, "
        f"p = 2, 3; the other {len(drawn_seeds) - len(sources)} of {describe_seeds(drawn_seeds)} rank their slots "
        "and are refused",
        len(sources),
    )


def chain(kinds: str, stems: Sequence[str], *, seeds: int, **sizes: Any) -> Check:
    """Return the check of conversions in sequence: the last symbol on every word, and the size of every result."""

    def check(effort: Effort) -> Evidence:
        cases, sources = 0, []
        drawn_seeds = range(effort.of(seeds))
        for seed in drawn_seeds:
            source = cached_model(seed, theorem_with_stem(stems[0]).source, 1, precision=2, **sizes)
            last = source
            for _, theorem, conversion in hops(source, stems):
                require(
                    Price.of(conversion.model).within(theorem.bound(last)),
                    f"random:{seed}: {theorem.stem} costs more than its bound",
                )
                last = conversion.model
            for word in all_words(source).tolist():
                expected, actual = _last_symbol(source, word), _last_symbol(last, word)
                require(actual == expected, f"random:{seed} on {source.symbols(word)}: {expected!r} became {actual!r}")
                cases += 1
            sources.append(source)
        return Evidence(
            f"{len(sources)} random models through the chain {kinds}: the answer on every word; {sizes_of(sources)}, "
            f"p = 2, {describe_seeds(drawn_seeds)}",
            cases,
        )

    return check


def exact_slots(effort: Effort) -> Evidence:
    """Check that plt_to_mdm_packed has exactly (N + P)·D slots: models of small N, and the formula up to N = 64."""
    theorem, cases = theorem_with_stem("plt_to_mdm_packed"), 0
    for seed, length in product(range(effort.of(20)), (1, 2, 3)):
        model = random_model(seed, "plt", length, padding=1, stochastic=False)
        size, result = SourceSize.of(model), theorem.convert(model).model
        slots = size.rows * size.model.width
        require(result.padding == slots, f"random:{seed} of N = {length}: {result.padding} slots instead of {slots}")
        for longer in range(length, 65):
            slots = (size.begin + longer + size.padding) * size.model.width
            formula = theorem.most(replace(size, length=longer)).padding
            require(formula == slots, f"random:{seed}: the formula has {formula} slots for N = {longer}, not {slots}")
        cases += 1
    return Evidence(
        "exactly (N + P)·D slots for random looped transformers, N = 1 … 3 in models, up to 64 by the formula", cases
    )


def distance_of_noise(effort: Effort) -> Evidence:  # noqa: ARG001
    """Check the bound on the distance between the law of a noise slot of plt_to_mdm and the law of the noise itself."""
    for p, most in ((1, Fraction("0.296")), (2, Fraction("0.0991")), (3, Fraction("0.0234"))):
        distance = noise_distance(Precision(p))
        require(0 < distance < most, f"the distance is {rounded_up(distance)} at p = {p}, not below {most}")
    return Evidence("the exact law of a noise slot against that of the noise, p = 1, 2, 3", 3)


def hops(source: Model, stems: Sequence[str]) -> Iterator[tuple[Model, Theorem, Conversion]]:
    """Yield (source, theorem, conversion) along a chain of conversions."""
    for stem in stems:
        theorem = theorem_with_stem(stem)
        conversion = theorem.convert(source)
        yield source, theorem, conversion
        source = conversion.model


def with_padded_input(effort: Effort) -> Evidence:
    """Check mdm_to_pcot_padded, which reads the word and P more symbols: every step, the answer, and the size."""
    theorem, sources = theorem_with_stem("mdm_to_pcot_padded"), []
    drawn_seeds = range(effort.of(52))
    for seed in drawn_seeds:
        source = cached_model(seed, "mdm", seed % 4, precision=2 + seed // 4 % 2)
        conversion = theorem.convert(source)
        require(Price.of(conversion.model).within(theorem.bound(source)), f"random:{seed} costs more than its bound")
        padding = [len(source.vocabulary)] * source.padding
        for word in sample_words(source, Draws(seed, 1), 2).tolist():
            trace = run(source, word, engine=FastEngine(), record=True)
            converted_trace = run(conversion.model, word + padding, engine=FastEngine(), record=True)
            wrong = aligned_difference(trace, converted_trace, conversion.alignment, conversion.model.aliases)
            require(wrong is None, f"mdm_to_pcot_padded: random:{seed} on {source.symbols(word)}: {wrong}")
            expected, last = source.plain(trace.output[-1:]), conversion.model.plain(converted_trace.output[-1:])
            require(last == expected, f"mdm_to_pcot_padded: random:{seed} on {source.symbols(word)} ends otherwise")
        sources.append(source)
    return Evidence(
        f"{len(sources)} random models through mdm_to_pcot_padded, two padded words each: every aligned state, the "
        f"size within its bound; {sizes_of(sources)}, p = 2, 3, {describe_seeds(drawn_seeds)}",
        len(sources),
    )


def stored_streams(effort: Effort) -> Evidence:
    """Check that after every step the slots of plt_to_mdm hold the residual stream of the looped model."""
    theorem, cases, sources = theorem_with_stem("plt_to_mdm"), 0, []
    drawn_seeds = range(effort.of(52))
    for seed in drawn_seeds:
        source = cached_model(
            seed, "plt", 1 + seed % 2, precision=2 + seed // 2 % 2, padding=seed % 3, stochastic=False
        )
        conversion = theorem.convert(source)
        words = sample_words(source, Draws(seed, 1), 2).tolist()
        wrong = first_disagreement(source, conversion, seed=seed, words=len(words), engine=FastEngine())
        require(wrong is None, f"random:{seed}: {wrong}")
        require(conversion.alignment.copies, "the alignment does not cover the stream")
        cases += len(words) * source.steps
        sources.append(source)
    return Evidence(
        f"residual streams of {len(sources)} random looped models, stored in slots and read back after every loop; "
        f"{sizes_of(sources)}, p = 2, 3, {describe_seeds(drawn_seeds)}",
        cases,
    )


def _theorem(stem: str) -> Theorem | TransformerTheorem:
    for theorem in (*THEOREMS, *VARIANTS, *theorem_with_option(stem), *TRANSFORMER_THEOREMS):
        if theorem.stem == stem:
            return theorem
    raise NotBuilt(f"theorems/{stem}.py")


def _last_symbol(model: Model, word: list[int]) -> str:
    trace: Trace = run(model, word, engine=FastEngine(), canvas=False)
    return model.plain(trace.output[-1:])[0]
