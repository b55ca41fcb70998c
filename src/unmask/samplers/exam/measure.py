"""Subject × samplers × budgets → right words, passes, order, first wrong write, the least number of passes."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from math import ceil
from typing import Any

from unmask.samplers.exam.order import Order, WrongWrite
from unmask.samplers.exam.subject import Subject
from unmask.samplers.passes.sample import Sample, sample
from unmask.samplers.passes.state import Sampler
from unmask.samplers.zoo import Entry

OWN = "own planner"


@dataclass(frozen=True)
class Run:
    """A sampler at one budget; `steps`, the most passes allowed, is None for a sampler that takes no number of steps.

    `right` is the share of words whose answer and slots are all right, `right_answers` the share of words whose answer
    is right, `right_slots` the share of slots that hold their right value, over all words.
    """

    steps: int | None
    passes: int
    tokens_per_pass: float
    right: float
    right_answers: float
    right_slots: float
    order_violated: float | None
    first_wrong: WrongWrite | None

    def to_json(self) -> dict[str, Any]:
        document = asdict(self)
        if self.first_wrong is not None:
            document["first_wrong"]["sentence"] = self.first_wrong.sentence
        return document


@dataclass(frozen=True)
class Result:
    """A sampler at every budget; `least` is the run with the fewest known steps in which every word is right.

    It is found by bisection: with one step less some word is wrong, or it is the smallest budget.
    """

    sampler: str
    remasking: str
    runs: tuple[Run, ...]
    least: Run | None

    def to_json(self) -> dict[str, Any]:
        return {
            "sampler": self.sampler,
            "remasking": self.remasking,
            "least": None if self.least is None else {"steps": self.least.steps, "passes": self.least.passes},
            "runs": [run.to_json() for run in self.runs],
        }


def budgets_for(slots: int, steps: int) -> tuple[int, ...]:
    """One slot per pass, two for three passes, two, a little more than two, four, and what the model itself takes."""
    half = ceil(slots / 2)
    wanted = {slots, ceil(2 * slots / 3), half, half - 1, ceil(slots / 4), steps}
    return tuple(sorted((b for b in wanted if b >= 1), reverse=True))


def examine(subject: Subject, entries: Iterable[Entry], budgets: Iterable[int], *, seed: int = 0) -> Iterator[Result]:
    """The model's own planner, then every sampler."""
    order = Order(subject)
    own = measured(order, None, subject.own)
    yield Result(OWN, "resamples" if subject.predictor.model.kind == "mdm" else "declines", (own,), _if_right(own))
    for entry in entries:
        yield _examined(order, entry, tuple(budgets), seed)


def measured(order: Order, steps: int | None, sampled: Sample) -> Run:
    subject = order.subject
    counted = subject.expected != subject.predictor.mask_id
    return Run(
        steps,
        int(sampled.passes.max()),
        sampled.tokens_per_pass,
        float(subject.right(sampled).mean()),
        float(subject.right_answers(sampled).mean()),
        float(subject.right_slots(sampled)[counted].mean()) if counted.any() else 1.0,
        order.violated(sampled),
        order.first_wrong(sampled),
    )


def _examined(order: Order, entry: Entry, budgets: tuple[int, ...], seed: int) -> Result:
    subject = order.subject
    known: dict[int, Run] = {}

    def run(steps: int) -> Run | None:
        sampler: Sampler | None = entry.within(steps, subject.slots)
        if sampler is not None and steps not in known:
            sampled = sample(subject.predictor, sampler, subject.blank, seed=seed)
            known[steps] = measured(order, steps if entry.takes_steps else None, sampled)
        return known.get(steps)

    label, meaning = entry.make().label, entry.make().remasks
    if not entry.takes_steps:
        only = run(1)
        assert only is not None
        return Result(label, meaning, (only,), _if_right(only))
    runs = tuple(made for made in map(run, budgets) if made is not None)
    right = [steps for steps in known if known[steps].right == 1]
    if not right:
        return Result(label, meaning, runs, None)
    high = min(right)
    low = max((steps for steps in known if steps < high), default=0)
    while high - low > 1:
        middle = (low + high) // 2
        tried = run(middle)
        if tried is not None and tried.right == 1:
            high = middle
        else:
            low = middle
    return Result(label, meaning, runs, run(high))


def _if_right(run: Run) -> Run | None:
    return run if run.right == 1 else None
