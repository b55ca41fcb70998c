"""Bench folder → LoadedModel: the torch module, its tokenizer, and what is known about every word.

This file uses nothing of unmask besides its error class: `check.py` of a bench folder contains a copy of it.
"""

import json
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from unmask.errors import UnmaskError

FORMAT = "unmask-bench/1"
DESCRIPTION = "bench.json"
RESIDUAL = "residual.safetensors"
UNJUDGED = -1  # marks a slot without a correct value


class BenchError(UnmaskError):
    """Raised if the bench cannot use an argument: a folder, a name or a function."""


@dataclass(frozen=True, eq=False)
class ReferenceWord:
    """A prompt followed by a blank canvas, and the truth about each slot.

    `values` are token ids; `reads[s]` are the slots that slot s is computed from; `earliest[s]` is the first pass in
    which it can be right. Slots are numbered from the left end of the canvas.
    """

    text: str
    ids: np.ndarray
    answer: str
    values: np.ndarray
    reads: tuple[tuple[int, ...], ...]
    earliest: np.ndarray
    least_passes: int


@dataclass(eq=False)
class LoadedModel:
    """A reference model on disk; torch and transformers are imported when `module` is first used."""

    folder: Path
    facts: dict[str, Any]
    words: tuple[ReferenceWord, ...]
    _modules: dict[str, Any] = field(default_factory=dict)
    _tokenizer: Any = None

    @property
    def name(self) -> str:
        return self.facts["name"]

    @property
    def mask_id(self) -> int:
        return self.facts["mask_token_id"]

    @property
    def prompt_length(self) -> int:
        return self.facts["prompt_length"]

    @property
    def slots(self) -> int:
        return self.facts["slots"]

    @property
    def least_passes(self) -> int:
        return self.facts["least_passes"]

    @property
    def write_once(self) -> bool:
        """Return whether every slot is written once; otherwise slots are computed in place, by edits."""
        return self.facts["write_once"]

    @property
    def is_rotary(self) -> bool:
        """Return whether positions are counted from a begin symbol, so that padding on the left is allowed."""
        return self.facts["begin_token_id"] is not None

    @property
    def tokenizer(self) -> Any:
        if self._tokenizer is None:
            self._tokenizer = _transformers().AutoTokenizer.from_pretrained(str(self.folder), local_files_only=True)
        return self._tokenizer

    def module(self, dtype: str = "float32") -> Any:
        """Return the torch module in evaluation mode, in this number type."""
        if dtype not in self._modules:
            load = getattr(_transformers(), self.facts["auto_class"])
            import torch

            with _without_progress_bar():
                module = load.from_pretrained(str(self.folder), local_files_only=True)
            self._modules[dtype] = module.to(getattr(torch, dtype)).eval()
        return self._modules[dtype]

    def shown(self, token: int) -> str:
        """Return the name of a token."""
        try:
            name = self.tokenizer.convert_ids_to_tokens(int(token))
        except (OverflowError, IndexError):
            name = None
        return f"the unknown token {token}" if name is None else str(name)

    def residual(self) -> list[np.ndarray]:
        """Return the residual stream after each layer, [rows, width], in the first pass of the first word."""
        from safetensors.numpy import load_file

        stored = load_file(self.folder / RESIDUAL)
        return [stored[f"layers.{layer}"] for layer in range(len(stored))]

    def wrong_layer(self, streams: Any, tolerance: float = 0.01) -> str | None:
        """Describe where an engine's residual streams, [rows, width] per layer, first differ; None if they do not."""
        expected_streams = self.residual()
        if len(streams) != len(expected_streams):
            return f"{len(streams)} layers instead of {len(expected_streams)}"
        for layer, (actual, target) in enumerate(zip(streams, expected_streams, strict=True)):
            actual = np.asarray(actual, dtype=np.float32)
            if actual.shape != target.shape:
                return f"layer {layer}: the shape is {list(actual.shape)} instead of {list(target.shape)}"
            differs = np.argwhere(~(np.abs(actual - target) <= tolerance))
            if len(differs):
                row, column = differs[0].tolist()
                return (
                    f"layer {layer}, row {row}, column {column}: {actual[row, column]} instead of {target[row, column]}"
                )
        return None

    def forget(self, dtype: str) -> None:
        """Drop the module; it is loaded again when it is next used."""
        self._modules.pop(dtype, None)


def load_reference(folder: str | Path) -> LoadedModel:
    """Read `bench.json` of a folder; a folder of another format is refused."""
    path = Path(folder) / DESCRIPTION
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
    except OSError:
        raise BenchError(f"{folder} has no {DESCRIPTION}; write a bench folder with `unmask bench export`") from None
    except ValueError as error:
        raise BenchError(f"{path} is not JSON ({error}); write the folder again") from None
    if not isinstance(facts, dict) or facts.get("format") != FORMAT:
        raise BenchError(f"{path} does not have the format {FORMAT}; write the folder again with this version")
    try:
        return LoadedModel(Path(folder), facts, tuple(_words(facts)))
    except (KeyError, TypeError) as error:
        raise BenchError(f"{path} is incomplete ({error}); write the folder again") from None


def _words(facts: dict[str, Any]) -> Iterator[ReferenceWord]:
    for word in facts["words"]:
        reads = word.get("reads", facts["reads"])
        yield ReferenceWord(
            text=word["text"],
            ids=np.array(word["input_ids"], dtype=np.int64),
            answer=word["answer"],
            values=np.array(word["values"], dtype=np.int64),
            reads=tuple(tuple(slots) for slots in reads),
            earliest=np.array(word["earliest"], dtype=np.int64),
            least_passes=word["least_passes"],
        )


@contextmanager
def _without_progress_bar() -> Generator[None]:
    """Load without the progress bars of transformers."""
    logging = _transformers().utils.logging
    was_enabled = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if was_enabled:
            logging.enable_progress_bar()


def _transformers() -> Any:
    try:
        import torch  # noqa: F401 (transformers can be imported without it)
        import transformers
    except ImportError:
        raise BenchError("the bench needs torch and transformers; install them, or unmask with [bench]") from None
    return transformers
