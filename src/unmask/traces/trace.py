"""Trace: everything that happened while a model read one word.

Names are stable: `steps.3.predictor.layers.0.heads.1.weights` are the attention weights of head 1 of layer 0 of the
predictor in step 3, `steps.3.predictor.layers.0.residual` is the stream after that layer, `….embed` the stream
before the first layer. A looped model has `initial.model.…`, `steps.T.model.…` per loop, and `final.model.…`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

import msgspec
import numpy as np

from unmask.errors import UnmaskError, shortened
from unmask.files import DocumentErrors, must_be, read_document
from unmask.traces.notebook import draw_trace
from unmask.weights.kinds import KINDS, Kind
from unmask.weights.model import Model

FORMAT = "unmask-trace/1"


class TraceError(UnmaskError):
    """The error for traces that cannot be read or compared."""


ERRORS = DocumentErrors(
    no_object=f'a trace is a JSON object with "format": "{FORMAT}"',
    unknown="this trace is damaged: it has the unknown key {key!r}; remove it",
    missing="this trace is damaged: it lacks the key {key!r}; record it again",
    wrong="this trace is damaged: {key} must be {expected}, not {value}; record it again",
    error=TraceError,
)
_PLAIN = ("kind", "length", "padding", "accept", "reject", "mask", "steps_taken")

Int64 = Annotated[int, msgspec.Meta(ge=-(1 << 63), le=(1 << 63) - 1)]
Whole = Annotated[int, must_be("an integer")]
Symbol = Annotated[str, must_be("a string")]
Tokens = Annotated[tuple[Int64, ...], must_be("a list of integers")]


class TraceDocument(msgspec.Struct, frozen=True):
    """The JSON object of a trace; `chosen` holds the numbers of the slots."""

    kind: Annotated[Kind, must_be(f"one of {', '.join(KINDS)}")]
    length: Whole
    padding: Whole
    accept: Symbol
    reject: Symbol
    mask: Symbol | None
    steps_taken: Whole
    vocabulary: Annotated[tuple[str, ...], must_be("a list of strings")]
    word: Tokens
    canvas: Annotated[tuple[tuple[Int64, ...], ...], must_be("lists of integers")]
    chosen: Annotated[tuple[tuple[Int64, ...], ...], must_be("lists of integers")]
    activations: Annotated[dict[str, list[list[Int64]]], must_be("names with tables of integers")]
    registers: Annotated[dict[str, tuple[str, ...]], must_be("names with lists of strings")]
    aliases: Annotated[dict[str, str], must_be("an object that maps symbols to symbols")]
    slots: Annotated[tuple[str, ...], must_be("a list of strings")] = ()


@dataclass(frozen=True, eq=False)
class Trace:
    """The run of a model on one word. `canvas[t]` are the tokens after step t, `chosen[t]` the slots written in it.

    A looped model has one canvas, its answer; a run without a recorded canvas has the last one. A notebook shows
    a trace as the page of `unmask view`. With `record=True`, the page also shows what every slot read and contained.

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
    slots: tuple[str, ...] = ()
    """The names that a program gives to the slots; a comment."""
    left_out: str | None = None
    """A message that says what was not recorded, and why."""

    @classmethod
    def of(
        cls,
        model: Model,
        word: Sequence[int],
        canvas: Sequence[np.ndarray],
        chosen: Sequence[np.ndarray],
        steps_taken: int,
        activations: dict[str, np.ndarray] | None = None,
        *,
        left_out: str | None = None,
    ) -> "Trace":
        return cls(
            kind=model.kind,
            length=model.length,
            padding=model.padding,
            vocabulary=model.vocabulary,
            accept=model.accept,
            reject=model.reject,
            mask=model.mask,
            word=tuple(np.asarray(word, dtype=np.int64).tolist()),
            canvas=tuple(canvas),
            chosen=tuple(chosen),
            steps_taken=steps_taken,
            activations=activations or {},
            registers={name: t.registers.names for name, t in model.transformers.items() if t.registers is not None},
            aliases=dict(model.aliases),
            slots=model.slot_names,
            left_out=left_out,
        )

    @property
    def output(self) -> list[str]:
        """The symbols of the slots after the last step."""
        return self.symbols(self.canvas[-1])

    @property
    def canvas_symbols(self) -> list[list[str]]:
        return [self.symbols(tokens) for tokens in self.canvas]

    @property
    def accepted(self) -> bool | None:
        """Whether the word was accepted; None if the last symbol, after aliases, is neither accept nor reject."""
        last = self.aliases.get(self.output[-1], self.output[-1])
        return {self.accept: True, self.reject: False}.get(last)

    def symbols(self, tokens: Sequence[int] | np.ndarray) -> list[str]:
        return [self.vocabulary[t] for t in tokens]

    def register_name(self, transformer: str, column: int) -> str:
        names = self.registers.get(transformer)
        return names[column] if names is not None and column < len(names) else f"column {column}"

    @property
    def text(self) -> str:
        """The word as it is typed, with a token for each character of a class."""
        symbols = self.symbols(self.word)
        return ("" if all(len(symbol) == 1 for symbol in symbols) else " ").join(symbols)

    def __repr__(self) -> str:
        """`Trace(mdm, 'aabb', accepted after 2 steps)`."""
        answer = {True: "accepted", False: "rejected", None: shortened(repr(self.output[-1]))}[self.accepted]
        steps = f"{self.steps_taken} step{'' if self.steps_taken == 1 else 's'}"
        return f"Trace({self.kind}, {shortened(self.text)!r}, {answer} after {steps})"

    def _repr_html_(self) -> str | None:
        """The page of `unmask view`, for a notebook."""
        return draw_trace(self)

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
            "slots": list(self.slots),
        }

    @classmethod
    def from_json(cls, data: Any) -> "Trace":
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise ERRORS.error_with(ERRORS.no_object)
        document = read_document(data, TraceDocument, ERRORS)
        try:
            trace = cls(
                **{
                    name: getattr(document, name)
                    for name in (*_PLAIN, "vocabulary", "word", "registers", "aliases", "slots")
                },
                canvas=tuple(_integers(tokens, axes=1) for tokens in document.canvas),
                chosen=tuple(_flags(c, len(t)) for c, t in zip(document.chosen, document.canvas, strict=True)),
                activations={name: _integers(a, axes=2) for name, a in document.activations.items()},
            )
            trace._check()
        except (ValueError, IndexError) as error:
            raise TraceError(f"this trace is damaged: {shortened(str(error), most=120)}; record it again") from None
        return trace

    def _check(self) -> None:
        """Check what the types of the fields do not: properties that displaying and comparing a trace require."""
        _require(self.mask is None or self.mask in self.vocabulary, "the mask is not in the vocabulary")
        _require(len(self.canvas) > 0 and self.canvas[-1].size > 0, "the canvas is missing, or the last one is empty")
        _require(len(self.word) == self.length, "its word has another length than it says")
        rows = 1 + self.length if self.kind == "plt" else 0  # the answers of a looped model may be in rows of the input
        most = self.padding + rows
        _require(all(tokens.size <= most for tokens in self.canvas), "a canvas has more slots than it says")
        _require(self.steps_taken >= 0, "the number of its steps is negative")
        _require(self.kind == "plt" or len(self.canvas) <= self.steps_taken, "it has more canvases than steps")
        for tokens in (_integers(self.word, axes=1), *self.canvas):
            within = ((tokens >= 0) & (tokens < len(self.vocabulary))).all()
            _require(within, "a token is not in the vocabulary")


