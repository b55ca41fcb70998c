"""Checks on compiled problems: steps in every framework, and what a planner is worth."""

from fractions import Fraction
from functools import cache
from itertools import permutations, product
from math import factorial, prod

import numpy as np

from unmask.engines.fast import FastEngine
from unmask.paper.checks.binomial import UNLIKELY, tail
from unmask.paper.checks.evidence import Effort, Evidence, require
from unmask.pipeline import compare_frameworks, compile_problem
from unmask.programs.language.positions import n
from unmask.programs.regular.tree import queue_factor, tree_steps
from unmask.reasoners.decoding import decode
from unmask.reasoners.frame import Frame
from unmask.reasoners.perfection import Canvas, Conditionals, Task, model_conditionals, perfect
from unmask.reasoners.planners import Uniform
from unmask.reasoners.run import answers, run
from unmask.reasoners.tape import Tape
from unmask.weights.model import Model


def steps_both_ways(effort: Effort) -> Evidence:
    """Measured steps of parity and A5: ⌈log2 N⌉ against N. Upper bounds, which is all a run can show."""
    cases = 0
    for problem, lengths in (("group:Z2", (8, 32)), ("group:A5", (8,))):
        rows = list(compare_frameworks(problem, lengths if effort.percent >= 100 else lengths[:1]))
        for row in rows:
            require(row.correct is True and row.within_bound, f"{row.framework} fails on {problem} at N = {row.length}")
            steps = {"mdm": tree_steps(row.length), "cot": row.length}.get(row.framework, row.steps)
            require(row.steps == steps, f"{row.framework} takes {row.steps} steps on {problem} at N = {row.length}")
        cases += len(rows)
    return Evidence("steps of parity and of the word problem of A5, compiled for every framework", cases)


# the experiment on thm:perfect-approximation-limitation


def planner_is_needed(effort: Effort) -> Evidence:
    """The parity tree: planned, it is right; unmasked uniformly, by the hook-length formula; and E2."""
    cases = 0
    for length in range(2, 7 if effort.percent >= 100 else 5):
        model = parity(length)
        planned, uniform = planned_accuracy(model), uniform_accuracy(model)
        require(planned == 1, f"planned, the parity of {length} bits is right with probability {planned} only")
        formula = closed_formula(length)
        require(uniform == formula, f"unmasked uniformly, N = {length} is right {uniform} of the time, not {formula}")
        cases += factorial(length - 1) * 2**length
    cases += sampled_runs(effort, 4)
    cases += imperfect_slots(4)
    return Evidence(
        "parity, planned and in every order of unmasking, every word, N = 2 … 6, against 1/2 + 1/2·Π 1/h(v); "
        "sampled runs against their exact law; perfect() over all contexts",
        cases,
    )


def parity(length: int) -> Model:
    return compile_problem("group:Z2", "mdm", length=length)


def factors(length: int) -> list[tuple[int, int]]:
    """Per slot its two factors: inputs below N, then slots N + j."""
    both = [queue_factor(n, side).evaluate(length, range(length - 1)) for side in (0, 1)]
    return [(int(left), int(right)) for left, right in zip(*both, strict=True)]


def closed_formula(length: int) -> Fraction:
    """1/2 + 1/2·Π_v 1/h(v), h(v) = how many slots the subtree of slot v has."""
    sizes: list[int] = []
    for pair in factors(length):
        sizes.append(1 + sum(sizes[f - length] for f in pair if f >= length))
    return Fraction(1, 2) + Fraction(1, 2 * prod(sizes))


def planned_accuracy(model: Model) -> Fraction:
    words = _words(model)
    right = answers(model, words, engine=FastEngine()).accepted == _parities(model, words)
    return Fraction(int(right.sum()), len(words))


