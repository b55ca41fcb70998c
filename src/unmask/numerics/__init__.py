"""Arithmetic in F_p, whose numbers a / 2^p are stored as integers a with |a| <= 4^p - 1. No other package rounds.

`arithmetic` defines the numbers, sums, products and exp. `compact` computes the same in small integer types, for large
arrays. `noise` computes Gumbel noise from random bits. `number_lemmas` checks the paper's statements about these
numbers. `array_types` is for annotations.
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
