"""Results of an exam → a document, a table for the terminal, a page."""

from dataclasses import dataclass
from typing import Any

from unmask.samplers.exam.measure import Result, Run
from unmask.samplers.exam.subject import Subject
from unmask.samplers.report.page import Table, page
from unmask.samplers.report.plot import Point, Series, plot

ORDER = "order"


@dataclass(frozen=True, eq=False)
class ExamReport:
    """What was examined and what came out."""

    subject: Subject
    budgets: tuple[int, ...]
    results: list[Result]

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

    def summary(self) -> Table:
        """A row per sampler: the share of right words at every budget, the least passes, the first wrong write."""
        columns = (
            "sampler",
            *(str(b) for b in self.budgets),
            "at its own",
            "least",
            "tokens/pass",
            ORDER,
            "first wrong write",
        )
        return Table(columns, tuple(self._row(result) for result in self.results), ("sampler", "first wrong write"))

    def _row(self, result: Result) -> tuple[str, ...]:
        by_budget = {run.steps: run for run in result.runs}
        own = by_budget.get(None)
        wrong = next((run for run in result.runs if run.right < 1), None)
        shown = wrong or (result.runs[-1] if result.runs else None)
        return (
            result.sampler,
            *(shown_share(by_budget[b].right) if b in by_budget else "" for b in self.budgets),
            "" if own is None else f"{shown_share(own.right)} in {own.passes}",
            "–" if result.least is None else str(result.least.passes),
            "–" if result.least is None else f"{result.least.tokens_per_pass:.2f}",
            "" if shown is None else _share(shown),
            "" if wrong is None or wrong.first_wrong is None else wrong.first_wrong.sentence,
        )

    def everything(self) -> Table:
        """A row per sampler and budget."""
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
        return Table(columns, rows, ("sampler", "remasking", "first wrong write"))

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
        return page(self.title, facts, [("Right words", plot(series, "right words"))], self.everything())


def _share(run: Run) -> str:
    return "?" if run.order_violated is None else f"{run.order_violated:.2f}"


def shown_share(share: float) -> str:
    """Two digits; 1.00 only where everything is right."""
    return f"{min(share, 0.99):.2f}" if share < 1 else "1.00"
