"""Seed × shape × sizes → a random source of exactly that shape, to compare folders and to look for refutations.

As in `testing.random_model`, queries and keys are small, and all else uses the whole range, so that sums clip. From the
seed 24 on queries are larger, and many rows have no weight to give: such a source may divide by zero.
"""

from dataclasses import dataclass

from unmask.numerics.arithmetic import Precision
from unmask.testing.draws import Draws
from unmask.testing.saturating_weights import SaturatingWeights
from unmask.verification.conversions.unknown import Shape, TransformerShape
from unmask.weights.kinds import Kind
from unmask.weights.model import Model
from unmask.weights.transformer import Layer, Transformer

MILD = 24


@dataclass(frozen=True)
class Sizes:
    """N, whether there is a begin symbol, T, and P, which is T for a chain of thought."""

    length: int
    begin: bool
    steps: int
    slots: int


def random_source(seed: int, kind: Kind, shape: Shape, sizes: Sizes, precision: Precision) -> Model:
    """A model of a shape; its symbols are the mask where the shape has it, then 1, 0, a begin symbol, and letters."""
    draws = Draws(seed, sizes.length, sizes.steps, precision.p)
    rows = sizes.begin + sizes.length + sizes.slots
    named = ["1", "0", *(["^"] if sizes.begin else [])]
    letters = [f"x{i}" for i in range(shape.symbols - len(named) - (shape.mask is not None))]
    vocabulary = [*letters, *named]
    if shape.mask is not None:
        vocabulary.insert(shape.mask, "m")
    peak = 1 if seed < MILD else 3
    transformers = {
        name: _transformer(draws, its, rows, shape.symbols, precision, peak) for name, its in shape.transformers
    }
    return Model(
        kind=kind,
        length=sizes.length,
        padding=sizes.slots,
        steps=sizes.steps,
        vocabulary=tuple(vocabulary),
        input_symbols=tuple(letters),
        accept="1",
        reject="0",
        mask=None if shape.mask is None else "m",
        begin="^" if sizes.begin else None,
        transformers=transformers,
    )


def _transformer(
    draws: Draws, shape: TransformerShape, rows: int, symbols: int, precision: Precision, peak: int
) -> Transformer:
    width, bound = shape.width, precision.bound
    weights = SaturatingWeights(draws, precision, width)

    def layer(heads: tuple[int, ...], hidden: int) -> Layer:
        return Layer(tuple(weights.head(narrow, peak=peak) for narrow in heads), weights.mlp(hidden))

    return Transformer(
        precision=precision,
        embed=weights.matrix((symbols, width), bound),
        positions=draws.integers(-bound, bound, (rows, width)),
        layers=tuple(layer(its.heads, its.hidden) for its in shape.layers),
        out=weights.matrix((shape.outputs, width), weights.double),
        attention=shape.attention,
    )
