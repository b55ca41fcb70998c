"""Recording: what a run computed, kept small while it happens.

    attention   per head and moment: the weights that are not 0, row by row
    residual    per stage and moment, in the smallest integers that hold F_p
    logits      per transformer and moment: the largest few of the rows that decide something

A moment is a step; a looped model has `initial` as moment 0, its loops as 1 … T, and `final` as T + 1. A stage is
`embed` or `layers.2`.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from unmask.traces.trace import Trace
from unmask.weights.kinds import DIFFUSION, Kind
from unmask.weights.model import Model

Logits = Callable[[str, np.ndarray], np.ndarray]
"""(transformer, rows of the last residual stream) → out·h of each row."""

MOST_WEIGHTS = 4_000_000
MOST_REGISTERS = 200_000_000
SHOWN_LOGITS = 5  # the largest of a row
_NAME = re.compile(
    r"(?:steps\.(\d+)|(initial)|(final))\.(\w+)\.(embed|layers\.\d+)(?:\.residual|\.heads\.(\d+)\.weights)?"
)


def _last_stage(layers: int) -> str:
    return f"layers.{layers - 1}" if layers else "embed"


@dataclass(frozen=True, eq=False)
class AttentionReads:
    """The nonzero entries of one attention matrix, in order; counts[row] is their number per row."""

    counts: np.ndarray
    keys: np.ndarray
    weights: np.ndarray

    @classmethod
    def of(cls, matrix: np.ndarray) -> "AttentionReads":
        rows, keys = np.nonzero(matrix)
        return cls(np.bincount(rows, minlength=len(matrix)), keys, matrix[rows, keys])

    @cached_property
    def starts(self) -> np.ndarray:
        """Return the index at which the entries of each row begin."""
        return np.concatenate([[0], np.cumsum(self.counts)])

    def keys_of(self, row: int) -> list[int]:
        """Return the rows that a row reads."""
        return self.keys[self.starts[row] : self.starts[row + 1]].tolist()


@dataclass(frozen=True, eq=False)
class RankedOutputs:
    """symbols[i, j] is the j-th likeliest output of row rows[i], values[i, j] its logit; a planner's are 0 and 1."""

    rows: np.ndarray
    symbols: np.ndarray
    values: np.ndarray


@dataclass(eq=False)
class Recording:
    """A watch of a run (see `engines.engine.Watch`). Values beyond a limit are dropped as a whole, and noted."""

    kind: Kind
    steps: int
    first_slot: int
    block: int
    mask: int | None
    logits_of: Logits | None = None
    last_stage: dict[str, str] = field(default_factory=dict)
    attention: dict[tuple[str, int, int, int], AttentionReads] = field(default_factory=dict)
    """(transformer, moment, layer, head)"""
    residual: dict[tuple[str, int, int], np.ndarray] = field(default_factory=dict)
    """(transformer, moment, stage), stage 0 before the first layer"""
    decisions: dict[tuple[str, int], RankedOutputs] = field(default_factory=dict)
    dropped: list[str] = field(default_factory=list)
    _sizes: dict[str, int] = field(default_factory=lambda: {"attention": 0, "registers": 0})

    @classmethod
    def of_model(cls, model: Model, logits: Logits | None) -> "Recording":
        return cls(
            kind=model.kind,
            steps=model.steps,
            first_slot=model.rows - model.padding,
            block=model.block or 1,
            mask=None if model.mask is None or model.kind not in DIFFUSION else model.token[model.mask],
            logits_of=logits,
            last_stage={name: _last_stage(len(t.layers)) for name, t in model.transformers.items()},
        )

    @classmethod
    def of_trace(cls, trace: Trace) -> "Recording":
        """Return the recording that a recorded trace contains; it has no logits, because they need the weights."""
        unread = trace.kind == "cot"  # no step reads the last symbol of a chain
        rows = max((len(a) + unread for a in trace.activations.values()), default=0)
        first_slot = max(trace.length, rows - trace.padding)
        recording = cls(trace.kind, trace.steps_taken, first_slot, block=1, mask=None)
        for name, value in trace.activations.items():
            recording(name, value[None])
        return recording

    def __call__(self, name: str, value: np.ndarray) -> None:
        match = _NAME.fullmatch(name)
        if match is None:
            return
        step, initial, final, transformer, stage, head = match.groups()
        looped = self.kind == "plt"
        moment = 0 if initial else self.steps + 1 if final else int(step) + looped
        layer = -1 if stage == "embed" else int(stage.removeprefix("layers."))
        if head is not None:
            self._record_attention((transformer, moment, layer, int(head)), value[0])
            return
        self._record_registers((transformer, moment, layer + 1), value[0])
        if self.logits_of and looped:  # the last stream is decoded, whichever layers it comes from
            self.decisions[transformer, self.steps + 1] = self._ranked_outputs(transformer, value[0])
        elif self.logits_of and stage == self.last_stage.get(transformer):
            self.decisions[transformer, moment] = self._ranked_outputs(transformer, value[0])

    def _record_attention(self, key: tuple[str, int, int, int], matrix: np.ndarray) -> None:
        if "attention" in self.dropped:
            return
        self.attention[key] = AttentionReads.of(matrix)
        self._sizes["attention"] += len(self.attention[key].keys)
        if self._sizes["attention"] > MOST_WEIGHTS:
            self.attention.clear()
            self.dropped.append("attention")

    def _record_registers(self, key: tuple[str, int, int], rows: np.ndarray) -> None:
        if "registers" in self.dropped:
            return
        largest = int(np.abs(rows).max(initial=0))
        self.residual[key] = rows.astype(np.int8 if largest < 128 else np.int32)
        self._sizes["registers"] += self.residual[key].nbytes
        if self._sizes["registers"] > MOST_REGISTERS:
            self.residual.clear()
            self.dropped.append("registers")

    def _ranked_outputs(self, transformer: str, rows: np.ndarray) -> RankedOutputs:
        """Return the rows that decide: all slots of a canvas, or the last rows of a chain or of a looped model."""
        first = self.first_slot if self.kind in DIFFUSION else len(rows) - (self.block if self.kind == "pcot" else 1)
        deciding = np.arange(first, len(rows))
        assert self.logits_of is not None
        values = self.logits_of(transformer, rows[deciding])
        symbols = np.broadcast_to(np.arange(values.shape[1]), values.shape)
        if transformer != "planner":
            if self.mask is not None:
                symbols, values = np.delete(symbols, self.mask, axis=1), np.delete(values, self.mask, axis=1)
            order = np.argsort(-values, axis=1, kind="stable")[:, :SHOWN_LOGITS]
            symbols, values = np.take_along_axis(symbols, order, 1), np.take_along_axis(values, order, 1)
        return RankedOutputs(deciding, symbols, values)
