"""Law × N → InformationCurve: how much a masked position still hides when i others are revealed.

    f(i) = mean over sets S of i positions and over j not in S of H(X_j | X_S)        in nats, i = 0 … N − 1
    g(i) = mean over sets S of i positions of H(X_S) = f(0) + … + f(i − 1)

f never increases (conditioning on more cannot raise an entropy), g(N) is the entropy of the law.

g needs one pass from left to right. By the chain rule H(X_S) is the sum of H(X_s | X_{S before s}) over s in S. What
the revealed letters before s say about the rest is a belief: a distribution over the states of the automaton. A
dynamic program follows all beliefs, weighed by how likely they are for each number of revealed letters. In a
first-order chain a revealed letter fixes the state, and there are few beliefs. In a hidden Markov model there may be
too many. For short strings all sets of positions and all their letters are then enumerated. For others similar beliefs
are merged, and the curve has a proved error. To merge is to forget which belief L of a group is the true one. This
raises g by what L says about the revealed letters to come, summed over all merges. They depend on L only through what
happens at the next position, so this is at most

    I(L; letter and state there | group)        if the next position is revealed
    I(L; state there | group)                   if it is masked

Bounds of g bound f, because g is concave: f(i) is at most a mean of f to its left and at least one to its right.
"""

from dataclasses import dataclass
from decimal import Decimal, localcontext
from functools import cached_property, lru_cache
from itertools import accumulate
from math import comb, floor, log

import numpy as np

from unmask.errors import ProblemError, TooLarge
from unmask.limits import check
from unmask.samplers.string_law import StringLaw

EQUAL = 1e-13  # beliefs that differ by rounding errors only
MOST_LENGTH = 1024
MOST_NUMBERS = 4_000_000  # labels × numbers of revealed letters × states, where beliefs are exact
MOST_MERGED = 1_000_000  # the same after beliefs are merged
FEWEST_LABELS = 16
MOST_CANVASES = 1 << 24  # strings with any of their letters masked, where these are enumerated
BLOCK = 1024  # labels that are processed at once
UNIT = 2.0**-53  # the largest relative error of a float operation


@dataclass(frozen=True, eq=False)
class InformationCurve:
    """Bounds of g for every number of positions. If `exact`, they differ only by rounding errors."""

    lower: np.ndarray
    upper: np.ndarray
    exact: bool

    @property
    def length(self) -> int:
        return len(self.upper) - 1

    @cached_property
    def entropy_of_sets(self) -> np.ndarray:
        """Return g(0) … g(N): the middle between the bounds."""
        return (self.lower + self.upper) / 2

    @cached_property
    def bounds_per_position(self) -> tuple[np.ndarray, np.ndarray]:
        """Return lower and upper bounds of f(0) … f(N − 1)."""
        lower, upper = np.full(self.length, -np.inf), np.full(self.length, np.inf)
        for size in range(1, self.length + 1):
            starts = np.arange(self.length + 1 - size)
            np.maximum.at(lower, starts, (self.lower[size:] - self.upper[:-size]) / size)
            np.minimum.at(upper, starts + size - 1, (self.upper[size:] - self.lower[:-size]) / size)
        return np.maximum.accumulate(lower[::-1])[::-1], np.minimum.accumulate(upper)

    @cached_property
    def per_position(self) -> np.ndarray:
        """Return f(0) … f(N − 1): the middle between the bounds."""
        lower, upper = self.bounds_per_position
        return (lower + upper) / 2

    @property
    def error(self) -> float:
        """Return a bound of |g(i) − entropy_of_sets[i]| for every i."""
        return float((self.upper - self.lower).max() / 2)

    @property
    def entropy(self) -> float:
        """Return H(X), the entropy of the law."""
        return float(self.entropy_of_sets[-1])

    @property
    def total_correlation(self) -> float:
        """Return Σ H(X_j) − H(X): the KL of writing everything in one pass."""
        return self.length * float(self.per_position[0]) - self.entropy

    @property
    def dual_total_correlation(self) -> float:
        """Return H(X) − Σ H(X_j | all others)."""
        return self.entropy - self.length * float(self.per_position[-1])


