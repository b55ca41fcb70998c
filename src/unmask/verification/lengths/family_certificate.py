"""A family that was proved → the document that `unmask.checker.families` checks.

The document contains the family itself, as numbers and formulas, the automaton, and the results of the proof: states of
scores, flags of rows, pairs and tables. The checker computes all results again; `checker/family_form.py` describes the
fields.
"""

import json
from collections.abc import Iterable
from hashlib import sha256
from typing import Any

import numpy as np

from unmask.expressions import Expression, fold
from unmask.numerics.arithmetic import Precision
from unmask.problems.automata.automaton import Automaton, renumbered
from unmask.problems.automata.groups_and_monoids import Monoid
from unmask.programs.declarations import Flag, OneHot, SignedBits
from unmask.programs.instance import program_at
from unmask.programs.program import Edges, HeadBuilder, MlpBuilder, Program, Weight, integers
from unmask.verification.lengths.head_reads import scores_of
from unmask.verification.lengths.obligations import ObligationFailed
from unmask.verification.lengths.regular_loops import ChainTable, LoopTable
from unmask.verification.lengths.regular_trees import LanguageClaim, ProductRow, block_row_of, slot_row
from unmask.verification.lengths.row_tables import PairPool

# The results of a proof, as lists: flags of rows, pairs (content, map), and tables over all contents, in order.


Results = dict[str, Any]


def results_of(claim: LanguageClaim) -> Results:
    """Return the results for a proved claim; states are numbered as in `state_order`, so that 0 is the start."""
    kind = claim.family.kind
    if kind == "cot":
        return _chain(claim)
    if kind == "plt":
        return _loop(claim)
    if kind == "pcot":
        node = block_row_of(claim)
        node.close(node.mask)
        return _tree(claim, node, {"model": node})
    predictor = "model" if kind == "topk" else "predictor"
    node = slot_row(claim, predictor)
    node.excluded = node.mask
    node.close()
    planner = {} if kind == "topk" else {"planner": slot_row(claim, "planner")}
    return _tree(claim, node, {**planner, predictor: node})


def _tree(claim: LanguageClaim, node: ProductRow, nodes: dict[str, ProductRow]) -> Results:
    contents = np.unique(node.pool.contents)
    first, second = (axis.ravel() for axis in np.meshgrid(contents, contents, indexing="ij"))
    tables = {
        name: node.symbols(flags, first, second).reshape(contents.size, -1).tolist()
        for name, flags in (("inner", node.inner), ("last", node.root))
    }
    flags = {
        name: {
            region: _flags(claim, name, vectors)
            for region, vectors in (("read", rows.read), ("inner", rows.inner), ("last", rows.root))
        }
        for name, rows in nodes.items()
    }
    return {**_pairs(node.pool, node.maps, claim), "flags": flags, "held": None, "tables": tables}


def _loop(claim: LanguageClaim) -> Results:
    loop = LoopTable(claim, (0, 1, 2))
    loop.close()
    assert loop.pool is not None
    count = len(loop.vectors)
    first, second = (axis.ravel() for axis in np.indices((count, count)))
    column_at_least = _columns_at_least(claim, "model")
    column_of = {int(column): k for k, column in enumerate(column_at_least) if column >= 0}
    contents = [
        [[column_of[int(c)], int(vector[c])] for c in loop.read_columns if vector[c]]  # in the order of the columns
        for vector in loop.vectors
    ]
    row_symbols, product_table = loop.row_symbols(np.arange(count)), loop.table(first, second).reshape(count, -1)
    flags = {"model": {"every": _flags(claim, "model", loop.flags)}}
    tables = {"last": [row_symbols.tolist()], "product": product_table.tolist()}
    return {**_pairs(loop.pool, loop.maps, claim), "flags": flags, "held": contents, "tables": tables}


def _chain(claim: LanguageClaim) -> Results:
    chain = ChainTable(claim)
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


def _pairs(pool: PairPool, maps: Monoid, claim: LanguageClaim) -> Results:
    """Return the elements in order, and the pairs with their numbers."""
    order = np.array(state_order(claim.automaton))
    new_number = np.argsort(order)
    images = {int(f): tuple(new_number[maps.elements[f][order]].tolist()) for f in np.unique(pool.maps)}
    elements = sorted({*images.values()})
    number = {image: i for i, image in enumerate(elements)}
    pairs = sorted({(int(x), number[images[int(f)]]) for x, f in zip(pool.contents, pool.maps, strict=True)})
    return {"elements": [list(image) for image in elements], "pairs": pairs}


def _columns_at_least(claim: LanguageClaim, name: str) -> np.ndarray:
    """Return for every column of the program for every N its number at the least N, -1 for a code."""
    program = claim.program(name)
    smallest = program_at(program, claim.family.least)
    columns = [[-1] if r in program.codes else smallest.columns(r) for r in program.registers]
    return np.concatenate(columns)


def _flags(claim: LanguageClaim, name: str, vectors: np.ndarray) -> list[list[int]]:
    """Return the combinations of values in the columns that positions write, without codes."""
    program = claim.program(name)
    declared = [
        r in program.positions and r not in program.codes for r, labels in program.registers.items() for _ in labels
    ]
    columns = _columns_at_least(claim, name)[np.array(declared)]
    values = vectors[columns].T // claim.precision.one
    return sorted(map(list, {tuple(int(v) for v in row) for row in values}))


def state_order(automaton: Automaton) -> list[int]:
    """Return the states, the start first."""
    return [automaton.start, *(q for q in range(automaton.states) if q != automaton.start)]


COMMUTATIVE = ("+", "·", "=")


