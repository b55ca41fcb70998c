"""CompiledPredictor: the predictor of a masked diffusion model, through an engine, bit for bit; then as floats.

    logits = scale · (F_p logits / 2^p),   the least power of two for which exp(−scale / 2^p) is 0 in float32

A slot is decided where one logit of F_p is larger than all others; they differ by at least 2^-p. After scaling, the
probability of that symbol is exactly 1, whether the softmax is taken in float32 or float64, so all decided slots are
equal. Where the largest logits of F_p tie, the probability is at most 1/2.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from unmask.engines.engine import Engine, Session, Watch
from unmask.engines.fast import FastEngine
from unmask.numerics.exponential import CERTAIN
from unmask.reasoners.frame import Frame
from unmask.reasoners.words import read_word
from unmask.samplers.passes.parameters import SamplerError
from unmask.samplers.passes.predictor import without_mask
from unmask.weights.model import DIFFUSION, Model


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
        """The factor of the logits, a power of two: no digit of a number of F_p is lost."""
        scale = 1
        while scale < CERTAIN * self.model.precision.one:
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
