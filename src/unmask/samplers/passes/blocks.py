"""Blocks: semi-autoregressive generation fills w slots at a time, from left to right."""

from math import ceil

import numpy as np


def block_count(slots: int, width: int | None) -> int:
    return 1 if width is None else max(1, ceil(slots / width))


def block(state_slots: int, width: int | None, number: int) -> np.ndarray:
    """Which slots belong to a block; the last may be shorter."""
    if width is None:
        return np.ones(state_slots, dtype=bool)
    places = np.arange(state_slots)
    return (places >= number * width) & (places < (number + 1) * width)


def leftmost_open(masked: np.ndarray, width: int | None) -> np.ndarray:
    """The masked slots of the leftmost block that has one."""
    if width is None or not masked.any():
        return masked
    return masked & block(len(masked), width, int(np.argmax(masked)) // width)
