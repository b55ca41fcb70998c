"""Theorem: a converter between reasoners with its label, its price, and where it deviates from the paper."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from unmask.errors import TooLarge
from unmask.traces.alignment import Alignment
from unmask.weights.model import Kind, Model

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
