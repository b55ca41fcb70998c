"""Model × words → what happened: one word, many at once, many for their answers alone, by two engines, or drawn."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from unmask.budget import foresee_time
from unmask.engines.engine import Engine, Watch
from unmask.engines.fast import FastEngine
from unmask.engines.reference import ReferenceEngine
from unmask.errors import UnmaskError
from unmask.reasoners.decoding import Tape
from unmask.reasoners.planners import parse_planner
from unmask.reasoners.run_words import Answers, run, run_each
from unmask.reasoners.typed_words import read_word, read_words
from unmask.traces.trace import Trace
from unmask.traces.trace_differences import first_difference
from unmask.weights.model import Model


def run_word(
    model: Model,
    word: str | Sequence[str],
    *,
    engine: Engine | None = None,
    sample: bool = False,
    seed: int = 0,
    planner: str | None = None,
    record: bool = False,
    canvas: bool = True,
    watch: Watch | None = None,
) -> Trace:
    """Run a model on a word. `sample` draws from the tape of `seed`; `planner` replaces the model's own by name.

    `record` keeps attention and registers, or `watch` is shown them; `canvas=False` keeps only the last canvas.

    Examples:
        >>> run_word(compile_problem("(a|b)*abb", "mdm", length=9), "aababbabb")
        Trace(mdm, 'aababbabb', accepted after 4 steps)
    """
    tokens = read_word(model, word)
    tape = tape_of(seed)
    return run(
        model,
        tokens,
        engine=engine or FastEngine(),
        tape=tape if sample else None,
        planner=None if planner is None else parse_planner(planner, tape),
        record=record,
        canvas=canvas,
        watch=watch,
    )


def run_words(
    model: Model,
    words: Sequence[str],
    *,
    engine: Engine | None = None,
    sample: bool = False,
    seed: int = 0,
    canvas: bool = True,
) -> list[Trace | UnmaskError]:
    """Run a model on many words at once: for each its trace, or what is wrong with it."""
    return run_each(model, words, engine=engine or FastEngine(), tape=tape_of(seed) if sample else None, canvas=canvas)


@dataclass(frozen=True, eq=False)
class Decided:
    """What many words led to: the last symbols of each as token ids [words, slots], or what is wrong with it.

    `by` says what computed them: "tables" that were extracted from the weights once, or the "engine".
    """

    model: Model
    slots: np.ndarray
    errors: dict[int, UnmaskError]
    by: str

    @property
    def accepted(self) -> list[bool | None]:
        """None where a word has an error, or where its last symbol is neither accept nor reject."""
        meaning = {1: True, 0: False}
        verdicts = [meaning.get(verdict) for verdict in Answers(self.model, self.slots).accepted.tolist()]
        for i in self.errors:
            verdicts[i] = None
        return verdicts


def decide_words(
    model: Model,
    words: Sequence[str],
    *,
    engine: Engine | None = None,
    tables: bool | None = None,
    expected: int = 0,
) -> Decided:
    """Run a model on many words for their answers alone, by tables where there are words enough to pay for them.

    `tables` True or False insists or forbids; `expected` says how many words there are in all.

    Examples:
        >>> model = compile_problem("(a|b)*abb", "mdm", length=4)
        >>> decide_words(model, ["aabb", "abab"]).accepted
        [True, False]
    """
    from unmask.tables.answers import tabled_answers

    tokens, which, unreadable = read_words(model, words)
    tabled = tabled_answers(model, tokens, engine=engine or FastEngine(), tables=tables, expected=expected)
    slots = np.zeros((len(words), tabled.answers.slots.shape[1]), dtype=np.int64)
    slots[which] = tabled.answers.slots
    errors: dict[int, UnmaskError] = {int(which[i]): error for i, error in tabled.failed.items()}
    return Decided(model, slots, {**unreadable, **errors}, tabled.by)


def run_both(model: Model, word: str | Sequence[str], **options: Any) -> Trace:
    """Run the fast engine and the reference, compare all that they computed, and return the run of the fast one."""
    fast, reference = (
        foresee_time(
            partial(run_word, model, word, engine=engine, record=True, **options), f"a run of the {name} engine"
        )
        for name, engine in (("fast", FastEngine()), ("reference", ReferenceEngine()))
    )
    difference = first_difference(fast, reference)
    if difference is not None:
        raise UnmaskError(f"the fast engine and the reference differ at {difference}; please report this model")
    return fast


def generate(model: Model, *, seed: int, engine: Engine | None = None) -> Trace:
    """One string drawn from a model that reads the empty input: a language model.

    Examples:
        >>> generate(compile_problem("random:1", "cot", length=0), seed=1).output
        ['b', 'b', 'b']
    """
    if model.length:
        raise UnmaskError(
            f"sampling needs a model that reads no input, but this one reads words of length {model.length}; "
            "compile it with --length 0, or use `run --sample`"
        )
    return run_word(model, [], engine=engine, sample=True, seed=seed)


def tape_of(seed: int) -> Tape:
    try:
        return Tape(seed)
    except ValueError as error:
        raise UnmaskError(str(error)) from None
