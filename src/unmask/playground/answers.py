"""RequestedProblem → the answer to each task of the playground, as JSON: run, steps, planners, prove, words."""

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

from unmask.api import problem_name, run_word, verify_model
from unmask.errors import PlannerError, TooLarge, UnmaskError
from unmask.playground.requested_problem import PLANNERS, RequestedProblem
from unmask.problems.problem import Outcome
from unmask.samplers.predictors import CompiledPredictor
from unmask.samplers.sampler_names import named_samplers
from unmask.samplers.sampling_loop import masks, sample
from unmask.verification.words.references import answer_count
from unmask.weights.kinds import DIFFUSION, Kind
from unmask.weights.model import Model

DRAWN_WORDS = 12
SUGGESTED_LENGTHS = range(1, 17)
"""Lengths that are tried if no word of the current length has an answer."""


def answer_words(subject: RequestedProblem) -> dict[str, Any]:
    """Return example words of the requested length; if they do not have both answers, also shorter or longer ones."""
    examples: dict[str, dict[str, str]] = {}
    if not subject.problem.has_answers:
        return {"words": []}
    for length in (_length(subject), *SUGGESTED_LENGTHS):
        for word, expected in _words_with_answers(subject, length):
            examples.setdefault(str(expected).split()[0].rstrip(","), {"word": word, "right": str(expected)})
        if len(examples) > 1 or subject.problem.length is not None:
            break
    return {"words": list(examples.values())}


def _words_with_answers(subject: RequestedProblem, length: int) -> list[tuple[str, Outcome]]:
    """Return (word, correct answer) for words that can be typed, those with characters of the problem string first."""
    words = subject.some_words(DRAWN_WORDS, length) if subject.problem.has_length(length) else []
    words += [_backwards(word) for word in words]  # reordering the letters often changes the answer
    typed = set(subject.question.problem)
    answered = []
    for word in sorted(words, key=lambda word: len(set(word) - typed)):
        if word == subject.question.word or not word or not (word.isascii() and word.isprintable()):
            continue
        with suppress(UnmaskError):
            answered.append((word, subject.problem.outcome(word).last(1)))
    # if words have values, skip words without one
    valued = [(word, expected) for word, expected in answered if expected.value is not None]
    return valued or answered


def _length(subject: RequestedProblem) -> int:
    try:
        return subject.length
    except UnmaskError:  # the word is too long
        return SUGGESTED_LENGTHS[-1]


def _backwards(word: str) -> str:
    return " ".join(reversed(word.split())) if " " in word else word[::-1]


def answer_run(subject: RequestedProblem) -> dict[str, Any]:
    """Return the requested run; `page` is its view."""
    from unmask.viewer.html_page import View, render
    from unmask.viewer.model_view import panel_of

    question = subject.question
    start = time.perf_counter()
    model = subject.model(question.kind)
    compiled = time.perf_counter() - start
    outputs = answer_count(model)
    panels = [panel_of(model, question.word, planner=question.planner_name, seed=question.seed)]
    if question.planner_name is not None:
        panels.append(panel_of(model, question.word))
    remarks = []
    for kind in _compared_kinds(subject):
        try:
            panels.append(panel_of(subject.model(kind), question.word))
        except UnmaskError as error:
            remarks.append(f"No {kind} is shown for comparison: {error}.")
    name = problem_name(model) or question.problem
    trace = panels[0].trace
    own = None  # the run with the model's own planner, if another planner was requested
    if question.planner_name is not None:
        own_trace = panels[1].trace
        own = {"answer": subject.answer_of(model, own_trace.output[-outputs:]), "steps": own_trace.steps_taken}
    return {
        **_sizes(model),
        "compile_seconds": compiled,
        "layout": subject.compiler.layout_of(model.kind, model.length),
        "planner": question.planner_name,
        "steps": trace.steps_taken,
        "answer": subject.answer_of(model, trace.output[-outputs:]),
        "right": subject.correct_answer(question.word, outputs),
        "own": own,
        "beside": [{"kind": p.trace.kind, "steps": p.trace.steps_taken} for p in panels[1:]],
        **answer_words(subject),
        "page": render(View(name, question.word, tuple(panels), tuple(remarks))),
    }


