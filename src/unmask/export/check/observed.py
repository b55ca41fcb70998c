"""Model × words → the passes that its own run makes: which tokens went in, which logits came out, in F_p.

An exported transformer has to decide as these logits do. For diffusion, canvases that another order of unmasking
reaches are among them: samplers of other people visit those.
"""

from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np

from unmask.engines.engine import Engine, Footprint, Session, Watch
from unmask.engines.fast import FastEngine
from unmask.errors import AttendsToNothing
from unmask.reasoners.frame import Frame
from unmask.reasoners.planners import LeftToRight, Uniform
from unmask.reasoners.run import steps
from unmask.reasoners.tape import Tape
from unmask.weights.model import DIFFUSION, Model
from unmask.weights.transformer import Transformer


@dataclass(frozen=True, eq=False)
class Pass:
    """tokens [batch, seq], and the logits of the rows [first, last), [batch, rows, outputs]."""

    tokens: np.ndarray
    rows: tuple[int, int]
    logits: np.ndarray


@dataclass
class ObservingEngine:
    """An engine whose sessions note down every pass of one transformer."""

    part: str
    engine: Engine = field(default_factory=FastEngine)
    passes: list[Pass] = field(default_factory=list)
    name: str = "observing"

    def footprint(self, transformer: Transformer, batch: int, *, watched: bool = False) -> Footprint:
        return self.engine.footprint(transformer, batch, watched=watched)

    def session(self, transformer: Transformer, *, name: str = "model") -> Session:
        session = self.engine.session(transformer, name=name)
        return _Observed(session, self.passes) if name == self.part else session


@dataclass
class _Observed:
    session: Session
    passes: list[Pass]
    tokens: np.ndarray = field(default_factory=lambda: np.zeros((0, 0), dtype=np.int64))

    def read(self, tokens: np.ndarray, rows: tuple[int, int], *, watch: Watch | None = None) -> np.ndarray:
        logits = self.session.read(tokens, rows, watch=watch)
        self.passes.append(Pass(tokens, rows, logits))
        return logits

    def embed(self, tokens: np.ndarray, *, watch: Watch | None = None) -> np.ndarray:
        self.tokens = tokens
        return self.session.embed(tokens, watch=watch)

    def layers(self, residual: np.ndarray, first: int, last: int, *, watch: Watch | None = None) -> np.ndarray:
        return self.session.layers(residual, first, last, watch=watch)

    def logits(self, residual: np.ndarray) -> np.ndarray:
        """Of a looped model: the last rows."""
        logits = self.session.logits(residual)
        self.passes.append(Pass(self.tokens, (self.tokens.shape[1] - logits.shape[1], self.tokens.shape[1]), logits))
        return logits


def observe(model: Model, part: str, words: np.ndarray) -> list[Pass]:
    """Every pass of `part` over the words, token ids [batch, N]."""
    engine = ObservingEngine(part)
    _run(Frame(model, words, engine))
    if model.kind in DIFFUSION and part != "planner":
        third = max(1, model.padding // 3)
        for planner in (LeftToRight(third), Uniform(third, Tape(0))):
            # a conversion may divide by zero on canvases that its own planner never reaches
            with suppress(AttendsToNothing):
                _run(Frame(model, words[:8], engine, planner=planner))
    return engine.passes


def _run(frame: Frame) -> None:
    for _ in steps(frame):
        pass
