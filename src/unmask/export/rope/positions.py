"""Rows × RoPE planes → a code of bits that distinguishes all rows, one attention head per bit.

Plane m of a head turns queries and keys by ω_m = θ^(-2m/d) per row. Row 0 holds the begin symbol, the only row with a
key in these heads: (cos φ, sin φ). With the query (A, 0), row i scores A·cos(i·ω_m - φ) against row 0 and 0 against all
others. Its bit, the weight of row 0, is 1 where the cosine is at least μ, 0 where it is at most -μ, and a fraction
between: the row is *unsure* of that bit, and the hidden unit that recognises the row does not read it.

    unit of row i   2·Σ_k s_k·bit_k + 1 - 2·#{k : s_k = 1}    s_k = 1, -1, or 0 where row i is unsure

It is 1 in row i and at most -1 in every other row. The factor 2 is needed: without it an unsure bit gives values
between -1 and 0, where silu is not 0.
"""

from dataclasses import dataclass

import numpy as np

LEAST_COSINE = 0.1  # μ
SCORE_OF_BEGIN = 45.0 / LEAST_COSINE  # A: a sure bit is right to e^-45
UNIT_WEIGHT = 2.0
PHASES = 32
MOST_BITS = 64


@dataclass(frozen=True, eq=False)
class PositionCode:
    """Bit k has the plane `planes[k]` and the phase `phases[k]`; `signs` [bits, rows] is 1, -1, or 0 for unsure."""

    planes: tuple[int, ...]
    phases: tuple[float, ...]
    signs: np.ndarray

    @property
    def bits(self) -> int:
        return len(self.planes)

    def units(self, rows: range) -> tuple[np.ndarray, np.ndarray]:
        """Return weights [bits, units] and biases [units] of the hidden units that recognise these rows."""
        signs = self.signs[:, rows.start : rows.stop].astype(np.float64)
        return UNIT_WEIGHT * signs, 1 - UNIT_WEIGHT * (signs > 0).sum(axis=0)


def turns(theta: float, head_width: int) -> np.ndarray:
    """Return ω_m, by how much each plane turns per row.

    >>> turns(16.0, 8).tolist()
    [1.0, 0.5, 0.25, 0.125]
    """
    return theta ** (-np.arange(0, head_width, 2) / head_width)


def position_code(rows: int, omegas: np.ndarray, *, causal: bool) -> PositionCode | None:
    """Choose bits until some bit that is sure of both distinguishes every pair of rows; None if no choice does.

    Greedy: the bit that separates most of the pairs that are left. Under a causal mask row 0 sees itself alone, so that
    all of its bits are 1.
    """
    fast = np.flatnonzero(omegas * rows > 2 * LEAST_COSINE)
    chosen_from = [(int(m), float(phase)) for m in fast for phase in np.arange(PHASES) * np.pi / PHASES]
    if not chosen_from:
        return None
    waves = np.array([np.cos(np.arange(rows) * omegas[m] - phase) for m, phase in chosen_from])
    signs = np.where(waves >= LEAST_COSINE, 1, np.where(waves <= -LEAST_COSINE, -1, 0)).astype(np.int8)
    if causal:
        signs[:, 0] = 1
    ones, zeros = (signs > 0).astype(np.float32), (signs < 0).astype(np.float32)
    left = np.ones((rows, rows), dtype=np.float32) - np.eye(rows, dtype=np.float32)
    chosen: list[int] = []
    while left.any():
        gains = ((ones @ left) * zeros).sum(axis=1)
        best = int(gains.argmax())
        if not gains[best] or len(chosen) == MOST_BITS:
            return None
        chosen.append(best)
        separated = np.outer(ones[best], zeros[best]).astype(bool)
        left[separated | separated.T] = 0
    return PositionCode(
        tuple(chosen_from[i][0] for i in chosen), tuple(chosen_from[i][1] for i in chosen), signs[chosen]
    )
