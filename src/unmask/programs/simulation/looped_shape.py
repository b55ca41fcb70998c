"""The sizes and the symbols of a looped transformer that runs in slots, known before its predictor is written."""

from dataclasses import dataclass

import numpy as np

from unmask.numerics.precision import Precision
from unmask.programs.language.vocabulary import SPECIAL_NAMES, free_name
from unmask.programs.simulation.binary_clock import clock_slots
from unmask.weights.model import Model

MOST_HEADS = 32  # beyond this width, one head reads all entries


@dataclass(frozen=True)
class Shape:
    """The sizes of a conversion: layers, rows and columns of the source; noise columns; steps of the result, and
    how many of them its clock counts (1: there is none)."""

    initial: int
    loop: int
    final: int
    rows: int
    width: int
    noise: tuple[int, ...]
    steps: int
    clock: int
    one_head: bool
    answers: int = 1

    @classmethod
    def of(cls, source: Model, most_heads: int = MOST_HEADS) -> "Shape":
        model = source.transformers["model"]
        first, last = model.loop or (0, 0)
        noise = model.noise if source.steps else None
        columns = () if noise is None else (*noise.planner, *noise.predictor)
        steps = max(source.steps, 1) + bool(columns)
        final = len(model.layers) - last
        return cls(
            initial=first,
            loop=last - first if source.steps else 0,
            final=final,
            rows=source.rows,
            width=model.width,
            noise=columns,
            steps=steps,
            clock=steps if any(layer.heads for layer in model.layers[last:]) else 1,
            one_head=model.width > most_heads,
            answers=source.answer_rows,
        )

    @property
    def entries(self) -> int:
        return self.width + len(self.noise)

    @property
    def counter(self) -> int:
        """How many slots the clock has."""
        return clock_slots(self.clock)

    @property
    def slots(self) -> int:
        return self.rows * self.entries + self.counter + self.answers

    @property
    def expand(self) -> int:
        """How many layers there are before the initial ones."""
        return int(self.one_head and not self.initial)

    @property
    def before_loop(self) -> int:
        return self.expand + self.initial + 2

    @property
    def layers(self) -> int:
        return self.before_loop + self.loop + max(self.final + 1, 2)


@dataclass(frozen=True, eq=False)
class Alphabet:
    """The symbols of the source under their old numbers, then F_p, then the mask."""

    symbols: tuple[str, ...]
    answers: np.ndarray
    numbers: np.ndarray

    @property
    def mask(self) -> int:
        return len(self.symbols) - 1

    @classmethod
    def of(cls, source: tuple[str, ...], precision: Precision) -> "Alphabet":
        left, right = "⟨", "⟩"
        while any(symbol.startswith(left) and symbol.endswith(right) for symbol in source):
            left, right = left + "⟨", right + "⟩"
        numbers = [f"{left}{precision.meaning(a)}{right}" for a in precision.numbers()]
        mask = free_name(SPECIAL_NAMES["mask"], source)
        first, last = len(source), len(source) + len(numbers)
        return cls(
            symbols=(*source, *numbers, mask),
            answers=np.arange(first),
            numbers=np.arange(first, last),
        )
