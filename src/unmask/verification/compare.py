"""Problem × lengths → measured resources of every framework, beside their bounds.

Steps, padding and width are read off the model that was written to a folder and loaded again; steps are those a
run took. A run shows upper bounds only: that log N steps of chain of thought do not decide parity is a theorem that
the paper cites (thm:cot-mdm-separation), not something a table can show.
"""

import random
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unmask.engines.engine import Engine
from unmask.errors import TooLarge
from unmask.reasoners.run import run
from unmask.reasoners.words import read_word
from unmask.verification.cases import Oracle, symbols_outcome
from unmask.weights.model import Kind, Model
from unmask.weights.storage import load, save

WORDS = 3


@dataclass(frozen=True)
class Bound:
    """What a framework may use at most."""

    steps: int
    padding: int


@dataclass(frozen=True)
class Row:
    """One framework at one length. `seconds` is the time of a run, None where the engine could not afford one."""

    framework: Kind
    length: int
    steps: int
    padding: int
    width: int
    layers: int
    heads: int
    parameters: int
    precision: int
    bound: Bound
    seconds: Any
    correct: bool | None

    @property
    def within_bound(self) -> bool:
        return self.steps <= self.bound.steps and self.padding <= self.bound.padding

    def to_json(self) -> dict[str, Any]:
        names = ("framework", "length", "steps", "padding", "width", "layers", "heads", "parameters", "precision")
        return {
            **{name: getattr(self, name) for name in names},
            "bound": {"steps": self.bound.steps, "padding": self.bound.padding},
            "within_bound": self.within_bound,
            "seconds": self.seconds,
            "correct": self.correct,
        }


def measure(
    model: Model, bound: Bound, words: Callable[[random.Random], Iterator[str]], oracle: Oracle, engine: Engine
) -> Row:
    """Write the model, load it again, run a few words, and read off what it took."""
    with tempfile.TemporaryDirectory() as scratch:
        model = load(save(model, Path(scratch) / "model"))
    steps, seconds, correct = model.steps, None, None
    try:
        for word in words(random.Random(model.length)):
            tokens = read_word(model, word)
            start = time.perf_counter()
            trace = run(model, tokens, engine=engine, canvas=False)
            took = time.perf_counter() - start
            seconds = took if seconds is None else min(seconds, took)
            steps = trace.steps_taken
            correct = correct is not False and oracle(word) == symbols_outcome(model, trace.output[-1:])
    except TooLarge:
        pass  # the row says so: seconds is None
    transformers = model.transformers.values()
    return Row(
        framework=model.kind,
        length=model.length,
        steps=steps,
        padding=model.padding,
        width=max(t.width for t in transformers),
        layers=max(len(t.layers) for t in transformers),
        heads=max((len(layer.heads) for t in transformers for layer in t.layers), default=0),
        parameters=sum(t.parameters for t in transformers),
        precision=model.precision.p,
        bound=bound,
        seconds=seconds,
        correct=correct,
    )
