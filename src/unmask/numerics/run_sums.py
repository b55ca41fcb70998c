"""Clipped sums over runs of terms that many sums share, without adding up each by itself.

The terms stand in segments; a run is the beginning of a segment, and a sum goes through one run after another. Where
the positive terms of a sum add up to at most B and so do the negative ones, or where all have one sign, it clips at
most at its end: a difference of two cumulative sums. Otherwise the functions x ↦ min(hi, max(lo, x + c)) of the terms
are composed (see `compact`), once for every beginning of every segment, in ⌈log2 n⌉ rounds.
"""

from dataclasses import dataclass

import numpy as np

from unmask.numerics.compact import Compact

AT_ONCE = 1 << 18


@dataclass(frozen=True, eq=False)
class Runs:
    """Which terms each sum has: sum i goes through the runs heads[i] … heads[i + 1] - 1, one at least.

    Run r is [begin[r], end[r]), not empty, and begin[r] is where a segment begins; `offset` counts the terms before
    each term in its segment.
    """

    offset: np.ndarray
    begin: np.ndarray
    end: np.ndarray
    heads: np.ndarray


def run_sums(terms: np.ndarray, runs: Runs, compact: Compact) -> np.ndarray:
    """SUM of every row of [columns, terms] over the runs of every sum: [columns, sums], in the narrow type."""
    result = np.empty((len(terms), runs.heads.size), dtype=compact.narrow)
    step = max(1, AT_ONCE // max(1, terms.shape[1], runs.begin.size))
    for first in range(0, len(terms), step):
        part = terms[first : first + step]
        sums = _plain(part, runs)
        rising = _plain(np.maximum(part, 0), runs) if part.min(initial=0) < 0 else sums
        falling = rising - sums
        unsure = (np.minimum(rising, falling) > 0) & (np.maximum(rising, falling) > compact.bound)
        result[first : first + step] = compact.clip(sums)
        which = np.flatnonzero(unsure.any(axis=1))
        if which.size:
            result[first + which] = _composed(part[which], runs, compact.bound)
    return result


def _plain(terms: np.ndarray, runs: Runs) -> np.ndarray:
    """The sums without clipping."""
    before = np.zeros((len(terms), terms.shape[1] + 1), dtype=np.int64)
    np.cumsum(terms, axis=1, out=before[:, 1:])
    return np.add.reduceat(before[:, runs.end] - before[:, runs.begin], runs.heads, axis=1)


def _composed(terms: np.ndarray, runs: Runs, bound: int) -> np.ndarray:
    """The clipped sums: each term composed with all before it in its segment, then run after run."""
    c = terms.astype(np.int64)
    low, high = np.full_like(c, -bound), np.full_like(c, bound)
    reach = 1
    while reach <= runs.offset.max(initial=0):
        at = np.flatnonzero(runs.offset >= reach)
        before, then = at - reach, c[:, at]
        floor, ceiling = low[:, at], high[:, at]
        new = c[:, before] + then, np.clip(low[:, before] + then, floor, ceiling)
        high[:, at] = np.clip(high[:, before] + then, floor, ceiling)
        c[:, at], low[:, at] = new
        reach *= 2
    counts = np.diff(np.append(runs.heads, runs.begin.size))
    x = np.zeros((len(terms), runs.heads.size), dtype=np.int64)
    for i in range(int(counts.max(initial=0))):
        has = np.flatnonzero(counts > i)
        last = runs.end[runs.heads[has] + i] - 1
        x[:, has] = np.clip(x[:, has] + c[:, last], low[:, last], high[:, last])
    return x
