"""Model × Trace × Recording → Panel: one run, as data that a page can hold.

    packed(a) = {"type": "int8", "shape": [T, …], "data": base64(deflate(a[0], a[1] - a[0], …))}

Consecutive steps of a run are nearly equal, so most differences are 0. Differences wrap around, so that they fit
into the type of the array. The encoded size is known before the page is made; `Detail` says what was left out.
"""

import base64
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import cached_property
from typing import Any

import numpy as np

from unmask.traces.trace import Trace
from unmask.viewer.run_history import (
    Edge,
    HeadKey,
    RegisterBlocks,
    RunHistory,
    heads_of,
    history_edges,
    history_of,
    positions_over_input,
)
from unmask.viewer.run_recording import Recording
from unmask.weights.kinds import Kind
from unmask.weights.model import Model

TYPES = (np.int8, np.int16, np.int32)


def packed_array(array: np.ndarray) -> dict[str, Any]:
    """Encode an array of integers, in the smallest type that holds all of them."""
    largest = int(np.abs(array).max(initial=0))
    kind = next(t for t in TYPES if largest <= np.iinfo(t).max)
    little = np.ascontiguousarray(array, dtype=np.dtype(kind).newbyteorder("<"))
    difference = little.copy()
    difference[1:] -= little[:-1]
    data = base64.b64encode(zlib.compress(difference.tobytes(), 9)).decode("ascii")
    return {"type": np.dtype(kind).name, "shape": list(array.shape), "data": data}


NAMES: dict[Kind, str] = {
    "mdm": "masked diffusion",
    "smdm": "masked diffusion, mask-dominated",
    "topk": "masked diffusion by confidence",
    "plt": "padded looped transformer",
    "cot": "chain of thought",
    "pcot": "parallel chain of thought",
}
PLACES = 64  # a folded x is stored in 64ths of a column


class Detail(IntEnum):
    """How much of a run a page holds; each level omits one thing that the level before still has."""

    everything = 0
    last_registers = 1
    no_registers = 2
    canvas_only = 3


LEFT_OUT = {
    Detail.everything: None,
    Detail.last_registers: "To keep this page small, registers are shown only after the last layer.",
    Detail.no_registers: "This run is large, so this page does not contain its registers.",
    Detail.canvas_only: "This run is very large, so this page does not contain its attention and its registers.",
}


