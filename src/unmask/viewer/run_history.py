"""Trace × Recording → RunHistory: the canvas after every step, what each step wrote, and from which sources.

Line 0 is the canvas before the first step, line t + 1 the one after step t. A column is a row of the transformer:
begin symbol, input, slots. A looped model has no canvas: its line 0 is the residual stream after the layers before the
loop, line t the one after loop t, and the last line is the answer; its cells show one register.

    sources(row, last layer) = {row} ∪ ⋃ over heads and keys of sources(key, layer before)

A row counts as a source if it is not empty when it is read: a letter of the input or a slot that was written. The
sources come from the attention weights alone, so random weights have sources too.

    x(input i) = i,      x(event) = mean of x over its sources,      events of one line at least a gap apart
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from unmask.limits import check_memory
from unmask.traces.trace import Trace
from unmask.viewer.run_recording import AttentionReads, Recording

NOTHING = -1
KEPT, WRITTEN, EDITED, REPEATED = range(4)
"""What a step did to a slot: nothing, or it wrote the first symbol, another symbol, or the same symbol again."""
RegisterBlocks = Sequence[tuple[str, Sequence[str]]]
"""(register, labels of its columns), in column order."""


@dataclass(frozen=True, eq=False)
class RunHistory:
    """tokens[line, column] indexes `symbols`, or is NOTHING; change[line, column] is KEPT, WRITTEN, …"""

    trace: Trace
    symbols: tuple[str, ...]
    tokens: np.ndarray
    change: np.ndarray
    first_slot: int
    register: str | None = None
    """The register that the cells of a looped model show."""

    @property
    def lines(self) -> int:
        return len(self.tokens)

    @property
    def looped(self) -> bool:
        return self.trace.kind == "plt"

    @property
    def mask(self) -> int:
        """The token of a slot that is still empty."""
        if self.looped or self.trace.mask is None or self.trace.kind == "cot":
            return NOTHING
        return self.trace.vocabulary.index(self.trace.mask)

    def moment(self, line: int) -> int | None:
        """Return the moment whose computation led to this line; None before the first step."""
        return line if self.looped else line - 1 if line else None

    def deciding_row(self, line: int, column: int) -> int:
        """Return the row whose logits wrote this column: its own row, or the row before it in a chain of thought."""
        chained = self.trace.kind == "cot" and self.change[line, column] != KEPT
        return column - 1 if chained else column

    def events(self) -> list[tuple[int, int]]:
        """Return (line, column) of every write that changed a cell, in the order of the lines."""
        return [(int(line), int(column)) for line, column in np.argwhere(self._new)]

    @cached_property
    def _new(self) -> np.ndarray:
        return (self.change == WRITTEN) | (self.change == EDITED)

    def last_written(self, line: int, column: int) -> int:
        """Return the line in which the content that step `line` reads in a column was written; 0 for the input."""
        earlier = np.flatnonzero(self._new[:line, column])
        return int(earlier[-1]) if earlier.size else 0


def history_of(trace: Trace, recording: Recording, blocks: RegisterBlocks, begin: str | None = None) -> RunHistory:
    """Return the history of a trace, which does not store its begin symbol; of a looped model, from its recording."""
    if trace.kind == "plt":
        return _loop_history(trace, recording, blocks)
    history = _canvas_history(trace, recording.first_slot)
    if begin is not None:
        history.tokens[:, : recording.first_slot - trace.length] = trace.vocabulary.index(begin)
    return history


def _canvas_history(trace: Trace, first_slot: int) -> RunHistory:
    columns = first_slot + max(len(canvas) for canvas in trace.canvas)
    tokens = np.full((len(trace.canvas) + 1, columns), NOTHING)
    change = np.full(tokens.shape, KEPT)
    tokens[:, first_slot - trace.length : first_slot] = trace.word
    if trace.mask is not None and trace.kind not in ("cot", "pcot"):
        tokens[0, first_slot:] = trace.vocabulary.index(trace.mask)
    for line, (canvas, chosen) in enumerate(zip(trace.canvas, trace.chosen, strict=True), start=1):
        slots = slice(first_slot, first_slot + len(canvas))
        before = tokens[line - 1, slots]
        fresh = (before == NOTHING) | (before == tokens[0, slots])
        tokens[line, slots] = canvas
        again = np.where(canvas == before, REPEATED, EDITED)
        change[line, slots] = np.where(chosen, np.where(fresh, WRITTEN, again), KEPT)
    return RunHistory(trace, trace.vocabulary, tokens, change, first_slot)


def _loop_history(trace: Trace, recording: Recording, blocks: RegisterBlocks) -> RunHistory:
    columns = recording.first_slot + trace.padding
    check_memory(16 * columns * (trace.steps_taken + 2), f"the page of a run with {trace.steps_taken:,} loops")
    tokens = np.full((trace.steps_taken + 2, columns), NOTHING)
    change = np.full(tokens.shape, KEPT)
    streams = _after_each_loop(recording, trace.steps_taken)
    symbols, register = trace.vocabulary, None
    if streams is not None:
        change[1:-1] = (streams[1:] != streams[:-1]).any(axis=2)
        name, labels, label_numbers = _most_informative_register(streams, blocks)
        if name is not None:
            symbols, register = (*trace.vocabulary, *labels), name
            tokens[:-1] = np.where(label_numbers == NOTHING, NOTHING, label_numbers + len(trace.vocabulary))
            change[1:-1] = label_numbers[1:] != label_numbers[:-1]
    if register is None:
        tokens[0, recording.first_slot - trace.length : recording.first_slot] = trace.word
    answers = trace.canvas[-1]
    tokens[-1, columns - answers.size :] = answers
    change[-1, columns - answers.size :] = WRITTEN
    return RunHistory(trace, symbols, tokens, change, recording.first_slot, register)


def _after_each_loop(recording: Recording, loops: int) -> np.ndarray | None:
    """[loops + 1, rows, width]: the stream before the first loop and after each, where it was recorded."""
    streams = []
    for moment in range(loops + 1):
        stages = [stage for _, at, stage in recording.residual if at == moment]
        if stages:
            streams.append(recording.residual["model", moment, max(stages)].astype(np.int64))
        elif streams:  # a loop without layers leaves the stream unchanged
            streams.append(streams[-1])
        else:
            return None
    return np.stack(streams)


def _most_informative_register(
    streams: np.ndarray, blocks: RegisterBlocks
) -> tuple[str | None, Sequence[str], np.ndarray]:
    """Return (name, labels, label of each row after each loop) of a one-hot register that changes.

    Of the registers that are not empty in most rows before the first loop, choose the one that changes most.
    """
    best: tuple[tuple[int, int], str | None, Sequence[str], np.ndarray] = ((-1, 0), None, (), np.zeros(0))
    first = 0
    for name, labels in blocks:
        values = streams[:, :, first : first + len(labels)]
        first += len(labels)
        alone = (values > 0).sum(axis=2) == 1
        label_numbers = np.where(alone & (len(labels) > 1), values.argmax(axis=2), NOTHING)
        changes = int((label_numbers[1:] != label_numbers[:-1]).sum())
        score = (int((label_numbers[0] != NOTHING).sum()), changes)
        if changes and score > best[0]:
            best = (score, name, labels, label_numbers)
    return best[1:]


HeadKey = tuple[str, int, int]
"""(transformer, layer, head)"""
CONTINUES = -1
MOST_EDGES = 20_000


@dataclass(frozen=True)
class Edge:
    """The symbol written at (line, column) was computed from column `source`, which was written in `source_line`.

    `head` indexes the heads of the run, or is CONTINUES: a chain of thought continues from its last symbol.
    """

    line: int
    column: int
    source_line: int
    source: int
    head: int


def heads_of(recording: Recording) -> list[HeadKey]:
    """Return all heads of a run, those of the planner first."""
    heads = {(name, layer, head) for name, _, layer, head in recording.attention}
    return sorted(heads, key=lambda head: (head[0] != "planner", head))


def history_edges(history: RunHistory, recording: Recording) -> list[Edge] | None:
    """Return the edges of every event in turn; None if there are too many to draw."""
    heads = heads_of(recording)
    edges: list[Edge] = []
    for line, column in history.events():
        moment = history.moment(line)
        if moment is None:
            continue
        row = history.deciding_row(line, column)
        sources = _sources(row, _reads_by_layer(recording, heads, moment))
        if row != column and row >= history.first_slot:
            sources[row] = CONTINUES
        for source, head in sorted(sources.items()):
            if source != column and _is_filled(history, line, source):
                edges.append(Edge(line, column, history.last_written(line, source), source, head))
        if len(edges) > MOST_EDGES:
            return None
    return edges


def _reads_by_layer(recording: Recording, heads: list[HeadKey], moment: int) -> list[list[tuple[int, AttentionReads]]]:
    """Return (index of the head, its reads) for each layer of the transformer that writes, the last layer first."""
    layers: dict[int, list[tuple[int, AttentionReads]]] = defaultdict(list)
    for index, (name, layer, head) in enumerate(heads):
        reads = recording.attention.get((name, moment, layer, head))
        if name != "planner" and reads is not None:
            layers[layer].append((index, reads))
    return [layers[layer] for layer in sorted(layers, reverse=True)]


def _sources(row: int, layers: list[list[tuple[int, AttentionReads]]]) -> dict[int, int]:
    """Return a mapping from each source row to the head that reads it."""
    reached, sources = {row}, {}
    for layer in layers:
        read = [
            (key, head) for reader in reached for head, reads in layer for key in reads.keys_of(reader) if key != reader
        ]
        for key, head in read:
            sources.setdefault(key, head)
        reached |= {key for key, _ in read}
    sources.pop(row, None)
    return sources


def _is_filled(history: RunHistory, line: int, source: int) -> bool:
    if history.looped:
        return True
    return source < history.first_slot or history.tokens[line - 1, source] not in (NOTHING, history.mask)


LARGEST_GAP = 0.9  # between positions, in cells


def positions_over_input(history: RunHistory, edges: Sequence[Edge]) -> dict[tuple[int, int], float]:
    """Return (line, column) → x, in widths of an input column, for the input (line 0) and for every event."""
    width = max(1, history.first_slot if not history.looped else history.tokens.shape[1])
    position = {(0, column): float(column) for column in range(width)}
    sources: dict[tuple[int, int], list[Edge]] = defaultdict(list)
    for edge in edges:
        sources[edge.line, edge.column].append(edge)
    by_line: dict[int, list[int]] = defaultdict(list)
    for line, column in history.events():
        by_line[line].append(column)
    for line, columns in sorted(by_line.items()):
        wished = []
        for column in columns:
            read = [
                position[e.source_line, e.source]
                for e in sources[line, column]
                if (e.source_line, e.source) in position
            ]
            own_position = column if history.looped else (column - history.first_slot) * width / history.tokens.shape[1]
            wished.append((own_position if history.looped or not read else sum(read) / len(read), column))
        for x, (_, column) in zip(_spread([w for w, _ in sorted(wished)], width), sorted(wished), strict=True):
            position[line, column] = x
    return position


def _spread(wished: list[float], width: int) -> list[float]:
    """Return the nearest positions that keep the order and a gap, within the width of the input if they fit."""
    if not wished:
        return []
    gap = min(LARGEST_GAP, (width - 1) / max(1, len(wished) - 1))
    forward, backward = list(wished), list(wished)
    for i in range(1, len(wished)):
        forward[i] = max(forward[i], forward[i - 1] + gap)
    for i in range(len(wished) - 2, -1, -1):
        backward[i] = min(backward[i], backward[i + 1] - gap)
    middle = [(a + b) / 2 for a, b in zip(forward, backward, strict=True)]
    middle[0] = max(middle[0], 0.0)
    for i in range(1, len(middle)):
        middle[i] = max(middle[i], middle[i - 1] + gap)
    shift = max(0.0, middle[-1] - (width - 1))
    return [x - shift for x in middle] if shift <= middle[0] else _evenly_spaced(len(wished), width)


def _evenly_spaced(count: int, width: int) -> list[float]:
    return [i * (width - 1) / max(1, count - 1) for i in range(count)]
