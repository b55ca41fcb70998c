"""TrainedPredictor: a trained model as the samplers of the field know a predictor, bound to words.

logits(canvas) = those of one pass, the mask's column −∞
correctness    = of the same pass, how sure the network is that its likeliest symbol is right
"""

from dataclasses import dataclass, field

import numpy as np
import torch

from unmask.lab.evaluation.trained import Trained
from unmask.samplers.passes.parameters import SamplerError
from unmask.samplers.passes.predictor import without_mask
from unmask.weights.kinds import DIFFUSION


@dataclass(eq=False)
class TrainedPredictor:
    """Row b of a canvas belongs to word b, [batch, length] as tokens."""

    trained: Trained
    words: np.ndarray
    correctness: np.ndarray = field(default_factory=lambda: np.zeros(0))
    """[batch, slots], logits, after every pass."""

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
