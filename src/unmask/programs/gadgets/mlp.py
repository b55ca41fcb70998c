"""MLP gadgets: functions that one MLP computes, over named registers.

An MLP adds ReLU(W2·ReLU(W1·x + b1) + b2) to x: the inner ReLU gives the hidden units, the outer one the columns. Flags
are 0 or 1. All gadgets work on arrays: unit or column i belongs to entry i of each argument.

| gadget     | function      | equation                                                     | hidden units | least p |
|------------|---------------|--------------------------------------------------------------|--------------|---------|
| NOR        | `nor`         | ReLU(1 - Σ_k x_k), any fan-in                                | 1            | 1       |
| AND        | `conjunction` | ReLU(x - Σ_k y_k) = x ∧ ¬y_1 ∧ … ∧ ¬y_k, any fan-in          | 1            | 1       |
| OUTWEIGH   | `outweigh`    | h = ReLU(Σ terms + bias) twice, column - Σ 2^(p-1)·h         | 2            | 1       |
| THRESH     | `threshold`   | [x > 0]                                                      | 2            | 1       |
| ONEHOT     | `one_hot`     | [x = v] for every v                                          | 4 per v      | 1       |
| ARGMAX     | `argmax`      | the unit vector of the largest of K numbers                  | 2K(K - 1)    | 1       |
| GATE       | `gate`        | (x⁺, x⁻), or (0, 0) by a flag                                | 2            | 1       |
| GATE ON    | `gate_on`     | (x⁺, x⁻) by a flag, else (0, 0)                              | 2            | 1       |
| SELECT     | `select`      | (x_d⁺, x_d⁻)                                                 | 2 per entry  | 1       |
| PROJECT    | `project`     | bit d of D                                                   | D            | 1       |
| decisions  | `unchosen`, … | the decision of a planner with the logits (keep, take)       | below        | 1       |

NOR and AND are exact for any fan-in and any order of summation, because every term but one is subtracted: a sum that
clips at -B stays below -1. The textbook ReLU(Σ_k x_k - (k - 1)) is wrong from k = 2^p on, because Σ_k x_k clips at
B < 2^p. So a conjunction of several positive literals is the NOR of their complements. An OR is a plain sum of
exclusive units, or the NOR of a NOR. THRESH, ARGMAX and ONEHOT use OUTWEIGH: twice 2^-p·2^(p-1) is 1, so two units
above 0 subtract at least 1.
"""

from collections.abc import Sequence

import numpy as np

from unmask.programs.program import NEXT_TO_B, ONE, TOP, ULP, B, Coefficient, Columns, HeadBuilder, MlpBuilder, Weight

Units = np.ndarray
Groups = Sequence[Sequence[int] | np.ndarray] | np.ndarray
"""For every unit or column, the columns or units that it reads. Groups may differ in size and may be empty."""


def nor(mlp: MlpBuilder, inputs: Groups) -> Units:
    """NOR: return units with unit_i = ReLU(1 - Σ inputs[i])."""
    units = mlp.units(len(inputs), bias=ONE)
    mlp.read(*_spread(units, inputs), -ONE)
    return units


def conjunction(mlp: MlpBuilder, positive: Columns, negated: Groups) -> Units:
    """AND: return units with unit_i = ReLU(positive_i - Σ negated[i])."""
    units = mlp.units(len(negated))
    mlp.read(units, positive)
    mlp.read(*_spread(units, negated), -ONE)
    return units


def write_nor(mlp: MlpBuilder, units: Groups, columns: Columns) -> None:
    """Write the NOR of units: column_i = ReLU(1 - Σ units[i])."""
    targets, members = _spread(columns, units)
    mlp.write(members, targets, -ONE)
    mlp.offset(columns, ONE)


def veto(mlp: MlpBuilder, flags: Columns, columns: Columns) -> None:
    """Set columns to 0 if one of the flags is 1; their values before must be at most 1."""
    for flag in flags:
        unit = mlp.units(1)
        mlp.read(unit, flag)
        mlp.write(unit, columns, -ONE)


