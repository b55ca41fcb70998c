"""Geometry: where the |Q| rows of every node stand, and where their factors are, symbolic in n and N."""

from dataclasses import dataclass

from unmask.programs.language.positions import Expression
from unmask.weights.transformer import Attention


@dataclass(frozen=True)
class Geometry:
    """Where things are, as expressions; the value at an input row is that of a letter at its own position."""

    length: int
    rows: int
    nodes: int  # how many node numbers there is room for
    states: int
    node: Expression  # the node of a row; letter i is node i
    state: Expression  # the state q of a row, 0 for a letter
    slot: Expression  # [the row is a slot]
    left: Expression  # node of the left factor, the row's own where it has none
    left_state: Expression  # q, or 0 where the left factor is a letter
    left_absent: Expression
    right: Expression
    right_fixed: Expression  # [the right factor is a letter or absent]: its row does not depend on r
    right_absent: Expression
    waits: bool  # a row may be read before it is written
    attention: Attention
