"""Story: what stood where after every step, and what was written, edited or decided there.

Line 0 is the canvas before the first step, line t + 1 the one after step t. A column is a row of the transformer:
begin symbol, input, slots. A looped model has no canvas: its line 0 is the stream after the layers before the loop,
line t the one after loop t, the line after the last the answer; its cells show one register.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from unmask.budget import foresee
from unmask.traces.trace import Trace
from unmask.viewer.recording import Recording

NOTHING = -1
KEPT, WRITTEN, EDITED, REPEATED = range(4)
"""What a step did to a slot: nothing, its first symbol, another symbol, the same symbol again."""
Blocks = Sequence[tuple[str, Sequence[str]]]
"""(register, labels of its columns), in column order."""


@dataclass(frozen=True, eq=False)
class Story:
    """tokens[line, column] indexes `symbols`, or is NOTHING; change[line, column] is KEPT, WRITTEN, …"""

    trace: Trace
    symbols: tuple[str, ...]
    tokens: np.ndarray
    change: np.ndarray
    first_slot: int
    register: str | None = None
    """Which register the cells of a looped model show."""

    @property
    def lines(self) -> int:
        return len(self.tokens)

    @property
    def looped(self) -> bool:
        return self.trace.kind == "plt"

    @property
    def mask(self) -> int:
        """The token of a slot in which nothing stands yet."""
        if self.looped or self.trace.mask is None or self.trace.kind == "cot":
            return NOTHING
        return self.trace.vocabulary.index(self.trace.mask)

    def moment(self, line: int) -> int | None:
        """What was computed to get this line; None before the first step."""
        return line if self.looped else line - 1 if line else None

    def deciding_row(self, line: int, column: int) -> int:
        """The row whose logits wrote this column: its own, but the one before it in a chain of thought."""
        chained = self.trace.kind == "cot" and self.change[line, column] != KEPT
        return column - 1 if chained else column

    def events(self) -> list[tuple[int, int]]:
        """(line, column) of everything that was written and new, in the order in which it happened."""
        return [(int(line), int(column)) for line, column in np.argwhere(self._new)]

    @cached_property
    def _new(self) -> np.ndarray:
        return (self.change == WRITTEN) | (self.change == EDITED)

    def last_written(self, line: int, column: int) -> int:
        """The line in which the content of a column, as step `line` reads it, was written; 0 for the input."""
        earlier = np.flatnonzero(self._new[:line, column])
        return int(earlier[-1]) if earlier.size else 0


def story_of(trace: Trace, recording: Recording, blocks: Blocks, begin: str | None = None) -> Story:
    """Read off a trace, which does not know its begin symbol; a looped one is told by its recording."""
    if trace.kind == "plt":
        return _looped(trace, recording, blocks)
    story = _written(trace, recording.first_slot)
    if begin is not None:
        story.tokens[:, : recording.first_slot - trace.length] = trace.vocabulary.index(begin)
    return story


def _written(trace: Trace, first_slot: int) -> Story:
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
    return Story(trace, trace.vocabulary, tokens, change, first_slot)


def _looped(trace: Trace, recording: Recording, blocks: Blocks) -> Story:
    columns = recording.first_slot + trace.padding
    foresee(16 * columns * (trace.steps_taken + 2), f"the page of a run with {trace.steps_taken:,} loops")
    tokens = np.full((trace.steps_taken + 2, columns), NOTHING)
    change = np.full(tokens.shape, KEPT)
    streams = _after_each_loop(recording, trace.steps_taken)
    symbols, register = trace.vocabulary, None
    if streams is not None:
        change[1:-1] = (streams[1:] != streams[:-1]).any(axis=2)
        name, labels, held = _most_telling(streams, blocks)
        if name is not None:
            symbols, register = (*trace.vocabulary, *labels), name
            tokens[:-1] = np.where(held == NOTHING, NOTHING, held + len(trace.vocabulary))
            change[1:-1] = held[1:] != held[:-1]
    if register is None:
        tokens[0, recording.first_slot - trace.length : recording.first_slot] = trace.word
    answers = trace.canvas[-1]
    tokens[-1, columns - answers.size :] = answers
    change[-1, columns - answers.size :] = WRITTEN
    return Story(trace, symbols, tokens, change, recording.first_slot, register)


def _after_each_loop(recording: Recording, loops: int) -> np.ndarray | None:
    """[loops + 1, rows, width]: the stream before the first loop and after each, where it was recorded."""
    streams = []
    for moment in range(loops + 1):
        stages = [stage for _, at, stage in recording.residual if at == moment]
        if stages:
            streams.append(recording.residual["model", moment, max(stages)].astype(np.int64))
        elif streams:  # a loop without layers changes nothing
            streams.append(streams[-1])
        else:
            return None
    return np.stack(streams)


def _most_telling(streams: np.ndarray, blocks: Blocks) -> tuple[str | None, Sequence[str], np.ndarray]:
    """(name, labels, which label stands in each row after each loop) of one one-hot register that changes.

    Of those that hold something in most rows before the first loop, the one that changes most.
    """
    best: tuple[tuple[int, int], str | None, Sequence[str], np.ndarray] = ((-1, 0), None, (), np.zeros(0))
    first = 0
    for name, labels in blocks:
        values = streams[:, :, first : first + len(labels)]
        first += len(labels)
        alone = (values > 0).sum(axis=2) == 1
        held = np.where(alone & (len(labels) > 1), values.argmax(axis=2), NOTHING)
        changes = int((held[1:] != held[:-1]).sum())
        score = (int((held[0] != NOTHING).sum()), changes)
        if changes and score > best[0]:
            best = (score, name, labels, held)
    return best[1:]
