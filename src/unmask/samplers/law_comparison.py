"""The law q of a sampler, enumerated or sampled, compared with the true law p.

    KL(p‖q) = Σ p log(p/q)        in nats; ∞ where a possible string is never written
    TV      = ½ Σ |p − q|
    impossible = q(strings that p excludes)

A sampled q is estimated from counts c of M runs. TV is that of c/M; its expected error is at most ½ Σ √(q(1 − q)/M),
which is given as the bar. KL takes (c + ½)/(M + S/2) for q, S the number of strings (the estimator of Krichevsky and
Trofimov); its bar is √(Var/M) by the delta method, Var = Σ p²/q − 1.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import cached_property, reduce
from itertools import combinations, permutations, product
from math import comb, inf, isfinite, perm, prod
from typing import Any, Protocol, runtime_checkable

import numpy as np

from unmask.samplers.line_plot import Point, Series
from unmask.samplers.report_page import ReportTable, html_report, report_plot
from unmask.samplers.rule_interface import Beliefs, Predictor, Sampler, State
from unmask.samplers.sampler_names import NamedSampler
from unmask.samplers.sampling_loop import masks, sample
from unmask.samplers.string_law import LawPredictor, StringLaw

# The exact law of a rule that moves the slots independently, given the canvas: one vector over all canvases.
#
#     μ_{t+1}(y) = Σ_x μ_t(x) · Π_i K_x(i, y_i)        K_x the rule's `slotwise` on canvas x

MOST_DENSE = 7_000  # canvases; a pass takes time and memory proportional to the square


@runtime_checkable
class Slotwise(Protocol):
    """A sampler whose pass draws the slots independently, if `is_slotwise`; it makes a fixed number of passes."""

    @property
    def is_slotwise(self) -> bool: ...

    def slotwise(self, state: State, beliefs: Beliefs) -> np.ndarray: ...

    def finished(self, state: State) -> bool: ...


def dense_size(predictor: Predictor, slots: int) -> int:
    """Return the number of canvases."""
    return len(predictor.vocabulary) ** slots


def slotwise_law(predictor: Predictor, sampler: Slotwise, slots: int) -> tuple[np.ndarray, np.ndarray, int]:
    """Return (canvases that can be written, their probabilities, passes)."""
    canvases = np.array(list(product(range(len(predictor.vocabulary)), repeat=slots)), dtype=np.int64)
    blank = masks(predictor, 1, slots)[0]
    mass = (canvases == blank).all(axis=1).astype(float)
    logits = predictor.logits(canvases)
    step = 0
    while not sampler.finished(State(blank, blank, predictor.mask_id, step=step)):
        after = np.zeros_like(mass)
        for number in np.flatnonzero(mass).tolist():
            state = State(blank, canvases[number], predictor.mask_id, step=step)
            kernel = sampler.slotwise(state, Beliefs(logits[number]))
            after += mass[number] * reduce(lambda joint, row: np.multiply.outer(joint, row).ravel(), kernel)
        mass, step = after, step + 1
    possible = np.flatnonzero(mass)
    return canvases[possible], mass[possible], step


# The exact law of any other rule: every outcome of its random choices, with its probability.
#
#     μ_0 = the blank canvas,    μ_{t+1}(y) = Σ_x μ_t(x) · P(next pass takes x to y)
#
# States with the same future (same canvas, same pass, same memory) are merged, so this is a dynamic program over
# canvases. Within a pass each random choice is made in every possible way, by running the rule again with a longer
# script. A rule that asks for numbers from a continuum cannot be enumerated.


MOST_BRANCHES = 20_000
LEAST_WEIGHT = 1e-15  # a lighter branch is left out and counted as missing mass


class CannotEnumerate(Exception):
    """Raised if there are more outcomes than can be enumerated, or a continuum of them."""


class _EndOfScript(Exception):
    """Raised at a random choice beyond the end of the script, with its possible outcomes."""

    def __init__(self, outcomes: list[tuple[float, np.ndarray]]) -> None:
        self.outcomes = outcomes


class Scripted:
    """A source of chance that reads its answers from a script, and raises `_EndOfScript` at the end of the script."""

    def __init__(self, script: tuple[np.ndarray, ...], most: int) -> None:
        self.script, self.position, self.most = script, 0, most

    def symbols(self, probabilities: np.ndarray) -> np.ndarray:
        p = probabilities / probabilities.sum(axis=-1, keepdims=True)
        choices = [[(float(row[a]), int(a)) for a in np.flatnonzero(row > 0)] for row in p]
        return self._answer(prod(map(len, choices)), lambda: _independent(choices))

    def coins(self, probabilities: np.ndarray) -> np.ndarray:
        pairs = [((float(p), 1), (float(1 - p), 0)) for p in np.clip(probabilities, 0, 1)]
        choices = [[pair for pair in both if pair[0] > 0] for both in pairs]
        return self._answer(prod(map(len, choices)), lambda: _independent(choices)).astype(bool)

    def subset(self, slots: np.ndarray, count: int) -> np.ndarray:
        count = min(count, len(slots))
        ways = comb(len(slots), count)
        return self._answer(ways, lambda: [(1 / ways, np.array(c, int)) for c in combinations(slots.tolist(), count)])

    def weighted_subset(self, slots: np.ndarray, weights: np.ndarray, count: int) -> np.ndarray:
        able = np.flatnonzero(weights > 0)
        count = min(count, len(able))
        return self._answer(perm(len(able), count), lambda: _one_by_one(slots, weights, able, count))

    def uniforms(self, shape: tuple[int, ...]) -> np.ndarray:  # noqa: ARG002
        raise CannotEnumerate

    def _answer(self, ways: int, outcomes: Callable[[], list[tuple[float, np.ndarray]]]) -> np.ndarray:
        if self.position < len(self.script):
            self.position += 1
            return self.script[self.position - 1]
        if ways > self.most:
            raise CannotEnumerate
        raise _EndOfScript(outcomes())


@dataclass(frozen=True, eq=False)
class ExactLaw:
    """Final canvases and their probabilities; `missing` is the total probability of branches too light to follow."""

    canvases: np.ndarray
    probabilities: np.ndarray
    passes: float
    """Mean number of passes."""
    missing: float


def exact_law(predictor: Predictor, sampler: Sampler, slots: int) -> ExactLaw:
    """Return the law of what the sampler writes on a blank canvas; raise CannotEnumerate if it cannot be enumerated."""
    if isinstance(sampler, Slotwise) and sampler.is_slotwise and dense_size(predictor, slots) <= MOST_DENSE:
        canvases, probabilities, steps = slotwise_law(predictor, sampler, slots)
        return ExactLaw(canvases, probabilities, steps, 0.0)
    return scripted_law(predictor, sampler, slots)


def scripted_law(predictor: Predictor, sampler: Sampler, slots: int) -> ExactLaw:
    """Return the law by enumerating scripts, for any rule."""
    blank = masks(predictor, 1, slots)[0]
    start = State(blank, blank, predictor.mask_id)
    layer = {start.key: (1.0, start)}
    final_weights: dict[bytes, float] = {}
    branches, passes = 0, 0.0
    while layer:
        running = []
        for weight, state in layer.values():
            if sampler.finished(state):
                final_weights[state.canvas.tobytes()] = final_weights.get(state.canvas.tobytes(), 0.0) + weight
                passes += weight * state.step
            else:
                running.append((weight, state))
        layer = {}
        if not running:
            break
        logits = predictor.logits(np.stack([state.canvas for _, state in running]))
        for (weight, state), row in zip(running, logits, strict=True):
            for chance, after in _outcomes(sampler, state, Beliefs(row), MOST_BRANCHES - branches):
                branches += 1
                if weight * chance < LEAST_WEIGHT:
                    continue
                before = layer.get(after.key, (0.0, after))[0]
                layer[after.key] = (before + weight * chance, after)
    canvases = np.array([np.frombuffer(key, dtype=blank.dtype) for key in final_weights]).reshape(-1, slots)
    probabilities = np.array(list(final_weights.values()))
    return ExactLaw(canvases, probabilities, passes, max(0.0, 1 - float(probabilities.sum())))


def _outcomes(sampler: Sampler, state: State, beliefs: Beliefs, most: int) -> Iterator[tuple[float, State]]:
    """Yield (probability, the state after one pass) for every outcome of the random choices."""
    open_scripts: list[tuple[float, tuple[np.ndarray, ...]]] = [(1.0, ())]
    yielded = 0
    while open_scripts:
        weight, script = open_scripts.pop()
        try:
            after = sampler.next(state, beliefs, Scripted(script, most))
        except _EndOfScript as end:
            open_scripts += [(weight * p, (*script, answer)) for p, answer in end.outcomes]
            if len(open_scripts) > most:
                raise CannotEnumerate from None
            continue
        yielded += 1
        if yielded > most:
            raise CannotEnumerate
        yield weight, after


def _independent(choices: list[list[tuple[float, int]]]) -> list[tuple[float, np.ndarray]]:
    return [
        (float(np.prod([p for p, _ in pick])), np.array([a for _, a in pick], dtype=np.int64))
        for pick in product(*choices)
    ]


def _one_by_one(slots: np.ndarray, weights: np.ndarray, able: np.ndarray, count: int) -> list[tuple[float, np.ndarray]]:
    """Return the orders of `count` slots; each slot is drawn in proportion to its weight among those that are left."""
    orders = []
    for order in permutations(able.tolist(), count):
        chance, weight_left = 1.0, float(weights[able].sum())
        for slot in order:
            chance *= weights[slot] / weight_left
            weight_left -= weights[slot]
        orders.append((float(chance), slots[list(order)]))
    return orders


# Distances between laws.


@dataclass(frozen=True)
class Distance:
    """KL, total variation and impossible mass of a sampler's law.

    If `exact`, the law was enumerated. Otherwise it was estimated from `runs` runs, and the errors say how far off the
    estimates may be.
    """

    kl: float
    tv: float
    impossible: float
    exact: bool
    kl_error: float = 0.0
    tv_error: float = 0.0
    runs: int | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object; an infinite KL becomes null."""
        document = asdict(self)
        return {**document, "kl": self.kl if isfinite(self.kl) else None}


