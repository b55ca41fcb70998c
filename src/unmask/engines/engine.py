"""Engine: one forward pass of one transformer; the reasoners own the loops.

A session serves one transformer through a whole run, so that an engine may keep what it has computed. Every
engine returns the same integers for the same calls. Arrays lead with a batch axis: one entry per word.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from unmask.numerics.array_types import Int
from unmask.weights.transformer import Transformer

FIXED = 16 << 20  # bytes of buffers of fixed size, and what Python takes for its part

Watch = Callable[[str, np.ndarray], None]
"""Told the name and value of what a pass computes: `embed`, `layers.0.heads.1.weights`, `layers.0.residual`."""


@runtime_checkable
class Session(Protocol):
    """One transformer, ready to be run."""

    def read(
        self, tokens: Int[np.ndarray, "batch seq"], rows: tuple[int, int], *, watch: Watch | None = None
    ) -> np.ndarray:
        """The logits of the rows [first, last) after all layers, [batch, rows, outputs]: a whole forward pass."""
        ...

    def embed(self, tokens: Int[np.ndarray, "batch seq"], *, watch: Watch | None = None) -> np.ndarray:
        """H⁰ = clip(embed + pos), [batch, seq, width]."""
        ...

    def layers(
        self,
        residual: Int[np.ndarray, "batch seq width"],
        first: int,
        last: int,
        *,
        watch: Watch | None = None,
    ) -> np.ndarray:
        """The residual stream after the layers [first, last)."""
        ...

    def logits(self, residual: Int[np.ndarray, "batch rows width"]) -> np.ndarray:
        """out·h for the given rows, [batch, rows, outputs]."""
        ...


@dataclass(frozen=True)
class Footprint:
    """Bytes that stay while a run goes on, and bytes that come and go."""

    kept: int
    at_once: int

    @staticmethod
    def together(parts: "Iterable[Footprint]") -> int:
        """Bytes of sessions that take turns."""
        parts = list(parts)
        return sum(part.kept for part in parts) + max((part.at_once for part in parts), default=0) + FIXED


@runtime_checkable
class Continuing(Protocol):
    """A session that can write a whole chain by itself."""

    def continued(self, tokens: Int[np.ndarray, "batch seq"], steps: int) -> np.ndarray | None:
        """Return the symbols of `steps` steps, [batch, steps], each decoded from the last row of everything before it.

        None where that is nothing but reading row after row: the caller does so, and sees what fails.
        """
        ...


@runtime_checkable
class Engine(Protocol):
    """Makes sessions."""

    name: str

    def footprint(self, transformer: Transformer, batch: int, *, watched: bool = False) -> Footprint:
        """Return an upper bound of the bytes of a session. `watched`: every attention weight is recorded."""
        ...

    def session(self, transformer: Transformer, *, name: str = "model") -> Session:
        """A session; `name` says which transformer an error is about."""
        ...


def forward(
    session: Session, transformer: Transformer, tokens: np.ndarray, *, watch: Watch | None = None
) -> np.ndarray:
    """The residual stream after all layers."""
    residual = session.embed(tokens, watch=watch)
    return session.layers(residual, 0, len(transformer.layers), watch=watch)
