"""Cells of results.json → rows: cells that differ only in the seed form one row, with mean and spread."""

import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from statistics import stdev
from typing import Any

import msgspec

from unmask.lab.settings import Config

Cells = Sequence[dict[str, Any]]
DEFAULTS: dict[str, Any] = msgspec.to_builtins(Config())
ERRORS = 3  # standard errors by which a mean must exceed 0


@dataclass(frozen=True)
class Spread:
    """The mean, smallest and largest of the values of several seeds."""

    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        return sum(self.values) / len(self.values)

    @property
    def low(self) -> float:
        return min(self.values)

    @property
    def high(self) -> float:
        return max(self.values)

    @property
    def error(self) -> float | None:
        """Return the standard error of the mean; None for a single seed."""
        return stdev(self.values) / sqrt(len(self.values)) if len(self.values) > 1 else None

    @property
    def above_zero(self) -> bool:
        """Return whether the mean is above 0 by ERRORS standard errors over seeds; False for a single seed."""
        return self.error is not None and self.mean > ERRORS * self.error


@dataclass(frozen=True, eq=False)
class ResultRow:
    """The runs of one config with several seeds."""

    table: str
    config: dict[str, Any]
    results: tuple[dict[str, Any], ...]
    left_out: int = 0
    """The seeds that were run but have no result."""

    def __getitem__(self, name: str) -> Any:
        """Return a setting, or its default."""
        return {**DEFAULTS, **self.config}[name]

    @property
    def shape(self) -> dict[str, Any]:
        return {**DEFAULTS["shape"], **self.config["shape"]}

    @property
    def group(self) -> str:
        return self.config["problem"].removeprefix("group:")

    @property
    def seeds(self) -> int:
        return len(self.results)

    @property
    def least_passes(self) -> int:
        """Return ⌈log2 N / L⌉: a tree has ⌈log2 N⌉ levels, and L layers can write L of them in a pass."""
        return -(-(self["length"] - 1).bit_length() // self.shape["layers"])

    @property
    def converged(self) -> int:
        return sum(result.get("ended") == "converged" for result in self.results)

    def of(self, value: str | Callable[[dict[str, Any]], float]) -> Spread:
        """Return the spread over seeds of a field of the results, or of a function of each result."""
        if isinstance(value, str):
            return Spread(tuple(result[value] for result in self.results))
        return Spread(tuple(value(result) for result in self.results))

    def of_planner(self, name: str, field: str) -> Spread:
        """Return the spread over seeds of `right` or `passes` of one planner."""
        return self.of(lambda result: next(e for e in result["planners"] if e["planner"] == name)[field])

    def having(self, field: str) -> "ResultRow":
        """Return the row with only the seeds whose result has this field."""
        return self.where(lambda result: field in result)

    def where(self, condition: Callable[[dict[str, Any]], bool]) -> "ResultRow":
        """Return the row with only the seeds whose result satisfies a condition; the others are counted."""
        results = tuple(result for result in self.results if condition(result))
        return replace(self, results=results, left_out=self.left_out + self.seeds - len(results))


def rows_of(cells: Cells, table: str) -> list[ResultRow]:
    """Return the rows by task, length and framework; failed cells are left out."""
    by_config: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for cell in cells:
        if cell["table"] == table and "result" in cell:
            config = {name: value for name, value in cell["config"].items() if name != "seed"}
            by_config[json.dumps(config, sort_keys=True)].append(cell["result"])
    rows = [ResultRow(table, json.loads(config), tuple(results)) for config, results in sorted(by_config.items())]
    return sorted(rows, key=lambda row: (row["problem"], row["length"], row["framework"]))