def _require(holds: object, reason: str) -> None:
    if not holds:
        raise ValueError(reason)


def _integers(value: Sequence, *, axes: int) -> np.ndarray:
    """Return nested lists of integers as an array; an empty list gets the required number of axes."""
    array = np.array(value)
    if array.size == 0:
        return array.astype(np.int64).reshape(array.shape if array.ndim == axes else (0,) * axes)
    return array


def _flags(indices: Sequence[int], size: int) -> np.ndarray:
    flags = np.zeros(size, dtype=bool)
    flags[_integers(indices, axes=1)] = True
    return flags


# Trace → the document that `run --json` prints.


def trace_result(trace: Trace, *, canvas: bool = True, outputs: int = 1) -> dict[str, Any]:
    """Return the result and the number of steps. `outputs` is the number of last slots that hold the answers."""
    document: dict[str, Any] = {
        "accepted": trace.accepted,
        "steps": trace.steps_taken,
        "length": trace.length,
        "padding": trace.padding,
        "output": trace.output,
    }
    if 1 < outputs <= len(trace.output):
        document["outputs"] = outputs_of(trace, trace.output[-outputs:])
    if canvas:
        document["canvas"] = trace.canvas_symbols
        if trace.left_out is not None:
            document["left_out"] = trace.left_out
    return document


def outputs_of(source: Trace | Model, symbols: list[str]) -> list[Any]:
    """Return 1 and 0 for the symbols of acceptance and rejection, None for a mask, any other symbol as it is."""
    values = {source.mask: None, source.reject: 0, source.accept: 1}
    meanings = (source.aliases.get(symbol, symbol) for symbol in symbols)
    return [values.get(symbol, symbol) for symbol in meanings]
