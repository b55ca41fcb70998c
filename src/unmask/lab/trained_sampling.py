"""A trained model as a predictor for samplers (`TrainedPredictor`), and the samplers that are compared on it.

logits(canvas) = those of one pass, the mask's column −∞
correctness    = from the same pass, how sure the network is that its likeliest symbol is right
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from unmask.lab.task_sources import Stream, words
from unmask.lab.trained_model import Trained
from unmask.reasoners.planners import Confidence, Situation
from unmask.samplers.rule_interface import Beliefs, Sampler, SamplerError, State, without_mask
from unmask.samplers.sampler_names import parse_sampler
from unmask.samplers.sampling_loop import masks, sample
from unmask.samplers.write_once_rules import PlannedSampler
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
            stream = network(
                torch.from_numpy(tokens).to(places.codes.device),
                places.at(0),
                needed_rows=slice(self.trained.length, None),
            )
            self.correctness = network.correctness(stream).double().cpu().numpy()
            logits = without_mask(network.logits(stream).double().cpu().numpy(), self.mask_id)
        logits[..., self.trained.task.pad] = -np.inf
        return logits


# Samplers of a trained predictor: published ones, and two planners that need more than logits.
#
#     oracle      in pass t, the slots that the exact order writes in step t
#     learned:k   the k masked slots whose likeliest symbol is most probably right according to the network
#
# All of them write the likeliest symbol.


PER_PASS = (1, 2, 4)


@dataclass(frozen=True, eq=False)
class ExactOrder:
    """The planner that chooses in step t the slots that `order[t]` flags; every slot is flagged in one step."""

    order: np.ndarray

    def choose(self, situation: Situation) -> np.ndarray:
        return situation.masked & self.order[situation.step]


def compared_samplers(predictor: TrainedPredictor) -> list[tuple[str, Sampler]]:
    """Return (name, sampler): first those with a fixed number of slots per pass, then those that choose it."""

    def correctness(state: State, beliefs: Beliefs) -> np.ndarray:  # noqa: ARG001
        return predictor.correctness[state.row]

    trained = predictor.trained
    slots = trained.padding
    named: list[tuple[str, Sampler]] = [("oracle", PlannedSampler(ExactOrder(trained.order), "oracle"))]
    for k in PER_PASS:
        steps = -(-slots // k)
        learned = f"learned k={k}"
        named += [
            (f"uniform k={k}", published_sampler("llada:remasking=random", steps)),
            (f"confidence k={k}", published_sampler("llada:remasking=low_confidence", steps)),
            (f"margin k={k}", published_sampler("dream:alg=topk_margin,scheduler=linear", steps)),
            (f"entropy k={k}", published_sampler("dream:alg=entropy,scheduler=linear", steps)),
            (f"p2 k={k}", published_sampler("p2", steps)),
            (learned, PlannedSampler(Confidence(k), learned, confidence=correctness)),
        ]
    return [
        *named,
        ("threshold 0.9", published_sampler("fast-dllm:threshold=0.9")),
        ("eb 0.1", published_sampler("eb:gamma=0.1")),
    ]


def published_sampler(name: str, steps: int = 1) -> Sampler:
    return parse_sampler(name).make(steps)


def measure_samplers(
    trained: Trained, *, count: int, seed: int, include: Callable[[str], bool] | None = None
) -> list[dict[str, Any]]:
    """Run every sampler on the same fresh words; return the share of right answers and the mean number of passes."""
    tested_words = words(trained.task.source, count, trained.length, seed, Stream.judging, 1)
    answers = trained.task.answers(tested_words)
    predictor = TrainedPredictor(trained, tested_words)
    results = []
    for name, sampler in compared_samplers(predictor):
        if include is not None and not include(name):
            continue
        result = sample(predictor, sampler, masks(predictor, count, trained.padding), seed=seed)
        right = float((trained.task.shown_answers(result.sequences) == answers).all(axis=1).mean())
        results.append({"planner": name, "right": right, "passes": float(result.passes.mean()), "words": count})
    return results