def exact_distance(truth: np.ndarray, law: np.ndarray) -> Distance:
    """Return the distance of p and q, which are over the same strings."""
    possible = truth > 0
    p, q = truth[possible], law[possible]
    kl = inf if (q <= 0).any() else float(np.sum(p * np.log(p / q)))
    return Distance(max(0.0, kl), float(np.abs(truth - law).sum() / 2), float(law[~possible].sum()), exact=True)


def sampled_distance(truth: np.ndarray, counts: np.ndarray) -> Distance:
    """Estimate the distance from p over strings and the number of times that each was written."""
    runs = int(counts.sum())
    q = counts / runs
    possible = truth > 0
    smooth = ((counts + 0.5) / (runs + len(counts) / 2))[possible]
    p = truth[possible]
    return Distance(
        kl=float(np.sum(p * np.log(p / smooth))),
        tv=float(np.abs(truth - q).sum() / 2),
        impossible=float(q[~possible].sum()),
        exact=False,
        kl_error=float(np.sqrt(max(0.0, np.sum(p * p / smooth) - 1) / runs)),
        tv_error=float(np.sqrt(q * (1 - q) / runs).sum() / 2),
        runs=runs,
    )


# Law × N × samplers × budgets → KL and total variation as functions of the number of passes.


BATCH = 512
SHARPNESS: dict[str, Any] = {"temperature": 1.0, "tau": 1.0}
"""Samplers draw from the unchanged conditionals, unless their name gives a parameter that changes them."""


