"""Schedules: how many of m masked slots each pass writes.

even      m // T each, one more in the first m mod T passes                     LLaDA
linear    α(t) = 1 − t                                                         dllm
cosine    α(t) = 1 − cos(π/2 · (1 − t))                                        dllm
halving   ⌈m/2⌉ of what is left: 32, 16, 8, 4, 2, 1 of 63

For an α, a pass from t to s writes round(m' · (1 − (1 − α(s)) / (1 − α(t)))) of the m' that are left, and passes that
write nothing are left out.
"""

from collections.abc import Callable
from functools import lru_cache

import numpy as np

SCHEDULES = ("even", "linear", "cosine", "halving")


@lru_cache(maxsize=4096)
def quotas(schedule: str, masked: int, steps: int) -> tuple[int, ...]:
    """The number of slots that each pass writes; their sum is `masked`."""
    if schedule == "even":
        share, rest = divmod(masked, steps)
        return tuple(share + (i < rest) for i in range(steps))
    if schedule == "halving":
        return halving(masked)
    return by_alpha({"linear": linear, "cosine": cosine}[schedule], masked, steps)


def linear(t: np.float32) -> np.float32:
    return np.float32(1) - t


def cosine(t: np.float32) -> np.float32:
    return np.float32(1) - np.cos(np.float32(np.pi / 2) * (np.float32(1) - t))


def halving(masked: int) -> tuple[int, ...]:
    parts = []
    while masked:
        parts.append(masked - masked // 2)
        masked //= 2
    return tuple(parts)


def by_alpha(alpha: Callable[[np.float32], np.float32], masked: int, steps: int) -> tuple[int, ...]:
    """What is left after the last pass goes into it, should rounding leave anything.

    α is taken in single precision, as dllm does: it decides which way a half is rounded.
    """
    parts, left = [], masked
    masks = [np.float32(1) - alpha(np.float32(i / steps)) for i in range(steps + 1)]
    for i in range(steps, 0, -1):
        part = left if i == 1 else min(left, round(left * (1 - float(masks[i - 1] / masks[i]))))
        if part:
            parts.append(part)
        left -= part
    return tuple(parts)