def _compared_kinds(subject: RequestedProblem) -> tuple[Kind, ...]:
    """Return the kind to show for comparison: chain of thought, or masked diffusion for a chain of thought.

    Nothing if two planners are compared, or for random weights, whose kinds are not comparable.
    """
    if subject.question.planner_name is not None or not subject.problem.has_answers:
        return ()
    kind: Kind = "mdm" if subject.question.kind == "cot" else "cot"
    return (kind,) if kind in subject.kinds else ()


def _sizes(model: Model) -> dict[str, Any]:
    transformers = model.transformers.values()
    return {
        "kind": model.kind,
        "length": model.length,
        "padding": model.padding,
        "width": max(t.width for t in transformers),
        "layers": max(len(t.layers) for t in transformers),
        "weights": sum(t.parameters for t in transformers),
        "precision": model.precision.p,
    }


GROWTH_LENGTHS = (2, 4, 8, 16, 32, 64)
SHOWN_KINDS: tuple[Kind, ...] = ("mdm", "plt", "cot")
SECONDS_OF_GROWTH = 8.0
GROWTH = 5.0  # assumed growth of the time per doubling of the length; the next length is tried only if it fits
GROWTH_WORDS = 2


def answer_steps(subject: RequestedProblem) -> dict[str, Any]:
    """Return points (kind, N, steps), and what was left out."""
    if not subject.problem.has_answers:
        raise UnmaskError(
            "random weights do not solve a problem, so there are no steps to compare; type another problem"
        )
    kinds = [kind for kind in (*SHOWN_KINDS, subject.question.kind) if kind in subject.kinds]
    lengths = measured_lengths(subject)
    points: list[dict[str, Any]] = []
    remarks: list[str] = []
    end = time.monotonic() + SECONDS_OF_GROWTH
    for i, length in enumerate(lengths):
        start = time.monotonic()
        try:
            points += [_measured_point(subject, kind, length) for kind in dict.fromkeys(kinds)]
        except TooLarge as error:
            remarks.append(f"N = {length} is left out: {error}.")
            break
        took = time.monotonic() - start
        if i + 1 < len(lengths) and time.monotonic() + GROWTH * took > end:
            remarks.append(f"N = {lengths[i + 1]} and more are left out: they would take too long here.")
            break
    return {"points": points, "remarks": remarks, "fixed": subject.problem.length is not None}


def measured_lengths(subject: RequestedProblem) -> list[int]:
    """Return the lengths to measure: the one that the problem fixes, or those that its words have."""
    fixed = subject.problem.length
    return [fixed] if fixed is not None else [length for length in GROWTH_LENGTHS if subject.problem.has_length(length)]


def _measured_point(subject: RequestedProblem, kind: Kind, length: int) -> dict[str, Any]:
    """Run the model of one length on a few words; `right` says whether all of its answers are correct."""
    model = subject.model(kind, length)
    outputs = answer_count(model)
    steps, correct = model.steps, True
    for word in subject.some_words(GROWTH_WORDS, length):
        trace = run_word(model, word, canvas=False)
        steps = trace.steps_taken
        correct = correct and subject.answer_of(model, trace.output[-outputs:]) == subject.correct_answer(word, outputs)
    return {"kind": kind, "length": length, "steps": steps, "padding": model.padding, "right": correct}


SAMPLERS = (
    "llada:remasking=low_confidence",
    "llada:remasking=random",
    "llada:scheduler=halving",
    "dream:alg=entropy",
    "fast-dllm:threshold=0.9",
    "eb:gamma=0.1",
    "p2:score=logP",
)
SECONDS_PER_SAMPLER = 0.7  # time limit of each sampler in seconds; a slower one is left out
SECONDS_OF_SAMPLERS = 4  # seconds after which no further sampler is started: a single pass of a large model may be slow


class TooSlow(Exception):
    """Raised if a sampler needs more passes than there is time for."""


