"""Families that are almost correct: name → (kind, program, change of this program for every N)."""

from dataclasses import dataclass, replace

import numpy as np

from unmask.expressions import N, choose, n
from unmask.programs.declarations import Flag, SignedBits
from unmask.programs.gadgets.attention import hide
from unmask.programs.program import ONE, Edges


def address(program, name, change):
    """Replace the expression of a code."""
    program.positions[name] = SignedBits(change(program.positions[name].expression))


def flag(program, name, where):
    program.positions[name] = Flag(where)


@dataclass(frozen=True)
class LowBits(SignedBits):
    """The lowest bits of a number, even if it has more."""

    def block(self, width, length, positions, precision):
        values = self.expression.at_positions(length, positions)[:, None]
        return np.where(values >> np.arange(width - 1, -1, -1) & 1, precision.one, -precision.one)


def one_bit_less(program):
    for name, capacity in program.codes.items():
        program.codes[name] = capacity // 2
        program.positions[name] = LowBits(program.positions[name].expression)


def without_last(edges):
    """Return a list of edges without its last edge."""
    *others, last = edges
    return [*others, Edges(last.source[:-1], last.target[:-1], last.weight)]


def wrong_product(program):
    """A multiplication table has another product of the first letter with itself."""
    edges = program.layers[0].mlp.outputs[0]
    target = edges.target.copy()
    columns = np.unique(target)
    twice = columns.size + 1  # element 0 is the identity, 1 the first letter
    target[twice] = columns[(np.flatnonzero(columns == target[twice])[0] + 1) % columns.size]
    program.layers[0].mlp.outputs[0] = Edges(edges.source, target, edges.weight)


def quiet_scores(program):
    """Codes that differ in one bit score -2, so that they keep a weight."""
    for head in program.layers[0].heads:
        for k, edges in enumerate(head.query):
            head.query[k] = replace(edges, weight=ONE)


def one_hide(program):
    hide(program.layers[0].heads[0], program.columns("masked"), copies=1)


def swapped(program, first, second):
    positions = program.positions
    positions[first], positions[second] = positions[second], positions[first]


def impatient(program):
    """The planner ignores the right-hand factor."""
    program.layers[0].mlp.inputs.pop()


def forgetful(program):
    """The loop does not clear the previous content of a row."""
    program.layers[0].heads[2].value.pop(0)


def louder(program):
    """The embedding of a symbol writes to the column that is 1 in every row."""
    program.embed(0, program.one, ONE)


SABOTAGES = {
    "one HIDE": ("mdm", "predictor", one_hide),
    "a bit too few": ("mdm", "predictor", one_bit_less),
    "a bit too few, planner": ("mdm", "planner", one_bit_less),
    "the next child": ("mdm", "predictor", lambda p: address(p, "right address", lambda e: choose(n < N, n, e - 1))),
    "children swapped": ("mdm", "predictor", lambda p: swapped(p, "left address", "right address")),
    "last row off by one": ("mdm", "predictor", lambda p: flag(p, "last row", n.equals(2 * N - 3))),
    "inner row off by one": ("mdm", "predictor", lambda p: flag(p, "inner row", n < 2 * N - 1)),
    "one wrong product": ("mdm", "predictor", wrong_product),
    "scores of 1": ("mdm", "predictor", quiet_scores),
    "an impatient planner": ("smdm", "planner", impatient),
    "a loud letter": ("mdm", "predictor", louder),
    "the planner looks elsewhere": ("mdm", "planner", lambda p: address(p, "address 1", lambda _: n)),
    "one wrong product, topk": ("topk", "model", wrong_product),
    "the next child, plt": ("plt", "model", lambda p: address(p, "right address", lambda e: choose(e < N, e - 1, e))),
    "a forgetful loop": ("plt", "model", forgetful),
    "one wrong product, plt": ("plt", "model", wrong_product),
    "a bit too few, plt": ("plt", "model", one_bit_less),
    "the letter before": ("cot", "model", lambda p: address(p, "letter address", lambda e: (e - 1).positive_part())),
    "last step off by one": ("cot", "model", lambda p: flag(p, "last step", n >= 2 * N - 3)),
    "a start too late": ("cot", "model", lambda p: p.positions.pop("state")),
    "children swapped, pcot": ("pcot", "model", lambda p: swapped(p, "left address", "right address")),
    "last row off by one, pcot": ("pcot", "model", lambda p: flag(p, "last row", n.equals(N))),
    "one wrong product, pcot": ("pcot", "model", wrong_product),
}  # fmt: skip
