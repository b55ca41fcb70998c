"""Wrong constructions: stem → name → (program, the change to it that makes the construction wrong)."""

from dataclasses import replace

import numpy as np

from unmask.expressions import N, both, choose, n, variable
from unmask.programs.declarations import Flag, SignedBits, TableRows
from unmask.programs.program import ONE, B, Edges

from ..lengths.wrong_families import one_bit_less


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


def without_boost(program, name):
    """The first two columns of every guard that read a register."""
    for layer in program.layers:
        for head in layer.heads:
            if isinstance(head.query[0].weight, np.ndarray):
                boosted = [e for e in head.query if np.isin(e.source, columns(program, name)).any()]
                head.query = [e for e in head.query if e not in boosted]


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


def without_edges(edges, columns):
    """Edges without those to some columns."""
    unaffected = [~np.isin(e.target, columns) for e in edges]
    return [Edges(e.source[k], e.target[k], e.weight[k] if isinstance(e.weight, np.ndarray) else e.weight)
            for e, k in zip(edges, unaffected, strict=True)]  # fmt: skip


def proxy_means_nothing(program):
    """The new symbol is embedded as no symbol."""
    program.embedding.pop()


def planner_of_the_past(program):
    """A slot is current if it is masked, whatever the block before holds."""
    program.layers[0].mlp.inputs[1] = replace(
        program.layers[0].mlp.inputs[1],
        source=program.layers[0].mlp.inputs[1].source[1:],
        target=program.layers[0].mlp.inputs[1].target[1:],
    )


def swapped_decision(program):
    """Take and keep change places."""
    keep, take = columns(program, "decision").tolist()
    for layer in program.layers:
        for head in layer.heads:
            head.value = [
                replace(e, target=np.where(e.target == keep, take, np.where(e.target == take, keep, e.target)))
                for e in head.value
            ]


def subtracted_once(program):
    program.readout = without_edges(program.readout, columns(program, "not chosen")[1:])


def proxy_is_not_kept(program):
    program.readout[-1] = Edges(np.arange(program.outputs - 1), columns(program, "kept"), ONE)


def flag(program, name, where):
    program.positions[name] = Flag(where)


FIRST, SLOTS = N + variable("begin"), variable("slots")


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

EARLIEST = n < FIRST + SLOTS
MDM_TO_SMDM = {
    "HIDE once": ("predictor", lambda p: without_columns(p, "ignored")),
    "no HIDE": ("predictor", lambda p: without_columns(p, "ignored", copies=2)),
    "no BOOST": ("predictor", lambda p: without_boost(p, "ignored")),
    "the slot beside": (
        "predictor", lambda p: address(p, "one block back", choose(EARLIEST, n, n - SLOTS + n.equals(FIRST + SLOTS))),
    ),
    "two blocks back": (
        "predictor", lambda p: address(p, "one block back", choose(n < FIRST + 2 * SLOTS, n, n - 2 * SLOTS)),
    ),
    "no look back": ("predictor", lambda p: address(p, "one block back", n)),
    "not the first block, off by one": (
        "predictor", lambda p: flag(p, "not the first block", choose(n >= FIRST, n > FIRST + SLOTS, 1)),
    ),
    "first block off by one": ("planner", lambda p: flag(p, "first block", both(n >= FIRST, n <= FIRST + SLOTS))),
    "slots from the second on": ("predictor", lambda p: flag(p, "slot", n > FIRST)),
    "a letter is a slot": ("predictor", lambda p: flag(p, "slot", n >= FIRST - 1)),
    "positions off by one": ("predictor", lambda p: table(p, "predictor positions", choose(n < FIRST, n, FIRST))),
    "positions of the first block": ("predictor", lambda p: table(p, "planner positions", choose(EARLIEST, n, FIRST))),
    "a bit too few": ("predictor", one_bit_less),
    "the new symbol means nothing": ("predictor", proxy_means_nothing),
    "all masked slots are chosen": ("planner", planner_of_the_past),
    "all masked slots are seen": ("predictor", planner_of_the_past),
    "the decision upside down": ("predictor", swapped_decision),
    "-B once": ("predictor", subtracted_once),
    "m is kept as m": ("predictor", proxy_is_not_kept),
    "heads swapped": ("predictor", heads_swapped),
    "weights swapped": ("predictor", columns_swapped),
    "causal": ("predictor", lambda p: setattr(p, "attention", "causal")),
}  # fmt: skip

SABOTAGES = {
    "cot_to_pcot": {name: ("model", change) for name, change in COT_TO_PCOT.items()},
    "mdm_to_smdm": MDM_TO_SMDM,
}
