"""Systems of recurrences by a looped transformer, in as many loops as they are deep.

Statement:    a system of recurrences with P slots, rows of reads over ranges included, and depth T is computed by a
              looped transformer with T loops and P pads; one that is rewritten in every step with a loop for each.
Construction: as by masked diffusion, but every slot is computed in every loop from what the rows it reads hold; after
              k loops all slots of depth k are right and stay so. Where slots are rewritten, a layer before the loop
              writes what they start with, and all of them change at once.
Bounds:       T = depth or the stated steps, P pads; 1 looped layer, 3 with reads over a range, one more before the loop
              where slots are rewritten; width O(log N).
Exactness:    for every N and p >= 1, where the program is right for N.
"""

import numpy as np

from unmask.programs.gadgets.lookup import clear, itself
from unmask.programs.language.builders import Columns, HeadBuilder
from unmask.programs.language.coefficients import B
from unmask.programs.language.program import Program
from unmask.programs.recurrences.diffusion import start_layer
from unmask.programs.recurrences.features import Feature
from unmask.programs.recurrences.node import Features, Node, features
from unmask.programs.recurrences.plan import Plan, Planned


def system_loop(plan: Plan) -> Program:
    """One or three looped layers; the last rows hold the answers, in order."""
    vocabulary = plan.symbols.vocabulary
    program = Program(vocabulary.symbols, len(vocabulary.symbols), plan.length, plan.rows)
    node = Node.of(program, plan)
    listed = dict.fromkeys(f for group in plan.groups for f in plan.result_features(group))
    result = features(program, "value", list(listed))
    node.embed_own(range(vocabulary.letters))
    if plan.system.edits:
        start_layer(program, node, [], lambda feature: [result.columns[feature]])

    def bring(head: HeadBuilder, h: int) -> None:
        head.copy(node.own[h].all, node.fetched[h].all)
        source, target = _brought(plan, h, result, node.fetched[h])
        head.copy(source, target)

    def nothing(region: Planned) -> list[Columns]:  # noqa: ARG001
        return []

    first = len(program.layers)
    layer = program.layer()
    node.fetch(layer, bring)
    own_row = itself(layer, node.here)
    clear(own_row, *(read.all for read in node.fetched))
    if plan.channels:
        clear(own_row, *(found.all for found in node.found))
        node.find(layer.mlp, nothing)
        layer = program.layer()
        node.gather(layer)
        clear(itself(layer, node.here), *(f.all for kind in (node.share, node.some, node.lacking) for f in kind))
        layer = program.layer()
        own_row = itself(layer, node.here)
    clear(own_row, result.all)
    for region in plan.regions:
        if region.group is not None:
            node.units(layer.mlp, region, region.terms, [], lambda feature: [result.columns[feature]])
    program.loop = first, len(program.layers)
    _read_out(program, plan, result)
    return program


def _brought(plan: Plan, h: int, result: Features, fetched: Features) -> tuple[Columns, Columns]:
    """From what a slot has computed to the features that a head brings."""
    pairs: dict[tuple[int, int], None] = {}
    head = plan.heads[h]
    for group in plan.groups:
        if plan.coded_as_sets(group):
            kept: list[tuple[Feature, Feature]] = [(f, f) for f in plan.result_features(group)]
        else:
            tokens = zip(group.values, plan.symbols.tokens(group.values), strict=True)
            kept = [(("is", value), f) for value, token in tokens for f in sorted(head.meaning.get(token, ()), key=str)]
        pairs |= {(result.columns[a], fetched.columns[b]): None for a, b in kept if b in fetched.columns}
    listed = np.array(list(pairs), dtype=np.int64).reshape(-1, 2)
    return listed[:, 0], listed[:, 1]


def _read_out(program: Program, plan: Plan, result: Features) -> None:
    """B for what an answer row holds, or 0 for a set, which loses B for every item that is wrong; -B for all others."""
    group = plan.groups[-1]
    tokens = plan.symbols.tokens(group.values)
    if not plan.coded_as_sets(group):
        program.read_out(plan.symbols.vocabulary.everything, program.one, -B)
        for value, token in zip(group.values, tokens, strict=True):
            program.read_out(token, np.array([result.columns["is", value]]), B)
        return
    program.read_out(np.setdiff1d(plan.symbols.vocabulary.everything, tokens), program.one, -B)
    for value, token in zip(group.values, tokens, strict=True):
        wrong = [("out" if sort == "in" else "in", item) for sort, item in plan.token_features(group, value)]
        for column in result.of(wrong):
            program.read_out(token, np.array([column]), -B)
