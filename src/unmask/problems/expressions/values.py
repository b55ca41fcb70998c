"""Shape × range of the operands → the values that every part of an expression can take, exactly.

An operand is any number of the range, independently of the others, so that the values of an operation are all
values(left) ∘ values(right): nothing that cannot occur, nothing that leaves them.
"""

import numpy as np

from unmask.errors import ProblemError, TooLarge
from unmask.problems.expressions.shape import Operation, Shape, applied

Range = tuple[int, int]
LARGEST = 10**9
MOST_VALUES = 4096
MOST_PAIRS = 1_000_000


def value_sets(shape: Shape, operands: Range, within: Range | None = None) -> list[np.ndarray]:
    """For every node its values in increasing order; refused where one may lie outside `within`, or there are too many.

    Nodes are the operands from left to right, then the operations.
    """
    every = np.arange(operands[0], operands[1] + 1)
    sets = [every] * len(shape.operands)
    pairs = 0
    for operation in shape.operations:
        left, right = sets[operation.left], sets[operation.right]
        pairs += left.size * right.size
        if pairs > MOST_PAIRS:
            raise _too_many(operation, f"too many pairs of operands: {pairs:,} so far, more than {MOST_PAIRS:,}")
        values = np.unique(applied(operation.symbol, left[:, None], right[None, :]))
        low, high = int(values[0]), int(values[-1])
        if within is not None and not within[0] <= low <= high <= within[1]:
            reached = high if high > within[1] else low
            raise ProblemError(
                f"the {operation.symbol} at column {operation.column} of the expression can give {reached}, outside of "
                f"{within[0]}..{within[1]}; widen `within` or narrow the operands with `in`"
            )
        if max(-low, high) > LARGEST:
            raise _too_many(operation, f"values beyond ±{LARGEST:,}")
        if values.size > MOST_VALUES:
            raise _too_many(operation, f"{values.size:,} values, more than {MOST_VALUES:,}")
        sets.append(values)
    return sets


def _too_many(operation: Operation, what: str) -> TooLarge:
    return TooLarge(
        f"the {operation.symbol} at column {operation.column} of the expression has {what}; "
        "narrow the operands with `in LOW..HIGH` or use a smaller expression"
    )
