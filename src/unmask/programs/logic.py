"""MLP gadgets: logic and selection in one MLP (sections 1.8 to 1.13 of the constructions).

An MLP is ReLU(W2·ReLU(W1·x + b1) + b2), added to x: hidden units, then columns, both behind a ReLU. Flags are
0 or 1; x is any number of F_p. All gadgets work on arrays: unit or column i belongs to entry i of each argument.

| gadget | equation                                                                      | hidden units | least p |
|--------|-------------------------------------------------------------------------------|--------------|---------|
| NOR    | ReLU(1 - Σ_k x_k), any fan-in                                                 | 1            | 1       |
| AND    | ReLU(x - Σ_k y_k) = x ∧ ¬y_1 ∧ … ∧ ¬y_k, any fan-in                           | 1            | 1       |
| THRESH | h = ReLU(2^-p - x) twice, ReLU(1 - Σ 2^(p-1)·h) = [x > 0]                     | 2            | 1       |
| ARGMAX | h_dj = ReLU(x_j - x_d + [j < d]·2^-p) twice, ReLU(1 - Σ_j 2^(p-1)·h_dj)       | 2K(K - 1)    | 1       |
| ONEHOT | h = ReLU(x - v), ReLU(v - x), each twice, ReLU(1 - Σ 2^(p-1)·h) = [x = v]     | 4 per v      | 1       |
| GATE   | ReLU(x - B·off) and ReLU(-x - B·off): (x⁺, x⁻) if not off, else (0, 0)        | 2            | 1       |
| SELECT | Σ_i GATE(x_i, [i ≠ d]) = (x_d⁺, x_d⁻)                                         | 2 per entry  | 1       |

NOR and AND are right for any fan-in and any order of summation, because every term but one is subtracted: a sum
that clips at -B stays below -1. The textbook ReLU(Σ_k x_k - (k - 1)) is wrong from k = 2^p on: Σ_k x_k clips at
B < 2^p. So several positive literals are fed as their complements. An OR is a plain sum of exclusive units, or
the NOR of a NOR.

Deviations from the paper. lem:mlp-for-argmax multiplies by 2^p, which is not in F_p (B instead fails for p = 1),
leaves ties open and takes three layers; ARGMAX takes one MLP, two units of weight 2^(p-1) each, and the lowest
index wins. A signed value leaves an MLP as two columns, because the outer ReLU cannot lower a column; a SELF head
merges them.
"""

from collections.abc import Sequence

import numpy as np

from unmask.programs.coefficients import ONE, TOP, ULP, B, Coefficient
from unmask.programs.program import Columns, HeadBuilder, MlpBuilder, Weight

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


def threshold(mlp: MlpBuilder, x: Columns, positive: Columns) -> None:
    """positive_i = [x_i > 0]."""
    _veto(mlp, [(x, -ONE)], ULP, positive)
    mlp.offset(positive, ONE)


def argmax(mlp: MlpBuilder, x: Columns, onehot: Columns) -> None:
    """onehot_d = [d is the lowest index with x_d = max_j x_j]."""
    winner, rival = np.nonzero(~np.eye(x.size, dtype=bool))
    earlier = rival < winner  # an earlier rival that is as large wins, too
    for pairs, bias in ((earlier, ULP), (~earlier, None)):
        d, j = winner[pairs], rival[pairs]
        _veto(mlp, [(x[j], ONE), (x[d], -ONE)], bias, onehot[d])
    mlp.offset(onehot, ONE)


def one_hot(mlp: MlpBuilder, x: Columns, values: Sequence[int] | range, onehot: Columns) -> None:
    """onehot_i = [x = values[i]·2^-p], for one column x."""
    assert len(values) == onehot.size
    for sign in (ONE, -ONE):
        _veto(mlp, [(x, sign)], -sign.times * np.array(values), onehot)
    mlp.offset(onehot, ONE)


def gate(mlp: MlpBuilder, x: Columns, off: Columns, positive: Columns, negative: Columns, *more: Columns) -> None:
    """(positive_i, negative_i) = the two signs of x_i, or 0 and 0 where off_i, or one of `more`, is 1."""
    for sign, column in ((ONE, positive), (-ONE, negative)):
        units = mlp.units(np.size(x))
        mlp.read(units, x, sign)
        for flag in (off, *more):
            mlp.read(units, flag, -B)
        mlp.write(units, column)


def select(mlp: MlpBuilder, x: Columns, others: Columns, positive: Columns, negative: Columns, *off: Columns) -> None:
    """The two signs of x_d, where others_i = [i ≠ d]. ReLU(x_i + B·e_i - B) would clip x_i + B first."""
    gate(mlp, x, others, positive, negative, *off)


def veto(mlp: MlpBuilder, flags: Columns, columns: Columns) -> None:
    """The columns, at most 1 so far, become 0 where one of the flags is 1."""
    for flag in flags:
        unit = mlp.units(1)
        mlp.read(unit, flag)
        mlp.write(unit, columns, -ONE)


def also(mlp: MlpBuilder, columns: Columns, again: Columns) -> None:
    """again_i gets from the MLP what columns_i has got so far, from the same units."""
    place = np.full(max(columns) + 1, -1)
    place[columns] = again

    def moved(targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        kept = np.isin(targets, columns)
        return kept, place[targets[kept]]

    for edges in list(mlp.outputs):
        kept, targets = moved(edges.target)
        mlp.write(
            edges.source[kept], targets, edges.weight[kept] if isinstance(edges.weight, np.ndarray) else edges.weight
        )
    for columns_with_offset, weight in list(mlp.offsets):
        kept, targets = moved(columns_with_offset)
        mlp.offset(targets, weight[kept] if isinstance(weight, np.ndarray) else weight)


def merge(head: HeadBuilder, positive: Columns, negative: Columns, target: Columns) -> None:
    """In a SELF head: target += positive - negative."""
    head.copy(positive, target)
    head.copy(negative, target, -ONE)


def _veto(mlp: MlpBuilder, terms: list[tuple[Columns, Coefficient]], bias: Weight | None, column: Columns) -> None:
    """column_i loses at least 1 as soon as Σ terms_i + bias >= 2^-p: two units, each times 2^(p-1)."""
    for _ in range(2):
        units = mlp.units(np.size(column), bias=bias)
        for columns, sign in terms:
            mlp.read(units, columns, sign)
        mlp.write(units, column, -TOP)


def _spread(owners: np.ndarray, groups: Groups) -> tuple[np.ndarray, np.ndarray]:
    """(owner, member) of every member of every group."""
    sizes = [len(group) for group in groups]
    members = [np.asarray(group, dtype=np.int64) for group in groups]
    return np.repeat(owners, sizes), np.concatenate([np.zeros(0, dtype=np.int64), *members])
