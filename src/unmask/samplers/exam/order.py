"""Order: how far a sampler's order is from one that waits for what it reads, and where it first goes wrong."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from unmask.samplers.exam.reads import dependencies
from unmask.samplers.exam.subject import Subject
from unmask.samplers.passes.sample import Sample, Write

MOST_NAMED = 2


@dataclass(frozen=True)
class WrongWrite:
    """The first write of a run that differs from what the model's own planner writes there, and why."""

    word: int
    step: int
    slot: int
    symbol: str
    right: str
    reason: str

    @property
    def sentence(self) -> str:
        return f"{self.reason} (pass {self.step}: {self.symbol} instead of {self.right})"


@dataclass(frozen=True, eq=False)
class Order:
    """What is known about the right order of a subject."""

    subject: Subject

    @cached_property
    def depends(self) -> np.ndarray | None:
        return dependencies(self.subject)

    @cached_property
    def _pairs(self) -> tuple[np.ndarray, ...]:
        """(word, slot, slot that it reads), of all dependencies."""
        assert self.depends is not None
        return np.nonzero(self.depends)

    def violated(self, sample: Sample) -> float | None:
        """The share of all pairs (slot, slot that it reads) in which the slot was not written later; 0 is valid."""
        if self.depends is None:
            return None
        when = sample.step_map
        words, slots, read = self._pairs
        early = (when[words, slots] <= when[words, read]) & (when[words, slots] > 0)
        return float(early.mean()) if len(early) else 0.0

    def first_wrong(self, sample: Sample) -> WrongWrite | None:
        """Return the first wrong write of the first word that is not right, or else of the first word that has one."""
        answered = self.subject.right(sample)
        for row in np.argsort(answered, kind="stable").tolist():
            wrong = self.first_wrong_of(sample, row)
            if wrong is not None:
                return wrong
        return None

    def first_wrong_of(self, sample: Sample, row: int) -> WrongWrite | None:
        truth, mask = self.subject.own.sequences[row], self.subject.predictor.mask_id
        expected = {slot: symbol for slot, symbol in enumerate(truth.tolist()) if symbol != mask}
        wrong = [w for w in sample.writes(row) if w.after not in (mask, expected.get(w.slot, w.after))]
        if not wrong:
            return None
        first = [write for write in wrong if write.step == wrong[0].step]
        explained = [(write, self._reason(sample, row, write)) for write in first]
        write, reason = next((pair for pair in explained if "while" in pair[1]), explained[0])
        symbols = self.subject.predictor.vocabulary
        return WrongWrite(row, write.step, write.slot, symbols[write.after], symbols[truth[write.slot]], reason)

    def _reason(self, sample: Sample, row: int, write: Write) -> str:
        """What it was written without, or what stood where nothing should."""
        mask = self.subject.predictor.mask_id
        truth, before = self.subject.own.sequences[row], sample.histories[write.step - 1][row]
        if self.depends is not None:
            waited = np.flatnonzero(self.depends[row, write.slot] & (before == mask))
            nearest = [t for t in waited.tolist() if not self.depends[row, waited, t].any()]
            if nearest:
                named = ", ".join(map(str, nearest[:MOST_NAMED])) + (" …" if len(nearest) > MOST_NAMED else "")
                many = len(nearest) > 1
                return f"slot {write.slot} written while slot{'s' * many} {named} {'were' if many else 'was'} masked"
        spoilt = np.flatnonzero((truth == mask) & (before != mask))
        if len(spoilt):
            return (
                f"slot {write.slot} written wrongly after slot {spoilt[0]}, which the model's own planner leaves masked"
            )
        return f"slot {write.slot} written wrongly although all that it reads was written"
