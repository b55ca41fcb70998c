"""PROBLEM × N → Subject: a compiled predictor, words with balanced answers, and the right value of every slot."""

import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, pairwise, product, zip_longest

import numpy as np

from unmask.api import compile_problem
from unmask.errors import ProblemError
from unmask.limits import check
from unmask.problems.catalogue import parse_problem
from unmask.problems.problem import Problem, is_plain
from unmask.reasoners.cached_run import CachePolicy, CanvasLayout, cached_run
from unmask.reasoners.run_words import run_batch
from unmask.samplers.predictors import CompiledPredictor
from unmask.samplers.sampling_loop import Sample, Write, masks
from unmask.verification.model_outcomes import outcome_of_symbols
from unmask.verification.words.references import answer_count
from unmask.weights.kinds import DIFFUSION, Kind

OVERSAMPLED = 4  # factor by which more words are drawn than requested, so that answers can be balanced
MOST_DRAWN = 4096  # words that are drawn or enumerated to find a second answer


@dataclass(frozen=True, eq=False)
class Subject:
    """The problem instance on which every sampler is measured.

    `answers` come from the problem's own oracle. The right value of every other slot is what the model's own planner
    writes there. No answer belongs to more than half of the words (rounded up).
    """

    problem: str
    predictor: CompiledPredictor
    words: tuple[str, ...]
    answers: tuple[str, ...]
    outputs: int
    """The number of slots at the end that hold the answer."""
    symbols: frozenset[str] = frozenset()
    """Possible answers besides true and false."""
    read_only: tuple[int, ...] = ()
    """Slots that are read as masks and never written: they belong to the prompt."""

    @classmethod
    def of(
        cls,
        problem: str,
        length: int | None,
        *,
        kind: Kind = "mdm",
        words: int = 32,
        seed: int = 0,
        precision: int = 2,
        hops: int = 1,
    ) -> "Subject":
        """Compile the problem and choose at most `words` words, balanced by their answers."""
        if kind not in DIFFUSION:
            raise ProblemError(f"a {kind} has no canvas to sample on; use {', '.join(DIFFUSION)}")
        source = parse_problem(problem)
        if not source.has_answers:
            raise ProblemError(
                f"{source.name} has no correct answers, so no sampler can be correct; give another problem"
            )
        model = compile_problem(problem, kind, length=length, precision=precision, hops=hops)
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
        """Return the initial canvas: masks only."""
        return masks(self.predictor, len(self.words), self.slots)

    @cached_property
    def own(self) -> Sample:
        """Return the run of the model's own planner on every word."""
        predictor = self.predictor
        if self.read_only:
            layout = CanvasLayout.of(predictor.model, work=self.read_only)
            every_row = CachePolicy("refresh", 1)
            runs = [cached_run(predictor.model, word, every_row, layout) for word in predictor.words.tolist()]
            passes = np.array([len(run.canvas) for run in runs])
            stacked = (np.stack([run.canvas[min(t, len(run.canvas) - 1)] for run in runs]) for t in range(max(passes)))
            return Sample((self.blank, *stacked), passes, predictor.mask_id)
        traces = run_batch(predictor.model, predictor.words, engine=predictor.engine)
        canvases = (np.stack([trace.canvas[t] for trace in traces]) for t in range(predictor.model.steps))
        passes = np.full(len(traces), predictor.model.steps)
        return Sample((self.blank, *canvases), passes, predictor.mask_id)

    @property
    def expected(self) -> np.ndarray:
        """Return the right value of every slot, [batch, slots]; the mask if the model's own planner writes nothing."""
        return self.own.sequences

    def right_slots(self, sample: Sample) -> np.ndarray:
        """Return which slots hold their right value, [batch, slots]; a slot without a right value counts as right."""
        return (sample.sequences == self.expected) | (self.expected == self.predictor.mask_id)

    def right_answers(self, sample: Sample) -> np.ndarray:
        """Return for which words the answer is that of the oracle, [batch]."""
        model = self.predictor.model
        rows = (model.symbols(row[-self.outputs :]) for row in sample.sequences)
        model_answers = [str(outcome_of_symbols(model, symbols, self.symbols)) for symbols in rows]
        return np.array([actual == expected for actual, expected in zip(model_answers, self.answers, strict=True)])

    def right(self, sample: Sample) -> np.ndarray:
        """Return for which words the answer is that of the oracle and every slot holds its right value, [batch]."""
        return self.right_answers(sample) & self.right_slots(sample).all(axis=1)

    @property
    def chance(self) -> float:
        """Return the share of the most frequent answer: the score of a constant answer."""
        return max(self.answers.count(answer) for answer in self.answers) / len(self.answers)


