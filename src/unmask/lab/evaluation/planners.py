"""Planners over a trained predictor: those of the field, and two that need more than logits.

    oracle      in pass t, the slots that the exact order writes in step t
    learned:k   the k masked slots whose likeliest symbol the network itself holds most probably right

All write the likeliest symbol.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from unmask.lab.evaluation.predictor import TrainedPredictor
from unmask.lab.evaluation.trained import Trained
from unmask.lab.tasks.words import Stream, words
from unmask.samplers.passes.beliefs import Beliefs, surest
from unmask.samplers.passes.chance import Chance
from unmask.samplers.passes.sample import masks, sample
from unmask.samplers.passes.state import Remasking, Sampler, State
from unmask.samplers.zoo import parse_sampler

PER_PASS = (1, 2, 4)


@dataclass(frozen=True, eq=False)
class Oracle:
    """`order[t]` flags the slots of pass t."""

    order: np.ndarray
    label: ClassVar[str] = "oracle"
    remasks: ClassVar[Remasking] = "declines"

    def finished(self, state: State) -> bool:
        return state.step >= len(self.order)

    def next(self, state: State, beliefs: Beliefs, chance: Chance) -> State:  # noqa: ARG002
        slots = np.flatnonzero(self.order[state.step])
        return state.written(slots, beliefs.best[slots])


@dataclass(frozen=True, eq=False)
class Learned:
    """The k slots that the predictor's own read-out of correctness holds surest."""

    predictor: TrainedPredictor
    k: int
    remasks: ClassVar[Remasking] = "declines"

    @property
    def label(self) -> str:
        return f"learned k={self.k}"

    def finished(self, state: State) -> bool:
        return state.full

    def next(self, state: State, beliefs: Beliefs, chance: Chance) -> State:  # noqa: ARG002
        slots = np.flatnonzero(state.masked)
        chosen = surest(slots, self.predictor.correctness[state.row, slots], self.k)
        return state.written(chosen, beliefs.best[chosen])


def rules(predictor: TrainedPredictor) -> list[tuple[str, Sampler]]:
    """(name, sampler): fixed numbers of slots per pass, then those that decide for themselves."""
    trained = predictor.trained
    slots = trained.padding
    samplers: list[tuple[str, Sampler]] = [("oracle", Oracle(trained.order))]
    for k in PER_PASS:
        steps = -(-slots // k)
        samplers += [
            (f"uniform k={k}", _field("llada:remasking=random", steps)),
            (f"confidence k={k}", _field("llada:remasking=low_confidence", steps)),
            (f"margin k={k}", _field("dream:alg=topk_margin,scheduler=linear", steps)),
            (f"entropy k={k}", _field("dream:alg=entropy,scheduler=linear", steps)),
            (f"p2 k={k}", _field("p2", steps)),
            (f"learned k={k}", Learned(predictor, k)),
        ]
    return [*samplers, ("threshold 0.9", _field("fast-dllm:threshold=0.9", 1)), ("eb 0.1", _field("eb:gamma=0.1", 1))]


def _field(name: str, steps: int) -> Sampler:
    return parse_sampler(name).make(steps)


def planned(
    trained: Trained, *, count: int, seed: int, among: Callable[[str], bool] | None = None
) -> list[dict[str, Any]]:
    """Every planner on the same fresh words: the share of right roots, and the mean number of passes."""
    drawn = words(trained.task.source, count, trained.length, seed, Stream.judging, 1)
    answers = trained.task.answers(drawn)
    predictor = TrainedPredictor(trained, drawn)
    results = []
    for name, rule in rules(predictor):
        if among is not None and not among(name):
            continue
        done = sample(predictor, rule, masks(predictor, count, trained.padding), seed=seed)
        right = float((trained.task.shown_answers(done.sequences) == answers).all(axis=1).mean())
        results.append({"planner": name, "right": right, "passes": float(done.passes.mean()), "words": count})
    return results
