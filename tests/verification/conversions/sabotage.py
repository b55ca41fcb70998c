"""Constructions that look right and are not: name → what is done to the programs of every source."""

from dataclasses import replace

import numpy as np

from unmask.programs.language.builders import Edges
from unmask.programs.language.coefficients import ONE, B
from unmask.programs.language.declarations import SignedBits, TableRows
from unmask.programs.language.positions import N, n
from verification.families.sabotage import one_bit_less


def columns(program, name):
    return program.columns(name)


def without_columns(program, name, copies=1):
    """The last columns of every guard that read a register are taken away, `copies` of them per head."""
    for layer in program.layers:
        for head in layer.heads:
            reads = [c for e in (*head.query, *head.key) if np.isin(e.source, columns(program, name)).any()
                     for c in np.unique(e.target).tolist()]  # fmt: skip
            if isinstance(head.query[0].weight, np.ndarray):
                for column in sorted(set(reads))[-copies:]:
                    head.query = [e for e in head.query if (e.target != column).any()]


def address(program, name, expression):
    program.positions[name] = SignedBits(expression)


def table(program, name, row):
    program.positions[name] = TableRows(program.positions[name].table, row)


def without_last_readout(program):
    program.readout.pop()


def read_elsewhere(program, before, after):
    """Logits that are read from another register."""
    moved = dict(zip(columns(program, before).tolist(), columns(program, after).tolist(), strict=True))
    program.readout = [
        Edges(e.source, np.array([moved.get(c, c) for c in e.target.tolist()]), e.weight) for e in program.readout
    ]


def heads_swapped(program):
    layer = next(layer for layer in program.layers if len(layer.heads) > 1)
    layer.heads[0], layer.heads[1] = layer.heads[1], layer.heads[0]


def columns_swapped(program):
    """Two entries of the first query matrix change places."""
    head = next(h for layer in program.layers for h in layer.heads if isinstance(h.query[0].weight, np.ndarray))
    weight = head.query[0].weight.copy()
    weight[[0, -1]] = weight[[-1, 0]]
    head.query[0] = replace(head.query[0], weight=weight)


def layers_swapped(program):
    program.layers[0], program.layers[1] = program.layers[1], program.layers[0]


def a_column_less(program):
    edges = program.layers[-1].heads[0].value[0]
    program.layers[-1].heads[0].value[0] = Edges(edges.source[:-1], edges.target[:-1], edges.weight)


def flag_of_a_letter(program, name):
    program.embed(0, columns(program, name))


COT_TO_PCOT = {
    "no BOOST": lambda p: without_columns(p, "masked", copies=2),
    "a letter is boosted": lambda p: flag_of_a_letter(p, "masked"),
    "two rows before": lambda p: address(p, "row before", (n - 2).positive_part()),
    "the row itself": lambda p: address(p, "row before", n),
    "the first row": lambda p: address(p, "row before", n - n),
    "one row on": lambda p: address(p, "row before", (n - 1).positive_part() + n.equals(N)),
    "positions of the row before": lambda p: table(p, "model", (n - 1).positive_part()),
    "positions modulo N": lambda p: table(p, "model", n % (N + 1)),
    "a bit too few": one_bit_less,
    "the mask may win": lambda p: p.read_out(p.outputs - 1, columns(p, "masked"), B),
    "the mask's logit is 0": without_last_readout,
    "the mask row's own logits": lambda p: read_elsewhere(p, "final", "model"),
    "heads swapped": heads_swapped,
    "weights swapped": columns_swapped,
    "layers swapped": layers_swapped,
    "a column less": a_column_less,
    "a loud letter": lambda p: p.embed(0, p.one, ONE),
}
