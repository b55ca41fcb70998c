"""Predictor × Sampler × canvas → Sample: passes until the sampler is finished with every row.

A pass is one reading of the canvas by the predictor. Every row draws from a generator of its own, so its run does not
depend on the other rows.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from unmask.errors import UnmaskError
from unmask.limits import check, check_memory
from unmask.samplers.rule_interface import Beliefs, Chance, Drawn, Predictor, Sampler, State, starts_from_noise

MOST_PASSES = 100_000


@dataclass(frozen=True)
class Write:
    """A change of a slot from one token to another in pass `step` (from 1); to the mask if it was masked again."""

    step: int
    slot: int
    before: int
    after: int


@dataclass(frozen=True, eq=False)
class Sample:
    """The result of a run. `histories[0]` is the initial canvas, `histories[t]` the canvas after pass t."""

    histories: tuple[np.ndarray, ...]
    passes: np.ndarray
    """The number of passes of each row; a finished row does not change."""
    mask_id: int

    @property
    def sequences(self) -> np.ndarray:
        """Return the last canvas, [batch, slots]."""
        return self.histories[-1]

    @property
    def step_map(self) -> np.ndarray:
        """Return the pass (from 1) that wrote the final content of each slot; 0 for a slot that was never written."""
        when = np.zeros(self.sequences.shape, dtype=np.int64)
        for t, (before, after) in enumerate(zip(self.histories, self.histories[1:], strict=False), start=1):
            when = np.where(before != after, t, when)
        return np.where(self.sequences == self.mask_id, 0, when)

    def writes(self, row: int) -> list[Write]:
        """Return the writes of one row, pass by pass; within a pass from left to right."""
        writes = []
        for t, (before, after) in enumerate(zip(self.histories, self.histories[1:], strict=False), start=1):
            for slot in np.flatnonzero(before[row] != after[row]).tolist():
                writes.append(Write(t, slot, int(before[row, slot]), int(after[row, slot])))
        return writes

    @property
    def tokens_per_pass(self) -> float:
        """Return the number of filled slots divided by the number of passes, over all rows."""
        filled = (self.histories[0] == self.mask_id) & (self.sequences != self.mask_id)
        return float(filled.sum() / max(1, self.passes.sum()))


def masks(predictor: Predictor, rows: int, slots: int) -> np.ndarray:
    """Return a canvas that consists of masks."""
    return np.full((rows, slots), predictor.mask_id, dtype=np.int64)


def sample(
    predictor: Predictor,
    sampler: Sampler,
    canvas: np.ndarray,
    *,
    seed: int = 0,
    chances: Sequence[Chance] | None = None,
    progress: Callable[[int], None] | None = None,
) -> Sample:
    """Run the sampler from a canvas [batch, slots]; slots that are not masked in it are given."""
    canvas = np.array(canvas, dtype=np.int64)
    if canvas.ndim != 2 or not canvas.size:
        raise UnmaskError(
            f"a canvas must have the shape [batch, slots], not {list(canvas.shape)}; add the missing axis"
        )
    if chances is None:
        chances = [Drawn(np.random.default_rng([seed, row])) for row in range(len(canvas))]
    states = [State(row, row, predictor.mask_id, number) for number, row in enumerate(canvas)]
    smallest = np.min_scalar_type(-len(predictor.vocabulary))
    histories = [canvas.astype(smallest)]
    if starts_from_noise(sampler):
        symbols = len(predictor.vocabulary)
        states = [sampler.begin(state, symbols, chance) for state, chance in zip(states, chances, strict=True)]
        canvas = np.stack([state.canvas for state in states])
    running = [state.row for state in states if not sampler.finished(state)]
    while running:
        check()
        logits = predictor.logits(canvas)
        for row in running:
            states[row] = sampler.next(states[row], Beliefs(logits[row]), chances[row])
        canvas = np.stack([state.canvas for state in states])
        histories.append(canvas.astype(smallest))
        if progress is not None:
            progress(len(histories) - 1)
        running = [row for row in running if not sampler.finished(states[row])]
        _check_size(sampler.label, histories)
    return Sample(tuple(histories), np.array([state.step for state in states]), predictor.mask_id)


def _check_size(label: str, histories: list[np.ndarray]) -> None:
    if len(histories) > MOST_PASSES:
        raise UnmaskError(f"{label} is not finished after {MOST_PASSES:,} passes; give it fewer steps")
    rows, slots = histories[0].shape
    description = f"{label} with {len(histories) + 1:,} canvases of {rows} × {slots} slots"
    check_memory((len(histories) + 1) * histories[0].nbytes, description)
