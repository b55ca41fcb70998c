"""Arrays as the medium of the loops: a batch of words that an engine runs."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Protocol, runtime_checkable

import numpy as np

from unmask.engines.engine import Engine, Session, Watch
from unmask.errors import EditsWrittenSlot
from unmask.numerics.arithmetic import Precision, add
from unmask.numerics.array_types import Bool, Int
from unmask.reasoners.decoding import OTHER, PLANNER, Tape, confidence, decode
from unmask.reasoners.loops import Moment, OutsidePlanner
from unmask.reasoners.planners import Planner, Situation, choose_surest
from unmask.weights.model import Model


@dataclass(frozen=True)
class RunStep:
    """The state after one step: the tokens of the slots (or all generated symbols), and which the step wrote."""

    canvas: Int[np.ndarray, "batch slots"]
    chosen: Bool[np.ndarray, "batch slots"]


@dataclass(frozen=True)
class RunSetup:
    """A model, a batch of words as tokens, and how to run it. Without a tape, the run is deterministic."""

    model: Model
    tokens: Int[np.ndarray, "batch length"]
    engine: Engine
    tape: Tape | None = None
    planner: Planner | None = None
    watch: Watch | None = None

    @property
    def batch(self) -> int:
        return self.tokens.shape[0]

    @property
    def precision(self) -> Precision:
        return self.model.precision

    @property
    def first_row(self) -> int:
        """The row of the first slot: the begin symbol and the input are before it."""
        return self.model.rows - self.model.padding

    def session(self, name: str) -> Session:
        return self.engine.session(self.model.transformers[name], name=name)

    def before(self, rest: np.ndarray) -> np.ndarray:
        """Return begin · input · rest."""
        parts = [self.tokens, rest]
        if self.model.begin is not None:
            parts.insert(0, np.full((self.batch, 1), self.model.token[self.model.begin]))
        return np.concatenate(parts, axis=1)

    def copies(self, symbol: str | None, count: int) -> np.ndarray:
        """Return `count` copies of a symbol for every word."""
        return np.full((self.batch, count), 0 if symbol is None else self.model.token[symbol], dtype=np.int64)

    def watching(self, prefix: str) -> Watch | None:
        """Return a watch that adds a prefix such as `steps.3.planner` to the names."""
        return None if self.watch is None else partial(_prefixed, self.watch, prefix)

    def noise(self, step: int, stream: int, rows: tuple[int, int], symbols: int) -> np.ndarray | None:
        return None if self.tape is None else self.tape.noise(step, stream, rows, symbols, self.precision)


def _prefixed(watch: Watch, prefix: str, name: str, value: np.ndarray) -> None:
    watch(f"{prefix}.{name}", value)


# TokenArrays: the common part of media whose tokens and choices are arrays of integers and flags [batch, slots].


@runtime_checkable
class Lettered(Protocol):
    """A model whose symbols have names."""

    @property
    def vocabulary(self) -> tuple[str, ...]: ...

    @property
    def token(self) -> Mapping[str, int]: ...

    @property
    def mask(self) -> str | None: ...


class TokenArrays(ABC):
    """The operations that write to a canvas, without arithmetic."""

    @property
    @abstractmethod
    def model(self) -> Lettered: ...

    def require_masked(self, step: int, choice: np.ndarray, canvas: np.ndarray) -> np.ndarray:
        edits = choice & (canvas != self.model.token[self.model.mask or ""])
        if edits.any():
            word, slot = np.argwhere(edits)[0]
            raise EditsWrittenSlot(step=step, slot=int(slot), symbol=self.model.vocabulary[canvas[word, slot]])
        return choice

    def overwrite(self, canvas: np.ndarray, choice: np.ndarray, symbols: np.ndarray) -> np.ndarray:
        return np.where(choice, symbols, canvas)

    def joined(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        return np.concatenate([left, right], axis=1)

    def as_tokens(self, symbols: np.ndarray) -> np.ndarray:
        return symbols


# Arrays: a batch of words runs through a loop by an engine, with one session per transformer for the whole run.


@dataclass(frozen=True, eq=False)
class RowLogits:
    """Logits [batch, rows, outputs], and the noise [rows, outputs] that a sampled run adds before it decodes."""

    logits: np.ndarray
    noise: np.ndarray | None = None


class Arrays(TokenArrays):
    """The medium of a run: tokens, symbols [batch, slots], choices as flags, residual streams [batch, rows, width]."""

    def __init__(self, setup: RunSetup) -> None:
        self.setup = setup
        self._sessions: dict[str, Session] = {}

    @property
    def model(self) -> Model:
        return self.setup.model

    def copies(self, symbol: str | None, count: int) -> np.ndarray:
        return self.setup.copies(symbol, count)

    def read(
        self,
        step: int,
        name: str,
        tokens: np.ndarray,
        last: int,
        *,
        requested: np.ndarray | None = None,  # noqa: ARG002
    ) -> RowLogits:
        """Compute all rows: the cost in a session depends on what changed, not on which rows are requested."""
        whole = self.setup.before(tokens)
        rows = (whole.shape[1] - last, whole.shape[1])
        logits = self._session(name).read(whole, rows, watch=self.setup.watching(f"steps.{step}.{name}"))
        stream, outputs = (PLANNER, 2) if name == "planner" else (OTHER, len(self.model.vocabulary))
        return RowLogits(logits, self.setup.noise(step, stream, rows, outputs))

    def decode(self, logits: RowLogits, *, without: int | None = None) -> np.ndarray:
        return decode(logits.logits, self.model.precision, noise=logits.noise, without=without)

    def chosen_slots(self, decisions: RowLogits) -> np.ndarray:
        return self.decode(decisions) == 1

    def surest(self, logits: RowLogits, k: int, *, without: int) -> np.ndarray:
        confidences = confidence(logits.logits, self.model.precision, without=without)
        return choose_surest(confidences, np.ones(confidences.shape, dtype=bool), k)

    def above_least(self, logits: RowLogits, *, without: int) -> np.ndarray:
        return confidence(logits.logits, self.model.precision, without=without) > -self.model.precision.bound

    def embed(self, tokens: np.ndarray) -> np.ndarray:
        return self._session("model").embed(self.setup.before(tokens), watch=self.setup.watching("initial.model"))

    def noisy(self, step: int, residual: np.ndarray) -> np.ndarray:
        noise, tape = self.model.transformers["model"].noise, self.setup.tape
        if noise is None or tape is None:
            return residual
        residual = residual.copy()
        streams = ((noise.planner, PLANNER, 2), (noise.predictor, OTHER, len(self.model.vocabulary)))
        for columns, stream, symbols in streams:
            noise_values = tape.noise(step, stream, (0, residual.shape[1]), symbols, self.model.precision)
            for symbol, column in enumerate(columns):
                residual[:, :, column] = add(residual[:, :, column], noise_values[:, symbol], self.model.precision)
        return residual

    def layers(self, moment: Moment, residual: np.ndarray, first: int, last: int) -> np.ndarray:
        prefix = f"steps.{moment}" if isinstance(moment, int) else moment
        return self._session("model").layers(residual, first, last, watch=self.setup.watching(f"{prefix}.model"))

    def last_rows(self, residual: np.ndarray, count: int) -> RowLogits:
        """Return the logits without noise: in a stochastic loop the noise was added to the residual stream."""
        return RowLogits(self._session("model").logits(residual[:, -count:]))

    def _session(self, name: str) -> Session:
        if name not in self._sessions:
            self._sessions[name] = self.setup.session(name)
        return self._sessions[name]


def planned_from_outside(setup: RunSetup, planner: Planner) -> OutsidePlanner[np.ndarray, RowLogits, np.ndarray]:
    """Wrap a planner of the caller, which replaces the model's own until no slot is masked."""
    mask = setup.model.token[setup.model.mask or ""]

    def goes_on(canvas: np.ndarray) -> bool:
        return bool((canvas == mask).any())

    def choose(step: int, canvas: np.ndarray, logits: RowLogits) -> np.ndarray:
        confidences = confidence(logits.logits, setup.precision, without=mask)
        return planner.choose(Situation(step, setup.first_row, canvas == mask, confidences, setup.precision.one))

    return OutsidePlanner(goes_on, choose)
