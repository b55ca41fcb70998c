"""The forward masking process: how training data of masked diffusion is made.

    w_i stays with probability α(t/T), becomes m with 1 - α(t/T), independently;   α(0) = 1, α(1) = 0

(Eq. "otherwise" of the paper must also require that a symbol that stays is the original one, and the product
runs over the generated positions.)
"""

from collections.abc import Callable, Sequence
from fractions import Fraction

from unmask.reasoners.tape import OTHER, Tape

Schedule = Callable[[Fraction], Fraction]


def linear(x: Fraction) -> Fraction:
    """α(x) = 1 - x."""
    return 1 - x


def polynomial(degree: int) -> Schedule:
    """α(x) = 1 - x^degree: symbols stay longer."""

    def alpha(x: Fraction) -> Fraction:
        return 1 - x**degree

    return alpha


def forward_mask(word: Sequence[str], t: int, T: int, *, mask: str, tape: Tape, alpha: Schedule = linear) -> list[str]:
    """The word at time t of T; symbol i uses word i of the tape's step t, so that u_i < α decides exactly."""
    if not 0 <= t <= T or T < 1:
        raise ValueError(f"the time must satisfy 0 <= t <= T and 1 <= T, not t = {t}, T = {T}")
    stays = alpha(Fraction(t, T))
    if not 0 <= stays <= 1:
        raise ValueError(f"the schedule gives α({t}/{T}) = {stays}, which is not a probability")
    raw = tape.raw(t, OTHER, 0, len(word))
    kept = [int(r) * stays.denominator < stays.numerator << 64 for r in raw]
    return [symbol if keep else mask for symbol, keep in zip(word, kept, strict=True)]
