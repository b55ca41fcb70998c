"""What a proof found, as lists: flags of rows, pairs (held, map), and tables over what is held, in order."""

from typing import Any

import numpy as np

from unmask.problems.automata.automaton import Automaton
from unmask.programs.language.instance import program_at
from unmask.verification.families.obligations.pairs import Maps, Pool
from unmask.verification.families.regular.chain import Chain
from unmask.verification.families.regular.claim import Claim
from unmask.verification.families.regular.diffusion import slot
from unmask.verification.families.regular.looped import Loop
from unmask.verification.families.regular.node import Node
from unmask.verification.families.regular.parallel import node_of

Found = dict[str, Any]


def witness_of(claim: Claim) -> Found:
    """Of a claim that was proved; states are numbered so that the automaton starts in 0, as `state_order` says."""
    kind = claim.family.kind
    if kind == "cot":
        return _chain(claim)
    if kind == "plt":
        return _loop(claim)
    if kind == "pcot":
        node = node_of(claim)
        node.close(node.mask)
        return _tree(claim, node, {"model": node})
    predictor = "model" if kind == "topk" else "predictor"
    node = slot(claim, predictor)
    node.never = node.mask
    node.close()
    planner = {} if kind == "topk" else {"planner": slot(claim, "planner")}
    return _tree(claim, node, {**planner, predictor: node})


def _tree(claim: Claim, node: Node, nodes: dict[str, Node]) -> Found:
    held = np.unique(node.pool.held)
    first, second = (axis.ravel() for axis in np.meshgrid(held, held, indexing="ij"))
    tables = {
        name: node.symbols(flags, first, second).reshape(held.size, -1).tolist()
        for name, flags in (("inner", node.inner), ("last", node.root))
    }
    flags = {
        name: {
            region: _flags(claim, name, vectors)
            for region, vectors in (("read", its.read), ("inner", its.inner), ("last", its.root))
        }
        for name, its in nodes.items()
    }
    return {**_pairs(node.pool, node.maps, claim), "flags": flags, "held": None, "tables": tables}


def _loop(claim: Claim) -> Found:
    loop = Loop(claim, (0, 1, 2))
    loop.close()
    assert loop.pool is not None
    count = len(loop.vectors)
    first, second = (axis.ravel() for axis in np.indices((count, count)))
    finite = _finite(claim, "model")
    back = {int(column): k for k, column in enumerate(finite) if column >= 0}
    held = [
        [[back[int(c)], int(vector[c])] for c in loop.told if vector[c]]  # columns keep their order
        for vector in loop.vectors
    ]
    said, made = loop.said(np.arange(count)), loop.table(first, second).reshape(count, -1)
    flags = {"model": {"every": _flags(claim, "model", loop.flags)}}
    tables = {"last": [said.tolist()], "product": made.tolist()}
    return {**_pairs(loop.pool, loop.maps, claim), "flags": flags, "held": held, "tables": tables}


def _chain(claim: Claim) -> Found:
    chain = Chain(claim)
    chain.close()
    renumbered = np.argsort(state_order(claim.automaton))
    pairs = sorted((int(x), int(renumbered[q])) for x, q in chain.pairs)
    symbols = np.array(sorted({x for x, _ in pairs}))
    tables = {
        "first": chain.first_symbols(chain.first)[None],
        "only": chain.first_symbols(chain.only)[None],
        "inner": chain.following(chain.inner, symbols),
        "last": chain.following(chain.last, symbols),
    }
    regions = {"letters": chain.letter_flags, "only": chain.only, "first": chain.first}
    regions |= {"inner": chain.inner, "last": chain.last}
    flags = {name: _flags(claim, "model", vectors) for name, vectors in regions.items()}
    listed = {name: table.tolist() for name, table in tables.items()}
    return {"elements": [], "flags": {"model": flags}, "held": None, "pairs": pairs, "tables": listed}


def _pairs(pool: Pool, maps: Maps, claim: Claim) -> Found:
    """Elements in order, and the pairs by their numbers."""
    order = np.array(state_order(claim.automaton))
    place = np.argsort(order)
    images = {int(f): tuple(place[maps.image(int(f))[order]].tolist()) for f in np.unique(pool.maps)}
    elements = sorted({*images.values()})
    number = {image: i for i, image in enumerate(elements)}
    pairs = sorted({(int(x), number[images[int(f)]]) for x, f in zip(pool.held, pool.maps, strict=True)})
    return {"elements": [list(image) for image in elements], "pairs": pairs}


def _finite(claim: Claim, name: str) -> np.ndarray:
    """Of every column of the program of every N its place at the least N; -1 for a code."""
    program = claim.program(name)
    made = program_at(program, claim.family.least)
    places = [[-1] if r in program.codes else made.columns(r) for r in program.registers]
    return np.concatenate(places)


def _flags(claim: Claim, name: str, vectors: np.ndarray) -> list[list[int]]:
    """Combinations of the columns that positions write, codes apart."""
    program = claim.program(name)
    declared = [
        r in program.positions and r not in program.codes for r, labels in program.registers.items() for _ in labels
    ]
    columns = _finite(claim, name)[np.array(declared)]
    values = vectors[columns].T // claim.precision.one
    return sorted(map(list, {tuple(int(v) for v in row) for row in values}))


def state_order(automaton: Automaton) -> list[int]:
    """The states, the start first."""
    return [automaton.start, *(q for q in range(automaton.states) if q != automaton.start)]
