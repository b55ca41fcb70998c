"""Law × N → the least number of passes in which a factorised sampler can draw from it exactly.

A sampler here is write-once: a pass looks at the canvas, chooses masked positions U, and draws them independently. The
choice is a function of the canvas, not of chance. Then each string is written in one way only, so the probability of
reaching a canvas is the probability of what is written on it. Hence the sampler is exact if and only if the positions
that it chooses are always independent given what is written. So the least number of passes is

    least(canvas) = 0                                                          if nothing is masked
    least(canvas) = 1 + min over independent U of max over their values of least(canvas after)     else

It is found by search over all canvases, in exact rational arithmetic. Samplers that choose positions at random are not
covered: a mixture of inexact laws may be exact.

In a chain, where each letter decides the state, the search is about gaps instead, and reaches hundreds of positions.
Given its ends, a gap is independent of all others and is itself a chain. Hence positions of different gaps are
independent, and i_1 < … < i_k of one gap are if and only if i_j and i_{j+1} are for every j, since

    P(x_{i_1}, …, x_{i_k}) = P(x_{i_1}) · Π_j P(x_{i_{j+1}} | x_{i_j}).

For positions i < j of one gap, with d = j − i and the powers M^d of the matrix of weights,

    P(x_i, x_j | what is written) = u(x_i) · M^d[x_i, x_j] · v(x_j)        with u, v ≥ 0,

and this is a product of a function of x_i and one of x_j if and only if M^d has rank at most one on the letters that
are possible at i and at j. ∎

Call a chain *linked* at length N if any two positions with no written position between them are dependent, whatever is
written outside. Then

    least = ⌈log2(N + 1)⌉        for every linked chain.

Lower bound: a pass can write at most one position of each gap, since two of one gap are dependent. A gap of m positions
leaves one of at least ⌈(m − 1)/2⌉, and m = N at first. Upper bound, for every chain: the middle of each gap
(`bisection`).

A chain is linked if its initial, transition and final weights are positive and no power of the transition matrix M
up to N − 1 has rank one (`is_linked`): then all letters are possible everywhere. ∎ Almost all chains are such: M^d has
rank one only if all eigenvalues of M but one are 0. Without positive initial probabilities the formula can fail: a
first letter that is certain is independent of all others. Without positive transition probabilities as well: where
letters alternate, one of them decides all others.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import product

from unmask.errors import ProblemError, TooLarge
from unmask.limits import check
from unmask.samplers.string_law import StringLaw

MOST_CANVASES = 1 << 14
MOST_GAPS = 512  # letters × positions of a chain
Canvas = tuple[int | None, ...]
"""A letter's number for each position; None where it is masked."""


def least_passes(law: StringLaw, length: int) -> int:
    """Return the least number of passes of an exact sampler, by search: over gaps in a chain, else over canvases."""
    symbols = len(law.alphabet)
    if length < 1:
        raise ProblemError(f"the length is {length}; strings need at least one position")
    chain = chain_of(law)
    if chain is not None and symbols * length <= MOST_GAPS:
        search = _GapSearch(chain, length)
        if not search.possible:
            raise law.no_strings(length)
        return search.least()
    if (symbols + 1) ** length > MOST_CANVASES:
        raise TooLarge(
            f"a search over {symbols + 1}^{length} canvases is out of reach (at most {MOST_CANVASES:,}); "
            "choose a shorter --length"
        )
    weight = _weights(law, length)
    if not any(weight.values()):
        raise law.no_strings(length)
    return _PassSearch(weight, symbols).least((None,) * length)


@dataclass(frozen=True)
class Chain:
    """P(x) ∝ initial[x_1] · Π matrix[x_i][x_{i+1}] · final[x_N], a law whose states are determined by the letters."""

    initial: tuple[Fraction, ...]
    matrix: tuple[tuple[Fraction, ...], ...]
    final: tuple[Fraction, ...]


