"""Parallel chain of thought as chain of thought, in fewer than twice the steps (beside prop:cot-as-pcot).

Statement:    pCoT[T, P] ⊆ CoT[2P - P' + 1], where P = T·P'; that is P + 1 steps for T = 1. Not a statement of the
              paper.
Construction: that of `pcot_to_cot`: for each block P' scratch symbols, whose rows stand for the masks, then the P'
              symbols. Nobody reads the symbols of the last block but for the answer, which is the last one. So the last
              block is P' scratch symbols and the answer, predicted from the scratch row right before it.
Bounds:       2P - P' + 1 steps, L + 1 layers, one symbol more, width 2D + 2⌈log2(N + 2P)⌉ + 2⌈log2 T⌉ + 6.
Exactness:    bit by bit, for p >= 1 (three copies of FOCUS at p = 1): every stream of every step, every block but the
              last, and the answer. The other symbols of the last block are not written.
Deviations:   the paper claims CoT[P], which stays open; see `pcot_to_cot`.
"""

from functools import partial

from unmask.theorems.pcot_to_cot import bound, pcot_to_cot
from unmask.theorems.theorem import Theorem

THEOREM = Theorem(
    "pcot_to_cot_answer_only",
    "prop:cot-as-pcot",
    "pcot",
    "cot",
    partial(pcot_to_cot, answer_only=True),
    partial(bound, answer_only=True),
)