def balanced_words(source: Problem, length: int, outputs: int, count: int, seed: int) -> list[tuple[str, str]]:
    """Return at most `count` distinct (word, answer) of which no answer has more than half, rounded up.

    Words are drawn until that is possible. Raise if every word has the same answer: a sampler could then score 1.00
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
    chosen = balanced_by_answer(pairs, count)
    if not chosen:
        tried_words = f"all {len(pairs):,} words of" if complete else f"all {len(pairs):,} words drawn from"
        raise ProblemError(
            f"no score: {tried_words} {source.name} at N = {length} have the answer {pairs[0][1]!r}, which a constant "
            "sampler also gives; choose another --length, or a problem with at least two answers"
        )
    return chosen


def balanced_by_answer(pairs: Sequence[tuple[str, str]], count: int) -> list[tuple[str, str]]:
    """Return `count` of the pairs (word, answer), each answer in turn; fewer if one would have more than half."""
    by_answer: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for pair in pairs:
        by_answer[pair[1]].append(pair)
    in_turn = [pair for row in zip_longest(*by_answer.values()) for pair in row if pair is not None]
    return in_turn[: min(count, _balanced_size(Counter(answer for _, answer in pairs)))]


def _balanced_size(answers: Counter[str]) -> int:
    """Return the most words that can be chosen so that no answer has more than half of them."""
    most = max(answers.values(), default=0)
    others = answers.total() - most
    return others + min(most, others)


def _candidates(source: Problem, length: int, rng: random.Random) -> tuple[Iterator[str], bool]:
    """Return distinct words in a random order, and whether these are all words of the length."""
    if source.characters is None and source.every_word(length) is None and len(source.letters) ** length <= MOST_DRAWN:
        gap = "" if is_plain(source.letters) else " "
        every = [gap.join(letters) for letters in product(source.letters, repeat=length)]
        rng.shuffle(every)
        return iter(every), True
    return _distinct(islice(source.words(length, rng), MOST_DRAWN)), False


def _distinct(words: Iterable[str]) -> Iterator[str]:
    yielded: set[str] = set()
    for word in words:
        if word not in yielded:
            yielded.add(word)
            yield word


# Dependencies: the slots from which a slot is computed, found in the attention weights of the predictor.
#
#     reads(row) after layer l = ⋃ reads(key) before l, over the row itself and all keys with a weight that is not 0
#
# Consider the run of the model's own planner. Let c be the first canvas from which on the logits of slot s stay the
# same until s is written. Slot s depends on slot t if t is written on c and is among the reads of s on c.
#
# This uses only weights and canvases, and not the program. A slot whose logits are final before the planner chooses it
# does not depend on slots that are written in the meantime. No slot depends on one that the planner never writes.


WEIGHTS = re.compile(r"layers\.(\d+)\.heads\.\d+\.weights")
MOST_ATTENTION_ENTRIES = 1 << 25  # in memory at once
MOST_DEPENDENCY_ENTRIES = 1 << 29  # of the result, for all words


def dependencies(subject: Subject) -> np.ndarray | None:
    """Return which slot reads which, [batch, slot, slot that it reads]; None if that does not fit into memory."""
    full, planner_run = subject.predictor, subject.own
    rows = full.model.rows
    if rows * rows > MOST_ATTENTION_ENTRIES or len(subject.words) * subject.slots**2 > MOST_DEPENDENCY_ENTRIES:
        return None
    words_at_once = max(1, MOST_ATTENTION_ENTRIES // (rows * rows))
    chunks = []
    for first in range(0, len(subject.words), words_at_once):
        chunk = slice(first, first + words_at_once)
        predictor = CompiledPredictor(full.model, full.words[chunk], full.engine)
        histories = [canvas[chunk] for canvas in planner_run.histories]
        depends = np.zeros((*histories[0].shape, subject.slots), dtype=bool)
        current_reads, last_logits = depends.copy(), None
        for before, after in pairwise(histories):
            logits, pass_reads = logits_and_reads(predictor, before)
            changed = np.ones(before.shape, bool) if last_logits is None else (logits != last_logits).any(axis=-1)
            current_reads = np.where(
                changed[:, :, None], pass_reads & (before != full.mask_id)[:, None, :], current_reads
            )
            newly_written = (before == full.mask_id) & (after != full.mask_id)
            depends |= current_reads & newly_written[:, :, None]
            last_logits = logits
        chunks.append(depends)
    return np.concatenate(chunks)


def logits_and_reads(predictor: CompiledPredictor, canvas: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the logits of one pass, and the slots whose rows influence each slot's row in it, [batch, slot, slot]."""
    layers: dict[int, np.ndarray] = {}

    def watch(name: str, value: np.ndarray) -> None:
        match = WEIGHTS.fullmatch(name)
        if match is not None:
            layer = int(match.group(1))
            layers[layer] = layers.get(layer, False) | (value != 0)

    logits = predictor.read(canvas, watch=watch)
    rows = predictor.model.rows
    itself = np.eye(rows, dtype=np.float32)
    flow = np.broadcast_to(itself, (len(canvas), rows, rows))
    for layer in sorted(layers):
        flow = ((layers[layer] + itself) @ flow > 0).astype(np.float32)
    first = predictor.first_row
    return logits, flow[:, first:, first:] > 0


