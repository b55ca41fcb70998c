"""Trained network × words → answers, by the same loops that run compiled models."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from unmask.errors import UnmaskError
from unmask.lab.memory_estimates import evaluated_at_once
from unmask.lab.settings import Config
from unmask.lab.task_sources import Stream, words
from unmask.lab.tasks import LabTask
from unmask.lab.trained_network import EVERY_ROW, KeyValueCache, PlaceTable, TrainedNetwork, Watch
from unmask.limits import check
from unmask.reasoners.array_medium import TokenArrays
from unmask.reasoners.loops import Moment, canvases
from unmask.reasoners.planners import choose_surest
from unmask.weights.kinds import Kind

# Trained: a network and its task, with the interface that the loops expect of compiled models.


@dataclass(frozen=True, eq=False)
class Trained:
    """A trained model with the kind, T, P and symbols of its layout; one network plans and predicts.

    The planner takes a slot whose likeliest symbol is not the mask; in a tree, only one that is still masked. A network
    trained by random masking is only a predictor: its planner is the exact order of its layout.
    """

    task: LabTask
    network: TrainedNetwork
    config: Config

    @property
    def kind(self) -> Kind:
        return self.task.layout.kind

    @property
    def length(self) -> int:
        return self.task.length

    @property
    def padding(self) -> int:
        return self.task.layout.padding

    @property
    def steps(self) -> int:
        return self.task.layout.steps

    @property
    def vocabulary(self) -> tuple[str, ...]:
        return self.task.vocabulary

    @cached_property
    def token(self) -> dict[str, int]:
        return {symbol: number for number, symbol in enumerate(self.vocabulary)}

    @property
    def mask(self) -> str:
        return self.vocabulary[self.task.mask]

    @property
    def pad(self) -> str:
        return self.vocabulary[self.task.pad]

    @property
    def block(self) -> None:
        return None

    @property
    def k(self) -> None:
        return None

    @property
    def answer_rows(self) -> int:
        return 1

    @property
    def loop(self) -> tuple[int, int, int]:
        """Return (0, L, L): all layers are looped."""
        count = self.config.shape.layers
        return 0, count, count

    @property
    def decides_once(self) -> bool:
        """Return whether the network decides when a slot is written, once: a tree that was trained on its canvases."""
        return self.kind == "smdm" and self.config.objective == "canvas"

    @cached_property
    def order(self) -> np.ndarray:
        """Return [steps, slots]: which slots each step of the layout writes for the first time."""
        word = np.zeros((1, self.length), dtype=np.int64)
        masked = self.task.states(word)[0, :, self.length :] == self.task.mask
        return masked[:-1] & ~masked[1:]

    @cached_property
    def places(self) -> PlaceTable:
        return PlaceTable(self.task, self.config.shape.encoding, next(self.network.parameters()).device)

    def at_length(self, length: int) -> "Trained":
        """Return the same weights for longer or shorter words."""
        task = self.task.longer(length)
        if task.fetches != self.network.fetches:
            raise UnmaskError(
                f"at length {length} a rule reads {task.fetches} positions, but this network was trained with "
                f"{self.network.fetches}; train a network at that length"
            )
        return replace(self, task=task)


# NetworkMedium: runs a batch of words through the loops of `reasoners/` with a trained network.
#
# read           one pass over input · canvas; the planner's and the predictor's reading of a canvas are the same pass
# chosen_slots   the slots whose likeliest symbol is not the mask; of a mask-dominated model, among those still masked;
#                of a predictor alone (random masking), those that the exact order writes in this step
# layers         one loop: of a stream, or, where symbols are between loops, of what the stream reads out to


@dataclass(frozen=True, eq=False)
class NetworkReading:
    """Logits [batch, rows, symbols] of the last rows in a step, and the tokens in these rows."""

    logits: np.ndarray
    tokens: np.ndarray
    step: int


class NetworkMedium(TokenArrays):
    """A medium for words [batch, length] as tokens; tokens and choices are arrays, residual streams are tensors."""

    def __init__(self, trained: Trained, words: np.ndarray, watch: Watch | None = None) -> None:
        self.trained, self.words, self._watch = trained, words, watch
        self.passes = 0
        self._read: tuple[int, np.ndarray, Tensor] | None = None
        self._past = KeyValueCache() if trained.task.causal and watch is None else None

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
        requested: np.ndarray | None = None,  # noqa: ARG002
    ) -> NetworkReading:
        whole = np.concatenate([self.words, tokens], axis=1)
        cached = self._read
        if cached is None or cached[0] != step or cached[2].shape[1] < last or not np.array_equal(cached[1], whole):
            self._read = cached = step, whole, self._pass(step, whole, name, last)
        logits = cached[2][:, -last:].double().cpu().numpy()
        return NetworkReading(logits, whole[:, -last:], step)

    def _pass(self, step: int, tokens: np.ndarray, name: str, last: int) -> Tensor:
        check()
        network, device = self.trained.network, self.trained.places.codes.device
        self.passes += 1
        cached_rows = 0 if self._past is None else self._past.rows  # a chain only grows
        with torch.inference_mode():
            ids = torch.from_numpy(tokens[:, cached_rows:]).to(device)
            places = self.trained.places.at(step, tokens.shape[1], cached_rows)
            needed_rows = slice(-last, None) if self._watch is None else EVERY_ROW  # a watch gets every row
            stream = network(ids, places, self._watch_of(f"steps.{step}.{name}"), self._past, needed_rows)
            if self._past is not None:
                self._past.rows = tokens.shape[1]
            return network.logits(stream)

    def decode(self, logits: NetworkReading, *, without: int | None = None) -> np.ndarray:
        scores = logits.logits
        if without is not None:
            scores = scores.copy()
            scores[..., without] = -np.inf
        return scores.argmax(axis=-1)

    def chosen_slots(self, decisions: NetworkReading) -> np.ndarray:
        masked = decisions.tokens == self.trained.task.mask
        if self.trained.config.objective != "canvas":
            return masked & self.trained.order[decisions.step]
        decided = decisions.logits.argmax(axis=-1) != self.trained.task.mask
        return decided & masked if self.trained.kind == "smdm" else decided

    def surest(self, logits: NetworkReading, k: int, *, without: int) -> np.ndarray:
        largest_logits = np.delete(logits.logits, without, axis=-1).max(axis=-1)
        return choose_surest(largest_logits, np.ones(largest_logits.shape, dtype=bool), k)

    def above_least(self, logits: NetworkReading, *, without: int) -> np.ndarray:  # noqa: ARG002
        """Return True for every slot, because a trained model writes all of them."""
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
            return network.pass_through(residual, places, self._watch_of(f"steps.{moment}.model"))

    def last_rows(self, residual: Tensor, count: int) -> NetworkReading:
        network = self.trained.network
        with torch.inference_mode():
            logits = network.logits(network.norm(residual[:, -count:]))
        return NetworkReading(logits.double().cpu().numpy(), self.copies(self.trained.pad, count), self.trained.steps)

    def _watch_of(self, prefix: str) -> Watch | None:
        watch = self._watch
        return None if watch is None else lambda name, value: watch(f"{prefix}.{name}", value)


# Trained × words → the share of right answers, by the loop of its kind.


@dataclass(frozen=True)
class Accuracy:
    """The share of `words` words with the right symbols in all answer slots, and the passes of a run."""

    right: float
    words: int
    passes: int


def last_symbols(trained: Trained, tokens: np.ndarray) -> tuple[np.ndarray, int]:
    """Return the final content of the answer slots, [batch, answers], and the number of passes."""
    medium = NetworkMedium(trained, tokens)
    *_, final_canvas = canvases(medium)
    return trained.task.shown_answers(final_canvas), medium.passes


def accuracy(trained: Trained, count: int, *, seed: int, stream: Stream, number: int = 0) -> Accuracy:
    """Measure the accuracy on `count` fresh words of a stream."""
    tokens = words(trained.task.source, count, trained.length, seed, stream, number)
    right_words, passes = 0, 0
    words_at_once = evaluated_at_once(trained.config.shape, len(trained.vocabulary), trained.task.rows)
    for first in range(0, count, words_at_once):
        chunk = tokens[first : first + words_at_once]
        answers, passes = last_symbols(trained, chunk)
        right_words += int((answers == trained.task.answers(chunk)).all(axis=1).sum())
    return Accuracy(right_words / count, count, passes)
