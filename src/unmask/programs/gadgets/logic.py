"""NOR and AND: logic in one MLP, with any fan-in.

An MLP is ReLU(W2·ReLU(W1·x + b1) + b2), added to x: hidden units, then columns, both behind a ReLU. Flags are 0 or 1.
All MLP gadgets work on arrays: unit or column i belongs to entry i of each argument.

| gadget   | equation                                              | hidden units | least p |
|----------|-------------------------------------------------------|--------------|---------|
| NOR      | ReLU(1 - Σ_k x_k), any fan-in                         | 1            | 1       |
| AND      | ReLU(x - Σ_k y_k) = x ∧ ¬y_1 ∧ … ∧ ¬y_k, any fan-in   | 1            | 1       |
| OUTWEIGH | h = ReLU(Σ terms + bias) twice, column - Σ 2^(p-1)·h  | 2            | 1       |

NOR and AND are right for any fan-in and any order of summation, because every term but one is subtracted: a sum
that clips at -B stays below -1. The textbook ReLU(Σ_k x_k - (k - 1)) is wrong from k = 2^p on: Σ_k x_k clips at
B < 2^p. So several positive literals are fed as their complements. An OR is a plain sum of exclusive units, or
the NOR of a NOR. What THRESH, ARGMAX and ONEHOT share is OUTWEIGH: the least number above 0, twice times 2^(p-1), is 1.
"""

from collections.abc import Sequence

import numpy as np

from unmask.programs.language.builders import Columns, MlpBuilder, Weight
from unmask.programs.language.coefficients import ONE, TOP, Coefficient

Units = np.ndarray
Groups = Sequence[Sequence[int] | np.ndarray] | np.ndarray
"""For every unit, or column, the several things it reads; groups may differ in size and may be empty."""


def nor(mlp: MlpBuilder, inputs: Groups) -> Units:
    """unit_i = ReLU(1 - Σ inputs[i])."""
    units = mlp.units(len(inputs), bias=ONE)
    mlp.read(*_spread(units, inputs), -ONE)
    return units


def conjunction(mlp: MlpBuilder, positive: Columns, negated: Groups) -> Units:
    """unit_i = ReLU(positive_i - Σ negated[i])."""
    units = mlp.units(len(negated))
    mlp.read(units, positive)
    mlp.read(*_spread(units, negated), -ONE)
    return units


def write_nor(mlp: MlpBuilder, units: Groups, columns: Columns) -> None:
    """column_i = ReLU(1 - Σ units[i])."""
    targets, members = _spread(columns, units)
    mlp.write(members, targets, -ONE)
    mlp.offset(columns, ONE)


def veto(mlp: MlpBuilder, flags: Columns, columns: Columns) -> None:
    """The columns, at most 1 so far, become 0 where one of the flags is 1."""
    for flag in flags:
        unit = mlp.units(1)
        mlp.read(unit, flag)
        mlp.write(unit, columns, -ONE)


def outweigh(mlp: MlpBuilder, terms: list[tuple[Columns, Coefficient]], bias: Weight | None, column: Columns) -> None:
    """column_i loses at least 1 as soon as Σ terms_i + bias >= 2^-p: two units, each times 2^(p-1)."""
    for _ in range(2):
        units = mlp.units(np.size(column), bias=bias)
        for columns, sign in terms:
            mlp.read(units, columns, sign)
        mlp.write(units, column, -TOP)


def also(mlp: MlpBuilder, columns: Columns, again: Columns) -> None:
    """again_i gets from the MLP what columns_i has got so far, from the same units."""
    place = np.full(max(columns) + 1, -1)
    place[columns] = again

    def moved(targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        in_columns = np.isin(targets, columns)
        return in_columns, place[targets[in_columns]]

    for edges in list(mlp.outputs):
        in_columns, targets = moved(edges.target)
        mlp.write(
            edges.source[in_columns],
            targets,
            edges.weight[in_columns] if isinstance(edges.weight, np.ndarray) else edges.weight,
        )
    for columns_with_offset, weight in list(mlp.offsets):
        in_columns, targets = moved(columns_with_offset)
        mlp.offset(targets, weight[in_columns] if isinstance(weight, np.ndarray) else weight)


def _spread(owners: np.ndarray, groups: Groups) -> tuple[np.ndarray, np.ndarray]:
    """(owner, member) of every member of every group."""
    sizes = [len(group) for group in groups]
    members = [np.asarray(group, dtype=np.int64) for group in groups]
    return np.repeat(owners, sizes), np.concatenate([np.zeros(0, dtype=np.int64), *members])
