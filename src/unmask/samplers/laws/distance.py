"""How far the law q of a sampler is from the truth p.

    KL(p‖q) = Σ p log(p/q)        in nats; ∞ where a possible string is never written
    TV      = ½ Σ |p − q|
    impossible = q(strings that p excludes)

Sampled, q is estimated from counts c of M runs. TV is that of c/M; its expected error is at most ½ Σ √(q(1 − q)/M),
which is given as the bar. KL takes (c + ½)/(M + S/2) for q, S the number of strings (the estimator of Krichevsky and
Trofimov); its bar is √(Var/M) by the delta method, Var = Σ p²/q − 1.
"""

from dataclasses import asdict, dataclass
from math import inf, isfinite
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Distance:
    """`exact`: enumerated; otherwise the bars say how far off the estimates may be, and `runs` how many there were."""

    kl: float
    tv: float
    impossible: float
    exact: bool
    kl_error: float = 0.0
    tv_error: float = 0.0
    runs: int | None = None

    def to_json(self) -> dict[str, Any]:
        """An infinite KL is written as null."""
        document = asdict(self)
        return {**document, "kl": self.kl if isfinite(self.kl) else None}


def exact_distance(truth: np.ndarray, law: np.ndarray) -> Distance:
    """p and q over the same strings."""
    possible = truth > 0
    p, q = truth[possible], law[possible]
    kl = inf if (q <= 0).any() else float(np.sum(p * np.log(p / q)))
    return Distance(max(0.0, kl), float(np.abs(truth - law).sum() / 2), float(law[~possible].sum()), exact=True)


def sampled_distance(truth: np.ndarray, counts: np.ndarray) -> Distance:
    """p over strings, and how often each was written."""
    runs = int(counts.sum())
    q = counts / runs
    possible = truth > 0
    smooth = ((counts + 0.5) / (runs + len(counts) / 2))[possible]
    p = truth[possible]
    return Distance(
        kl=float(np.sum(p * np.log(p / smooth))),
        tv=float(np.abs(truth - q).sum() / 2),
        impossible=float(q[~possible].sum()),
        exact=False,
        kl_error=float(np.sqrt(max(0.0, np.sum(p * p / smooth) - 1) / runs)),
        tv_error=float(np.sqrt(q * (1 - q) / runs).sum() / 2),
        runs=runs,
    )
