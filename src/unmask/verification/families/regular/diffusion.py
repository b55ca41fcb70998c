"""Masked diffusion over the queue (mdm, smdm, topk), for every N >= 2.

By induction on the steps: a slot is written in the first step before which both of its factors are, and never again
(table of the planner); what it takes is the table of the predictor of what its factors hold; with the layout, the pairs
(symbol, map of the letters that the slot covers) are in the closure; the last slot says what the automaton says.
"""

from collections.abc import Iterator

import numpy as np

from unmask.programs.language.positions import Expression
from unmask.verification.families.obligations.heads import reads_of, require_copies
from unmask.verification.families.obligations.ledger import Open
from unmask.verification.families.obligations.queue import require_queue
from unmask.verification.families.obligations.rows import distinct
from unmask.verification.families.regular.claim import Claim
from unmask.verification.families.regular.node import Node

MOST_CASES = 1 << 23


def prove_diffusion(claim: Claim) -> None:
    """All obligations."""
    arithmetic, kind = claim.arithmetic, claim.family.kind
    N = arithmetic.N
    claim.require_frame(steps=arithmetic.T, padding=N - 1, rows=2 * N - 1)
    require_copies(claim.precision, arithmetic)
    predictor = "model" if kind == "topk" else "predictor"
    factors = _two_reads(claim, predictor)
    require_queue(arithmetic, *factors)
    node = slot(claim, predictor)
    node.never = node.mask
    arithmetic.ledger.settle("rows: what a slot holds for which map", "enumeration, closure", node.close)
    arithmetic.ledger.settle("language: the last slot says what the automaton says", "enumeration", node.answers)
    if kind == "topk":
        arithmetic.ledger.settle("rows: when a slot takes its symbol", "enumeration", lambda: _takes(node))
        return
    looks_at, row = _two_reads(claim, "planner"), arithmetic.row()
    same = [arithmetic.at(a, row) == arithmetic.at(b, row) for a, b in zip(looks_at, factors, strict=True)]
    arithmetic.require(
        "layout: the planner looks at the factors", arithmetic.z3.And(*same), [row.n >= N, row.n < 2 * N - 1]
    )
    planner = slot(claim, "planner")
    planner.pool = node.pool
    arithmetic.ledger.settle(
        "rows: when the planner takes a slot", "enumeration", lambda: _takes(planner, planner=True)
    )


def _two_reads(claim: Claim, name: str) -> tuple[Expression, Expression]:
    program = claim.program(name)
    if program.attention != "unmasked" or program.loop is not None:
        raise Open(f"the {name} is not an unmasked transformer without a loop")
    reads = reads_of(program, 0, claim.precision, claim.arithmetic, name)
    if len(reads) != 2:
        raise Open(f"the {name} has {len(reads)} heads in its first layer, not 2")
    return reads[0].address, reads[1].address


def slot(claim: Claim, name: str) -> Node:
    """Factors come earlier: they are letters, or slots but the last."""
    rows, arithmetic = claim.rows(name), claim.arithmetic
    row, N = arithmetic.row(), arithmetic.N
    n, last = row.n, 2 * N - 2
    return Node(
        claim,
        rows,
        read=rows.flags(arithmetic, row, [n >= 0, n < last]),
        inner=rows.flags(arithmetic, row, [n >= N, n < last]),
        root=rows.flags(arithmetic, row, [n == last]),
    )


def _takes(node: Node, *, planner: bool = False) -> str:
    """A slot is taken if and only if it is masked and neither factor is, whatever else they hold.

    A planner takes it by its second output, a topk model by a logit above -B.
    """
    cases = 0
    for own, masked, left, right, waiting in _every_case(node):
        chosen, largest = node.outcomes(own, left, right)
        taken = chosen == 1 if planner else largest > -node.rows.precision.bound
        if (taken != (~waiting if masked else np.zeros_like(waiting))).any():
            raise Open("the planner does not choose exactly the masked slots whose factors are written")
        cases += left.size
    return f"{cases:,} cases"


def _every_case(node: Node) -> Iterator[tuple[np.ndarray, bool, np.ndarray, np.ndarray, np.ndarray]]:
    """(a slot, is it masked, classes of what it reads, is one of these masked), for all that rows can hold."""
    flags = np.unique(np.concatenate([node.inner, node.root], axis=1), axis=1)
    read = np.unique(node.pool.held)
    written = np.union1d(read, node.claim.verdicts)
    owns: list[tuple[np.ndarray, bool]] = []
    for masked, tokens in ((True, np.array([node.mask])), (False, written)):
        own = node.rows.start(tokens, flags)
        owns += [(own[:, k], masked) for k in distinct(own[node.rows.live()])[0]]
    sides = []
    for _, classes in node.brought:
        some, others = np.unique(classes[node.mask]), np.unique(classes[read])
        sides.append((np.concatenate([some, others]), np.arange(some.size + others.size) < some.size))
    (left, left_masked), (right, right_masked) = sides
    if len(owns) * left.size * right.size > MOST_CASES:
        raise Open("there are too many cases of a slot and its factors")
    i, j = (axis.ravel() for axis in np.indices((left.size, right.size)))
    for own, masked in owns:
        yield own, masked, left[i], right[j], left_masked[i] | right_masked[j]