@dataclass(frozen=True)
class LawRun:
    """The result of a sampler at one budget; `passes` is the mean."""

    steps: int | None
    passes: float
    distance: Distance

    def to_json(self) -> dict[str, Any]:
        return {"steps": self.steps, "passes": self.passes, **self.distance.to_json()}


@dataclass(frozen=True)
class LawResult:
    """The runs of one sampler, one per budget of passes."""

    sampler: str
    remasking: str
    runs: tuple[LawRun, ...]

    def to_json(self) -> dict[str, Any]:
        return {"sampler": self.sampler, "remasking": self.remasking, "runs": [run.to_json() for run in self.runs]}


@dataclass(frozen=True, eq=False)
class Bench:
    """A law at one length: its true probabilities, and the runs of samplers on its conditionals."""

    law: StringLaw
    length: int

    def __post_init__(self) -> None:
        self.law.check_length(self.length)
        _ = self.truth  # too many strings are refused here

    @cached_property
    def truth(self) -> np.ndarray:
        """Return P_N of every string, in order."""
        return self.law.probabilities(self.law.strings(self.length))

    @cached_property
    def predictor(self) -> LawPredictor:
        return LawPredictor(self.law)

    def numbers(self, strings: np.ndarray) -> np.ndarray:
        """Return the index of each string in that order."""
        return strings @ (len(self.law.alphabet) ** np.arange(self.length)[::-1])

    def run(self, sampler: Sampler, steps: int | None, *, runs: int, seed: int) -> LawRun:
        """Run a sampler: enumerated if possible, otherwise sampled."""
        try:
            law = exact_law(self.predictor, sampler, self.length)
        except CannotEnumerate:
            return self.sampled(sampler, steps, runs=runs, seed=seed)
        written = np.zeros(len(self.truth))
        written[self.numbers(law.canvases)] = law.probabilities
        return LawRun(steps, law.passes, exact_distance(self.truth, written))

    def sampled(self, sampler: Sampler, steps: int | None, *, runs: int, seed: int) -> LawRun:
        counts, passes = np.zeros(len(self.truth), dtype=np.int64), 0
        for number, first in enumerate(range(0, runs, BATCH)):
            blank = masks(self.predictor, min(BATCH, runs - first), self.length)
            batch = sample(self.predictor, sampler, blank, seed=seed + (number << 32))
            counts += np.bincount(self.numbers(batch.sequences), minlength=len(counts))
            passes += int(batch.passes.sum())
        return LawRun(steps, passes / runs, sampled_distance(self.truth, counts))


