"""Multiply two coded products by MLPs (thm:regular-languages-in-mdm-efficient, the node of the tree).

    MLP 1   missing_g = ReLU(1 - Σ over triples (l, r, g) of ReLU(left_l + right_r - 1))       [g is not a feature]
    MLP 2   element_f = ReLU(gate - Σ over g in result(f) of missing_g - blocks)
            accepted  = Σ over disjuncts of ReLU(gate - Σ present missing - blocks), exclusive; rejected likewise

Least p: 2 (left + right = 2 must fit). Everything is 0 or 1, and a sum of exclusive units never exceeds 1.
"""

import numpy as np

from unmask.programs.language.builders import Columns, HeadBuilder, MlpBuilder
from unmask.programs.language.coefficients import ONE, Coefficient
from unmask.programs.regular.products.coding import Coding, Disjunct

LEAST_PRECISION = 2


def multiply_features(mlp: MlpBuilder, coding: Coding, left: Columns, right: Columns, missing: Columns) -> None:
    """MLP 1: which result features the product lacks."""
    first, second, third = coding.triples
    units = mlp.units(first.size, bias=-ONE)
    mlp.read(units, left[first])
    mlp.read(units, right[second])
    mlp.write(units, missing[third], -ONE)
    mlp.offset(missing, ONE)


def recognise(
    mlp: MlpBuilder, coding: Coding, missing: Columns, gate: Columns, blocks: list[Columns], *targets: Columns
) -> None:
    """MLP 2: one unit per element, written to every target; `gate` must be 1 and all `blocks` 0."""
    units = mlp.units(coding.size)
    mlp.read(units, gate)
    mlp.read(units[coding.result.element], missing[coding.result.feature], -ONE)
    for block in blocks:
        mlp.read(units, block, -ONE)
    for target in targets:
        mlp.write(units, target)


def decide(
    mlp: MlpBuilder,
    disjuncts: tuple[Disjunct, ...],
    missing: Columns,
    gate: Columns,
    blocks: list[tuple[Columns, Coefficient]],
    target: Columns,
) -> None:
    """MLP 2: one unit per disjunct, at most one of which fires; it is written to all columns of the target.

    A disjunct with an absent feature starts from that one instead of the gate, so `blocks` must forbid whatever
    the gate forbids.
    """
    units = mlp.units(len(disjuncts))
    for unit, disjunct in zip(units, disjuncts, strict=True):
        mlp.read(unit, gate if disjunct.absent is None else missing[disjunct.absent])
        mlp.read(np.full(len(disjunct.present), unit), missing[list(disjunct.present)], -ONE)
    for columns, weight in blocks:
        mlp.read(units, columns, weight)
    for column in target:
        mlp.write(units, column)


def fetch_features(head: HeadBuilder, coding: Coding, side: str, element: Columns, target: Columns) -> None:
    """Value map: from one column per element to the features of that element."""
    pairs = coding.left if side == "left" else coding.right
    head.copy(element[pairs.element], target[pairs.feature])