@dataclass(frozen=True, eq=False)
class Panel:
    """One run of a view. `planner` names a planner that replaced the model's own."""

    history: RunHistory
    recording: Recording
    blocks: Mapping[str, RegisterBlocks]
    scale: int | None
    bound: int | None
    k: int | None = None
    planner: str | None = None
    sampled: bool = False
    converted_by: tuple[str, ...] = ()
    """The theorems by which the model was converted for this view; none if it was compiled."""
    detail: Detail = Detail.everything

    @classmethod
    def of(
        cls, model: Model, trace: Trace, recording: Recording, *, planner: str | None = None, sampled: bool = False
    ) -> "Panel":
        blocks = {name: t.registers.blocks for name, t in model.transformers.items() if t.registers is not None}
        return cls(
            history_of(trace, recording, blocks.get("model", ()), model.begin),
            recording,
            blocks,
            scale=model.precision.one,
            bound=model.precision.bound,
            k=model.k,
            planner=planner,
            sampled=sampled,
        )

    @classmethod
    def of_trace(cls, trace: Trace) -> "Panel":
        """Return the panel of a trace without its model: no logits, and values as integers of F_p."""
        recording = Recording.of_trace(trace)
        blocks = {name: _blocks(names) for name, names in trace.registers.items()}
        return cls(history_of(trace, recording, blocks.get("model", ())), recording, blocks, scale=None, bound=None)

    @property
    def trace(self) -> Trace:
        return self.history.trace

    @property
    def name(self) -> str:
        planner = f", planner {self.planner}" if self.planner else ""
        converted = f", converted by {', '.join(self.converted_by)}" if self.converted_by else ""
        return f"{NAMES[self.trace.kind]}{planner}{converted}"

    @property
    def steps(self) -> str:
        """Return `4 steps`, or `4 loops` for a looped model."""
        return count_with_noun(self.trace.steps_taken, "loop" if self.history.looped else "step")

    @cached_property
    def heads(self) -> list[HeadKey]:
        return heads_of(self.recording)

    @cached_property
    def edges(self) -> list[Edge] | None:
        return history_edges(self.history, self.recording)

    @cached_property
    def places(self) -> dict[tuple[int, int], float]:
        """Return the positions of the input and of every event when the canvas is folded over the input."""
        return positions_over_input(self.history, self.edges or ())

    def reduced(self) -> "Panel":
        """Return the panel with the next smaller detail; the level `last layer` does not exist for a loop."""
        smaller = Detail(self.detail + 1)
        skipped = smaller is Detail.last_registers and self.history.looped
        return replace(self, detail=Detail.no_registers if skipped else smaller)

    @property
    def unpacked_bytes(self) -> int:
        """Return the memory that the registers take in a browser, where all moments have as many rows as the last."""
        rows = self.history.tokens.shape[1]
        sizes = [
            r.itemsize * rows * r.shape[1] for key, r in self.recording.residual.items() if key in self._stored_streams
        ]
        return sum(sizes)

    @cached_property
    def _stored_streams(self) -> set[tuple[str, int, int]]:
        """Return the residual streams that the page holds."""
        every = self.recording.residual.keys()
        last = {name: max(stage for n, _, stage in every if n == name) for name, _, _ in every}
        if self.detail >= Detail.no_registers:
            return set()
        return {key for key in every if self.detail is Detail.everything or key[2] == last[key[0]]}

    @property
    def left_out(self) -> list[str]:
        """Return a note for each detail that was left out."""
        notes = [LEFT_OUT[self.detail]]
        if self.recording.dropped:
            missing = " and ".join(self.recording.dropped)
            notes.append(f"This run is too large to record its {missing}.")
        if self.edges is None:
            notes.append("There are too many reads to draw all of them; select a slot to see the rows that it reads.")
        if self.scale is None:
            notes.append(
                "Values are the integers of F_p, scaled by 2^p. Logits are not shown, because they need the model."
            )
        if self.sampled:
            notes.append("Symbols were sampled. The logits are shown without the sampling noise.")
        return [note for note in notes if note]

    def to_json(self) -> dict[str, Any]:
        trace, history = self.trace, self.history
        edges = [(e.line, e.column, e.source_line, e.source, e.head) for e in self.edges or ()]
        places = [(line, column, round(x * PLACES)) for (line, column), x in self.places.items()]
        return {
            "kind": trace.kind,
            "name": self.name,
            "steps": trace.steps_taken,
            "length": trace.length,
            "padding": trace.padding,
            "accepted": trace.accepted,
            "accept": trace.accept,
            "mask": history.mask,
            "firstSlot": history.first_slot,
            "slotNames": list(trace.slots),
            "register": history.register,
            "symbols": list(history.symbols),
            "scale": self.scale or 1,
            "bound": self.bound,
            "k": self.k,
            "planner": self.planner,
            "leftOut": self.left_out,
            "tokens": packed_array(history.tokens),
            "change": packed_array(history.change),
            "edges": packed_array(np.array(edges, dtype=np.int64).reshape(-1, 5)),
            "places": packed_array(np.array(places, dtype=np.int64).reshape(-1, 3)),
            "heads": [self._head_json(head) for head in self.heads] if self.detail < Detail.canvas_only else [],
            "transformers": [self._transformer_json(name) for name in self._transformers],
        }

    @cached_property
    def _transformers(self) -> list[str]:
        names = {key[0] for key in (*self.recording.residual, *self.recording.attention, *self.recording.decisions)}
        return sorted(names)

    def _head_json(self, head: HeadKey) -> dict[str, Any]:
        """Return the attention of one head at all moments that have it; the growing rows of a chain are padded."""
        name, layer, index = head
        moments = [at for n, at, i, j in self.recording.attention if (n, i, j) == head]
        reads = [self.recording.attention[name, at, layer, index] for at in moments]
        counts = np.zeros((len(reads), max(len(r.counts) for r in reads)), dtype=np.int64)
        for row, r in zip(counts, reads, strict=True):
            row[: len(r.counts)] = r.counts
        return {
            "transformer": name,
            "layer": layer,
            "head": index,
            "first": moments[0],
            "counts": packed_array(counts),
            "keys": packed_array(np.concatenate([r.keys for r in reads])),
            "weights": packed_array(np.concatenate([r.weights for r in reads])),
        }

    def _transformer_json(self, name: str) -> dict[str, Any]:
        stages = sorted({stage for n, _, stage in self._stored_streams if n == name})
        decided = {at: d for (n, at), d in self.recording.decisions.items() if n == name}
        return {
            "name": name,
            "registers": [[register, list(labels)] for register, labels in self.blocks.get(name, ())],
            "stages": [self._stage_json(name, stage) for stage in stages],
            "decided": self._decisions_json(decided) if decided else None,
        }

    def _stage_json(self, name: str, stage: int) -> dict[str, Any]:
        moments = [at for n, at, s in self.recording.residual if (n, s) == (name, stage)]
        streams = [self.recording.residual[name, at, stage] for at in moments]
        largest = max(len(stream) for stream in streams)
        largest_streams = np.zeros((len(streams), largest, streams[0].shape[1]), dtype=np.result_type(*streams))
        for padded, stream in zip(largest_streams, streams, strict=True):
            padded[: len(stream)] = stream
        return {"stage": stage, "first": moments[0], "values": packed_array(largest_streams)}

    def _decisions_json(self, decided: dict[int, Any]) -> dict[str, Any]:
        """Return the decisions; moments without one (the loops before the answer) are omitted."""
        first = min(decided)
        outputs = next(iter(decided.values())).symbols.shape[1]
        rows = self.history.tokens.shape[1]
        symbols = np.full((len(decided), rows, outputs), -1)
        values = np.zeros_like(symbols)
        for i, at in enumerate(sorted(decided)):
            symbols[i, decided[at].rows] = decided[at].symbols
            values[i, decided[at].rows] = decided[at].values
        return {"first": first, "symbols": packed_array(symbols), "values": packed_array(values)}


def count_with_noun(number: int, noun: str) -> str:
    """Return the number with its noun: `1 step`, `2 steps`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _blocks(names: tuple[str, ...]) -> RegisterBlocks:
    """Group names of columns such as `state:q3` into registers with their labels."""
    blocks: list[tuple[str, list[str]]] = []
    for name in names:
        register, _, label = name.partition(":")
        if not blocks or blocks[-1][0] != register:
            blocks.append((register, []))
        blocks[-1][1].append(label)
    return blocks