def law_budgets(slots: int) -> tuple[int, ...]:
    """Return one slot per pass, and every other number of passes for which the even quotas differ."""
    return tuple(sorted({-(-slots // k) for k in range(1, slots + 1)}, reverse=True))


def compare_samplers(
    bench: Bench, entries: Iterable[NamedSampler], budgets: Iterable[int], *, runs: int = 4096, seed: int = 0
) -> Iterator[LawResult]:
    """Measure every sampler at every budget."""
    budgets = tuple(budgets)
    for entry in entries:
        sampler = entry.make(**SHARPNESS)
        result_runs = [
            bench.run(limited, steps if entry.takes_steps else None, runs=runs, seed=seed)
            for steps in (budgets if entry.takes_steps else (1,))
            if (limited := entry.within(steps, bench.length, **SHARPNESS)) is not None
        ]
        yield LawResult(sampler.label, sampler.remasks, tuple(result_runs))


@dataclass(frozen=True, eq=False)
class LawReport:
    """The result of `unmask samplers law:FILE`: every sampler at every budget."""

    bench: Bench
    budgets: tuple[int, ...]
    results: list[LawResult]

    @property
    def title(self) -> str:
        return f"samplers on {self.bench.law.name}, N = {self.bench.length}"

    @property
    def facts(self) -> str:
        possible = int((self.bench.truth > 0).sum())
        return (
            f"{len(self.bench.truth)} strings, {possible} of them possible; KL(truth‖sampler) in nats and total "
            "variation; ± marks what was sampled, all else is exact"
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "law": self.bench.law.name,
            "length": self.bench.length,
            "strings": len(self.bench.truth),
            "budgets": list(self.budgets),
            "samplers": [result.to_json() for result in self.results],
        }

    def summary(self) -> ReportTable:
        """Return a row per sampler: KL and total variation at every budget."""
        columns = (
            "sampler",
            *(f"KL at {b}" for b in self.budgets),
            *(f"TV at {b}" for b in self.budgets),
            "at its own",
        )
        return ReportTable(columns, tuple(self._row(result) for result in self.results), ("sampler", "at its own"))

    def _row(self, result: LawResult) -> tuple[str, ...]:
        by_budget = {run.steps: run for run in result.runs}
        at = [by_budget.get(b) for b in self.budgets]
        free = by_budget.get(None)
        return (
            result.sampler,
            *("" if run is None else _with_bar(run.distance.kl, run.distance.kl_error, run) for run in at),
            *("" if run is None else _with_bar(run.distance.tv, run.distance.tv_error, run) for run in at),
            ""
            if free is None
            else f"KL {_with_bar(free.distance.kl, free.distance.kl_error, free)}, "
            f"TV {_with_bar(free.distance.tv, free.distance.tv_error, free)} in {free.passes:.3g}",
        )

    def everything(self) -> ReportTable:
        """Return a row per sampler and budget."""
        columns = ("sampler", "steps", "passes", "KL", "TV", "impossible", "how")
        rows = tuple(
            (
                result.sampler,
                "" if run.steps is None else str(run.steps),
                f"{run.passes:.3g}",
                _with_bar(run.distance.kl, run.distance.kl_error, run),
                _with_bar(run.distance.tv, run.distance.tv_error, run),
                f"{run.distance.impossible:.4f}",
                "exact" if run.distance.exact else f"{run.distance.runs} runs",
            )
            for result in self.results
            for run in result.runs
        )
        return ReportTable(columns, rows, ("sampler", "how"))

    def page(self) -> str:
        plots = []
        for name, value, error in (("KL(truth‖sampler)", "kl", "kl_error"), ("total variation", "tv", "tv_error")):
            series = [
                Series(
                    result.sampler,
                    tuple(
                        Point(run.passes, getattr(run.distance, value), getattr(run.distance, error))
                        for run in result.runs
                    ),
                )
                for result in self.results
            ]
            plots.append((name, report_plot(series, name)))
        facts = (
            self.facts + ".",
            "The predictor gives the exact conditionals of the law, so that all error is the sampler's.",
        )
        return html_report(self.title, facts, plots, self.everything())


def _with_bar(value: float, error: float, run: LawRun) -> str:
    if not isfinite(value):
        return "∞"
    return f"{value:.4f}" if run.distance.exact else f"{value:.2f}±{error:.2f}"
