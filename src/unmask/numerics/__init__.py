"""Numbers of F_p: integers a with |a| <= 4^p - 1 that mean a / 2^p. The only place that rounds.

`precision` says which numbers there are, `arithmetic` and `exponential` what is done with them, `compact` the same for
large arrays; in come integers, out come integers. `noise` makes Gumbel noise out of random bits, `gumbel_law` says what
it draws, and `lemmas` checks over every case what the paper says about such numbers.
"""

from typing import TYPE_CHECKING

from unmask.lazy_names import lazy_names

if TYPE_CHECKING:
    from unmask.numerics.arithmetic import Precision
    from unmask.numerics.number_lemmas import sharp_thresholds

__all__ = [
    "Precision",
    "sharp_thresholds",
]

_MODULES = {
    "Precision": "unmask.numerics.arithmetic",
    "sharp_thresholds": "unmask.numerics.number_lemmas",
}
__getattr__, __dir__ = lazy_names(__name__, _MODULES)