def information_curve(law: StringLaw, length: int) -> InformationCurve:
    """Return the curve of the law at one length."""
    if not 1 <= length <= MOST_LENGTH:
        raise ProblemError(f"the length of a schedule is {length:,}; choose 1 to {MOST_LENGTH:,}")
    initial, steps = normalised_transitions(law, length)
    if MOST_MERGED // ((length + 1) * len(initial)) < FEWEST_LABELS:
        raise TooLarge(
            f"{law.name} has {len(initial)} states, too many for length {length:,}; choose a shorter --length"
        )
    short = (len(law.alphabet) + 1) ** length <= MOST_CANVASES
    try:
        entropies, lost = _entropies(initial, steps, may_merge=not short)
    except _TooManyBeliefs:
        entropies, lost = _entropies_by_enumeration(initial, steps), np.zeros(length + 1)
    rounding = np.arange(length + 1) * _rounding(law, length)
    return InformationCurve(entropies - lost - rounding, entropies + rounding, exact=not lost.any())


def _rounding(law: StringLaw, length: int) -> float:
    """Estimate how large the rounding error of g can be, per revealed position.

    Every mass is a sum of products of positive numbers. Its relative error e grows by at most 2·(symbols·states + 4)
    roundings per position, those of the normalised weights included, if the errors of a sum over labels do not all have
    one sign. An entropy of letters changes by at most 2·e·(log(symbols) + 1). Beliefs that are merged as equal differ
    by at most EQUAL from their mean m, so what is lost is at most Σ (b − m)²/m ≤ 2·EQUAL for each state.
    """
    operations = 2 * length * (len(law.alphabet) * len(law.initial) + 4)
    return 2 * operations * UNIT * (log(len(law.alphabet)) + 1) + 2 * EQUAL * len(law.initial)