def chain_of(law: StringLaw) -> Chain | None:
    """Return the law as a chain if every letter leads to one state, or is written in one state; None otherwise."""
    exact, letters = law.exact, range(len(law.alphabet))
    edges: list[list[tuple[int, int, Fraction]]] = [[] for _ in letters]  # (state before, state after, weight)
    reached: set[int] = set()
    waiting = {state for state, chance in enumerate(exact.initial) if chance}
    while waiting:
        reached |= waiting
        edges_now = [(a, i, j, x) for a in letters for i in waiting for j, x in exact.steps[a][i].items() if x]
        for a, i, j, x in edges_now:
            edges[a].append((i, j, x))
        waiting = {j for _, _, j, _ in edges_now} - reached

    before = [{i for i, _, _ in edges[a]} for a in letters]
    after = [{j for _, j, _ in edges[a]} for a in letters]
    if all(len(states) <= 1 for states in after):
        return Chain(
            tuple(_total(exact.initial[i] * x for i, _, x in edges[b]) for b in letters),
            tuple(tuple(_total(x for i, _, x in edges[b] if i in after[a]) for b in letters) for a in letters),
            tuple(_total(exact.final[j] for j in after[a]) for a in letters),
        )
    if all(len(states) <= 1 for states in before):
        return Chain(
            tuple(_total(exact.initial[i] for i in before[b]) for b in letters),
            tuple(tuple(_total(x for _, j, x in edges[a] if j in before[b]) for b in letters) for a in letters),
            tuple(_total(x * exact.final[j] for _, j, x in edges[a]) for a in letters),
        )
    return None


def _total(weights: Iterable[Fraction]) -> Fraction:
    return sum(weights, Fraction(0))


Letters = tuple[int, ...]
"""The letters that are possible at a position."""
End = int | None
"""The letter at the end of a gap; None at the end of the string."""


class _GapSearch:
    """The search over the gaps of a chain: its letters at the ends, and its length."""

    def __init__(self, chain: Chain, length: int) -> None:
        self._chain, self._length = chain, length
        self._powers = [[[Fraction(a == b) for b in range(len(chain.initial))] for a in range(len(chain.initial))]]
        self._writable = cache(self._writable_within)
        self._between = cache(self._all_between)
        self._independent = cache(self._rank_one)
        self._letters = cache(self._possible_letters)

    @property
    def possible(self) -> bool:
        """Return whether any string is possible."""
        return bool(self._letters(None, None, 1, self._length))

    def least(self) -> int:
        return next(n for n in range(1, self._length + 1) if self._writable(None, None, self._length, n))

    def _writable_within(self, left: End, right: End, size: int, passes: int) -> bool:
        """Return whether a gap of this size can be written in this number of passes.

        Bisection is tried first, then a search over the positions 1 to size that the first pass writes. These positions
        form a path: `reached` are those that can follow a path from the left.
        """
        if size.bit_length() <= passes:
            return True
        if not passes:
            return False
        check()
        reached: list[int] = []
        for i in range(1, size + 1):
            letters = self._letters(left, right, i, size)
            predecessors = ((h, self._letters(left, right, h, size)) for h in reversed(reached))
            if self._between((left,), letters, i - 1, passes - 1) or any(
                self._independent(i - h, earlier, letters) and self._between(earlier, letters, i - h - 1, passes - 1)
                for h, earlier in predecessors
            ):
                reached.append(i)
                if self._between(letters, (right,), size - i, passes - 1):
                    return True
        return False

    def _all_between(self, left: tuple[End, ...], right: tuple[End, ...], size: int, passes: int) -> bool:
        """Return whether the gap can be written for all letters at its ends."""
        return all(self._writable(a, b, size, passes) for a in left for b in right)

    def _possible_letters(self, left: End, right: End, i: int, size: int) -> Letters:
        """Return the letters that are possible at position i of a gap."""
        chain = self._chain
        letters = range(len(chain.initial))
        before = self._power(i if left is not None else i - 1)
        after = self._power(size + 1 - i if right is not None else size - i)
        starts = chain.initial if left is None else [Fraction(a == left) for a in letters]
        ends = chain.final if right is None else [Fraction(b == right) for b in letters]
        return tuple(
            x
            for x in letters
            if any(starts[a] and before[a][x] for a in letters) and any(after[x][b] and ends[b] for b in letters)
        )

    def _rank_one(self, distance: int, rows: Letters, columns: Letters) -> bool:
        """Return whether this power of the matrix has rank at most one on these rows and columns."""
        power = self._power(distance)
        return _is_product([[power[a][b] for b in columns] for a in rows])

    def _power(self, exponent: int) -> list[list[Fraction]]:
        while len(self._powers) <= exponent:
            self._powers.append(_times(self._powers[-1], self._chain.matrix))
        return self._powers[exponent]


def _is_product(matrix: list[list[Fraction]]) -> bool:
    """Return whether a matrix has rank at most one: its rows are multiples of a nonzero row."""
    pivot = next(((row, j) for row in matrix for j, x in enumerate(row) if x), None)
    if pivot is None:
        return True
    first, j = pivot
    return all(row[k] * first[j] == row[j] * x for row in matrix for k, x in enumerate(first))


