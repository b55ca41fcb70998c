"""The parts that every circuit program shares: rows by table, wires that look up, gates that detect."""

from dataclasses import dataclass

import numpy as np

from unmask.programs.attention import eq, hide
from unmask.programs.circuit_plan import CircuitPlan
from unmask.programs.coefficients import ONE
from unmask.programs.expressions import N, choose, n
from unmask.programs.program import Columns, Flag, LayerBuilder, Program, TableBits, TableFlag, bits_for

BIT_NAMES = ("0", "1")


@dataclass(frozen=True, eq=False)
class CircuitRegisters:
    """Codes and flags of the rows of a plan."""

    one: Columns
    here: Columns
    source: Columns
    gate: Columns
    negates: Columns
    keeps: Columns
    is_and: Columns
    is_or: Columns
    not_wire: Columns
    not_gate: Columns


def circuit_registers(program: Program, plan: CircuitPlan) -> CircuitRegisters:
    """A wire's `source` is the row it reads, its `gate` the row it leads to; a gate's `gate` is itself.

    Rows that are neither read themselves, and ask for the first gate: some wire leads there, so they never divide
    by zero.
    """
    bits = bits_for(plan.rows)
    first_wire, first_gate = plan.length, plan.length + plan.wires
    wire, gate = (n >= first_wire), (n >= first_gate)
    source = np.concatenate([np.arange(plan.length), plan.source, np.arange(first_gate, plan.rows)])
    target = np.concatenate([np.full(plan.length, first_gate), plan.target, np.arange(first_gate, plan.rows)])
    negates = np.zeros(plan.rows, dtype=bool)
    negates[first_wire:first_gate] = plan.negated
    is_and = np.zeros(plan.rows, dtype=bool)
    is_and[first_gate:] = plan.is_and

    def flag(name: str, expression) -> Columns:
        return program.register(name, declaration=Flag(expression))

    def listed(name: str, table: np.ndarray) -> Columns:
        return program.register(name, declaration=TableFlag(table, n))

    is_wire = choose(gate, 0, wire)
    return CircuitRegisters(
        one=flag("one", n >= 0),
        here=program.register("here", bits, TableBits(np.arange(plan.rows), n)),
        source=program.register("source", bits, TableBits(source, n)),
        gate=program.register("gate", bits, TableBits(target, n)),
        negates=listed("negates", negates),
        keeps=listed("keeps", ~negates),
        is_and=listed("AND", is_and),
        is_or=listed("OR", ~is_and),
        not_wire=flag("no wire", choose(is_wire, 0, 1)),
        not_gate=flag("no gate", choose(gate, 0, 1) if plan.rows else N),
    )


def read_sources(layer: LayerBuilder, registers: CircuitRegisters, held: Columns, found: Columns) -> None:
    """Every wire looks up its source; `found` gets what that row holds."""
    head = layer.head()
    eq(head, registers.source, registers.here, registers.one)
    head.copy(held, found)


def negate_wires(layer: LayerBuilder, registers: CircuitRegisters, found: Columns, value: Columns) -> None:
    """value_b = found_b on a wire that keeps, found_{1-b} on one that negates."""
    mlp = layer.mlp
    for bit in (0, 1):
        for origin, forbidden in ((bit, registers.negates), (1 - bit, registers.keeps)):
            unit = mlp.units(1)
            mlp.read(unit, found[origin])
            mlp.read(unit, forbidden, -ONE)
            mlp.write(unit, value[bit])


def attend_wires(layer: LayerBuilder, registers: CircuitRegisters, value: Columns, average: Columns) -> None:
    """A gate attends to the wires that lead to it, all alike (lem:detection)."""
    head = layer.head()
    eq(head, registers.gate, registers.gate, registers.one)
    hide(head, registers.not_wire, registers.one, copies=1)
    head.copy(value, average)


def gate_value(
    layer: LayerBuilder, registers: CircuitRegisters, some: Columns, result: list[Columns], blocks: list[Columns]
) -> None:
    """AND is true unless some wire is 0, OR is true if some wire is 1; `some` says whether a 0 or a 1 is among them."""
    mlp = layer.mlp
    cases = (
        (1, registers.is_and, some[0]),
        (1, some[1], registers.is_and),
        (0, registers.is_or, some[1]),
        (0, some[0], registers.is_or),
    )
    for bit, positive, negative in cases:
        unit = mlp.units(1)
        mlp.read(unit, positive)
        mlp.read(unit, negative, -ONE)
        for block in blocks:
            mlp.read(unit, block, -ONE)
        for column in result[bit]:
            mlp.write(unit, column)
