"""Arrays: a batch of words through a loop, by an engine; one session per transformer, kept through the run."""

from dataclasses import dataclass

import numpy as np

from unmask.engines.engine import Session
from unmask.numerics.arithmetic import add
from unmask.reasoners.decoding import confidence, decode
from unmask.reasoners.frame import Frame
from unmask.reasoners.masked_diffusion import OutsidePlanner
from unmask.reasoners.medium import Moment
from unmask.reasoners.planners import Planner, Situation, surest
from unmask.reasoners.tape import OTHER, PLANNER
from unmask.reasoners.token_arrays import TokenArrays
from unmask.weights.model import Model


@dataclass(frozen=True, eq=False)
class RowLogits:
    """Logits [batch, rows, outputs], and the noise [rows, outputs] that a sampled run adds before it decodes."""

    logits: np.ndarray
    noise: np.ndarray | None = None


class Arrays(TokenArrays):
    """The medium of a run: tokens, symbols [batch, slots], choices as flags, residual streams [batch, rows, width]."""

    def __init__(self, frame: Frame) -> None:
        self.frame = frame
        self._sessions: dict[str, Session] = {}

    @property
    def model(self) -> Model:
        return self.frame.model

    def copies(self, symbol: str | None, count: int) -> np.ndarray:
        return self.frame.copies(symbol, count)

    def read(
        self,
        step: int,
        name: str,
        tokens: np.ndarray,
        last: int,
        *,
        asked: np.ndarray | None = None,  # noqa: ARG002
    ) -> RowLogits:
        """All rows are computed: a session pays for what changed, not for what is asked."""
        whole = self.frame.before(tokens)
        rows = (whole.shape[1] - last, whole.shape[1])
        logits = self._session(name).read(whole, rows, watch=self.frame.watching(f"steps.{step}.{name}"))
        stream, outputs = (PLANNER, 2) if name == "planner" else (OTHER, len(self.model.vocabulary))
        return RowLogits(logits, self.frame.noise(step, stream, rows, outputs))

    def decode(self, logits: RowLogits, *, without: int | None = None) -> np.ndarray:
        return decode(logits.logits, self.model.precision, noise=logits.noise, without=without)

    def taken(self, decisions: RowLogits) -> np.ndarray:
        return self.decode(decisions) == 1

    def surest(self, logits: RowLogits, k: int, *, without: int) -> np.ndarray:
        sure = confidence(logits.logits, self.model.precision, without=without)
        return surest(sure, np.ones(sure.shape, dtype=bool), k)

    def above_least(self, logits: RowLogits, *, without: int) -> np.ndarray:
        return confidence(logits.logits, self.model.precision, without=without) > -self.model.precision.bound

    def embed(self, tokens: np.ndarray) -> np.ndarray:
        return self._session("model").embed(self.frame.before(tokens), watch=self.frame.watching("initial.model"))

    def noisy(self, step: int, residual: np.ndarray) -> np.ndarray:
        noise, tape = self.model.transformers["model"].noise, self.frame.tape
        if noise is None or tape is None:
            return residual
        residual = residual.copy()
        streams = ((noise.planner, PLANNER, 2), (noise.predictor, OTHER, len(self.model.vocabulary)))
        for columns, stream, symbols in streams:
            drawn = tape.noise(step, stream, (0, residual.shape[1]), symbols, self.model.precision)
            for symbol, column in enumerate(columns):
                residual[:, :, column] = add(residual[:, :, column], drawn[:, symbol], self.model.precision)
        return residual

    def layers(self, moment: Moment, residual: np.ndarray, first: int, last: int) -> np.ndarray:
        prefix = f"steps.{moment}" if isinstance(moment, int) else moment
        return self._session("model").layers(residual, first, last, watch=self.frame.watching(f"{prefix}.model"))

    def last_rows(self, residual: np.ndarray, count: int) -> RowLogits:
        """Without noise: a stochastic loop has had its noise in the residual stream."""
        return RowLogits(self._session("model").logits(residual[:, -count:]))

    def _session(self, name: str) -> Session:
        if name not in self._sessions:
            self._sessions[name] = self.frame.session(name)
        return self._sessions[name]


def planned_from_outside(frame: Frame, planner: Planner) -> OutsidePlanner[np.ndarray, RowLogits, np.ndarray]:
    """A planner of the caller's in place of the model's own, until no slot is masked."""
    mask, precision = frame.model.token[frame.model.mask or ""], frame.precision

    def goes_on(canvas: np.ndarray) -> bool:
        return bool((canvas == mask).any())

    def choose(step: int, canvas: np.ndarray, logits: RowLogits) -> np.ndarray:
        sure = confidence(logits.logits, precision, without=mask)
        return planner.choose(Situation(step, frame.first_row, canvas == mask, sure, precision))

    return OutsidePlanner(goes_on, choose)