def outweigh(mlp: MlpBuilder, terms: list[tuple[Columns, Coefficient]], bias: Weight | None, column: Columns) -> None:
    """OUTWEIGH: subtract at least 1 from column_i if Σ terms_i + bias >= 2^-p, else 0; two units times 2^(p-1)."""
    for _ in range(2):
        units = mlp.units(np.size(column), bias=bias)
        for columns, sign in terms:
            mlp.read(units, columns, sign)
        mlp.write(units, column, -TOP)


def clear_if_positive(
    mlp: MlpBuilder, column: int, terms: Sequence[int] | Columns, sign: Coefficient, bias: Coefficient | None
) -> None:
    """Clear a flag if Σ ±terms + bias is at least 2^-p."""
    outweigh(mlp, [(np.array([term]), sign) for term in terms], bias, np.array([column]))


def clear_if_some(mlp: MlpBuilder, column: int, terms: Sequence[int] | Columns) -> None:
    """Clear a flag if one of the terms is above 0."""
    if len(terms):
        clear_if_positive(mlp, column, terms, ONE, None)


def clear_if_none(mlp: MlpBuilder, column: int, terms: Sequence[int] | Columns) -> None:
    """Clear a flag if no term is above 0."""
    clear_if_positive(mlp, column, terms, -ONE, ULP)


def copy_flags(mlp: MlpBuilder, source: Columns, target: Columns) -> None:
    mlp.write(conjunction(mlp, source, [[]] * len(source)), target)


def clear_if_flagged(mlp: MlpBuilder, flags: Sequence[int], column: int) -> None:
    """Clear a flag if one of the other flags is set."""
    unit = mlp.units(1)
    mlp.read(np.repeat(unit, len(flags)), np.array(flags))
    mlp.write(unit, np.array([column]), -ONE)