def sampler_rows(model: Model, words: list[str], per_pass: int) -> list[dict[str, Any]]:
    """Return for each sampler its label, its passes, and the content of the last slots for every word.

    Samplers that take a number of steps get the number that writes `per_pass` slots per step.
    """
    predictor = CompiledPredictor.of_words(model, words)
    blank = masks(predictor, len(words), model.padding)
    rows = []
    last = time.monotonic() + SECONDS_OF_SAMPLERS
    for entry in named_samplers(model.padding, SAMPLERS):
        sampler = entry.make(-(-model.padding // per_pass))
        end = min(last, time.monotonic() + SECONDS_PER_SAMPLER)

        def in_time(_: int, end: float = end) -> None:
            if time.monotonic() > end:
                raise TooSlow

        try:
            in_time(0)
            sampled = sample(predictor, sampler, blank, progress=in_time)
        except TooSlow:
            continue
        symbols = [model.symbols(row) for row in sampled.sequences]
        rows.append({"sampler": sampler.label, "passes": int(sampled.passes.max()), "symbols": symbols})
    return rows


PLANNER_SEEDS = 12  # runs of the random planner
PLANNER_WORDS = 12
SECONDS_PER_PLANNER = 2.5  # time limit of each planner in seconds; the runs finished by then are used


@dataclass
class AnswerTally:
    """The number of runs with the correct answer, the number of all runs, and how often each answer occurs."""

    correct: int = 0
    runs: int = 0
    answers: Counter[str] = field(default_factory=Counter)

    def add(self, answer: str, expected: str | None) -> None:
        self.runs += 1
        self.correct += answer == expected
        self.answers[answer] += 1

    def to_json(self) -> dict[str, Any]:
        return {"right": self.correct, "runs": self.runs, "answers": self.answers.most_common()}


def answer_planners(subject: RequestedProblem) -> dict[str, Any]:
    """Return a row per planner: on the requested word over several seeds, and on words with both answers."""
    if subject.question.kind not in DIFFUSION:
        raise PlannerError(f"{subject.question.kind} has no planner; choose {', '.join(DIFFUSION)} to compare planners")
    if not subject.problem.has_answers:
        raise PlannerError("random weights do not solve a problem, so no planner is correct; type another problem")
    model = subject.model(subject.question.kind)
    outputs = answer_count(model)
    words = [word for word in subject.some_words(2 * PLANNER_WORDS) if word != subject.question.word][:PLANNER_WORDS]
    expected = {word: subject.correct_answer(word, outputs) for word in (subject.question.word, *words)}
    rows = []
    for planner in PLANNERS:
        name = None if planner == "own" else f"{planner}:{subject.question.k}"
        on_word, on_others, steps = AnswerTally(), AnswerTally(), 0
        end = time.monotonic() + SECONDS_PER_PLANNER
        for word, seed in _planner_runs(planner, subject.question.word, words):
            if on_word.runs and on_others.runs and time.monotonic() > end:
                break
            trace = run_word(model, word, planner=name, seed=seed, canvas=False)
            tally = on_word if word == subject.question.word else on_others
            tally.add(subject.answer_of(model, trace.output[-outputs:]), expected[word])
            steps = max(steps, trace.steps_taken)
        rows.append({"planner": planner, "steps": steps, "word": on_word.to_json(), "words": on_others.to_json()})
    return {
        "right": expected[subject.question.word],
        "rows": rows,
        "samplers": _samplers(subject, model, expected, outputs),
    }


def _samplers(
    subject: RequestedProblem, model: Model, expected: dict[str, str | None], outputs: int
) -> list[dict[str, Any]]:
    """Return a row per published sampler, on the same words."""
    rows = []
    for sampled in sampler_rows(model, list(expected), subject.question.k):
        on_word, on_others = AnswerTally(), AnswerTally()
        for (word, answer), symbols in zip(expected.items(), sampled.pop("symbols"), strict=True):
            tally = on_word if word == subject.question.word else on_others
            tally.add(subject.answer_of(model, symbols[-outputs:]), answer)
        rows.append({**sampled, "word": on_word.to_json(), "words": on_others.to_json()})
    return rows


def _planner_runs(planner: str, word: str, words: list[str]) -> Iterator[tuple[str, int]]:
    """Yield (word, seed), alternating the requested word with others; only a planner that draws needs many seeds."""
    seeds = range(PLANNER_SEEDS if planner == "uniform" else 1)
    for seed, other in zip_longest(seeds, words):
        if seed is not None:
            yield word, seed
        if other is not None:
            yield other, words.index(other)


def answer_proof(subject: RequestedProblem) -> dict[str, Any]:
    """Return the verdict of `unmask verify --method prove`, for the model with its own planner."""
    if not subject.problem.has_answers:
        raise UnmaskError("random weights do not solve a problem, so there is nothing to prove; type another problem")
    model = subject.model(subject.question.kind)
    start = time.perf_counter()
    verdict = verify_model(model, method="prove")
    return {
        **verdict.to_json(),
        "kind": model.kind,
        "length": model.length,
        "letters": len(model.input_symbols),
        "seconds": time.perf_counter() - start,
    }
