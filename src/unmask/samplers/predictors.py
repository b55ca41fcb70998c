"""Predictors to sample from: a compiled model, or a masked language model of Hugging Face."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from unmask.engines.engine import Engine, Session, Watch
from unmask.engines.fast import FastEngine
from unmask.errors import FolderError, UnmaskError
from unmask.numerics.arithmetic import CERTAIN
from unmask.reasoners.array_medium import RunSetup
from unmask.reasoners.typed_words import read_word
from unmask.samplers.rule_interface import SamplerError, without_mask
from unmask.weights.kinds import DIFFUSION
from unmask.weights.model import Model

# CompiledPredictor: the predictor of a masked diffusion model, through an engine, bit for bit; then as floats.
#
#     logits = scale · (F_p logits / 2^p),   the least power of two for which exp(−scale / 2^p) is 0 in float32
#
# A slot is decided where one logit of F_p is larger than all others; they differ by at least 2^-p. After scaling, the
# probability of that symbol is exactly 1, whether the softmax is taken in float32 or float64, so all decided slots are
# equal. Where the largest logits of F_p tie, the probability is at most 1/2.


@dataclass(frozen=True, eq=False)
class CompiledPredictor:
    """A model of kind mdm, smdm or topk, bound to words as tokens [batch, length]: row b of a canvas is word b's."""

    model: Model
    words: np.ndarray
    engine: Engine = field(default_factory=FastEngine)

    @classmethod
    def of_words(cls, model: Model, words: Sequence[str]) -> "CompiledPredictor":
        """Return the predictor bound to words as a user writes them."""
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
        """Return the factor of the logits, a power of two, so that no digit of a number of F_p is lost."""
        scale = 1
        while scale < CERTAIN * self.model.precision.one:
            scale *= 2
        return scale

    def logits(self, canvas: np.ndarray) -> np.ndarray:
        return without_mask(self.read(canvas) * (self.scale / self.model.precision.one), self.mask_id)

    def read(self, canvas: np.ndarray, *, watch: Watch | None = None) -> np.ndarray:
        """Return the logits of the slots as integers of F_p, [batch, slots, symbols]."""
        return self._session.read(self._frame.before(canvas), (self._frame.first_row, self.model.rows), watch=watch)

    @property
    def first_row(self) -> int:
        """Return the row of slot 0, after begin symbol and input."""
        return self._frame.first_row

    @cached_property
    def _frame(self) -> RunSetup:
        return RunSetup(self.model, self.words, self.engine)

    @cached_property
    def _session(self) -> Session:
        return self._frame.session("model" if self.model.kind == "topk" else "predictor")


# HuggingFacePredictor: any masked language model with a mask token; torch is imported when one is made.
#
# tokens = before · canvas · after          logits = those of the canvas' positions, the mask's column −∞


ROWS_AT_ONCE = 64


class HuggingFacePredictor:
    """`model(input_ids=…).logits` and a tokenizer with `mask_token_id`, bound to token ids around the canvas.

    `before` is one list for all rows or one for each; special tokens that the model expects at the ends go into
    `before` and `after`.
    """

    def __init__(self, model: Any, tokenizer: Any, before: Any = (), after: Any = ()) -> None:
        self.model, self.tokenizer = model.eval(), tokenizer
        if tokenizer.mask_token_id is None:
            raise UnmaskError("this tokenizer has no mask token, so nothing can be unmasked; use a masked model")
        self.mask_id = int(tokenizer.mask_token_id)
        self.before, self.after = _rows(before), _rows(after)
        outputs = int(model.config.vocab_size)
        self.vocabulary = tuple(str(tokenizer.convert_ids_to_tokens(token)) for token in range(outputs))

    @classmethod
    def from_pretrained(cls, folder: str | Path, before: Any = (), after: Any = ()) -> "HuggingFacePredictor":
        """Load a folder that `AutoModelForMaskedLM` reads; nothing is downloaded, and no code in it is run."""
        try:
            transformers: Any = import_module("transformers")
        except ImportError:
            raise UnmaskError("a Hugging Face model needs torch and transformers; install them with pip") from None
        if not (Path(folder) / "config.json").is_file():
            raise FolderError(
                f"{folder} is not a folder of a Hugging Face model: it has no config.json; check the path"
            )
        try:
            model = transformers.AutoModelForMaskedLM.from_pretrained(str(folder), local_files_only=True)
            tokenizer = transformers.AutoTokenizer.from_pretrained(str(folder), local_files_only=True)
        except (OSError, ValueError, KeyError) as error:
            reason = " ".join(str(error).split())[:200]
            raise FolderError(f"{folder} cannot be read as a masked language model ({reason}); check it") from None
        return cls(model, tokenizer, before, after)

    def bound_to(self, before: Any, after: Any = ()) -> "HuggingFacePredictor":
        """Return the same model with other tokens around the canvas."""
        return HuggingFacePredictor(self.model, self.tokenizer, before, after)

    def logits(self, canvas: np.ndarray) -> np.ndarray:
        torch: Any = import_module("torch")
        rows, slots = canvas.shape
        tokens = np.concatenate([_of(self.before, rows), canvas, _of(self.after, rows)], axis=1)
        first = tokens.shape[1] - slots - self.after.shape[1]
        parts = []
        with torch.inference_mode():
            for start in range(0, rows, ROWS_AT_ONCE):
                ids = torch.from_numpy(tokens[start : start + ROWS_AT_ONCE]).to(self.model.device)
                logits = self.model(input_ids=ids).logits[:, first : first + slots]
                parts.append(logits.to(torch.float64).cpu().numpy())
        return without_mask(np.concatenate(parts), self.mask_id)


def _rows(tokens: Any) -> np.ndarray:
    """Return token ids as rows: one row for all words, or one for each."""
    array = np.asarray(tokens, dtype=np.int64)
    if array.ndim not in (1, 2):
        raise UnmaskError(
            "the tokens around a canvas must be a list, or rows of equal length, not an array of shape "
            f"{list(array.shape)}"
        )
    return array.reshape(1, -1) if array.ndim == 1 else array


def _of(tokens: np.ndarray, rows: int) -> np.ndarray:
    if len(tokens) not in (1, rows):
        raise UnmaskError(
            f"the canvas has {rows} rows, but the predictor is bound to {len(tokens)}; give the same number"
        )
    return np.broadcast_to(tokens, (rows, tokens.shape[1]))