def normalised_transitions(law: StringLaw, length: int) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return (distribution of the first state, P(letter, next state | state) for every position) at this length.

    The weights of the automaton are multiplied by the weight of all continuations: P_s(a, t | u) = A_a[u, t]·b_{s+1}[t]
    / b_s[u], where b_s are the backward sums.
    """
    rest, steps = law.final.astype(float), []
    for _ in range(length):
        weighted = law.steps * rest
        before = weighted.sum(axis=(0, 2))
        steps.append(weighted / np.where(before > 0, before, 1)[:, None])
        if not before.any():
            break
        rest = before / before.max()
    initial = law.initial * rest
    if not initial.any() or len(steps) < length:
        raise law.no_strings(length)
    return initial / initial.sum(), steps[::-1]


class _TooManyBeliefs(Exception):
    """Raised if there are more beliefs than are followed exactly."""


def _entropies(initial: np.ndarray, steps: list[np.ndarray], *, may_merge: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return (g(0) … g(N), bounds on how much merging beliefs raised them).

    masses[label, k, state] is P(label, state | k of the positions so far are revealed, at random).
    """
    length = len(steps)
    most = [numbers // ((length + 1) * len(initial)) for numbers in (MOST_NUMBERS, MOST_MERGED)]
    masses = initial[None, None, :]
    conditional = np.zeros((length, length + 1))  # conditional[s, k]: mean H(X_s | k random ones before s)
    lost = np.zeros((2, length, length + 1))  # lost by the merge before s, if s is masked and if it is revealed
    for s, step in enumerate(steps):
        check()
        moved = np.einsum("lku,aut->lakt", masses, step, optimize=True)
        likely = moved.sum(axis=-1)
        total = likely.sum(axis=1)
        conditional[s, : s + 1] = (_plogp(total) - _plogp(likely).sum(axis=1)).sum(axis=0)
        k = np.arange(s + 1)
        after = np.zeros((len(masses), len(step) + 1, s + 2, len(initial)))
        after[:, :-1, 1:] = moved * ((k + 1) / (s + 1))[:, None]
        after[:, -1, :-1] = moved.sum(axis=1) * ((s + 1 - k) / (s + 1))[:, None]
        after = after.reshape(-1, s + 2, len(initial))
        masses = _joined(after[after.any(axis=(1, 2))], EQUAL)
        if len(masses) > most[0]:
            if not may_merge:
                raise _TooManyBeliefs
            merged = _merged(masses, most[1])
            if s + 1 < length:
                forgotten = _information(masses, steps[s + 1]) - _information(merged, steps[s + 1])
                lost[:, s + 1, : s + 2] = forgotten.clip(min=0)
            masses = merged
    means = np.array([_means(size, conditional, lost) for size in range(length + 1)])
    return means[:, 0], means[:, 1]


def _entropies_by_enumeration(initial: np.ndarray, steps: list[np.ndarray]) -> np.ndarray:
    """Return g(0) … g(N), from the probabilities of all strings with any of their letters masked."""
    flow = initial
    for step in steps:
        flow = np.einsum("...u,aut->...at", flow, step)
    masses, revealed = flow.sum(axis=-1), np.zeros((), dtype=np.int8)
    for axis in range(len(steps)):
        check()
        letters = masses.shape[axis]
        masses = np.concatenate([masses, masses.sum(axis=axis, keepdims=True)], axis=axis)
        revealed = np.add.outer(revealed, np.array([1] * letters + [0], dtype=np.int8))
    sizes = range(len(steps) + 1)
    totals = [-_plogp(masses[revealed == size]).sum() / comb(len(steps), size) for size in sizes]
    return np.array(totals)


def _means(size: int, conditional: np.ndarray, lost: np.ndarray) -> tuple[float, float]:
    """Return the sums of `conditional` and `lost` over the positions, if a random set of this size is revealed."""
    length = len(conditional)
    revealed = _shares(length, size, 1)
    if not lost.any():
        return float((revealed * conditional).sum()), 0.0
    masked = _shares(length, size, 0)
    return float((revealed * conditional).sum()), float((masked * lost[0] + revealed * lost[1]).sum())


def _shares(length: int, size: int, includes_s: int) -> np.ndarray:
    """Return [s, k]: the probability that a random set has k of the s positions before s.

    If `includes_s` is 1, it must also have s itself; if 0, it must not.

    C(s, k)·C(N−s−1, size−k−includes_s) / C(N, size)
    """
    high, low = _log_binomials(length)
    left = size - includes_s - np.arange(length + 1)
    possible = left >= 0
    shares = np.zeros((length, length + 1))
    after = np.ix_(np.arange(length)[::-1], left[possible])
    exponents = high[:length, possible] + high[after] - high[length, size]
    shares[:, possible] = np.exp(exponents + (low[:length, possible] + low[after] - low[length, size]))
    return shares


@lru_cache(maxsize=1)
def _log_binomials(length: int) -> tuple[np.ndarray, np.ndarray]:
    """Return log C(n, k) for n, k ≤ N as sums of two floats; sums of the first are exact, so no digits are lost."""
    with localcontext(prec=40):
        exact = list(accumulate((Decimal(n).ln() for n in range(1, length + 1)), initial=Decimal(0)))
        high = np.array([floor(log_factorial * 2**20) / 2**20 for log_factorial in exact])
        low = np.array([float(value - Decimal(first)) for value, first in zip(exact, high.tolist(), strict=True)])
    n, k = np.arange(length + 1)[:, None], np.arange(length + 1)[None, :]
    binomials = [np.where(k <= n, table[n] - table[k] - table[n - k], 0) for table in (high, low)]
    return np.where(k <= n, binomials[0], -np.inf), binomials[1]


def _plogp(p: np.ndarray) -> np.ndarray:
    return p * np.log(np.where(p > 0, p, 1))


def _merged(masses: np.ndarray, most: int) -> np.ndarray:
    """Merge labels with similar beliefs, so that few are left."""
    grid = 1 / most
    while len(merged := _joined(masses, grid)) > most:
        grid *= 1.5
    return merged


def _information(masses: np.ndarray, step: np.ndarray) -> np.ndarray:
    """Return −H(event at the next position | label) for every k: [the state, letter and state]."""
    negative_entropies = np.zeros((2, masses.shape[1]))
    for first in range(0, len(masses), BLOCK):
        block = masses[first : first + BLOCK]
        both = np.einsum("lku,aut->lkat", block, step, optimize=True)
        label = _plogp(block.sum(axis=2)).sum(axis=0)
        negative_entropies += [_plogp(x).sum(axis=(0, *range(2, x.ndim))) - label for x in (both.sum(axis=2), both)]
    return negative_entropies


def _joined(masses: np.ndarray, grid: float) -> np.ndarray:
    """Merge labels whose beliefs round to the same point of a grid."""
    flat = masses.sum(axis=1)
    order, first = _groups(np.round(flat / flat.sum(axis=1, keepdims=True) / grid))
    return np.add.reduceat(masses[order], first, axis=0)


def _groups(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (an order in which equal rows are neighbours, the start of each group of equal rows in it)."""
    order = np.lexsort(keys[:, :-1].T) if keys.shape[1] > 1 else np.arange(len(keys))
    ordered = keys[order][:, :-1]
    new = np.concatenate([[True], (ordered[1:] != ordered[:-1]).any(axis=1)])
    return order, np.flatnonzero(new)
