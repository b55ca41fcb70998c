"""Numbers of F_p: integers a with |a| <= 4^p - 1 that mean a / 2^p. The only place that rounds.

`arithmetic` defines the numbers, sums, products and exp. `compact` computes the same in small integer types, for large
arrays. `noise` makes Gumbel noise from random bits. `array_types` is for annotations. `number_lemmas` checks what the
paper states about these numbers.
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
