"""Theorem: a converter between frameworks, its label in the paper, and a bound on the size of its result.

Model  ──ConversionSource.of──▶  ConversionSource  ──Theorem.programs──▶  programs of every N  ──program_at──▶  result
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from unmask.errors import TooLarge, UnmaskError
from unmask.expressions import Expression, constant
from unmask.programs.program import Program
from unmask.theorems.alignment import Alignment
from unmask.weights.kinds import Kind
from unmask.weights.model import Model, Price
from unmask.weights.transformer import Attention, Transformer


@dataclass(frozen=True)
class TransformerSize:
    """The numbers of columns, layers and symbols, of layers before and after the loop, and of columns with noise.

    `heads` is the largest number of heads of a layer. `final_heads` has the number of heads of each final layer that
    has any.
    """

    width: int
    layers: int
    symbols: int
    attention: Attention = "unmasked"
    initial: int = 0
    final: int = 0
    final_heads: tuple[int, ...] = ()
    noise: int = 0
    heads: int = 0

    @classmethod
    def of(cls, transformer: Transformer) -> "TransformerSize":
        first, last = transformer.loop or (0, 0)
        noise = transformer.noise
        return cls(
            width=transformer.width,
            layers=len(transformer.layers),
            symbols=transformer.embed.shape[0],
            attention=transformer.attention,
            initial=first,
            final=len(transformer.layers) - last,
            final_heads=tuple(len(layer.heads) for layer in transformer.layers[last:] if layer.heads),
            noise=0 if noise is None else len(noise.planner) + len(noise.predictor),
            heads=max((len(layer.heads) for layer in transformer.layers), default=0),
        )


@dataclass(frozen=True)
class SourceSize:
    """The numbers that a bound depends on."""

    kind: Kind
    length: int
    begin: int
    steps: int
    padding: int
    block: int
    precision: int
    transformers: dict[str, TransformerSize]
    answers: int = 1
    """For a looped model: the number of rows that it decodes."""

    @classmethod
    def of(cls, model: Model) -> "SourceSize":
        return cls(
            kind=model.kind,
            length=model.length,
            begin=int(model.begin is not None),
            steps=model.steps,
            padding=model.padding,
            block=model.block or 1,
            precision=model.precision.p,
            transformers={name: TransformerSize.of(t) for name, t in model.transformers.items()},
            answers=model.answer_rows if model.kind == "plt" else 1,
        )

    @property
    def rows(self) -> int:
        return self.begin + self.length + self.padding

    @property
    def model(self) -> TransformerSize:
        """Return the transformer of a kind that has only one."""
        return self.transformers["model"]

    @property
    def symbols(self) -> int:
        return max(t.symbols for t in self.transformers.values())

    @property
    def width(self) -> int:
        """Return the total width of all transformers."""
        return sum(t.width for t in self.transformers.values())

    @property
    def layers(self) -> int:
        return max(t.layers for t in self.transformers.values())

    @property
    def numbers(self) -> int:
        """Return the number of elements of F_p."""
        return 2 ** (2 * self.precision + 1) - 1

    def causal_columns(self, *, stays: bool = True) -> int:
        """Return the number of columns that `shared_attention` adds.

        It adds two per row if a causal source becomes unmasked, and none otherwise. With `stays`, the result is causal
        if all sources are.
        """
        kinds = {t.attention for t in self.transformers.values()}
        return 0 if "causal" not in kinds or (kinds == {"causal"} and stays) else 2 * self.rows

    def as_in_the_paper(self) -> "SourceSize":
        """Return the same size with unmasked attention, except for chains of thought, which stay causal."""
        if self.kind in ("cot", "pcot"):
            return self
        unmasked = {name: replace(t, attention="unmasked") for name, t in self.transformers.items()}
        return replace(self, transformers=unmasked)

    def grown(self, bits: int) -> "SourceSize":
        """Return the size of a source of the same kind for 2^bits letters: T = 2^bits, P = 4^bits, width D·bits.

        A chain that writes one symbol per step keeps P = T.
        """
        steps = 1 << bits
        one_by_one = self.kind == "cot" or (self.kind == "pcot" and self.block == 1)
        padding = steps if one_by_one else steps << bits
        return replace(
            self,
            length=1 << bits,
            steps=steps,
            padding=padding,
            block=padding // steps,
            transformers={name: replace(t, width=t.width * bits) for name, t in self.transformers.items()},
        )


SCALES = tuple(1 << i for i in range(4, 11))


@dataclass(frozen=True)
class BoundGrowth:
    """Whether a bound satisfies the paper's assumptions on growth as N and T of a source grow.

        source(k)      N = T = 2^k, P = 4^k, width D·k, everything else unchanged: logarithmic width, polynomial space
        O(1)           the bound is the same for k = 256, 512, 1024
        O(log)         the bound on the width at most doubles with k: w(2k) <= 2·w(k) for k = 16 … 512; a polynomial in
                       N, or log² N, grows faster

    A bound is a formula in a few numbers (`SourceSize`), so it can be evaluated at sizes that are too large to build.
    Measured values are below the bound, so they grow no faster.
    """

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


def bound_growth(bound: Callable[[SourceSize], Price], source: SourceSize) -> BoundGrowth:
    """Return how a bound grows with N and T, for sources like this one."""
    prices = [bound(source.grown(bits)) for bits in SCALES]
    return BoundGrowth(
        width_is_logarithmic=all(twice.width <= 2 * once.width for once, twice in pairwise(prices)),
        layers_are_constant=len({price.layers for price in prices[-3:]}) == 1,
        symbols_are_constant=len({price.symbols for price in prices[-3:]}) == 1,
    )


DECIMALS = 4


@dataclass(frozen=True)
class LawDistance:
    """Bounds on the distance between sampled runs of a conversion and of its source, in total variation.

        per_draw = d          exact distance between the law of one drawn number of noise and the law of the noise
        path = 1 - (1 - d)^draws   bound on the distance between the laws of whole runs, and of their answers

    The second follows from the first: numbers are drawn independently, and a run is a function of them. `per_draw` is
    None if it takes too long to compute.
    """

    per_draw: Fraction | None
    draws: int

    @property
    def path(self) -> Fraction | None:
        """Return the bound for whole runs; the distance of one draw is rounded up first, to keep the numbers small."""
        if self.per_draw is None:
            return None
        return 1 - (1 - Fraction(-(-self.per_draw * 10**6 // 1), 10**6)) ** self.draws

    @property
    def description(self) -> str:
        if self.per_draw is None or self.path is None:
            return (
                f"the law: each of {self.draws} numbers of noise is drawn approximately from its law; the distance is "
                "computed only for p <= 3"
            )
        return (
            f"the law: each of {self.draws} numbers of noise is drawn within {rounded_up(self.per_draw)} of its law "
            f"(total variation), so that a sampled run is within {rounded_up(self.path)} of that of the source"
        )

    def to_json(self) -> dict[str, Any]:
        distances = {"per_draw": self.per_draw, "path_at_most": self.path}
        return {"draws": self.draws} | {
            name: None if distance is None else rounded_up(distance) for name, distance in distances.items()
        }


def rounded_up(x: Fraction) -> str:
    """Return a number of [0, 1] rounded up to four digits."""
    digits = -(-x * 10**DECIMALS // 1)
    return f"{digits // 10**DECIMALS}.{digits % 10**DECIMALS:0{DECIMALS}}"


@dataclass(frozen=True, eq=False)
class ConversionSource:
    """The source of a positional construction; its numbers of begin symbols, steps and slots are expressions in N."""

    transformers: dict[str, Transformer]
    symbols: tuple[str, ...]
    begin: Expression
    steps: Expression
    slots: Expression
    mask: int | None = None
    rows: int | None = None
    """The number of rows, for the model of one N; None for a whole family."""

    @classmethod
    def of(cls, model: Model) -> "ConversionSource":
        return cls(
            model.transformers,
            model.vocabulary,
            constant(int(model.begin is not None)),
            constant(model.steps),
            constant(model.padding),
            None if model.mask is None else model.token[model.mask],
            model.rows,
        )


LARGEST_ARGMAX = 200


@dataclass(frozen=True, eq=False)
class Conversion:
    """The converted model, and where it stores the states of its source."""

    model: Model
    alignment: Alignment
    undefined: str | None = None
    """The answer of the conversion if the source divides by zero and the conversion does not."""


@dataclass(frozen=True)
class Theorem:
    """A converter from models of kind `source` to kind `target`; `most` is an upper bound on the size of its result."""

    stem: str
    label: str
    source: Kind
    target: Kind
    convert: Callable[[Model], Conversion]
    most: Callable[[SourceSize], Price]
    law: Callable[[Model], LawDistance | None] = lambda _: None
    """The distance between sampled runs of source and conversion; None if the conversion does not change their law."""
    programs: Callable[[ConversionSource], dict[str, Program]] | None = None
    """For a positional construction: the programs in N that `convert` instantiates."""

    def bound(self, source: Model) -> Price:
        """Return an upper bound on the size of the conversion of this source."""
        return self.most(SourceSize.of(source))

    def growth(self, source: SourceSize) -> BoundGrowth:
        """Return how the bounds on width, layers and alphabet grow with N and T, for sources like this one."""
        return bound_growth(self.most, source)


def converted_model(source: Model, stem: str, **changes: Any) -> Model:
    """Return the source with these changes, and with one more entry in its provenance."""
    lineage = source.provenance if isinstance(source.provenance, list) else [source.provenance]
    step = {"converted": stem, "from": source.kind, "to": changes.get("kind", source.kind)}
    return replace(source, provenance=[*lineage, step], **changes)


def check_argmax(stem: str, symbols: int) -> None:
    """Raise `TooLarge` if a conversion would take the argmax of too many symbols."""
    if symbols > LARGEST_ARGMAX:
        raise TooLarge(
            f"{stem} would take the argmax of {symbols} symbols with {2 * symbols * (symbols - 1)} hidden "
            f"units; use a model with at most {LARGEST_ARGMAX} symbols"
        )


@dataclass(frozen=True, eq=False)
class StreamLocation:
    """Where a converted transformer stores the stream of its source after `layer` layers (0: the embedding).

    The converted transformer stores it after `after` layers: row rows[0][i] of the source in row rows[1][i], and column
    j of the source in column columns[j].
    """

    layer: int
    after: int
    rows: tuple[np.ndarray, np.ndarray]
    columns: np.ndarray


@dataclass(frozen=True, eq=False)
class TransformerConversion:
    """The converted transformer, which reads the source's tokens followed by pads.

    `streams` locates the stream of the source after each layer, and last the rows that hold the result.
    """

    transformer: Transformer
    rows: int
    pad: int
    streams: tuple[StreamLocation, ...]

    @property
    def price(self) -> Price:
        transformer = self.transformer
        padding = len(transformer.positions) - self.rows
        return Price(0, padding, len(transformer.layers), transformer.width, transformer.embed.shape[0])

    def padded(self, tokens: np.ndarray) -> np.ndarray:
        """Return a batch of words, each followed by the pads."""
        pads = np.full((len(tokens), self.price.padding), self.pad, dtype=np.int64)
        return np.concatenate([tokens, pads], axis=1)


@dataclass(frozen=True)
class TransformerTheorem:
    """A theorem about single transformers: `convert` takes a transformer and the number of rows that it reads."""

    stem: str
    label: str
    convert: Callable[[Transformer, int], TransformerConversion]
    most: Callable[[TransformerSize, int], Price]

    def bound(self, source: Transformer, rows: int) -> Price:
        """Return an upper bound on the size of the conversion of this source."""
        return self.most(TransformerSize.of(source), rows)


def check_source_rows(stem: str, source: Transformer, rows: int, attention: Attention) -> None:
    """Raise if a theorem about single transformers does not apply to this one."""
    if source.attention != attention:
        raise UnmaskError(
            f"{stem} takes a transformer with {attention} attention, but this one has {source.attention} attention"
        )
    if source.loop is not None:
        raise UnmaskError(f"{stem} takes a transformer without a loop; unroll its layers first")
    if not 1 <= rows <= len(source.positions):
        raise UnmaskError(f"the transformer has {len(source.positions)} positions; it cannot read {rows} rows")
