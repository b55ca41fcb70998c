"""PROBLEM × N → Subject: a compiled predictor, words with their right answers, and the model's own run on them."""

import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, zip_longest

import numpy as np

from unmask.errors import ProblemError
from unmask.pipeline import compile_problem
from unmask.problems.catalogue import parse_problem
from unmask.reasoners.run import run_batch
from unmask.samplers.passes.sample import Sample, masks
from unmask.samplers.predictors.compiled import CompiledPredictor
from unmask.verification.question.outcomes import outcome_of_symbols
from unmask.verification.question.standard import answer_count
from unmask.weights.kinds import DIFFUSION, Kind

OVERSAMPLED = 4  # times as many words are drawn as are tried


@dataclass(frozen=True, eq=False)
class Subject:
    """What every sampler is examined on; `answers` are right by the problem's own oracle, not by the model."""

    problem: str
    predictor: CompiledPredictor
    words: tuple[str, ...]
    answers: tuple[str, ...]
    outputs: int
    symbols: frozenset[str] = frozenset()  # what an answer may be, besides true and false

    @classmethod
    def of(
        cls, problem: str, length: int | None, *, kind: Kind = "mdm", words: int = 32, seed: int = 0, precision: int = 2
    ) -> "Subject":
        if kind not in DIFFUSION:
            raise ProblemError(f"samplers fill the canvas of {', '.join(DIFFUSION)}; a {kind} has none")
        source = parse_problem(problem)
        if not source.has_answers:
            raise ProblemError(f"{source.name} has no right answers, so that no sampler is right; give another problem")
        model = compile_problem(problem, kind, length=length, precision=precision)
        outputs = answer_count(model)
        drawn = islice(source.words(model.length, random.Random(seed)), OVERSAMPLED * words)
        chosen = evenly([(word, str(source.outcome(word).last(outputs))) for word in drawn], words)
        tried, answers = zip(*chosen, strict=True)
        predictor = CompiledPredictor.of_words(model, tried)
        return cls(problem, predictor, tried, answers, outputs, source.answer_symbols(model.length))

    @property
    def slots(self) -> int:
        return self.predictor.model.padding

    @property
    def blank(self) -> np.ndarray:
        """The canvas at the start."""
        return masks(self.predictor, len(self.words), self.slots)

    @cached_property
    def own(self) -> Sample:
        """The model's own planner on every word."""
        predictor = self.predictor
        traces = run_batch(predictor.model, predictor.words, engine=predictor.engine)
        canvases = (np.stack([trace.canvas[t] for trace in traces]) for t in range(predictor.model.steps))
        passes = np.full(len(traces), predictor.model.steps)
        return Sample((self.blank, *canvases), passes, predictor.mask_id)

    def right(self, sample: Sample) -> np.ndarray:
        """Which words a sample answers as the oracle does, [batch]."""
        model = self.predictor.model
        rows = (model.symbols(row[-self.outputs :]) for row in sample.sequences)
        said = [str(outcome_of_symbols(model, symbols, self.symbols)) for symbols in rows]
        return np.array([a == b for a, b in zip(said, self.answers, strict=True)])

    @property
    def chance(self) -> float:
        """The share of the commonest answer: what a sampler that always says the same is right about."""
        return max(self.answers.count(answer) for answer in self.answers) / len(self.answers)


def evenly(pairs: Sequence[tuple[str, str]], count: int) -> list[tuple[str, str]]:
    """`count` of (word, answer), every answer in turn, so that none is right by always saying the same."""
    by_answer: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for pair in pairs:
        by_answer[pair[1]].append(pair)
    in_turn = (pair for row in zip_longest(*by_answer.values()) for pair in row if pair is not None)
    return list(islice(in_turn, count))
