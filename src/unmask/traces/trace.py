"""Trace: everything that happened while a model read one word.

Names are stable: `steps.3.predictor.layers.0.heads.1.weights` is what head 1 of layer 0 of the predictor
attended to in step 3, `steps.3.predictor.layers.0.residual` the stream after that layer, `….embed` the one
before the first. A looped model has `initial.model.…`, `steps.T.model.…` per loop, and `final.model.…`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from unmask.errors import UnmaskError
from unmask.weights.model import Kind, Model

FORMAT = "unmask-trace/1"
_PLAIN = ("kind", "length", "padding", "accept", "reject", "mask", "steps_taken")


class TraceError(UnmaskError):
    """Traces that cannot be read or compared."""


@dataclass(frozen=True, eq=False)
class Trace:
    """One word, one run. `canvas[t]` are the tokens after step t, `chosen[t]` the slots written in it.

    A looped model has one canvas, its answer; a run that was told to forget its canvas has the last one.
    """

    kind: Kind
    length: int
    padding: int
    vocabulary: tuple[str, ...]
    accept: str
    reject: str
    mask: str | None
    word: tuple[int, ...]
    canvas: tuple[np.ndarray, ...]
    chosen: tuple[np.ndarray, ...]
    steps_taken: int = 0
    activations: dict[str, np.ndarray] = field(default_factory=dict)
    registers: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        model: Model,
        word: Sequence[int],
        canvas: Sequence[np.ndarray],
        chosen: Sequence[np.ndarray],
        steps_taken: int,
        activations: dict[str, np.ndarray] | None = None,
    ) -> "Trace":
        return cls(
            kind=model.kind,
            length=model.length,
            padding=model.padding,
            vocabulary=model.vocabulary,
            accept=model.accept,
            reject=model.reject,
            mask=model.mask,
            word=tuple(int(t) for t in word),
            canvas=tuple(canvas),
            chosen=tuple(chosen),
            steps_taken=steps_taken,
            activations=activations or {},
            registers={name: t.registers.names for name, t in model.transformers.items() if t.registers is not None},
        )

    @property
    def output(self) -> list[str]:
        """The symbols of the slots at the end."""
        return self.symbols(self.canvas[-1])

    @property
    def canvas_symbols(self) -> list[list[str]]:
        return [self.symbols(tokens) for tokens in self.canvas]

    @property
    def accepted(self) -> bool | None:
        """None if the last symbol is neither accept nor reject."""
        return {self.accept: True, self.reject: False}.get(self.output[-1])

    def symbols(self, tokens: Sequence[int] | np.ndarray) -> list[str]:
        return [self.vocabulary[t] for t in tokens]

    def register_name(self, transformer: str, column: int) -> str:
        names = self.registers.get(transformer)
        return f"column {column}" if names is None else names[column]

    def to_json(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            **{name: getattr(self, name) for name in _PLAIN},
            "vocabulary": list(self.vocabulary),
            "word": list(self.word),
            "canvas": [tokens.tolist() for tokens in self.canvas],
            "chosen": [np.flatnonzero(chosen).tolist() for chosen in self.chosen],
            "activations": {name: array.tolist() for name, array in self.activations.items()},
            "registers": {name: list(names) for name, names in self.registers.items()},
        }

    @classmethod
    def from_json(cls, data: Any) -> "Trace":
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise TraceError(f'a trace is a JSON object with "format": "{FORMAT}"')
        try:
            canvas = tuple(np.array(tokens, dtype=np.int64) for tokens in data["canvas"])
            return cls(
                **{name: data[name] for name in _PLAIN},
                vocabulary=tuple(data["vocabulary"]),
                word=tuple(data["word"]),
                canvas=canvas,
                chosen=tuple(_flags(c, t.size) for c, t in zip(data["chosen"], canvas, strict=True)),
                activations={name: np.array(a, dtype=np.int64) for name, a in data["activations"].items()},
                registers={name: tuple(names) for name, names in data["registers"].items()},
            )
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            raise TraceError(f"this trace is damaged: {error!r}") from None


def _flags(indices: list[int], size: int) -> np.ndarray:
    flags = np.zeros(size, dtype=bool)
    flags[indices] = True
    return flags
