"""Theorem: a converter between reasoners with its label, its price, and where it deviates from the paper."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from unmask.errors import TooLarge, UnmaskError
from unmask.programs.language.program import Program
from unmask.theorems.alignment import Alignment
from unmask.theorems.growth import Growth, growth
from unmask.theorems.law import Law
from unmask.theorems.size import Size, TransformerSize
from unmask.theorems.source import Source
from unmask.weights.model import Kind, Model
from unmask.weights.price import Price
from unmask.weights.transformer import Attention, Transformer

LARGEST_ARGMAX = 200


@dataclass(frozen=True, eq=False)
class Conversion:
    """The converted model, and how its states align with those of the source."""

    model: Model
    alignment: Alignment


@dataclass(frozen=True)
class Theorem:
    """`convert` takes any model of kind `source`; `most` is a formula for the most that the result may use."""

    stem: str
    label: str
    source: Kind
    target: Kind
    convert: Callable[[Model], Conversion]
    most: Callable[[Size], Price]
    law: Callable[[Model], Law | None] = lambda _: None
    """How far sampled runs are from those of the source, where the conversion draws what the source draws otherwise."""
    programs: Callable[[Source], dict[str, Program]] | None = None
    """Of a positional construction: the programs of every N that `convert` instantiates."""

    def bound(self, source: Model) -> Price:
        """The most that the conversion of this source may use."""
        return self.most(Size.of(source))

    def growth(self, source: Size) -> Growth:
        """What becomes of width, layers and alphabet as N and T grow, for sources like this one."""
        return growth(self.most, source)


def converted(source: Model, stem: str, **changes: Any) -> Model:
    """A model like the source with the given changes, and one more line in its provenance."""
    lineage = source.provenance if isinstance(source.provenance, list) else [source.provenance]
    step = {"converted": stem, "from": source.kind, "to": changes.get("kind", source.kind)}
    return replace(source, provenance=[*lineage, step], **changes)


def check_argmax(stem: str, symbols: int) -> None:
    """Refuse a conversion that would take the argmax of too many symbols."""
    if symbols > LARGEST_ARGMAX:
        raise TooLarge(
            f"{stem} would take the argmax of {symbols} symbols with {2 * symbols * (symbols - 1)} hidden "
            f"units; use a model with at most {LARGEST_ARGMAX} symbols"
        )


@dataclass(frozen=True, eq=False)
class Held:
    """Where a converted transformer holds the stream of its source after `layer` layers (0: the embedding).

    It stands there after `after` layers of the converted transformer: row rows[0][i] of the source in row
    rows[1][i], column j of the source in column columns[j].
    """

    layer: int
    after: int
    rows: tuple[np.ndarray, np.ndarray]
    columns: np.ndarray


@dataclass(frozen=True, eq=False)
class TransformerConversion:
    """The converted transformer, which reads the source's tokens and then pads; `held` ends with the result."""

    transformer: Transformer
    rows: int
    pad: int
    held: tuple[Held, ...]

    @property
    def price(self) -> Price:
        transformer = self.transformer
        padding = len(transformer.positions) - self.rows
        return Price(0, padding, len(transformer.layers), transformer.width, transformer.embed.shape[0])

    def padded(self, tokens: np.ndarray) -> np.ndarray:
        """tokens · pads, for a batch of words."""
        pads = np.full((len(tokens), self.price.padding), self.pad, dtype=np.int64)
        return np.concatenate([tokens, pads], axis=1)


@dataclass(frozen=True)
class TransformerTheorem:
    """Like `Theorem`, one level below: `convert` takes a transformer and how many rows it reads."""

    stem: str
    label: str
    convert: Callable[[Transformer, int], TransformerConversion]
    most: Callable[[TransformerSize, int], Price]

    def bound(self, source: Transformer, rows: int) -> Price:
        """The most that the conversion of this source may use."""
        return self.most(TransformerSize.of(source), rows)


def check_source_rows(stem: str, source: Transformer, rows: int, attention: Attention) -> None:
    """Refuse a transformer that a conversion of plain transformers is not about."""
    if source.attention != attention:
        raise UnmaskError(
            f"{stem} takes a transformer with {attention} attention, but this one has {source.attention} attention"
        )
    if source.loop is not None:
        raise UnmaskError(f"{stem} takes a transformer without a loop; unroll its layers first")
    if not 1 <= rows <= len(source.positions):
        raise UnmaskError(f"the transformer has {len(source.positions)} positions; it cannot read {rows} rows")
