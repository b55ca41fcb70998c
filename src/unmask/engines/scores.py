"""Attention of some queries to listed keys, in blocks: scores, exponentials, weights, values."""

from dataclasses import dataclass

import numpy as np

from unmask.engines.shared.bit_codes import Shift, Steps
from unmask.numerics.compact import Compact

AT_ONCE = 1 << 18


@dataclass(frozen=True, eq=False)
class Operands:
    """Queries, keys and values of one head, [columns, rows]; column j of a score is Q[places[0][j]]·K[places[1][j]]."""

    Q: np.ndarray
    K: np.ndarray
    V: np.ndarray
    places: tuple[np.ndarray, np.ndarray]
    compact: Compact

    def attend(
        self, queries: np.ndarray, keys: np.ndarray | slice, visible: np.ndarray, steps: Steps
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(head [values, queries], weights [queries, keys], Z); `keys` are one list for all queries or one for each.

        Where Z is 0, the rest means nothing.
        """
        compact = self.compact
        scores = self._scores(queries, keys, steps)
        exps = np.where(visible, compact.exps[scores + compact.bound], 0)
        Z = np.minimum(exps.sum(axis=1, dtype=np.int64), compact.bound).astype(compact.wide)
        weights = compact.divide(exps, np.maximum(Z, 1)[:, None])
        result = np.empty((len(self.V), len(queries)), dtype=compact.narrow)
        step = max(1, AT_ONCE // weights.size)
        for first in range(0, len(self.V), step):
            values = self.V[first : first + step, keys]
            if isinstance(keys, slice):
                values = values[:, None, :]
            result[first : first + step] = compact.total(compact.multiply(weights, values), 2)
        return result, weights, Z

    def _scores(self, queries: np.ndarray, keys: np.ndarray | slice, steps: Steps) -> np.ndarray:
        compact = self.compact
        scores = np.zeros((1, 1), dtype=compact.wide)
        for step in steps:
            if isinstance(step, Shift):
                scores = np.clip(scores.astype(np.int64) + step.by, step.low, step.high).astype(compact.wide)
            else:
                query, key = self.Q[self.places[0][step]], self.K[self.places[1][step]]
                scores = compact.add(scores, compact.multiply(query[queries][:, None], key[keys]))
        return scores

    def constant_exp(self, steps: Steps) -> int:
        """exp of the score that steps without columns lead to."""
        score = int(self._scores(np.zeros(0, dtype=np.int64), slice(0, 0), steps)[0, 0])
        return int(self.compact.exps[score + self.compact.bound])
