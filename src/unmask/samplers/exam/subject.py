"""PROBLEM × N → Subject: a compiled predictor, words with balanced answers, and the right value of every slot."""

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, product, zip_longest

import numpy as np

from unmask.budget import check
from unmask.errors import ProblemError
from unmask.pipeline import compile_problem
from unmask.problems.catalogue import parse_problem
from unmask.problems.problem import Problem
from unmask.problems.word_draws import is_plain
from unmask.reasoners.run import run_batch
from unmask.samplers.passes.sample import Sample, masks
from unmask.samplers.predictors.compiled import CompiledPredictor
from unmask.verification.question.outcomes import outcome_of_symbols
from unmask.verification.question.standard import answer_count
from unmask.weights.kinds import DIFFUSION, Kind

OVERSAMPLED = 4  # times as many words are drawn as are asked for, so that answers can be balanced
MOST_DRAWN = 4096  # words that are drawn, or enumerated, in search of a second answer


@dataclass(frozen=True, eq=False)
class Subject:
    """What every sampler is measured on.

    `answers` come from the problem's own oracle. The right value of every other slot is what the model's own planner
    writes there. No answer belongs to more than half of the words (rounded up).
    """

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
        """Compile the problem and choose at most `words` words, balanced by their answers."""
        if kind not in DIFFUSION:
            raise ProblemError(f"a {kind} has no canvas to sample on; use {', '.join(DIFFUSION)}")
        source = parse_problem(problem)
        if not source.has_answers:
            raise ProblemError(
                f"{source.name} has no correct answers, so no sampler can be correct; give another problem"
            )
        model = compile_problem(problem, kind, length=length, precision=precision)
        outputs = answer_count(model)
        chosen = balanced_words(source, model.length, outputs, words, seed)
        tried, answers = zip(*chosen, strict=True)
        predictor = CompiledPredictor.of_words(model, tried)
        return cls(problem, predictor, tried, answers, outputs, source.answer_symbols(model.length))

    @property
    def slots(self) -> int:
        return self.predictor.model.padding

    @property
    def blank(self) -> np.ndarray:
        """The canvas at the start: masks only."""
        return masks(self.predictor, len(self.words), self.slots)

    @cached_property
    def own(self) -> Sample:
        """The run of the model's own planner on every word."""
        predictor = self.predictor
        traces = run_batch(predictor.model, predictor.words, engine=predictor.engine)
        canvases = (np.stack([trace.canvas[t] for trace in traces]) for t in range(predictor.model.steps))
        passes = np.full(len(traces), predictor.model.steps)
        return Sample((self.blank, *canvases), passes, predictor.mask_id)

    @property
    def expected(self) -> np.ndarray:
        """The right value of every slot, [batch, slots]; the mask where the model's own planner writes nothing."""
        return self.own.sequences

    def right_slots(self, sample: Sample) -> np.ndarray:
        """Which slots hold their right value, [batch, slots]; a slot without a right value counts as right."""
        return (sample.sequences == self.expected) | (self.expected == self.predictor.mask_id)

    def right_answers(self, sample: Sample) -> np.ndarray:
        """For which words the answer is that of the oracle, [batch]."""
        model = self.predictor.model
        rows = (model.symbols(row[-self.outputs :]) for row in sample.sequences)
        said = [str(outcome_of_symbols(model, symbols, self.symbols)) for symbols in rows]
        return np.array([a == b for a, b in zip(said, self.answers, strict=True)])

    def right(self, sample: Sample) -> np.ndarray:
        """For which words the answer is that of the oracle and every slot holds its right value, [batch]."""
        return self.right_answers(sample) & self.right_slots(sample).all(axis=1)

    @property
    def chance(self) -> float:
        """The share of the most frequent answer: the score of a constant answer."""
        return max(self.answers.count(answer) for answer in self.answers) / len(self.answers)


def balanced_words(source: Problem, length: int, outputs: int, count: int, seed: int) -> list[tuple[str, str]]:
    """At most `count` distinct (word, answer) of which no answer has more than half, rounded up.

    Words are drawn until that is possible. An error if every word has the same answer: a sampler could then score 1.00
    without reading the word.
    """
    if count < 2:
        raise ProblemError("a single word has a single answer, which a constant sampler also gives; try at least 2")
    pairs: list[tuple[str, str]] = []
    answers: Counter[str] = Counter()
    candidates, complete = _candidates(source, length, random.Random(seed))
    for word in candidates:
        check()
        pairs.append((word, str(source.outcome(word).last(outputs))))
        answers[pairs[-1][1]] += 1
        if len(pairs) >= OVERSAMPLED * count and _balanced_size(answers) >= count:
            break
    chosen = evenly(pairs, count)
    if not chosen:
        found = f"all {len(pairs):,} words of" if complete else f"all {len(pairs):,} words drawn from"
        raise ProblemError(
            f"no score: {found} {source.name} at N = {length} have the answer {pairs[0][1]!r}, which a constant "
            "sampler also gives; choose another --length, or a problem with at least two answers"
        )
    return chosen


def evenly(pairs: Sequence[tuple[str, str]], count: int) -> list[tuple[str, str]]:
    """`count` of (word, answer), every answer in turn; fewer, where one answer would have more than half of them."""
    by_answer: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for pair in pairs:
        by_answer[pair[1]].append(pair)
    in_turn = [pair for row in zip_longest(*by_answer.values()) for pair in row if pair is not None]
    return in_turn[: min(count, _balanced_size(Counter(answer for _, answer in pairs)))]


def _balanced_size(answers: Counter[str]) -> int:
    """The most words that can be chosen so that no answer has more than half of them."""
    most = max(answers.values(), default=0)
    others = answers.total() - most
    return others + min(most, others)


def _candidates(source: Problem, length: int, rng: random.Random) -> tuple[Iterator[str], bool]:
    """Distinct words in a random order, and whether these are all words of the length."""
    if source.characters is None and source.every_word(length) is None and len(source.letters) ** length <= MOST_DRAWN:
        gap = "" if is_plain(source.letters) else " "
        every = [gap.join(letters) for letters in product(source.letters, repeat=length)]
        rng.shuffle(every)
        return iter(every), True
    return _distinct(islice(source.words(length, rng), MOST_DRAWN)), False


def _distinct(words: Iterable[str]) -> Iterator[str]:
    seen: set[str] = set()
    for word in words:
        if word not in seen:
            seen.add(word)
            yield word
