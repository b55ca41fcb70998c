"""NetworkMedium: a batch of words through the loops of `reasoners/`, by a trained network.

read        one pass over input · canvas; the planner's and the predictor's reading of a canvas are the same pass
taken       the slots whose likeliest symbol is not the mask; of a mask-dominated model, among those still masked;
            of a predictor alone (random masking), those that the exact order writes in this step
layers      one loop: of a stream, or, where symbols stand between loops, of what the stream reads out to
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from unmask.budget import check
from unmask.lab.evaluation.trained import Trained
from unmask.lab.network.network import EVERY_ROW, Past, Watch
from unmask.reasoners.medium import Moment
from unmask.reasoners.planners import surest
from unmask.reasoners.token_arrays import TokenArrays


@dataclass(frozen=True, eq=False)
class Reading:
    """Logits [batch, rows, symbols] of the last rows in a step, and what stood there."""

    logits: np.ndarray
    tokens: np.ndarray
    step: int


class NetworkMedium(TokenArrays):
    """Words as tokens [batch, length]; tokens and choices are arrays, residual streams are tensors."""

    def __init__(self, trained: Trained, words: np.ndarray, watch: Watch | None = None) -> None:
        self.trained, self.words, self._watch = trained, words, watch
        self.passes = 0
        self._read: tuple[int, np.ndarray, Tensor] | None = None
        self._past = Past() if trained.task.causal and watch is None else None

    @property
    def model(self) -> Trained:
        return self.trained

    def copies(self, symbol: str | None, count: int) -> np.ndarray:
        token = 0 if symbol is None else self.trained.token[symbol]
        return np.full((len(self.words), count), token, dtype=np.int64)

    def read(
        self,
        step: int,
        name: str,
        tokens: np.ndarray,
        last: int,
        *,
        asked: np.ndarray | None = None,  # noqa: ARG002
    ) -> Reading:
        whole = np.concatenate([self.words, tokens], axis=1)
        known = self._read
        if known is None or known[0] != step or known[2].shape[1] < last or not np.array_equal(known[1], whole):
            self._read = known = step, whole, self._pass(step, whole, name, last)
        logits = known[2][:, -last:].double().cpu().numpy()
        return Reading(logits, whole[:, -last:], step)

    def _pass(self, step: int, tokens: np.ndarray, name: str, last: int) -> Tensor:
        check()
        network, device = self.trained.network, self.trained.places.codes.device
        self.passes += 1
        known = 0 if self._past is None else self._past.rows  # a chain only grows
        with torch.inference_mode():
            ids = torch.from_numpy(tokens[:, known:]).to(device)
            places = self.trained.places.at(step, tokens.shape[1], known)
            asked = slice(-last, None) if self._watch is None else EVERY_ROW  # who watches is shown every row
            seen = network(ids, places, self._told(f"steps.{step}.{name}"), self._past, asked)
            if self._past is not None:
                self._past.rows = tokens.shape[1]
            return network.logits(seen)

    def decode(self, logits: Reading, *, without: int | None = None) -> np.ndarray:
        scores = logits.logits
        if without is not None:
            scores = scores.copy()
            scores[..., without] = -np.inf
        return scores.argmax(axis=-1)

    def taken(self, decisions: Reading) -> np.ndarray:
        masked = decisions.tokens == self.trained.task.mask
        if self.trained.config.objective != "canvas":
            return masked & self.trained.order[decisions.step]
        wanted = decisions.logits.argmax(axis=-1) != self.trained.task.mask
        return wanted & masked if self.trained.kind == "smdm" else wanted

    def surest(self, logits: Reading, k: int, *, without: int) -> np.ndarray:
        sure = np.delete(logits.logits, without, axis=-1).max(axis=-1)
        return surest(sure, np.ones(sure.shape, dtype=bool), k)

    def above_least(self, logits: Reading, *, without: int) -> np.ndarray:  # noqa: ARG002
        """There is no least number here: every slot is."""
        return np.ones(logits.logits.shape[:2], dtype=bool)

    def embed(self, tokens: np.ndarray) -> Tensor:
        whole = np.concatenate([self.words, tokens], axis=1)
        with torch.inference_mode():
            ids = torch.from_numpy(whole).to(self.trained.places.codes.device)
            return self.trained.network.embed(ids, self.trained.places.at(0))

    def noisy(self, step: int, residual: Tensor) -> Tensor:  # noqa: ARG002
        return residual

    def layers(self, moment: Moment, residual: Tensor, first: int, last: int) -> Tensor:
        if first == last:
            return residual
        check()
        network = self.trained.network
        self.passes += 1
        with torch.inference_mode():
            places = self.trained.places.at(0)
            if not self.trained.config.latent and moment != 0:
                read_out = network.logits(network.norm(residual)).argmax(dim=-1)
                residual = network.embed(read_out, places)
            return network.pass_through(residual, places, self._told(f"steps.{moment}.model"))

    def last_rows(self, residual: Tensor, count: int) -> Reading:
        network = self.trained.network
        with torch.inference_mode():
            logits = network.logits(network.norm(residual[:, -count:]))
        return Reading(logits.double().cpu().numpy(), self.copies(self.trained.pad, count), self.trained.steps)

    def _told(self, prefix: str) -> Watch | None:
        watch = self._watch
        return None if watch is None else lambda name, value: watch(f"{prefix}.{name}", value)
