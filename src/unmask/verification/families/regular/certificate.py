"""A family that was proved → the document that `unmask.checker.families` replays.

It holds the family itself, as numbers and formulas, the automaton, and what the proof found: states of scores, flags
of rows, pairs and tables. The checker recomputes all of it; its `form` says what each field is.
"""

import json
from collections.abc import Iterable
from hashlib import sha256
from typing import Any

import numpy as np

from unmask.numerics.precision import Precision
from unmask.problems.automata.automaton import Automaton
from unmask.problems.automata.minimisation import renumbered
from unmask.programs.language.builders import Edges, HeadBuilder, MlpBuilder, Weight
from unmask.programs.language.coefficients import integers
from unmask.programs.language.declarations import Flag, OneHot, SignedBits
from unmask.programs.language.positions import Expression, by_parts
from unmask.programs.language.program import Program
from unmask.verification.families.obligations.heads import scores_of
from unmask.verification.families.obligations.ledger import Open
from unmask.verification.families.regular.claim import Claim
from unmask.verification.families.regular.witness import state_order, witness_of

COMMUTATIVE = ("+", "·", "=")


def certificate_of(claim: Claim) -> dict[str, Any]:
    """The document; it is built from what the claim says, once more, and not from the ledger."""
    family, precision = claim.family, claim.precision
    design, vocabulary, programs = family.design, family.design.vocabulary, family.design.programs
    roles = {role: vocabulary.name(role) for role in ("mask", "pad", "accept", "reject")}
    frame = {
        "steps": formula(design.steps),
        "padding": formula(design.padding),
        "block": None if design.block is None else formula(design.block),
        "vocabulary": list(vocabulary.symbols),
        "input_symbols": list(vocabulary.input_symbols),
        **roles,
        "characters": None if family.characters is None else [list(part) for part in family.characters],
    }
    automaton = from_zero(claim.automaton)
    scores = {
        name: [scores_of(program, head, precision) for layer in program.layers for head in layer.heads]
        for name, program in programs.items()
    }
    witness = witness_of(claim)
    proof = {"elements": witness["elements"], "scores": scores, **witness}
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


def formula(size: Expression | int) -> Any:
    """A formula as a list, its operands in order where they may be swapped."""
    if isinstance(size, int):
        return size

    def node(expression: Expression, parts: list[Any]) -> Any:
        if expression.operator in ("n", "N"):
            return expression.operator
        if expression.operator == "constant":
            return expression.value
        if expression.operator is None:
            raise Open(f"{expression} is not a formula of the operators of positions")
        return [expression.operator, *(sorted(parts, key=repr) if expression.operator in COMMUTATIVE else parts)]

    return by_parts((size,), node)[id(size)]


def from_zero(automaton: Automaton) -> Automaton:
    """The same automaton with its start state numbered 0."""
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
    assert program.every is not None
    return {
        "attention": program.attention,
        "loop": None if program.loop is None else list(program.loop),
        "rows": formula(program.every),
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
        return [["code", formula(declared.expression), formula(program.codes[name])]]
    if declared is None:
        return [None] * width
    if isinstance(declared, Flag):
        return [["flag", formula(declared.expression)]] * width
    if not isinstance(declared, OneHot):
        raise Open(f"the register {name} is declared by {type(declared).__name__}, which is not written down")
    hot = [sorted([formula(declared.expression), i], key=repr) for i in range(width)]
    flags: list[Any] = [["=", *operands] for operands in hot]
    return [["flag", f if declared.only is None else ["if", formula(declared.only), f, 0]] for f in flags]


def _head(head: HeadBuilder, precision: Precision) -> dict[str, Any]:
    if head.blocks != [(0, head.width)]:
        raise Open("a head has other columns than those of one comparison of codes")
    sides = {"query": head.query, "key": head.key, "value": head.value}
    return {"size": head.width, **{name: _entries(edges, precision) for name, edges in sides.items()}}


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
        for one in edges
        for a, b, value in zip(one.source, one.target, _integers(one.weight, one.source.size, precision), strict=True)
    ]
    return sorted(entry for entry in listed if entry[2])


def _vector(parts: Iterable[tuple[np.ndarray, Weight]], precision: Precision) -> list[list[int]]:
    listed = [
        [int(column), int(value)]
        for columns, weight in parts
        for column, value in zip(columns, _integers(weight, columns.size, precision), strict=True)
    ]
    return sorted(entry for entry in listed if entry[1])


def _integers(weight: Weight, count: int, precision: Precision) -> np.ndarray:
    return np.broadcast_to(integers(weight, precision), (count,))


def _number(value: Any) -> int:
    """NumPy's integers, in JSON."""
    return value.item()
