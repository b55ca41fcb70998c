"""Subject × samplers × budgets → right words, passes, order, first wrong write, the least number of passes."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from math import ceil
from typing import Any, Protocol

from unmask.samplers.line_plot import Point, Series
from unmask.samplers.problem_subject import Order, Subject, WrongWrite
from unmask.samplers.report_page import ReportTable, html_report, report_plot
from unmask.samplers.sampling_loop import Sample

OWN = "own planner"


class ComparedSampler(Protocol):
    """A sampler that is measured: a `NamedSampler`, or a user's function (`unmask.bench`)."""

    @property
    def label(self) -> str: ...

    @property
    def remasks(self) -> str:
        """Return the meaning of *remasking* for this sampler."""
        ...

    @property
    def takes_steps(self) -> bool:
        """Return whether a budget decides how many passes it makes."""
        ...

    def sampled(self, subject: Subject, budget: int, seed: int) -> Sample | None:
        """Run the sampler on every word within a budget of passes; None if it cannot keep to the budget."""
        ...


@dataclass(frozen=True)
class Run:
    """The result of a sampler at one budget; `steps` (most passes) is None for a sampler without a number of steps.

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
class SamplerResult:
    """The results of a sampler at every budget; `least` is the run with the fewest known steps with every word right.

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
    """Return budgets of N, 2N/3, N/2, N/2 − 1 and N/4 passes for N slots, and the model's own number of passes."""
    half = ceil(slots / 2)
    budgets = {slots, ceil(2 * slots / 3), half, half - 1, ceil(slots / 4), steps}
    return tuple(sorted((budget for budget in budgets if budget >= 1), reverse=True))


def examine(
    subject: Subject, entries: Iterable[ComparedSampler], budgets: Iterable[int], *, seed: int = 0
) -> Iterator[SamplerResult]:
    """Measure the model's own planner, then every sampler."""
    order = Order(subject)
    own_run = sampler_measures(order, None, subject.own)
    yield SamplerResult(
        OWN, "resamples" if subject.predictor.model.kind == "mdm" else "declines", (own_run,), _if_right(own_run)
    )
    for entry in entries:
        yield _examined(order, entry, tuple(budgets), seed)


def sampler_measures(order: Order, steps: int | None, sampled: Sample) -> Run:
    """Return the measures of one sampler at one budget of passes."""
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


def _examined(order: Order, entry: ComparedSampler, budgets: tuple[int, ...], seed: int) -> SamplerResult:
    subject = order.subject
    run_at: dict[int, Run] = {}

    def run(steps: int) -> Run | None:
        if steps not in run_at:
            sampled = entry.sampled(subject, steps, seed)
            if sampled is not None:
                run_at[steps] = sampler_measures(order, steps if entry.takes_steps else None, sampled)
        return run_at.get(steps)

    label, meaning = entry.label, entry.remasks
    if not entry.takes_steps:
        only = run(1)
        assert only is not None
        return SamplerResult(label, meaning, (only,), _if_right(only))
    runs = tuple(measured_run for measured_run in map(run, budgets) if measured_run is not None)
    right_budgets = [steps for steps in run_at if run_at[steps].right == 1]
    if not right_budgets:
        return SamplerResult(label, meaning, runs, None)
    high = min(right_budgets)
    low = max((steps for steps in run_at if steps < high), default=0)
    while high - low > 1:
        middle = (low + high) // 2
        tried = run(middle)
        if tried is not None and tried.right == 1:
            high = middle
        else:
            low = middle
    return SamplerResult(label, meaning, runs, run(high))


def _if_right(run: Run) -> Run | None:
    return run if run.right == 1 else None


# Results → a document, a table for the terminal, a page.


ORDER = "order"


