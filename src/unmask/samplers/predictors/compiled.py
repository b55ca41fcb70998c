"""CompiledPredictor: the predictor of a masked diffusion model, through an engine, bit for bit; then as floats.

    logits = scale · (F_p logits / 2^p),   the least power of two for which (V − 1)·exp(−2B·scale) <= 10⁻⁶

B is the largest number of F_p. A slot that the model has decided has one symbol at B and all others at −B; without the
scale its probability would be 0.97 with 60 symbols and 0.78 with 500, below a usual threshold of 0.9.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import exp

import numpy as np

from unmask.engines.engine import Engine, Session, Watch
from unmask.engines.fast import FastEngine
from unmask.reasoners.frame import Frame
from unmask.reasoners.words import read_word
from unmask.samplers.passes.parameters import SamplerError
from unmask.samplers.passes.predictor import without_mask
from unmask.weights.model import DIFFUSION, Model

SURE = 1e-6


@dataclass(frozen=True, eq=False)
class CompiledPredictor:
    """A model of kind mdm, smdm or topk, bound to words as tokens [batch, length]: row b of a canvas is word b's."""

    model: Model
    words: np.ndarray
    engine: Engine = field(default_factory=FastEngine)

    @classmethod
    def of_words(cls, model: Model, words: Sequence[str]) -> "CompiledPredictor":
        """Bound to words as a person writes them."""
        tokens = [read_word(model, word) for word in words]
        return cls(model, np.array(tokens, dtype=np.int64).reshape(len(words), model.length))

    def __post_init__(self) -> None:
        if self.model.kind not in DIFFUSION:
            raise SamplerError(
                f"a {self.model.kind} has no canvas to sample on; use a model of kind {', '.join(DIFFUSION)}"
            )

    @cached_property
    def mask_id(self) -> int:
        return self.model.token[self.model.mask or ""]

    @property
    def vocabulary(self) -> tuple[str, ...]:
        return self.model.vocabulary

    @cached_property
    def scale(self) -> int:
        gap = 2 * self.model.precision.bound / self.model.precision.one
        scale = 1
        while (len(self.vocabulary) - 1) * exp(-gap * scale) > SURE:
            scale *= 2
        return scale

    def logits(self, canvas: np.ndarray) -> np.ndarray:
        return without_mask(self.read(canvas) * (self.scale / self.model.precision.one), self.mask_id)

    def read(self, canvas: np.ndarray, *, watch: Watch | None = None) -> np.ndarray:
        """The logits of the slots as integers of F_p, [batch, slots, symbols]."""
        return self._session.read(self._frame.before(canvas), (self._frame.first_row, self.model.rows), watch=watch)

    @property
    def first_row(self) -> int:
        """The row of slot 0: begin symbol and input stand before it."""
        return self._frame.first_row

    @cached_property
    def _frame(self) -> Frame:
        return Frame(self.model, self.words, self.engine)

    @cached_property
    def _session(self) -> Session:
        return self._frame.session("model" if self.model.kind == "topk" else "predictor")
