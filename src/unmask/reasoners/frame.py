"""Frame: what every reasoner's loop is given."""

from dataclasses import dataclass
from functools import partial

import numpy as np

from unmask.engines.engine import Engine, Session, Watch
from unmask.numerics.array_types import Bool, Int
from unmask.numerics.precision import Precision
from unmask.reasoners.planners import Planner
from unmask.reasoners.tape import Tape
from unmask.weights.model import Model


@dataclass(frozen=True)
class Step:
    """After one step: the tokens of the slots (or all generated symbols), and which were written in it."""

    canvas: Int[np.ndarray, "batch slots"]
    chosen: Bool[np.ndarray, "batch slots"]


@dataclass(frozen=True)
class Frame:
    """A model, a batch of words as tokens, and how to run it: without a tape, deterministically."""

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
        """The row of the first slot: the begin symbol and the input stand before it."""
        return self.model.rows - self.model.padding

    def session(self, name: str) -> Session:
        return self.engine.session(self.model.transformers[name], name=name)

    def before(self, rest: np.ndarray) -> np.ndarray:
        """begin · input · rest."""
        parts = [self.tokens, rest]
        if self.model.begin is not None:
            parts.insert(0, np.full((self.batch, 1), self.model.token[self.model.begin]))
        return np.concatenate(parts, axis=1)

    def copies(self, symbol: str | None, count: int) -> np.ndarray:
        """A row of one symbol per word."""
        return np.full((self.batch, count), 0 if symbol is None else self.model.token[symbol], dtype=np.int64)

    def watching(self, prefix: str) -> Watch | None:
        """A watch that knows where in the run it is, such as `steps.3.planner`."""
        return None if self.watch is None else partial(_prefixed, self.watch, prefix)

    def noise(self, step: int, stream: int, rows: tuple[int, int], symbols: int) -> np.ndarray | None:
        return None if self.tape is None else self.tape.noise(step, stream, rows, symbols, self.precision)


def _prefixed(watch: Watch, prefix: str, name: str, value: np.ndarray) -> None:
    watch(f"{prefix}.{name}", value)
