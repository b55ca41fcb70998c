"""HuggingFacePredictor: any masked language model with a mask token; torch is imported when one is made.

tokens = before · canvas · after          logits = those of the canvas' positions, the mask's column −∞
"""

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from unmask.errors import FolderError, UnmaskError
from unmask.samplers.passes.predictor import without_mask

ROWS_AT_ONCE = 64


class HuggingFacePredictor:
    """`model(input_ids=…).logits` and a tokenizer with `mask_token_id`, bound to token ids around the canvas.

    `before` is one list for all rows or one for each; special tokens that the model wants at the ends go into `before`
    and `after`.
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
        """A folder that `AutoModelForMaskedLM` reads; nothing is looked up elsewhere, and no code of it is run."""
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
        """The same model around other tokens."""
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
    """Token ids as rows: one for all, or one each."""
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
