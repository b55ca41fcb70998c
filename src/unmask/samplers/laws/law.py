"""Law: a distribution over strings of length N, as a weighted automaton.

    P_N(x) = α · A_{x1} · … · A_{xN} · ω / Z_N,        Z_N = Σ over all strings of length N

α [states] are the weights to start in a state, A_a [states, states] those to write a and move, ω [states] those to end.
N-grams, probabilistic automata and hidden Markov models are of this form; `law_file.py` reads them. The weights are
rational numbers (`exact`); the arrays of floats are made from them.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product

import numpy as np

from unmask.errors import ProblemError, TooLarge

MOST_STRINGS = 1 << 14


@dataclass(frozen=True, eq=False)
class ExactWeights:
    """α, A and ω as rational numbers; zeros of A are left out: steps[symbol][state] = {next state: weight}."""

    initial: tuple[Fraction, ...]
    steps: tuple[tuple[dict[int, Fraction], ...], ...]
    final: tuple[Fraction, ...]


@dataclass(frozen=True, eq=False)
class Law:
    name: str
    alphabet: tuple[str, ...]
    exact: ExactWeights

    @cached_property
    def initial(self) -> np.ndarray:
        return np.array([float(weight) for weight in self.exact.initial])

    @cached_property
    def steps(self) -> np.ndarray:
        """[symbols, states, states]"""
        steps = np.zeros((len(self.alphabet), len(self.exact.initial), len(self.exact.initial)))
        for a, step in enumerate(self.exact.steps):
            for i, row in enumerate(step):
                for j, weight in row.items():
                    steps[a, i, j] = float(weight)
        return steps

    @cached_property
    def final(self) -> np.ndarray:
        return np.array([float(weight) for weight in self.exact.final])

    def forward(self, weights: np.ndarray) -> np.ndarray:
        """Σ over strings of weight · Π_i weights[b, i, x_i], before every slot: [batch, slots + 1, states]."""
        flow = np.broadcast_to(self.initial, (len(weights), len(self.initial)))
        flows = [flow]
        for i in range(weights.shape[1]):
            flow = np.einsum("bs,ba,ast->bt", flow, weights[:, i], self.steps, optimize=True)
            flows.append(flow)
        return np.stack(flows, axis=1)

    def backward(self, weights: np.ndarray) -> np.ndarray:
        """The same from the end: [batch, slots + 1, states]."""
        flow = np.broadcast_to(self.final, (len(weights), len(self.final)))
        flows = [flow]
        for i in reversed(range(weights.shape[1])):
            flow = np.einsum("ba,ast,bt->bs", weights[:, i], self.steps, flow, optimize=True)
            flows.append(flow)
        return np.stack(flows[::-1], axis=1)

    def total(self, length: int) -> float:
        """Z_N."""
        anything = np.ones((1, length, len(self.alphabet)))
        return float(self.forward(anything)[0, -1] @ self.final)

    def check_length(self, length: int) -> None:
        if length < 1:
            raise ProblemError(f"a law is about strings of length 1 or more, not {length}")
        self.check_strings(length)
        if not self.total(length) > 0:
            raise ProblemError(f"{self.name} gives no string of length {length} a probability; use another --length")

    def strings(self, length: int) -> np.ndarray:
        """All strings of a length in order, [strings, length]; refused where they are too many."""
        self.check_strings(length)
        return np.array(list(product(range(len(self.alphabet)), repeat=length)), dtype=np.int64)

    def check_strings(self, length: int) -> None:
        """Refuse too many strings, or too long ones, before any is made."""
        symbols = len(self.alphabet)
        if length > MOST_STRINGS or symbols**length > MOST_STRINGS:
            count = f"there are {symbols**length:,} strings" if length < 64 else "the strings"
            raise TooLarge(
                f"{count} of length {length:,} over {symbols} symbols are too long or too many; at most "
                f"{MOST_STRINGS:,} "
                "are supported; use a shorter --length"
            )

    def probabilities(self, strings: np.ndarray) -> np.ndarray:
        """P_N of each string, by the forward algorithm."""
        weights = np.eye(len(self.alphabet))[strings]
        return self.forward(weights)[:, -1] @ self.final / self.total(strings.shape[1])