# Order: how often a sampler writes a slot before the slots that it depends on, and its first wrong write.


MOST_LISTED_SLOTS = 2


@dataclass(frozen=True)
class WrongWrite:
    """The first write of a run that differs from that of the model's own planner, and the reason."""

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
    """The dependencies between the slots of a subject, from which valid orders follow."""

    subject: Subject

    @cached_property
    def depends(self) -> np.ndarray | None:
        return dependencies(self.subject)

    @cached_property
    def _pairs(self) -> tuple[np.ndarray, ...]:
        """Return (word, slot, slot that it reads) for all dependencies."""
        assert self.depends is not None
        return np.nonzero(self.depends)

    def violated(self, sample: Sample) -> float | None:
        """Return the share of dependencies that the order violates: the slot was not written after the one it reads."""
        if self.depends is None:
            return None
        when = sample.step_map
        words, slots, read = self._pairs
        early = (when[words, slots] <= when[words, read]) & (when[words, slots] > 0)
        return float(early.mean()) if len(early) else 0.0

    def first_wrong(self, sample: Sample) -> WrongWrite | None:
        """Return the first wrong write of the first word that has one; words with a wrong result come first."""
        is_right = self.subject.right(sample)
        for row in np.argsort(is_right, kind="stable").tolist():
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
        writes = [write for write in wrong if write.step == wrong[0].step]
        write = next((write for write in writes if self._masked_operands(sample, row, write)), writes[0])
        symbols, reason = self.subject.predictor.vocabulary, self._reason(sample, row, write)
        return WrongWrite(row, write.step, write.slot, symbols[write.after], symbols[truth[write.slot]], reason)

    def _masked_operands(self, sample: Sample, row: int, write: Write) -> list[int]:
        """Return the masked slots that a written slot reads, without those that other masked ones among them read."""
        if self.depends is None:
            return []
        is_masked = sample.histories[write.step - 1][row] == self.subject.predictor.mask_id
        masked = np.flatnonzero(self.depends[row, write.slot] & is_masked)
        return [t for t in masked.tolist() if not self.depends[row, masked, t].any()]

    def _reason(self, sample: Sample, row: int, write: Write) -> str:
        """Return why a slot was written wrongly: a slot that it reads was masked, or a wrong slot was written."""
        operands = self._masked_operands(sample, row, write)
        if operands:
            listed = ", ".join(map(str, operands[:MOST_LISTED_SLOTS]))
            listed += " …" if len(operands) > MOST_LISTED_SLOTS else ""
            subject, verb = ("slots", "were") if len(operands) > 1 else ("slot", "was")
            return f"slot {write.slot} written while {subject} {listed} {verb} masked"
        mask = self.subject.predictor.mask_id
        truth, before = self.subject.own.sequences[row], sample.histories[write.step - 1][row]
        extra = np.flatnonzero((truth == mask) & (before != mask))
        if len(extra):
            return (
                f"slot {write.slot} written wrongly after slot {extra[0]}, which the model's own planner leaves masked"
            )
        return f"slot {write.slot} written wrongly although all that it reads was written"
