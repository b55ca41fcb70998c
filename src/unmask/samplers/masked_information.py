"""Law × N → InformationCurve: how much a masked position still hides when i others are revealed.

    f(i) = mean over sets S of i positions and over j not in S of H(X_j | X_S)        in nats, i = 0 … N − 1
    g(i) = mean over sets S of i positions of H(X_S) = f(0) + … + f(i − 1)

f never increases (conditioning on more cannot raise an entropy), g(N) is the entropy of the law.

g needs one pass from left to right. By the chain rule H(X_S) is the sum of H(X_s | X_{S before s}) over s in S. What
the revealed letters before s say about the rest is a belief: a distribution over the states of the automaton. A
dynamic program follows all beliefs, weighed by how likely they are for each number of revealed letters. In a
first-order chain a revealed letter fixes the state, and there are few beliefs. In a hidden Markov model there may be
too many. For short strings all sets of positions and all their letters are then enumerated. For others the beliefs are
approximated from both sides, and the curve has a proved error:

    merging beliefs forgets something,            which can only raise an entropy: an upper bound
    splitting a belief into several               is to be told something more: a lower bound

Bounds of g bound f, because g is concave: f(i) is at most a mean of f to its left and at least one to its right.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import comb, lgamma

import numpy as np

from unmask.errors import ProblemError, TooLarge
from unmask.limits import check
from unmask.samplers.string_law import Law

EQUAL = 1e-12  # beliefs that differ by rounding errors only
MOST_LENGTH = 1024
MOST_NUMBERS = 4_000_000  # labels × numbers of revealed letters × states, where beliefs are exact
MOST_APPROXIMATE = 1_000_000  # the same where beliefs are approximated
FEWEST_LABELS = 16
MOST_CANVASES = 1 << 24  # strings with any of their letters masked, where these are enumerated
MOST_GRID_STATES = 3  # a grid of beliefs over more states has too many points


@dataclass(frozen=True, eq=False)
class InformationCurve:
    """Bounds of g; `entropy_of_sets` is their middle, `error` half of the largest gap between them."""

    lower: np.ndarray
    upper: np.ndarray

    @property
    def length(self) -> int:
        return len(self.upper) - 1

    @cached_property
    def entropy_of_sets(self) -> np.ndarray:
        """g(0) … g(N)."""
        return (self.lower + self.upper) / 2

    @cached_property
    def bounds_per_position(self) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper bounds of f(0) … f(N − 1)."""
        lower, upper = np.full(self.length, -np.inf), np.full(self.length, np.inf)
        for size in range(1, self.length + 1):
            starts = np.arange(self.length + 1 - size)
            np.maximum.at(lower, starts, (self.lower[size:] - self.upper[:-size]) / size)
            np.minimum.at(upper, starts + size - 1, (self.upper[size:] - self.lower[:-size]) / size)
        return np.maximum.accumulate(lower[::-1])[::-1], np.minimum.accumulate(upper)

    @cached_property
    def per_position(self) -> np.ndarray:
        """f(0) … f(N − 1): the middle between the bounds."""
        lower, upper = self.bounds_per_position
        return (lower + upper) / 2

    @property
    def error(self) -> float:
        """|g(i) − entropy_of_sets[i]| is at most this, for every i; rounding errors of floats are not counted."""
        return float((self.upper - self.lower).max() / 2)

    @property
    def entropy(self) -> float:
        """H(X), the entropy of the law."""
        return float(self.entropy_of_sets[-1])

    @property
    def total_correlation(self) -> float:
        """Σ H(X_j) − H(X): the KL of writing everything in one pass."""
        return self.length * float(self.per_position[0]) - self.entropy

    @property
    def dual_total_correlation(self) -> float:
        """H(X) − Σ H(X_j | all others)."""
        return self.entropy - self.length * float(self.per_position[-1])


