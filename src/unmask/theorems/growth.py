"""How the price of a conversion grows with N and T: a finite alphabet, a fixed depth, a logarithmic width, or not.

    source(k)      N = T = 2^k, P = 4^k, width D·k, all else as it is: logarithmic width, polynomial space
    O(1)           the bound is the same for k = 256, 512, 1024
    O(log)         the bound on the width at most doubles with k: w(2k) <= 2·w(k) for k = 16 … 512; a polynomial in
                   N, or log² N, grows faster

A bound is a formula of a few numbers (`Size`), so that it is evaluated where no model could be built. What was measured
is below the bound, so that it grows no faster.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from unmask.theorems.size import Size
from unmask.weights.price import Price

SCALES = tuple(1 << i for i in range(4, 11))


@dataclass(frozen=True)
class Growth:
    """Which of the things that the paper takes for granted a bound keeps, from one source on."""

    width_is_logarithmic: bool
    layers_are_constant: bool
    symbols_are_constant: bool

    @property
    def as_promised(self) -> bool:
        return self.width_is_logarithmic and self.layers_are_constant and self.symbols_are_constant

    def to_json(self) -> dict[str, str]:
        constant = {True: "O(1)", False: "not O(1)"}
        return {
            "width": "O(log)" if self.width_is_logarithmic else "not O(log)",
            "layers": constant[self.layers_are_constant],
            "symbols": constant[self.symbols_are_constant],
        }


def growth(bound: Callable[[Size], Price], source: Size) -> Growth:
    """How a bound grows with sources like this one."""
    prices = [bound(source.grown(bits)) for bits in SCALES]
    return Growth(
        width_is_logarithmic=all(twice.width <= 2 * once.width for once, twice in pairwise(prices)),
        layers_are_constant=len({price.layers for price in prices[-3:]}) == 1,
        symbols_are_constant=len({price.symbols for price in prices[-3:]}) == 1,
    )
