"""InformationCurve × K → what a schedule costs, and the best one.

A schedule 0 = n_0 < n_1 < … < n_K = N says how many positions are written after each pass. The positions come in a
random order, the predictor is exact, and the positions of one pass are drawn independently. The only error is that
positions of one pass do not see each other. Its size is known exactly:

    E KL(p ‖ q_order) = Σ_k [ (n_k − n_{k−1})·f(n_{k−1}) − (g(n_k) − g(n_{k−1})) ]
                      = Σ_k (n_k − n_{k−1})·f(n_{k−1}) − H(X)

Proof. Given the order, log p − log q is the sum over passes of log p(x_U | x_S) − Σ_{j in U} log p(x_j | x_S), where S
is what was written before and U what is written now. Its mean under p is Σ_{j in U} H(X_j | X_S) − H(X_U | X_S). Now
take the mean over orders: S is a random set of n_{k−1} positions and every j in U is a random position outside it. ∎

A sampler that draws the order itself has the mean of the laws q_order. KL is convex, so its KL is at most this number.

The sum telescopes: only Σ (n_k − n_{k−1})·f(n_{k−1}) depends on the schedule. It is the left Riemann sum of a curve
that never increases. The best cuts are found by dynamic programming over (number of passes, last cut).
"""

from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from unmask.errors import UnmaskError
from unmask.samplers.laws.information import InformationCurve
from unmask.samplers.passes.schedules import SCHEDULES, quotas


@dataclass(frozen=True)
class PricedSchedule:
    """`cuts` are n_0 … n_K; `kl` is in nats and at most `error` off."""

    name: str
    cuts: tuple[int, ...]
    kl: float
    error: float

    @property
    def passes(self) -> int:
        return len(self.cuts) - 1

    @property
    def writes(self) -> tuple[int, ...]:
        """How many positions each pass writes."""
        return tuple(b - a for a, b in pairwise(self.cuts))

    def to_json(self) -> dict[str, Any]:
        return {
            "schedule": self.name,
            "passes": self.passes,
            "writes": list(self.writes),
            "kl": self.kl,
            "error": self.error,
        }


def expected_kl(curve: InformationCurve, cuts: tuple[int, ...]) -> float:
    """The expected KL of the schedule with these cuts, in nats."""
    check_cuts(cuts, curve.length)
    return sum((b - a) * float(curve.per_position[a]) for a, b in pairwise(cuts)) - curve.entropy


def priced(name: str, curve: InformationCurve, cuts: tuple[int, ...]) -> PricedSchedule:
    """The schedule with its price; f(i) is off by at most twice the error of g."""
    return PricedSchedule(name, cuts, max(0.0, expected_kl(curve, cuts)), (2 * curve.length + 1) * curve.error)


def optimal_schedule(curve: InformationCurve, passes: int) -> PricedSchedule:
    """A schedule with the least expected KL among those with so many passes.

    cost(k, n) = min over m < n of cost(k − 1, m) + (n − m)·f(m)
    """
    length = curve.length
    check_passes(passes, length)
    n, m = np.arange(length + 1)[:, None], np.arange(length)[None, :]
    pass_cost = np.where(m < n, (n - m) * curve.per_position[None, :], np.inf)
    cost = np.where(np.arange(length + 1) == 0, 0.0, np.inf)
    choices = []
    for _ in range(passes):
        through = cost[None, :-1] + pass_cost
        choices.append(through.argmin(axis=1))
        cost = through.min(axis=1)
    cuts = [length]
    for choice in reversed(choices):
        cuts.append(int(choice[cuts[-1]]))
    return priced("optimal", curve, tuple(reversed(cuts)))


def published_schedules(curve: InformationCurve, passes: int) -> list[PricedSchedule]:
    """The schedules of `unmask samplers` for this number of passes; rounding may leave fewer, halving has its own."""
    check_passes(passes, curve.length)
    return [priced(name, curve, (0, *accumulate(quotas(name, curve.length, passes)))) for name in SCHEDULES]


def check_passes(passes: int, length: int) -> None:
    if not 1 <= passes <= length:
        raise UnmaskError(
            f"--passes is {passes:,} and the strings have {length:,} positions; a pass writes at least one position, "
            f"so choose 1 to {length:,}"
        )


def check_cuts(cuts: tuple[int, ...], length: int) -> None:
    if not cuts or cuts[0] != 0 or cuts[-1] != length or any(b <= a for a, b in pairwise(cuts)):
        raise UnmaskError(f"a schedule of {length} positions has cuts 0 < … < {length}, not {cuts}")