def certificate_of(claim: LanguageClaim) -> dict[str, Any]:
    """Return the document; the results are computed again from the claim."""
    family, precision = claim.family, claim.precision
    design, vocabulary, programs = family.design, family.design.vocabulary, family.design.programs
    roles = {role: vocabulary.name(role) for role in ("mask", "pad", "accept", "reject")}
    frame = {
        "steps": nested_formula(design.steps),
        "padding": nested_formula(design.padding),
        "block": None if design.block is None else nested_formula(design.block),
        "vocabulary": list(vocabulary.symbols),
        "input_symbols": list(vocabulary.input_symbols),
        **roles,
        "characters": None if family.characters is None else [list(part) for part in family.characters],
    }
    automaton = with_start_zero(claim.automaton)
    scores = {
        name: [scores_of(program, head, precision) for layer in program.layers for head in layer.heads]
        for name, program in programs.items()
    }
    results = results_of(claim)
    proof = {"elements": results["elements"], "scores": scores, **results}
    document = {
        "format": "unmask-family/1",
        "kind": family.kind,
        "precision": precision.p,
        "least": family.least,
        "frame": frame,
        "programs": {name: _program(program, precision) for name, program in programs.items()},
        "automaton": _automaton(automaton),
        "proof": proof,
    }
    plain = json.dumps(document, ensure_ascii=True, separators=(",", ":"), default=_number)
    return {**json.loads(plain), "seal": sha256(plain.encode()).hexdigest()}


def nested_formula(size: Expression) -> Any:
    """Return a formula as nested lists; operands that may be swapped are sorted."""

    def node(expression: Expression, parts: list[Any]) -> Any:
        if expression.operator == "variable" and expression.name in ("n", "N"):
            return expression.name
        if expression.operator == "constant":
            return expression.value
        if not parts:
            raise ObligationFailed(f"{expression} is not a formula of the operators of positions")
        return [expression.operator, *(sorted(parts, key=repr) if expression.operator in COMMUTATIVE else parts)]

    return fold(size, node)


def with_start_zero(automaton: Automaton) -> Automaton:
    """Return the same automaton with its start state numbered 0."""
    delta, start, accepting = renumbered(automaton.delta, automaton.start, automaton.accepting, state_order(automaton))
    return Automaton(automaton.tokens, delta, start, accepting, automaton.characters)


def _automaton(automaton: Automaton) -> dict[str, Any]:
    characters = automaton.characters
    return {
        "tokens": list(automaton.tokens) if characters is None else None,
        "characters": None if characters is None else [list(part) for part in characters],
        "delta": automaton.delta.tolist(),
        "accepting": automaton.accepting.tolist(),
    }


def _program(program: Program, precision: Precision) -> dict[str, Any]:
    assert program.rows_in_length is not None
    return {
        "attention": program.attention,
        "loop": None if program.loop is None else list(program.loop),
        "rows": nested_formula(program.rows_in_length),
        "columns": [column for name in program.registers for column in _columns(program, name)],
        "embed": _entries(program.embedding, precision),
        "layers": [
            {"heads": [_head(head, precision) for head in layer.heads], "mlp": _mlp(layer.mlp, precision)}
            for layer in program.layers
        ],
        "outputs": program.outputs,
        "out": _entries(program.readout, precision),
    }


def _columns(program: Program, name: str) -> list[Any]:
    declared, width = program.positions.get(name), len(program.registers[name])
    if name in program.codes:
        assert isinstance(declared, SignedBits)
        return [["code", nested_formula(declared.expression), nested_formula(program.codes[name])]]
    if declared is None:
        return [None] * width
    if isinstance(declared, Flag):
        return [["flag", nested_formula(declared.expression)]] * width
    if not isinstance(declared, OneHot):
        raise ObligationFailed(
            f"the register {name} is declared by {type(declared).__name__}, which is not written down"
        )
    hot = [sorted([nested_formula(declared.expression), i], key=repr) for i in range(width)]
    flags: list[Any] = [["=", *operands] for operands in hot]
    return [["flag", f if declared.only is None else ["if", nested_formula(declared.only), f, 0]] for f in flags]


def _head(head: HeadBuilder, precision: Precision) -> dict[str, Any]:
    if head.blocks != [(0, head.width)]:
        raise ObligationFailed("a head has other columns than those of one comparison of codes")
    matrices = {"query": head.query, "key": head.key, "value": head.value}
    return {"size": head.width, **{name: _entries(edges, precision) for name, edges in matrices.items()}}


def _mlp(mlp: MlpBuilder, precision: Precision) -> dict[str, Any]:
    return {
        "size": mlp.size,
        "w1": _entries(mlp.inputs, precision),
        "b1": _vector(mlp.biases, precision),
        "w2": _entries(mlp.outputs, precision),
        "b2": _vector(mlp.offsets, precision),
    }


def _entries(edges: Iterable[Edges], precision: Precision) -> list[list[int]]:
    listed = [
        [int(a), int(b), int(value)]
        for group in edges
        for a, b, value in zip(
            group.source, group.target, _integers(group.weight, group.source.size, precision), strict=True
        )
    ]
    return sorted(entry for entry in listed if entry[2])


def _vector(groups: Iterable[tuple[np.ndarray, Weight]], precision: Precision) -> list[list[int]]:
    listed = [
        [int(column), int(value)]
        for columns, weight in groups
        for column, value in zip(columns, _integers(weight, columns.size, precision), strict=True)
    ]
    return sorted(entry for entry in listed if entry[1])


def _integers(weight: Weight, count: int, precision: Precision) -> np.ndarray:
    return np.broadcast_to(integers(weight, precision), (count,))


def _number(value: Any) -> int:
    """Return an integer of NumPy as one of Python, for JSON."""
    return value.item()