def _times(left: Sequence[Sequence[Fraction]], right: Sequence[Sequence[Fraction]]) -> list[list[Fraction]]:
    return [[_total(x * right[k][j] for k, x in enumerate(row)) for j in range(len(right[0]))] for row in left]


class _PassSearch:
    """The search over all canvases, each of which is solved once."""

    def __init__(self, weight: dict[tuple[int, ...], Fraction], symbols: int) -> None:
        self._symbols = symbols
        self._masses: dict[Canvas, Fraction] = {**weight}
        self._least: dict[Canvas, int] = {}

    def least(self, canvas: Canvas) -> int:
        """Return the least number of passes that fill the canvas."""
        if canvas not in self._least:
            check()
            self._least[canvas] = self._searched(canvas, [i for i, letter in enumerate(canvas) if letter is None])
        return self._least[canvas]

    def _searched(self, canvas: Canvas, masked: list[int]) -> int:
        best = len(masked)
        for chosen in self._independent_sets(canvas, masked):
            worst = max(self.least(after) for after in self._filled(canvas, chosen) if self._mass(after))
            best = min(best, 1 + worst)
            if best == 1:
                break
        return best

    def _independent_sets(self, canvas: Canvas, masked: list[int]) -> Iterator[tuple[int, ...]]:
        """Yield the nonempty sets of masked positions that are independent given the canvas, larger ones first."""
        layer: list[tuple[int, ...]] = [(i,) for i in masked]
        layers = [layer]
        while layer:
            layer = [(*u, i) for u in layer for i in masked if i > u[-1] and self._independent(canvas, (*u, i))]
            layers.append(layer)
        for layer_sets in reversed(layers):
            yield from layer_sets

    def _independent(self, canvas: Canvas, chosen: tuple[int, ...]) -> bool:
        """Return whether P(x_U | canvas) is the product of its marginals; known for U without its last position."""
        total = self._mass(canvas)
        *rest, last = chosen
        return all(
            self._mass(_with(filled, last, a)) * total == self._mass(filled) * self._mass(_with(canvas, last, a))
            for filled in self._filled(canvas, tuple(rest))
            for a in range(self._symbols)
        )

    def _mass(self, canvas: Canvas) -> Fraction:
        """Return the weight of all strings that agree with the canvas."""
        if canvas not in self._masses:
            position = canvas.index(None)
            masses = (self._mass(_with(canvas, position, a)) for a in range(self._symbols))
            self._masses[canvas] = sum(masses, Fraction(0))
        return self._masses[canvas]

    def _filled(self, canvas: Canvas, chosen: tuple[int, ...]) -> Iterator[Canvas]:
        for letters in product(range(self._symbols), repeat=len(chosen)):
            filled = list(canvas)
            for i, a in zip(chosen, letters, strict=True):
                filled[i] = a
            yield tuple(filled)


def bisection_passes(length: int) -> int:
    """Return ⌈log2(N + 1)⌉, the passes of bisection."""
    return length.bit_length()


def _with(canvas: Canvas, position: int, letter: int) -> Canvas:
    return (*canvas[:position], letter, *canvas[position + 1 :])


def _weights(law: StringLaw, length: int) -> dict[tuple[int, ...], Fraction]:
    """Return α·A_{x1}·…·A_{xN}·ω for every string, in rational numbers."""
    flows: dict[tuple[int, ...], dict[int, Fraction]] = {(): dict(enumerate(law.exact.initial))}
    for _ in range(length):
        flows = {
            (*string, a): _moved(flow, step) for string, flow in flows.items() for a, step in enumerate(law.exact.steps)
        }
    final = law.exact.final
    return {string: sum((x * final[i] for i, x in flow.items()), Fraction(0)) for string, flow in flows.items()}


def _moved(flow: dict[int, Fraction], step: tuple[dict[int, Fraction], ...]) -> dict[int, Fraction]:
    after: dict[int, Fraction] = {}
    for i, x in flow.items():
        for j, weight in step[i].items():
            if x and weight:
                after[j] = after.get(j, Fraction(0)) + x * weight
    return after


def is_linked(law: StringLaw, length: int) -> bool:
    """Return whether the law is a chain for which the formula is proved, at this length.

    Its initial and its transition probabilities are positive, a string may end with every letter, and no power of the
    transition matrix up to length − 1 has rank one. False means that the formula is not claimed, not that it fails.
    """
    chain = chain_of(law)
    if chain is None or not all(x > 0 for row in (chain.initial, chain.final, *chain.matrix) for x in row):
        return False
    power: Sequence[Sequence[Fraction]] = chain.matrix
    for _ in range(length - 1):
        if _is_product([list(row) for row in power]):
            return False
        power = _times(power, chain.matrix)
    return True
