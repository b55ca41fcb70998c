"""Subject → how often each planner is right when it drives the model's predictor.

The predictor is right about a slot whose factors stand, and about no other. The model's own planner waits for them;
one that does not wait commits to wrong symbols, and never takes them back (app:planner-centrality).
"""

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

from unmask.errors import PlannerError
from unmask.pipeline import run_word
from unmask.playground.question import PLANNERS
from unmask.playground.sampling import sampling
from unmask.playground.subject import Subject
from unmask.verification.question.standard import answer_count
from unmask.weights.kinds import DIFFUSION
from unmask.weights.model import Model

SEEDS = 12
WORDS = 12
BUDGET = 2.5  # seconds of each planner; then the runs that were made must do


@dataclass
class Tally:
    """Right runs among all, and what they said."""

    right: int = 0
    runs: int = 0
    answers: Counter[str] = field(default_factory=Counter)

    def add(self, answer: str, expected: str | None) -> None:
        self.runs += 1
        self.right += answer == expected
        self.answers[answer] += 1

    def to_json(self) -> dict[str, Any]:
        return {"right": self.right, "runs": self.runs, "answers": self.answers.most_common()}


def planning(subject: Subject) -> dict[str, Any]:
    """A row per planner: on the word that was asked about, over seeds, and on words with both answers."""
    if subject.question.kind not in DIFFUSION:
        raise PlannerError(f"{subject.question.kind} has no planner; choose {', '.join(DIFFUSION)} to compare planners")
    if not subject.problem.has_answers:
        raise PlannerError("random weights do not solve a problem, so no planner is correct; type another problem")
    model = subject.model(subject.question.kind)
    outputs = answer_count(model)
    words = [word for word in subject.some_words(2 * WORDS) if word != subject.question.word][:WORDS]
    right = {word: subject.right(word, outputs) for word in (subject.question.word, *words)}
    rows = []
    for planner in PLANNERS:
        name = None if planner == "own" else f"{planner}:{subject.question.k}"
        here, elsewhere, steps = Tally(), Tally(), 0
        end = time.monotonic() + BUDGET
        for word, seed in _runs(planner, subject.question.word, words):
            if here.runs and elsewhere.runs and time.monotonic() > end:
                break
            trace = run_word(model, word, planner=name, seed=seed, canvas=False)
            tally = here if word == subject.question.word else elsewhere
            tally.add(subject.said(model, trace.output[-outputs:]), right[word])
            steps = max(steps, trace.steps_taken)
        rows.append({"planner": planner, "steps": steps, "word": here.to_json(), "words": elsewhere.to_json()})
    return {"right": right[subject.question.word], "rows": rows, "samplers": _samplers(subject, model, right, outputs)}


def _samplers(subject: Subject, model: Model, right: dict[str, str | None], outputs: int) -> list[dict[str, Any]]:
    """A row per sampler of the field, on the same words."""
    rows = []
    for sampled in sampling(model, list(right), subject.question.k):
        here, elsewhere = Tally(), Tally()
        for (word, expected), symbols in zip(right.items(), sampled.pop("symbols"), strict=True):
            tally = here if word == subject.question.word else elsewhere
            tally.add(subject.said(model, symbols[-outputs:]), expected)
        rows.append({**sampled, "word": here.to_json(), "words": elsewhere.to_json()})
    return rows


def _runs(planner: str, word: str, words: list[str]) -> Iterator[tuple[str, int]]:
    """(word, seed), in turn the word that was asked about and another: only a planner that draws needs many seeds."""
    seeds = range(SEEDS if planner == "uniform" else 1)
    for seed, other in zip_longest(seeds, words):
        if seed is not None:
            yield word, seed
        if other is not None:
            yield other, words.index(other)