def uniform_accuracy(model: Model) -> Fraction:
    """All words, all orders, one slot at a time, decoded: exact. An undecided slot holds a fixed symbol, and over

    all words the bits it ignores are a fair coin; that is where the 1/2 comes from.
    """
    words, mask = _words(model), model.token[model.mask or ""]
    frame = Frame(model, words, FastEngine())
    session = frame.session("predictor")

    @cache
    def canvas(order: tuple[int, ...]) -> np.ndarray:
        if not order:
            return np.full((len(words), model.padding), mask)
        before = canvas(order[:-1])
        logits = session.read(frame.before(before), (frame.first_row, model.rows))
        symbols = decode(logits, model.precision, without=mask)
        return np.where(np.arange(model.padding) == order[-1], symbols, before)

    accept = model.token[model.accept]
    right = total = 0
    for order in permutations(range(model.padding)):
        said = (canvas(order)[:, -1] == accept).astype(int)
        right += int((said == _parities(model, words)).sum())
        total += len(words)
    return Fraction(right, total)


def sampled_runs(effort: Effort, length: int) -> int:
    """Runs of `--planner uniform:1 --sample` against the exact chance, within the tail of a binomial law."""
    model = parity(length)
    word = [0] * (length - 1) + [1]
    laws = model_conditionals(model, word, engine=FastEngine(), sampled=True)
    true = model.accept if sum(word) % 2 == 0 else model.reject
    chance = _chance(model, laws, true)
    runs = effort.of(400)
    right = sum(
        run(model, word, engine=FastEngine(), tape=Tape(s), planner=Uniform(1, Tape(s)), canvas=False).output[-1]
        == true
        for s in range(runs)
    )
    require(tail(runs, right, chance) > UNLIKELY, f"{right} of {runs} runs are right, expected {chance}")
    return runs


def _chance(model: Model, laws: Conditionals, true: str) -> Fraction:
    """The exact probability that uniform unmasking with sampling ends with the right answer."""

    @cache
    def right(context: Canvas) -> Fraction:
        masked = [i for i, s in enumerate(context) if s == model.mask]
        if not masked:
            return Fraction(int(context[-1] == true))
        law = laws(context)
        total = Fraction(0)
        for i in masked:
            for symbol, p in law[i].items():
                if p:
                    total += p * right((*context[:i], symbol, *context[i + 1 :]))
        return total / len(masked)

    return right(tuple([model.mask or ""] * model.padding))


def imperfect_slots(length: int) -> int:
    """E2: over the contexts of the true canvas, the predictor is imperfect exactly at slots with a masked factor."""
    model, cases = parity(length), 0
    tree = factors(length)
    elements, mask = model.input_symbols, model.mask or ""
    for word in _words(model).tolist():
        values = list(word)
        for left, right in tree:
            values.append((values[left] + values[right]) % 2)
        true = [elements[v] for v in values[length:]]
        true[-1] = model.accept if values[-1] == 0 else model.reject
        task = Task({tuple(true): Fraction(1)}, mask)
        contexts = list(task.contexts())
        laws = model_conditionals(model, word, engine=FastEngine(), sampled=True)
        wrong = {(i.context, i.slot) for i in perfect(laws, task.conditionals, iter(contexts))}
        expected = {
            (context, slot)
            for context in contexts
            for slot, pair in enumerate(tree)
            if context[slot] == mask and any(f >= length and context[f - length] == mask for f in pair)
        }
        require(wrong == expected, f"on {word} the predictor is imperfect elsewhere: {sorted(wrong ^ expected)[:1]}")
        require(((mask,) * model.padding, model.padding - 1) in wrong, "the answer is known from the masks alone")
        cases += len(contexts)
    return cases


def _words(model: Model) -> np.ndarray:
    tokens = [model.token[s] for s in model.input_symbols]
    return np.array(list(product(tokens, repeat=model.length)), dtype=np.int64)


def _parities(model: Model, words: np.ndarray) -> np.ndarray:
    """1 where the sum is even: the product is the identity."""
    return (words.sum(axis=1) % 2 == 0).astype(int) if model.input_symbols else words