def write_again(mlp: MlpBuilder, columns: Columns, again: Columns) -> None:
    """Write to again_i the units and offsets that the MLP has written to columns_i so far."""
    target_of = np.full(max(columns) + 1, -1)
    target_of[columns] = again

    def moved(targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        in_columns = np.isin(targets, columns)
        return in_columns, target_of[targets[in_columns]]

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
    """Return (owner, member) of every member of every group."""
    sizes = [len(group) for group in groups]
    members = [np.asarray(group, dtype=np.int64) for group in groups]
    return np.repeat(owners, sizes), np.concatenate([np.zeros(0, dtype=np.int64), *members])


def threshold(mlp: MlpBuilder, x: Columns, positive: Columns) -> None:
    """THRESH: positive_i = [x_i > 0].

    Equation:     h = ReLU(2^-p - x) twice, ReLU(1 - Σ 2^(p-1)·h) = [x > 0]
    Bounds:       two hidden units per number. Least p: 1.
    Exactness:    exact for all numbers of F_p: none lies between 0 and 2^-p.
    Deviations:   the paper has no such gadget; it compares an average over many rows only with 0 (lem:detection).
    """
    outweigh(mlp, [(x, -ONE)], ULP, positive)
    mlp.offset(positive, ONE)


def one_hot(mlp: MlpBuilder, x: Columns, values: Sequence[int] | range, onehot: Columns) -> None:
    """ONEHOT: onehot_i = [x = values[i]·2^-p], for one column x.

    Equation:     h = ReLU(x - v), ReLU(v - x), each twice, ReLU(1 - Σ 2^(p-1)·h) = [x = v]
    Bounds:       four hidden units per value. Least p: 1.
    Exactness:    exact for all numbers of F_p.
    Deviations:   lem:idenitity-dump stores only bits; with this gadget numbers are stored as symbols.
    """
    assert len(values) == onehot.size
    for sign in (ONE, -ONE):
        outweigh(mlp, [(x, sign)], -sign.times * np.array(values), onehot)
    mlp.offset(onehot, ONE)


def argmax(mlp: MlpBuilder, x: Columns, onehot: Columns) -> None:
    """ARGMAX: onehot_d = [d is the lowest index with x_d = max_j x_j] (lem:mlp-for-argmax).

    Equation:     h_dj = ReLU(x_j - x_d + [j < d]·2^-p) twice, ReLU(1 - Σ_j 2^(p-1)·h_dj); the lowest index wins a tie
    Bounds:       2K(K - 1) hidden units for K numbers. Least p: 1.
    Exactness:    exact for all numbers of F_p, also where a difference clips.
    Deviations:   the lemma multiplies by 2^p, which is not in F_p (B instead fails for p = 1), does not say how ties
                  are broken and takes three layers; here it is one MLP, two units of weight 2^(p-1) each.
    """
    winner, rival = np.nonzero(~np.eye(x.size, dtype=bool))
    earlier = rival < winner  # an earlier rival of the same size wins
    for pairs, bias in ((earlier, ULP), (~earlier, None)):
        d, j = winner[pairs], rival[pairs]
        outweigh(mlp, [(x[j], ONE), (x[d], -ONE)], bias, onehot[d])
    mlp.offset(onehot, ONE)


def gate(mlp: MlpBuilder, x: Columns, off: Columns, positive: Columns, negative: Columns, *more: Columns) -> None:
    """GATE: (positive_i, negative_i) = (x_i⁺, x_i⁻), or (0, 0) where off_i or one of `more` is 1.

    Equation:     ReLU(x - B·off) and ReLU(-x - B·off)
    Bounds:       two hidden units per number. Least p: 1.
    Exactness:    exact for all numbers of F_p.
    Deviations:   lem:projection-mlp is about bits. A signed value leaves an MLP as two columns, because the outer ReLU
                  cannot lower a column; a SELF head merges them (`merge`).
    """
    for sign, column in ((ONE, positive), (-ONE, negative)):
        units = mlp.units(np.size(x))
        mlp.read(units, x, sign)
        for flag in (off, *more):
            mlp.read(units, flag, -B)
        mlp.write(units, column)


def gate_on(mlp: MlpBuilder, one: Columns, x: Columns, on: Columns, positive: Columns, negative: Columns) -> None:
    """GATE ON: (positive_i, negative_i) = (x_i⁺, x_i⁻) where on_i is 1, else (0, 0).

    Equation:     ReLU(-B·one ± x + B·on), summed in this order
    Bounds:       two hidden units per number. Least p: 1.
    Exactness:    exact for all numbers of F_p: -B + x clips only for a negative x, which gives 0 in any case. The
                  columns must be in the order of the sum.
    """
    assert max(one) < min(x) and max(x) < min(on), "one, x and on are summed in another order"  # noqa: PT018
    for sign, column in ((ONE, positive), (-ONE, negative)):
        units = mlp.units(np.size(x))
        mlp.read(units, one, -B)
        mlp.read(units, x, sign)
        mlp.read(units, on, B)
        mlp.write(units, column)


def select(
    mlp: MlpBuilder, x: Columns, complement: Columns, positive: Columns, negative: Columns, *off: Columns
) -> None:
    """SELECT: (x_d⁺, x_d⁻) = Σ_i GATE(x_i, [i ≠ d]), where complement_i = [i ≠ d].

    Bounds and exactness are those of GATE. ReLU(x_i + B·e_i - B) would clip x_i + B first.
    """
    gate(mlp, x, complement, positive, negative, *off)


def merge(head: HeadBuilder, positive: Columns, negative: Columns, target: Columns) -> None:
    """Add positive - negative to the target, in a SELF head."""
    head.copy(positive, target)
    head.copy(negative, target, -ONE)


def project(mlp: MlpBuilder, bits: Columns, complement: Columns, target: Columns) -> None:
    """PROJECT: target = bits_d, where complement_i = [i ≠ d] (lem:projection-mlp).

    Equation:     Σ_i ReLU(x_i - ē_i), where ē_i = [i ≠ d] is the complement of the unit vector e_d
    Bounds:       D hidden units, one output column. Least p: 1.
    Exactness:    exact; at most one unit is not 0.
    Deviations:   the result is one bit, not a vector of D. The paper's ReLU(x - (1 - e_d)) is read with the complement
                  as the input; x_i + e_i - 1 is wrong at p = 1, where 1 + 1 clips to 3/2. For numbers that are not bits
                  use `select`.
    """
    mlp.write(conjunction(mlp, bits, complement[:, None]), target)


# Decisions: what a planner with the logits (keep, take) decides, computed within one MLP. A tie means keep.
#
# | gadget             | equation                                                                       | hidden units |
# |--------------------|--------------------------------------------------------------------------------|--------------|
# | `unchosen`         | h = ReLU(take - keep) twice, ReLU(1 - Σ 2^(p-1)·h) = [take <= keep]            | 2            |
# | `unless_taken`     | the same h, ReLU(x_c - Σ 2^(p-1)·h) = x_c ∧ [take <= keep]                     | 2, 1 per c   |
# | `no_preference`    | h_c = ReLU(l_c + B), g = ReLU(keep - take + 2^-p), each twice,                 | 2, 2 per c   |
# |                    | ReLU(1 - Σ 2^(p-1)·(h_c + g)) = [take > keep, and every l_c is -B]             |              |
# | `barely_preferred` | h_c = ReLU(l_c + B - 2^-p), m_c = ReLU(2^-p - B - l_c), g as above, each twice | 2, 4 per c   |
# |                    | ReLU(1 - Σ_j 2^(p-1)·(h_j + g) - 2^(p-1)·m_c)                                  |              |
# |                    | = [take > keep, l_c is -B + 2^-p, and no logit is above that]                  |              |
#
# With these gadgets a program can emit the logits of a predictor without an argmax over its symbols: it subtracts B
# twice if a slot is not chosen, which makes every logit -B. Least p: 1.


def unchosen(mlp: MlpBuilder, decision: Columns, flags: Columns) -> None:
    """Set every flag to [take <= keep]."""
    _not_if_taken(mlp, decision, flags)
    mlp.offset(flags, ONE)


def unless_taken(mlp: MlpBuilder, decision: Columns, flags: Columns, target: Columns) -> None:
    """Write target_c = flags_c if take <= keep, else 0."""
    mlp.write(conjunction(mlp, flags, [[]] * flags.size), target)
    _not_if_taken(mlp, decision, target)


def no_preference(mlp: MlpBuilder, decision: Columns, logits: Columns, flag: Columns) -> None:
    """Write flag = [take > keep, and every logit is -B]: then the lowest symbol wins the tie."""
    for _ in range(2):
        above = mlp.units(logits.size, bias=B)
        mlp.read(above, logits)
        mlp.write(above, flag, -TOP)
        _not_if_kept(mlp, decision, flag)
    mlp.offset(flag, ONE)


def barely_preferred(mlp: MlpBuilder, decision: Columns, logits: Columns, flags: Columns) -> None:
    """Write flags_c = [take > keep, l_c is -B + 2^-p, and no logit is larger]."""
    for _ in range(2):
        larger = mlp.units(logits.size, bias=NEXT_TO_B)
        mlp.read(larger, logits)
        least = mlp.units(logits.size, bias=-NEXT_TO_B)
        mlp.read(least, logits, -ONE)
        mlp.write(least, flags, -TOP)
        for flag in flags:
            mlp.write(larger, flag, -TOP)
        _not_if_kept(mlp, decision, flags)
    mlp.offset(flags, ONE)


def _not_if_kept(mlp: MlpBuilder, decision: Columns, columns: Columns) -> None:
    """Subtract at least 1/2 from every column if take <= keep."""
    not_taken = mlp.units(1, bias=ULP)
    mlp.read(not_taken, decision[0])
    mlp.read(not_taken, decision[1], -ONE)
    mlp.write(not_taken, columns, -TOP)


def _not_if_taken(mlp: MlpBuilder, decision: Columns, columns: Columns) -> None:
    """Subtract at least 1 from every column if take > keep."""
    for _ in range(2):
        units = mlp.units(1)
        mlp.read(units, decision[1])
        mlp.read(units, decision[0], -ONE)
        mlp.write(units, columns, -TOP)
