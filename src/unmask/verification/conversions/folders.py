"""What was proved of names, held against converted folders of random sources: entry by entry, and on runs."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from unmask.engines.engine import Engine
from unmask.errors import AttendsToNothing, UnmaskError
from unmask.programs.assembly import assemble_all
from unmask.reasoners.run_words import run_batch
from unmask.testing.draws import Draws
from unmask.testing.random_model import sample_words
from unmask.theorems.alignment import aligned_difference
from unmask.theorems.theorem import Conversion, programs_at
from unmask.traces.trace import Trace
from unmask.verification.conversions.claim import ConversionClaim
from unmask.verification.conversions.filled import filled
from unmask.verification.conversions.sources import Sizes, random_source
from unmask.verification.lengths.expected_weights import compare_transformer
from unmask.verification.lengths.obligations import NotShown
from unmask.weights.model import Model
from unmask.weights.storage import load, save

WORDS = 4
Frame = Callable[[Model], dict[str, Any]]
"""Source → the fields of the converted model."""


@dataclass(frozen=True)
class Wrong:
    """A random source of so many letters and steps, and a word on which its conversion does something else."""

    seed: int
    sizes: Sizes
    word: str
    expected: str
    got: str


def check_folder(claim: ConversionClaim, frame: Frame, sizes: Sizes, seed: int) -> None:
    """The folder that `convert` writes for a random source is the one that was proved, entry by entry."""
    place = f"N = {sizes.length}, T = {sizes.steps}, P = {sizes.slots}, begin {int(sizes.begin)}"

    def show() -> str:
        source = random_source(seed, claim.theorem.source, claim.shape, sizes, claim.precision)
        with TemporaryDirectory(prefix="unmask-") as scratch:
            folder = Path(scratch) / "model"
            save(claim.theorem.convert(source).model, folder)
            model = load(folder)
        for name, wanted in frame(source).items():
            if getattr(model, name) != wanted:
                raise NotShown(f"{name} of the folder is {getattr(model, name)}, not {wanted}", (sizes.length,))
        programs = filled(claim.programs, claim.source, source)
        if set(programs) != set(model.transformers):
            raise NotShown("the folder has other transformers", (sizes.length,))
        entries = sum(
            compare_transformer(name, program, sizes.length, model.transformers[name])
            for name, program in programs.items()
        )
        return f"{entries:,} entries of the conversion of a random source"

    claim.ledger.settle(f"{place}: the folder is the program's", "comparison", show)


def refutation(claim: ConversionClaim, tried: Iterator[tuple[int, Sizes]], engine: Engine) -> Wrong | None:
    """The first random source on which the programs of the claim do something else; run, symbol by symbol."""
    for seed, sizes in tried:
        try:
            source = random_source(seed, claim.theorem.source, claim.shape, sizes, claim.precision)
            conversion = _conversion(claim, source)
            disagreement = _disagreement(source, conversion, seed, engine)
        except (AssertionError, IndexError, UnmaskError):
            continue  # no model of these sizes: nothing is refuted by it
        if disagreement is not None:
            return Wrong(seed, sizes, *disagreement)
    return None


def _conversion(claim: ConversionClaim, source: Model) -> Conversion:
    """As `convert` makes it, with the weights of the claim's programs."""
    made = claim.theorem.convert(source)
    programs = programs_at(filled(claim.programs, claim.source, source), source.length)
    return Conversion(replace(made.model, transformers=assemble_all(programs, source.precision)), made.alignment)


def _disagreement(source: Model, conversion: Conversion, seed: int, engine: Engine) -> tuple[str, str, str] | None:
    """(word, what the source does, what the conversion does)."""
    words = sample_words(source, Draws(seed, 1), WORDS)
    outcomes = (_outcomes(model, words, engine) for model in (source, conversion.model))
    for word, ours, theirs in zip(words, *outcomes, strict=True):
        spelled = " ".join(source.symbols(word))
        if isinstance(ours, Exception) or isinstance(theirs, Exception):
            if type(ours) is not type(theirs):
                return spelled, _said(ours), _said(theirs)
            continue
        difference = aligned_difference(ours, theirs, conversion.alignment, conversion.model.aliases)
        if difference is not None:
            return (
                spelled,
                f"{difference.left} in step {difference.step}",
                f"{difference.right} in step {difference.step}",
            )
    return None


def _outcomes(model: Model, words: np.ndarray, engine: Engine) -> list[Trace | UnmaskError]:
    """The run of each word, or its error; all at once unless there is one."""
    try:
        return [*run_batch(model, words, engine=engine)]
    except UnmaskError as error:
        if len(words) == 1:
            return [error]
        return [outcome for word in words for outcome in _outcomes(model, word[None], engine)]


def _said(outcome: Trace | Exception) -> str:
    if isinstance(outcome, AttendsToNothing):
        return "divides by zero"
    return f"ends with an error ({outcome})" if isinstance(outcome, Exception) else "writes its symbols"
