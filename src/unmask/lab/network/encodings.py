"""What a row is told about its place: numbers that depend on (step, row) alone, never on what is written.

    bits        ±1 for every bit of its own place and of each operand's, 0 where there is no operand
    positions   ±1 for every bit of its own place
    learned     its place, one-hot
    none        nothing

A place has PLACE_BITS bits whatever N is, so that a network can be run at lengths that it was not trained at.
"""

import numpy as np

from unmask.errors import TooLarge
from unmask.lab.settings.shape import Encoding
from unmask.lab.tasks.layout import FETCHES, NOBODY, PLACE_BITS, PLACES


def code_width(encoding: Encoding, fetches: int = FETCHES) -> int:
    return {"bits": (1 + fetches) * PLACE_BITS, "positions": PLACE_BITS, "learned": PLACES, "none": 0}[encoding]


def codes(encoding: Encoding, pointers: np.ndarray) -> np.ndarray:
    """[steps, rows, code_width] from pointers [steps, rows, fetches]."""
    steps, rows, _ = pointers.shape
    if rows > PLACES:
        raise TooLarge(f"the lab supports at most {PLACES} rows, but this task has {rows}; use a shorter length")
    own = np.broadcast_to(np.arange(rows), (steps, rows))
    if encoding == "learned":
        return np.eye(PLACES, dtype=np.float32)[own]
    parts = {"bits": [own, *np.moveaxis(pointers, -1, 0)], "positions": [own], "none": []}[encoding]
    empty = np.zeros((steps, rows, 0), dtype=np.float32)
    return np.concatenate([empty, *(_signs(part) for part in parts)], axis=-1)


def _signs(places: np.ndarray) -> np.ndarray:
    bits = places[..., None] >> np.arange(PLACE_BITS) & 1
    return np.where(places[..., None] == NOBODY, 0, 2 * bits - 1).astype(np.float32)
