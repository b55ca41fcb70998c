"""Registers: names for the columns of the residual stream.

A register is a run of columns with one name and a label per column; `state` with the labels q0, q1, q2 names
three columns `state:q0`, `state:q1`, `state:q2`. Names are comments: no result depends on them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import msgspec


@dataclass(frozen=True)
class Registers:
    """(name, labels) of every register, in column order."""

    blocks: tuple[tuple[str, tuple[str, ...]], ...]

    @classmethod
    def of(cls, blocks: Mapping[str, tuple[str, ...] | list[str]]) -> "Registers":
        return cls(tuple((name, tuple(labels)) for name, labels in blocks.items()))

    @property
    def width(self) -> int:
        return len(self.names)

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(f"{name}:{label}" if label else name for name, labels in self.blocks for label in labels)

    def column_name(self, column: int) -> str:
        return self.names[column]

    def to_json(self) -> dict[str, list[str]]:
        return {name: list(labels) for name, labels in self.blocks}

    @classmethod
    def from_json(cls, data: object, *, width: int) -> "Registers | None":
        """The registers of a model folder, or None where that comment does not name all `width` columns."""
        try:
            registers = cls.of(msgspec.convert(data, dict[str, tuple[str, ...]]))
        except msgspec.ValidationError:
            return None
        return registers if registers.width == width else None