def information_curve(law: Law, length: int) -> InformationCurve:
    """The curve of the law at one length."""
    if not 1 <= length <= MOST_LENGTH:
        raise ProblemError(f"the length of a schedule is {length:,}; choose 1 to {MOST_LENGTH:,}")
    initial, steps = normalised(law, length)
    per_label = (length + 1) * len(initial)
    if MOST_APPROXIMATE // per_label < FEWEST_LABELS:
        raise TooLarge(
            f"{law.name} has {len(initial)} states, too many for length {length:,}; choose a shorter --length"
        )
    try:
        exact = _entropies(initial, steps, length, _merge_equal, MOST_NUMBERS // per_label)
        return InformationCurve(exact, exact)
    except _TooManyBeliefs:
        if (len(law.alphabet) + 1) ** length <= MOST_CANVASES:
            exact = _entropies_by_enumeration(initial, steps)
            return InformationCurve(exact, exact)
        most = MOST_APPROXIMATE // per_label
        upper = _entropies(initial, steps, length, _merge, most)
        lower = _entropies(initial, steps, length, _split, most)
        return InformationCurve(np.minimum(lower, upper), upper)


def normalised(law: Law, length: int) -> tuple[np.ndarray, list[np.ndarray]]:
    """(distribution of the first state, for every position P(letter, next state | state)) of strings of this length.

    The weights of the automaton are multiplied by what can still follow: P_s(a, t | u) = A_a[u, t]·b_{s+1}[t] / b_s[u],
    where b_s are the backward sums.
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
        raise ProblemError(f"{law.name} gives no string of length {length:,} a probability; choose another --length")
    return initial / initial.sum(), steps[::-1]


class _TooManyBeliefs(Exception):
    """More beliefs than are followed exactly."""


Compress = Callable[[np.ndarray, int], np.ndarray]
"""(masses [labels, revealed, states], most labels) → the same with fewer labels"""


def _entropies(initial: np.ndarray, steps: list[np.ndarray], length: int, compress: Compress, most: int) -> np.ndarray:
    """g(0) … g(N).

    masses[label, k, state] is P(label, state | k of the positions so far are revealed, at random).
    """
    masses = initial[None, None, :]
    given = np.zeros((length, length + 1))  # given[s, k]: mean H(X_s | k random ones before s)
    for s, step in enumerate(steps):
        check()
        moved = np.einsum("lku,aut->lakt", masses, step, optimize=True)
        likely = moved.sum(axis=-1)
        total = likely.sum(axis=1)
        given[s, : s + 1] = (_plogp(total) - _plogp(likely).sum(axis=1)).sum(axis=0)
        k = np.arange(s + 1)
        after = np.zeros((len(masses), len(step) + 1, s + 2, len(initial)))
        after[:, :-1, 1:] = moved * ((k + 1) / (s + 1))[:, None]
        after[:, -1, :-1] = moved.sum(axis=1) * ((s + 1 - k) / (s + 1))[:, None]
        after = after.reshape(-1, s + 2, len(initial))
        masses = compress(after[after.any(axis=(1, 2))], most)
    return np.array([_mean_entropy(given, size) for size in range(length + 1)])


def _entropies_by_enumeration(initial: np.ndarray, steps: list[np.ndarray]) -> np.ndarray:
    """g(0) … g(N), from the probabilities of all strings with any of their letters masked."""
    flow = initial
    for step in steps:
        flow = np.einsum("...u,aut->...at", flow, step)
    masses, revealed = flow.sum(axis=-1), np.zeros((), dtype=np.int8)
    for axis in range(len(steps)):
        check()
        letters = masses.shape[axis]
        masses = np.concatenate([masses, masses.sum(axis=axis, keepdims=True)], axis=axis)
        revealed = np.add.outer(revealed, np.array([1] * letters + [0], dtype=np.int8))
    totals = -np.bincount(revealed.ravel(), weights=_plogp(masses).ravel(), minlength=len(steps) + 1)
    return np.array([total / comb(len(steps), size) for size, total in enumerate(totals)])


def _mean_entropy(given: np.ndarray, size: int) -> float:
    """g(size). Position s is member k + 1 of a random set with probability C(s, k)·C(N−s−1, size−k−1) / C(N, size)."""
    length = len(given)
    s, k = np.arange(length)[:, None], np.arange(length + 1)[None, :]
    after, left = length - s - 1, size - k - 1
    possible = (k <= s) & (left >= 0) & (left <= after)
    logs = _log_binomial(s, k, possible) + _log_binomial(after, left, possible)
    share = np.where(possible, np.exp(np.where(possible, logs - _log_binomial(length, size, True), 0)), 0)
    return float((share * given).sum())


_log_factorials = np.array([lgamma(n + 1) for n in range(MOST_LENGTH + 2)])


def _log_binomial(n: np.ndarray | int, k: np.ndarray | int, possible: np.ndarray | bool) -> np.ndarray:
    n, k = np.where(possible, n, 0), np.where(possible, k, 0)
    return _log_factorials[n] - _log_factorials[k] - _log_factorials[n - k]


def _plogp(p: np.ndarray) -> np.ndarray:
    return p * np.log(np.where(p > 0, p, 1))


def _merge_equal(masses: np.ndarray, most: int) -> np.ndarray:
    """Labels with equal beliefs become one."""
    merged = _joined(masses, EQUAL)
    if len(merged) > most:
        raise _TooManyBeliefs
    return merged


def _merge(masses: np.ndarray, most: int) -> np.ndarray:
    """Labels with similar beliefs become one."""
    merged, grid = _joined(masses, EQUAL), 1 / most
    while len(merged) > most:
        merged, grid = _joined(masses, grid), 2 * grid
    return merged


def _split(masses: np.ndarray, most: int) -> np.ndarray:
    """Every belief becomes a mixture of beliefs that many share."""
    masses = _joined(masses, EQUAL)
    if len(masses) <= most:
        return masses
    return (_split_on_grid if masses.shape[2] <= MOST_GRID_STATES else _split_off_states)(masses, most)


def _split_off_states(masses: np.ndarray, most: int) -> np.ndarray:
    """Of similar beliefs the most likely one is kept; the others are a multiple of it and, rarely, a known state."""
    states = masses.shape[2]
    mass = masses.sum(axis=2)
    weight = mass.sum(axis=1)
    belief = masses.sum(axis=1) / weight[:, None]
    grid = 1 / most
    while True:
        order, first = _groups(np.round(belief / grid))
        if len(first) + states <= most or len(first) == 1:
            break
        grid *= 1.5
    group = np.empty(len(belief), dtype=np.int64)
    group[order] = np.repeat(np.arange(len(first)), np.diff(first, append=len(belief)))
    by_weight = np.lexsort((-weight, group))
    kept = belief[by_weight[np.searchsorted(group[by_weight], np.arange(len(first)))]]
    near = kept[group]
    share = np.divide(belief, near, out=np.full_like(near, np.inf), where=near > 0).min(axis=1).clip(max=1)
    rest = np.maximum(belief - share[:, None] * near, 0)
    shared = np.add.reduceat((mass * share[:, None])[order], first, axis=0)[:, :, None] * kept[:, None, :]
    known = (rest.T @ mass)[:, :, None] * np.eye(states)[:, None, :]
    split = np.concatenate([shared, known])
    return split[split.any(axis=(1, 2))]


def _split_on_grid(masses: np.ndarray, most: int) -> np.ndarray:
    """Every belief becomes a mixture of neighbouring grid points, the corners of the simplex that contains it."""
    mass = masses.sum(axis=2)
    rows, revealed = np.nonzero(mass)
    belief = masses[rows, revealed] / mass[rows, revealed][:, None]
    cells = most
    while True:
        points, shares = _corners(belief, cells)
        used = np.flatnonzero(shares.ravel() > 0)
        corners = points.reshape(-1, masses.shape[2])[used]
        order, first = _groups(corners)
        if len(first) <= most or cells == 1:
            break
        cells = cells * 3 // 4
    label = np.empty(len(used), dtype=np.int64)
    label[order] = np.repeat(np.arange(len(first)), np.diff(first, append=len(used)))
    place = label * masses.shape[1] + np.repeat(revealed, masses.shape[2])[used]
    weight = (shares * mass[rows, revealed][:, None]).ravel()[used]
    spread = np.bincount(place, weights=weight, minlength=len(first) * masses.shape[1]).reshape(len(first), -1)
    return spread[:, :, None] * (corners[order[first]] / cells)[:, None, :]


def _joined(masses: np.ndarray, grid: float) -> np.ndarray:
    """Labels whose beliefs round to the same point of a grid become one."""
    flat = masses.sum(axis=1)
    order, first = _groups(np.round(flat / flat.sum(axis=1, keepdims=True) / grid))
    return np.add.reduceat(masses[order], first, axis=0)


def _groups(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(an order in which equal rows are neighbours, where each group of equal rows starts in it)"""
    order = np.lexsort(keys[:, :-1].T) if keys.shape[1] > 1 else np.arange(len(keys))
    ordered = keys[order][:, :-1]
    new = np.concatenate([[True], (ordered[1:] != ordered[:-1]).any(axis=1)])
    return order, np.flatnonzero(new)


def _corners(belief: np.ndarray, cells: int) -> tuple[np.ndarray, np.ndarray]:
    """(grid points [beliefs, states, states] in units of 1/cells, their shares [beliefs, states]) that average to it.

    The cumulative sums of a belief, times the number of cells, are rounded down and then raised one coordinate at a
    time in the order of their fractional parts (Freudenthal's triangulation).
    """
    # decreasing, without the first, which is `cells`; rounding may not lift one above that
    sums = np.minimum(np.cumsum(belief[:, ::-1], axis=1)[:, ::-1][:, 1:], 1) * cells
    floor = np.floor(sums)
    part = sums - floor
    order = np.argsort(-part, axis=1, kind="stable")
    ordered = np.take_along_axis(part, order, axis=1)
    shares = -np.diff(ordered, axis=1, prepend=1, append=0)
    raised = np.zeros((*belief.shape, belief.shape[1] - 1))
    for corner in range(1, belief.shape[1]):
        raised[:, corner] = raised[:, corner - 1]
        np.put_along_axis(raised[:, corner], order[:, corner - 1 : corner], 1, axis=1)
    tops = floor[:, None, :] + raised
    full = np.concatenate([np.full((*tops.shape[:2], 1), cells), tops, np.zeros((*tops.shape[:2], 1))], axis=2)
    return (full[:, :, :-1] - full[:, :, 1:]).astype(np.int64), shares
