"""A trained model as a predictor for samplers (`TrainedPredictor`), and planners for trained models.

logits(canvas) = those of one pass, the mask's column −∞
correctness    = from the same pass, how sure the network is that its likeliest symbol is right
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import torch

from unmask.lab.task_sources import Stream, words
from unmask.lab.trained_model import Trained
from unmask.samplers.rule_interface import (
    Beliefs,
    Chance,
    Remasking,
    Sampler,
    SamplerError,
    State,
    surest,
    without_mask,
)
from unmask.samplers.sampler_names import parse_sampler
from unmask.samplers.sampling_loop import masks, sample
from unmask.weights.kinds import DIFFUSION


@dataclass(eq=False)
class TrainedPredictor:
    """A predictor: row b of a canvas belongs to word b, [batch, length] as tokens."""

    trained: Trained
    words: np.ndarray
    correctness: np.ndarray = field(default_factory=lambda: np.zeros(0))
    """Logits of correctness after each pass, [batch, slots]."""

    def __post_init__(self) -> None:
        if self.trained.kind not in DIFFUSION or not self.trained.task.written_once:
            raise SamplerError(
                f"samplers write each slot once, but {self.trained.task.framework} of "
                f"{self.trained.config.problem} rewrites "
                "slots; train the framework tree, or a program that writes its slots once"
            )

    @property
    def mask_id(self) -> int:
        return self.trained.task.mask

    @property
    def vocabulary(self) -> tuple[str, ...]:
        return self.trained.vocabulary

    def logits(self, canvas: np.ndarray) -> np.ndarray:
        network, places = self.trained.network, self.trained.places
        with torch.inference_mode():
            tokens = np.concatenate([self.words, canvas], axis=1)
            asked = slice(self.trained.length, None)
            slots = network(torch.from_numpy(tokens).to(places.codes.device), places.at(0), asked=asked)
            self.correctness = network.correctness(slots).double().cpu().numpy()
            logits = without_mask(network.logits(slots).double().cpu().numpy(), self.mask_id)
        logits[..., self.trained.task.pad] = -np.inf
        return logits


# Planners over a trained predictor: published ones, and two that need more than logits.
#
#     oracle      in pass t, the slots that the exact order writes in step t
#     learned:k   the k masked slots whose likeliest symbol is most probably right according to the network
#
# All planners write the likeliest symbol.


PER_PASS = (1, 2, 4)


@dataclass(frozen=True, eq=False)
class ExactOrder:
    """A sampler that writes in pass t the slots that `order[t]` flags."""

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
    """A sampler that writes the k slots with the largest output of the predictor's read-out of correctness."""

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
    """Return (name, sampler): first those with a fixed number of slots per pass, then those that choose it."""
    trained = predictor.trained
    slots = trained.padding
    samplers: list[tuple[str, Sampler]] = [("oracle", ExactOrder(trained.order))]
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
    """Run every planner on the same fresh words; return the share of right roots and the mean number of passes."""
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
