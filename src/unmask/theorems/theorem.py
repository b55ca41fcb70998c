"""Theorem: a converter between reasoners with its label, its price, and where it deviates from the paper."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from unmask.errors import TooLarge, UnmaskError
from unmask.traces.alignment import Alignment
from unmask.weights.model import Kind, Model
from unmask.weights.transformer import Attention, Transformer

LARGEST_ARGMAX = 200
LARGEST_BYTES = 2 << 30


@dataclass(frozen=True)
class Price:
    """What a model uses: steps, padding, layers of its deepest transformer."""

    steps: int
    padding: int
    layers: int

    @classmethod
    def of(cls, model: Model) -> "Price":
        return cls(model.steps, model.padding, max(len(t.layers) for t in model.transformers.values()))

    def within(self, bound: "Price") -> bool:
        return self.steps <= bound.steps and self.padding <= bound.padding and self.layers <= bound.layers


@dataclass(frozen=True, eq=False)
class Conversion:
    """The converted model, and how its states align with those of the source."""

    model: Model
    alignment: Alignment


@dataclass(frozen=True)
class Theorem:
    """`convert` takes any model of kind `source`; `bound` is the most that the result may use."""

    stem: str
    label: str
    source: Kind
    target: Kind
    convert: Callable[[Model], Conversion]
    bound: Callable[[Model], Price]


def converted(source: Model, stem: str, **changes: Any) -> Model:
    """A model like the source with the given changes, and one more line in its provenance."""
    lineage = source.provenance if isinstance(source.provenance, list) else [source.provenance]
    step = {"converted": stem, "from": source.kind, "to": changes.get("kind", source.kind)}
    return replace(source, provenance=[*lineage, step], **changes)


def refuse_if_huge(stem: str, *, rows: int, width: int, vocabulary: int = 0) -> None:
    """Refuse a conversion that would be absurdly large, with the estimate."""
    if vocabulary > LARGEST_ARGMAX:
        raise TooLarge(
            f"{stem} would take the argmax of {vocabulary} symbols with {2 * vocabulary * (vocabulary - 1)} hidden "
            f"units; it refuses beyond {LARGEST_ARGMAX} symbols"
        )
    if rows * width > LARGEST_BYTES:
        raise TooLarge(
            f"{stem} would need a table of {rows} rows by {width} columns, about {rows * width >> 30} GB; "
            f"it refuses beyond {LARGEST_BYTES >> 30} GB, take a shorter or narrower model"
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
        return Price(0, len(self.transformer.positions) - self.rows, len(self.transformer.layers))

    def padded(self, tokens: np.ndarray) -> np.ndarray:
        """tokens · pads, for a batch of words."""
        pads = np.full((len(tokens), self.price.padding), self.pad, dtype=np.int64)
        return np.concatenate([tokens, pads], axis=1)


@dataclass(frozen=True)
class TransformerTheorem:
    """Like `Theorem`, one level below: `convert` and `bound` take a transformer and how many rows it reads."""

    stem: str
    label: str
    convert: Callable[[Transformer, int], TransformerConversion]
    bound: Callable[[Transformer, int], Price]


def check_source_rows(stem: str, source: Transformer, rows: int, attention: Attention) -> None:
    """Refuse a transformer that a conversion of plain transformers is not about."""
    if source.attention != attention:
        raise UnmaskError(
            f"{stem} takes a transformer whose attention is {attention}, this one's is {source.attention}"
        )
    if source.loop is not None:
        raise UnmaskError(f"{stem} takes a transformer without a loop; unroll its layers first")
    if not 1 <= rows <= len(source.positions):
        raise UnmaskError(f"the transformer has {len(source.positions)} positions, it cannot read {rows} rows")
