"""Problem × lengths → measured resources of every framework, compared with their bounds.

Padding, width, layers and alphabet are those of the model after it was written to a folder and loaded again; steps are
those of a run. A run only shows upper bounds: that log N steps of chain of thought do not decide parity is a theorem
that the paper cites (thm:cot-mdm-separation), not something that a table can show.
"""

import random
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from unmask.engines.engine import Engine
from unmask.errors import TooLarge
from unmask.problems.problem import Problem
from unmask.reasoners.run_words import run
from unmask.reasoners.typed_words import read_word
from unmask.verification.model_outcomes import outcome_of_symbols
from unmask.weights.kinds import Kind
from unmask.weights.model import Extent, Model, Price
from unmask.weights.storage import load, save

WORDS = 3
LEAST_LENGTH = 4
EXTENT = ("layers", "symbols", "fixed", "per_bit", "places")


@dataclass(frozen=True)
class ResourceRow:
    """The resources of one framework at one length.

    `bound` is the upper bound, `extent` the formula for layers, symbols and width. `seconds` is the time of a run, or
    None if a run would have exceeded the limits.
    """

    framework: Kind
    length: int
    steps: int
    padding: int
    width: int
    layers: int
    heads: int
    parameters: int
    precision: int
    symbols: int
    bound: Price
    extent: Extent
    seconds: Any
    correct: bool | None

    @property
    def within_bound(self) -> bool:
        return Price(self.steps, self.padding, self.layers, self.width, self.symbols).within(self.bound)

    @property
    def width_formula(self) -> str:
        """The bound on the width, as a formula in N; only the number of places depends on N."""
        extent = self.extent
        return f"{extent.fixed} + {extent.per_bit}·⌈log2 {extent.places}⌉"

    def to_json(self) -> dict[str, Any]:
        names = ("framework", "length", "steps", "padding", "width", "layers", "heads", "parameters", "precision")
        return {
            **{name: getattr(self, name) for name in names},
            "symbols": self.symbols,
            "bound": self.bound.to_json(),
            "width_bound": {name: getattr(self.extent, name) for name in EXTENT} | {"formula": self.width_formula},
            "within_bound": self.within_bound,
            "seconds": self.seconds,
            "correct": self.correct,
        }


def grows_as_promised(rows: Sequence[ResourceRow]) -> bool:
    """Return whether layers and symbols are O(1) and only the number of places changes the width.

    The rows are those of one framework. Lengths below 4 are ignored. For a recurrence, only lengths with the same cases
    are compared: there are finitely many cases, so their contribution is O(1).
    """
    extents: dict[frozenset, set[tuple[int, ...]]] = {}
    for row in rows:
        if row.length >= LEAST_LENGTH:
            extents.setdefault(row.extent.cases, set()).add(row.extent.without_places)
    return all(len(same) == 1 for same in extents.values())


def lengths_that_lack_cases(rows: Sequence[ResourceRow]) -> list[int]:
    """Return the lengths at which other cases of a recurrence occur than at the largest length."""
    longest = max(rows, key=lambda row: row.length)
    return [row.length for row in rows if row.extent.cases != longest.extent.cases]


def measure_resources(
    model: Model, bound: tuple[int, int], extent: Extent, problem: Problem, engine: Engine
) -> ResourceRow:
    """Write the model, load it again, run a few words of the problem, and return the resources used."""
    with tempfile.TemporaryDirectory() as scratch:
        model = load(save(model, Path(scratch) / "model"))
    steps, seconds, correct = model.steps, None, None
    outputs = problem.outputs(model.length)
    try:
        for word in islice(problem.words(model.length, random.Random(model.length)), WORDS):
            tokens = read_word(model, word)
            start = time.perf_counter()
            trace = run(model, tokens, engine=engine, canvas=False)
            took = time.perf_counter() - start
            seconds = took if seconds is None else min(seconds, took)
            steps = trace.steps_taken
            actual = outcome_of_symbols(model, trace.output[-outputs:], problem.answer_symbols(model.length))
            correct = correct is not False and actual == problem.outcome(word).last(outputs)
    except TooLarge:
        pass  # `seconds` stays None
    transformers = model.transformers.values()
    return ResourceRow(
        framework=model.kind,
        length=model.length,
        steps=steps,
        padding=model.padding,
        width=max(t.width for t in transformers),
        layers=max(len(t.layers) for t in transformers),
        heads=max((len(layer.heads) for t in transformers for layer in t.layers), default=0),
        parameters=sum(t.parameters for t in transformers),
        precision=model.precision.p,
        symbols=len(model.vocabulary),
        bound=extent.price(*bound),
        extent=extent,
        seconds=seconds,
        correct=correct,
    )