@dataclass(frozen=True, eq=False)
class ExamReport:
    """The subject and the results of all samplers."""

    subject: Subject
    budgets: tuple[int, ...]
    results: list[SamplerResult]

    @property
    def title(self) -> str:
        return f"samplers on {self.subject.problem}, N = {self.subject.predictor.model.length}"

    @property
    def facts(self) -> str:
        model = self.subject.predictor.model
        return (
            f"{model.kind} of {self.subject.slots} slots; the model itself takes {model.steps} passes; "
            f"{len(self.subject.words)} words, {self.subject.chance:.2f} of them with the most frequent answer; "
            "a word is right if its answer and the values of all its slots are"
        )

    def to_json(self) -> dict[str, Any]:
        model = self.subject.predictor.model
        return {
            "problem": self.subject.problem,
            "length": model.length,
            "kind": model.kind,
            "slots": self.subject.slots,
            "steps": model.steps,
            "words": len(self.subject.words),
            "chance": self.subject.chance,
            "budgets": list(self.budgets),
            "samplers": [result.to_json() for result in self.results],
        }

    def summary(self) -> ReportTable:
        """Return a row per sampler: the share of right words at every budget, least passes, and first wrong write."""
        columns = (
            "sampler",
            *(str(b) for b in self.budgets),
            "at its own",
            "least",
            "tokens/pass",
            ORDER,
            "first wrong write",
        )
        return ReportTable(
            columns, tuple(self._row(result) for result in self.results), ("sampler", "first wrong write")
        )

    def _row(self, result: SamplerResult) -> tuple[str, ...]:
        by_budget = {run.steps: run for run in result.runs}
        free = by_budget.get(None)
        wrong_run = next((run for run in result.runs if run.right < 1), None)
        shown_run = wrong_run or (result.runs[-1] if result.runs else None)
        return (
            result.sampler,
            *(shown_share(by_budget[b].right) if b in by_budget else "" for b in self.budgets),
            "" if free is None else f"{shown_share(free.right)} in {free.passes}",
            "–" if result.least is None else str(result.least.passes),
            "–" if result.least is None else f"{result.least.tokens_per_pass:.2f}",
            "" if shown_run is None else _share(shown_run),
            "" if wrong_run is None or wrong_run.first_wrong is None else wrong_run.first_wrong.sentence,
        )

    def everything(self) -> ReportTable:
        """Return a row per sampler and budget."""
        columns = (
            "sampler",
            "remasking",
            "steps",
            "passes",
            "tokens per pass",
            "right",
            "answers",
            "slots",
            ORDER,
            "first wrong write",
        )
        rows = tuple(
            (
                result.sampler,
                result.remasking,
                "" if run.steps is None else str(run.steps),
                str(run.passes),
                f"{run.tokens_per_pass:.2f}",
                shown_share(run.right),
                shown_share(run.right_answers),
                shown_share(run.right_slots),
                _share(run),
                "" if run.first_wrong is None else run.first_wrong.sentence,
            )
            for result in self.results
            for run in result.runs
        )
        return ReportTable(columns, rows, ("sampler", "remasking", "first wrong write"))

    def page(self) -> str:
        series = [
            Series(result.sampler, tuple(Point(run.passes, run.right) for run in result.runs))
            for result in self.results
        ]
        facts = (
            self.facts + ".",
            "The predictor is right about a slot as soon as what it reads is written, so that all error is the "
            f"sampler's. {ORDER}: the share of pairs (slot, slot that it reads) in which the slot was not written "
            "later.",
            "The least number of passes at which every word is right: "
            + (", ".join(f"{r.sampler}: {r.least.passes}" for r in self.results if r.least is not None) or "none")
            + ".",
        )
        return html_report(self.title, facts, [("Right words", report_plot(series, "right words"))], self.everything())


def _share(run: Run) -> str:
    return "?" if run.order_violated is None else f"{run.order_violated:.2f}"


def shown_share(share: float) -> str:
    """Return a share with two digits; 1.00 only if everything is right."""
    return f"{min(share, 0.99):.2f}" if share < 1 else "1.00"
