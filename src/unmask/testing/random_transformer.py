"""Seed → a family of transformers: the same weights at every number of rows, positions that depend on the row alone.

Unlike a random model it may divide by zero, on some inputs and not on others.
"""

import numpy as np

from unmask.numerics.arithmetic import Precision
from unmask.testing.draws import Draws
from unmask.weights.kinds import Kind
from unmask.weights.matrices import Matrix
from unmask.weights.model import Model
from unmask.weights.transformer import Attention, Head, Layer, Mlp, Transformer


def random_transformer(
    seed: int,
    rows: int,
    *,
    precision: int = 1,
    symbols: int = 3,
    outputs: int = 3,
    width: int = 2,
    layers: int = 1,
    heads: int = 1,
    hidden: int = 2,
    attention: Attention = "unmasked",
) -> Transformer:
    """Return the member of a seed's family with this number of rows; row i has the position i modulo 4."""
    numbers = Precision(precision)
    draws = Draws(seed, precision, width, layers)

    def matrix(shape: tuple[int, int], largest: int) -> Matrix:
        return Matrix.of(draws.integers(-largest, largest, shape))

    def layer() -> Layer:
        return Layer(
            tuple(
                Head(
                    matrix((width, width), numbers.one),
                    matrix((width, width), numbers.one),
                    matrix((width, width), numbers.bound),
                )
                for _ in range(heads)
            ),
            Mlp(
                matrix((width, hidden), numbers.bound),
                draws.integers(-numbers.one, numbers.one, (hidden,)),
                matrix((hidden, width), numbers.bound),
                draws.integers(-numbers.one, numbers.one, (width,)),
            ),
        )

    period = draws.integers(-numbers.one, numbers.one, (4, width))
    return Transformer(
        precision=numbers,
        embed=matrix((symbols, width), numbers.bound),
        positions=period[np.arange(rows) % len(period)],
        layers=tuple(layer() for _ in range(layers)),
        out=matrix((outputs, width), numbers.bound),
        attention=attention,
    )


def random_diffusion(seed: int, length: int, *, padding: int = 2, steps: int = 2, kind: Kind = "mdm") -> Model:
    """The masked diffusion model of a seed: a planner and a predictor of such families, over the letters a and b."""
    vocabulary = ("a", "b", "m", "0", "1")
    rows, symbols = length + padding, len(vocabulary)
    return Model(
        kind=kind,
        length=length,
        padding=padding,
        steps=steps,
        vocabulary=vocabulary,
        input_symbols=("a", "b"),
        accept="1",
        reject="0",
        mask="m",
        transformers={
            "planner": random_transformer(seed, rows, symbols=symbols, outputs=2),
            "predictor": random_transformer(seed + 1000, rows, symbols=symbols, outputs=symbols),
        },
    )
