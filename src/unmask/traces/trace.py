"""Trace: everything that happened while a model read one word.

Names are stable: `steps.3.predictor.layers.0.heads.1.weights` is what head 1 of layer 0 of the predictor
attended to in step 3, `steps.3.predictor.layers.0.residual` the stream after that layer, `….embed` the one
before the first. A looped model has `initial.model.…`, `steps.T.model.…` per loop, and `final.model.…`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from unmask.errors import UnmaskError, shortened
from unmask.weights.model import KINDS, Kind, Model

FORMAT = "unmask-trace/1"
_PLAIN = ("kind", "length", "padding", "accept", "reject", "mask", "steps_taken")


class TraceError(UnmaskError):
    """Traces that cannot be read or compared."""


@dataclass(frozen=True, eq=False)
class Trace:
    """One word, one run. `canvas[t]` are the tokens after step t, `chosen[t]` the slots written in it.

    A looped model has one canvas, its answer; a run that was told to forget its canvas has the last one. A notebook
    shows a trace as the page of `unmask view`; made with `record=True`, it tells what every slot read and held.

    Examples:
        >>> trace = run_word(compile_problem("(a|b)*abb", "mdm", length=4), "aabb")
        >>> trace.accepted, trace.steps_taken, trace.canvas_symbols
        (True, 2, [['a', 'bb', 'm'], ['a', 'bb', '1']])
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
    aliases: dict[str, str] = field(default_factory=dict)

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
            aliases=dict(model.aliases),
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
        """None if the last symbol, or what it is an alias of, is neither accept nor reject."""
        last = self.aliases.get(self.output[-1], self.output[-1])
        return {self.accept: True, self.reject: False}.get(last)

    def symbols(self, tokens: Sequence[int] | np.ndarray) -> list[str]:
        return [self.vocabulary[t] for t in tokens]

    def register_name(self, transformer: str, column: int) -> str:
        names = self.registers.get(transformer)
        return names[column] if names is not None and column < len(names) else f"column {column}"

    @property
    def text(self) -> str:
        """The word as it is typed, except that a class of characters is its token."""
        symbols = self.symbols(self.word)
        return ("" if all(len(symbol) == 1 for symbol in symbols) else " ").join(symbols)

    def __repr__(self) -> str:
        """`Trace(mdm, 'aabb', accepted after 2 steps)`."""
        answer = {True: "accepted", False: "rejected", None: shortened(repr(self.output[-1]))}[self.accepted]
        steps = f"{self.steps_taken} step{'' if self.steps_taken == 1 else 's'}"
        return f"Trace({self.kind}, {shortened(self.text)!r}, {answer} after {steps})"

    def _repr_html_(self) -> str:
        """What a notebook shows: the page of `unmask view`."""
        from unmask.traces.notebook import framed

        return framed(self)

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
            "aliases": self.aliases,
        }

    @classmethod
    def from_json(cls, data: Any) -> "Trace":
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise TraceError(f'a trace is a JSON object with "format": "{FORMAT}"')
        try:
            trace = cls(
                **{name: data[name] for name in _PLAIN},
                vocabulary=tuple(data["vocabulary"]),
                word=tuple(data["word"]),
                canvas=tuple(_integers(tokens, axes=1) for tokens in data["canvas"]),
                chosen=tuple(_flags(c, len(t)) for c, t in zip(data["chosen"], data["canvas"], strict=True)),
                activations={name: _integers(a, axes=2) for name, a in data["activations"].items()},
                registers={name: tuple(names) for name, names in data["registers"].items()},
                aliases={str(old): str(new) for old, new in data["aliases"].items()},
            )
            trace._check()
        except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
            raise TraceError(f"this trace is damaged: {shortened(repr(error), most=120)}") from None
        return trace

    def _check(self) -> None:
        """What reading and comparing a trace relies on; a trace from a file may hold anything."""
        for name in ("kind", "accept", "reject"):
            _require(isinstance(getattr(self, name), str), f"{name} is not a string")
        for name in ("length", "padding", "steps_taken"):
            _require(type(getattr(self, name)) is int, f"{name} is not an integer")
        _require(self.mask is None or self.mask in self.vocabulary, "the mask is not in the vocabulary")
        _require(all(isinstance(s, str) for s in self.vocabulary), "the vocabulary is not made of strings")
        _require(self.kind in KINDS and len(self.canvas) > 0, "there is no such kind, or no canvas")
        _require(self.kind == "plt" or len(self.canvas) <= self.steps_taken, "it has more canvases than steps")
        for tokens in (_integers(list(self.word), axes=1), *self.canvas):
            within = ((tokens >= 0) & (tokens < len(self.vocabulary))).all()
            _require(within, "a token is not in the vocabulary")
        for names in self.registers.values():
            _require(all(isinstance(name, str) for name in names), "a register is not a string")


def _require(holds: object, reason: str) -> None:
    if not holds:
        raise ValueError(reason)


def _integers(value: object, *, axes: int) -> np.ndarray:
    """Nested lists of integers, and of nothing that could be taken for one."""
    array = np.array(value)
    if array.size == 0:
        array = array.astype(np.int64).reshape(array.shape if array.ndim == axes else (0,) * axes)
    _require(array.ndim == axes and array.dtype == np.int64, f"it holds no list of integers with {axes} axes")
    return array


def _flags(indices: list[int], size: int) -> np.ndarray:
    flags = np.zeros(size, dtype=bool)
    flags[_integers(indices, axes=1)] = True
    return flags
