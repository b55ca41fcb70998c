"""Engine: one forward pass of one transformer. The loops over steps are in the reasoners.

A session serves one transformer through a whole run, so that an engine may reuse earlier results. Every engine returns
the same integers for the same calls. The first axis of arrays is the batch: one entry per word.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from unmask.numerics.array_types import Int
from unmask.weights.transformer import Transformer

FIXED_BYTES = 16 << 20  # bytes of buffers of fixed size, and of Python itself

Watch = Callable[[str, np.ndarray], None]
"""A function that receives name and value of each result of a pass: `embed`, `layers.0.heads.1.weights`, …"""


@runtime_checkable
class Session(Protocol):
    """One transformer, ready to be run."""

    def read(
        self, tokens: Int[np.ndarray, "batch seq"], rows: tuple[int, int], *, watch: Watch | None = None
    ) -> np.ndarray:
        """Run a whole forward pass. Return the logits of the rows [first, last), [batch, rows, outputs]."""
        ...

    def embed(self, tokens: Int[np.ndarray, "batch seq"], *, watch: Watch | None = None) -> np.ndarray:
        """Return H⁰ = clip(embed + pos), [batch, seq, width]."""
        ...

    def layers(
        self,
        residual: Int[np.ndarray, "batch seq width"],
        first: int,
        last: int,
        *,
        watch: Watch | None = None,
    ) -> np.ndarray:
        """Return the residual stream after the layers [first, last)."""
        ...

    def logits(self, residual: Int[np.ndarray, "batch rows width"]) -> np.ndarray:
        """Return out·h of every row, [batch, rows, outputs]."""
        ...


@dataclass(frozen=True)
class Footprint:
    """Bytes that a session retains during a whole run, and bytes that it needs temporarily."""

    retained: int
    temporary: int

    @staticmethod
    def combined(footprints: "Iterable[Footprint]") -> int:
        """Return the bytes of several sessions of which one computes at a time."""
        footprints = list(footprints)
        temporary = max((each.temporary for each in footprints), default=0)
        return sum(each.retained for each in footprints) + temporary + FIXED_BYTES


@runtime_checkable
class Continuing(Protocol):
    """A session that can compute a whole chain of thought in one call."""

    def continued(self, tokens: Int[np.ndarray, "batch seq"], steps: int) -> np.ndarray | None:
        """Return the symbols of `steps` steps, [batch, steps], each decoded from the last row of everything before it.

        Return None if the rows must be read one after another. The caller then does so, and gets the errors.
        """
        ...


@runtime_checkable
class Engine(Protocol):
    """Creates sessions."""

    name: str

    def footprint(self, transformer: Transformer, batch: int, *, watched: bool = False) -> Footprint:
        """Return an upper bound of the bytes of a session. `watched`: every attention weight is recorded."""
        ...

    def session(self, transformer: Transformer, *, name: str = "model") -> Session:
        """Create a session; error messages name the transformer by `name`."""
        ...


def forward(
    session: Session, transformer: Transformer, tokens: np.ndarray, *, watch: Watch | None = None
) -> np.ndarray:
    """Return the residual stream after all layers."""
    residual = session.embed(tokens, watch=watch)
    return session.layers(residual, 0, len(transformer.layers), watch=watch)
