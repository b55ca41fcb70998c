"""Law × N → the least number of passes in which a factorised sampler can draw from it exactly.

A sampler here is write-once: a pass looks at the canvas, chooses masked positions U, and draws them independently. The
choice is a function of the canvas, not of chance. Then each string is written in one way only, so the probability of
reaching a canvas is the probability of what is written on it. Hence the sampler is exact if and only if the positions
that it chooses are always independent given what is written. So the least number of passes is

    least(canvas) = 0                                                          if nothing is masked
    least(canvas) = 1 + min over independent U of max over their values of least(canvas after)     else

It is found by search over all canvases, in exact rational arithmetic. Samplers that choose positions at random are not
covered: a mixture of inexact laws may be exact.

For a chain the search agrees with a formula. Call a first-order chain *linked* at length N if any two positions with no
written position between them are dependent, whatever is written outside. Then

    least = ⌈log2(N + 1)⌉        for every linked chain.

Lower bound: a pass can write at most one position of each gap, since two of one gap are dependent. A gap of m positions
leaves one of at least ⌈(m − 1)/2⌉, and m = N at first. Upper bound: the middle of each gap; positions of different gaps
are independent given what separates them (`bisection`).

A chain is linked if its initial and its transition probabilities are positive and no power of the transition matrix M
up to N − 1 has rank one (`is_linked`). Proof: for positions i < j of one gap,

    P(x_i, x_j | what is written) = u(x_i) · M^(j − i)[x_i, x_j] · v(x_j)        with u, v > 0,

and this is a product of a function of x_i and one of x_j if and only if M^(j − i) has rank one. ∎ Almost all chains are
such: M^d has rank one only if all eigenvalues of M but one are 0. Without positive initial probabilities the formula
can fail: a first letter that is certain is independent of all others.
"""

from collections.abc import Iterator
from fractions import Fraction
from itertools import product

from unmask.errors import ProblemError, TooLarge
from unmask.limits import check
from unmask.samplers.string_law import Law

MOST_CANVASES = 1 << 14
Canvas = tuple[int | None, ...]
"""A letter's number for each position; None where it is masked."""


def least_passes(law: Law, length: int) -> int:
    """The least number of passes of an exact sampler, by search."""
    symbols = len(law.alphabet)
    if length < 1:
        raise ProblemError(f"the length is {length}; strings need at least one position")
    if (symbols + 1) ** length > MOST_CANVASES:
        raise TooLarge(
            f"a search over {symbols + 1}^{length} canvases is out of reach (at most {MOST_CANVASES:,}); "
            "choose a shorter --length"
        )
    weight = _weights(law, length)
    if not any(weight.values()):
        raise ProblemError(f"{law.name} gives no string of length {length:,} a probability; choose another --length")
    return _PassSearch(weight, symbols).least((None,) * length)


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
        """Nonempty sets of masked positions that are independent given the canvas, larger ones first."""
        layer: list[tuple[int, ...]] = [(i,) for i in masked]
        layers = [layer]
        while layer:
            layer = [(*u, i) for u in layer for i in masked if i > u[-1] and self._independent(canvas, (*u, i))]
            layers.append(layer)
        for found in reversed(layers):
            yield from found

    def _independent(self, canvas: Canvas, chosen: tuple[int, ...]) -> bool:
        """Whether P(x_U | canvas) is the product of its marginals; the first positions of U are known to be."""
        total = self._mass(canvas)
        *others, last = chosen
        return all(
            self._mass(_with(one, last, a)) * total == self._mass(one) * self._mass(_with(canvas, last, a))
            for one in self._filled(canvas, tuple(others))
            for a in range(self._symbols)
        )

    def _mass(self, canvas: Canvas) -> Fraction:
        """The weight of all strings that agree with the canvas."""
        if canvas not in self._masses:
            place = canvas.index(None)
            parts = (self._mass(_with(canvas, place, a)) for a in range(self._symbols))
            self._masses[canvas] = sum(parts, Fraction(0))
        return self._masses[canvas]

    def _filled(self, canvas: Canvas, chosen: tuple[int, ...]) -> Iterator[Canvas]:
        for letters in product(range(self._symbols), repeat=len(chosen)):
            filled = list(canvas)
            for i, a in zip(chosen, letters, strict=True):
                filled[i] = a
            yield tuple(filled)


def bisection_passes(length: int) -> int:
    """⌈log2(N + 1)⌉."""
    return length.bit_length()


def _with(canvas: Canvas, place: int, letter: int) -> Canvas:
    return (*canvas[:place], letter, *canvas[place + 1 :])


def _weights(law: Law, length: int) -> dict[tuple[int, ...], Fraction]:
    """α·A_{x1}·…·A_{xN}·ω for every string, in rational numbers."""
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


def is_linked(law: Law, length: int) -> bool:
    """Whether the law is a first-order chain for which the formula is proved, at this length.

    Its states but the first are letters (an ngram of order 2), its initial and its transition probabilities are
    positive, and no power of the transition matrix up to length − 1 has rank one. False means that the formula is not
    claimed, not that it fails.
    """
    exact, symbols = law.exact, len(law.alphabet)
    chain = (
        exact.initial == (1,) + (0,) * symbols
        and set(exact.final) == {1}
        and all(set(row) <= {a + 1} for a, step in enumerate(exact.steps) for row in step)
    )
    if not chain:
        return False
    matrix = [[exact.steps[b][a + 1].get(b + 1, Fraction(0)) for b in range(symbols)] for a in range(symbols)]
    if not all(x > 0 for row in matrix for x in row) or not all(exact.steps[b][0].get(b + 1) for b in range(symbols)):
        return False
    power = matrix
    for _ in range(length - 1):
        if all(row[j] * power[0][0] == row[0] * power[0][j] for row in power for j in range(symbols)):
            return False  # rank one: the rows are multiples of the first, and equal if they sum to exactly one
        power = [
            [sum((x * matrix[k][j] for k, x in enumerate(row)), Fraction(0)) for j in range(symbols)] for row in power
        ]
    return True
