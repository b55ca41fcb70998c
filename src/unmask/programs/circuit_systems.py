"""Circuits as systems of recurrences: by depth, gate by gate, and families of circuits as one recurrence in N.

`programs/recurrences` turns a system into programs: the masked diffusion model, the looped model (`system_loop`) and
the chain of thought of a circuit.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from unmask.expressions import Expression, N, choose, indices, log2_above, power_of_two_below, table
from unmask.problems.circuits.circuit import Circuit, Gate, with_binary_gates, with_output_gates
from unmask.recurrences.slots import BOOLEAN, Read, Slot, Slots, every, letter, number, pick, some
from unmask.recurrences.system import System

k, w = indices("gate wire")


@dataclass(frozen=True)
class CircuitSize:
    """The size of a circuit's model: a slot per wire and per gate, a step per level."""

    wires: int
    gates: int
    depth: int

    @property
    def slots(self) -> int:
        return self.wires + self.gates

    @classmethod
    def of(cls, circuit: Circuit) -> "CircuitSize":
        inner, outputs = with_output_gates(circuit)
        gates = [*inner, *outputs]
        levels = [0] * (1 + len(circuit.inputs))  # a constant, and the inputs
        for gate in gates:
            levels.append(1 + max((levels[x >> 1] for x in gate.inputs), default=0))
        return cls(sum(len(gate.inputs) for gate in gates), len(gates), max(levels[len(levels) - len(outputs) :]))


def circuit_system(circuit: Circuit, letters: tuple[str, str]) -> System:
    """Return the system of a circuit; its steps are the depth of the circuit (behind cor:mdms-with-constant-steps).

    Statement:    a circuit of depth d with w wires and g gates is decided by a masked diffusion model with d steps and
                  w + g slots, and by a looped transformer with d loops and w + g pads; so AC^d ⊆ MDM[O(log^d N),
                  poly(N)].
    Construction: gate[k]  =  ∀ wire of k: bit ≠ negated      (AND),      ∃ wire of k: bit ≠ negated      (OR)
                  A row per wire looks up its source. A gate attends to its wires; it detects a wire that decides it,
                  and a wire whose source is masked (`programs/recurrences`). The gates of the outputs are last.
    Bounds:       T = depth, P = wires + gates; predictor 3 layers, planner 2, loop 3; width O(log(N + P)).
    Exactness:    for any fan-in and p >= 1: averages are only ever compared with 0 (lem:detection).
    Deviations:   directly from the circuit, with far fewer slots; the paper goes through looped transformers.
    """
    inner, outputs = with_output_gates(circuit)
    gates = [*inner, *outputs]
    first = table(np.concatenate([[0], np.cumsum([len(gate.inputs) for gate in gates])]).tolist())
    is_and = table([gate.kind == "and" for gate in gates])
    slots = Slots("gate", k.range(len(gates)), BOOLEAN)
    literals = [x for gate in gates for x in gate.inputs]
    wire = (literal_read(slots, len(circuit.inputs), literals, w, letters), number(table([x & 1 for x in literals])(w)))
    wires = w.range(first(k), first(k + 1))
    slots.rule(every(wires, wire, lambda bit, negated: bit != negated), bool, where=is_and(k).equals(1))
    slots.rule(some(wires, wire, lambda bit, negated: bit != negated), bool)
    return System(letters, slots, output_slots(slots, gates, len(outputs)), name="circuit")


def literal_read(slots: Slots, inputs: int, literals: list[int], index: Expression, letters: tuple[str, str]) -> Read:
    """Return the read of literal `index` of a list, without its sign: an input or a gate."""
    node = table([x >> 1 for x in literals])(index)
    input_bit = letter(node - 1).map(lambda symbol: symbol == letters[1])
    return pick(node <= inputs, input_bit, slots[node - (1 + inputs)])


def output_slots(slots: Slots, gates: list[Gate], outputs: int) -> list[Slot]:
    """The gates of the outputs, which are the last gates."""
    return [slots[len(gates) - outputs + i] for i in range(outputs)]


def chain_gates(circuit: Circuit) -> list[Gate]:
    """Gates of fan-in one or two in the order of the steps, those of the outputs last."""
    inner, outputs = with_output_gates(with_binary_gates(circuit))
    return [*inner, *outputs]


def chain_system(circuit: Circuit, gates: list[Gate], letters: tuple[str, str]) -> System:
    """Return the system of a circuit with one gate per step; a gate with one input reads it twice.

    Statement:    a circuit with s gates of fan-in two is decided by a chain of thought with s steps.
    Construction: gate[t]  =  (bit 0 ≠ negated 0) ∧ or ∨ (bit 1 ≠ negated 1);   symbol t is the value of gate t, the row
                  before it looks up the two values that gate t reads (`programs/recurrences`).
    Bounds:       T = size (at least the number of outputs), one symbol per step; 1 layer; width O(log(N + T)).
    Exactness:    for p >= 1.
    """
    slots = Slots("gate", k.range(len(gates)), BOOLEAN)
    operands = [[(gate.inputs * 2)[side] for gate in gates] for side in (0, 1)]
    bits = [literal_read(slots, len(circuit.inputs), side, k, letters) for side in operands]
    signs = [number(table([x & 1 for x in side])(k)) for side in operands]
    kind = number(table([gate.kind == "and" for gate in gates])(k))
    slots.rule((*bits, *signs, kind), _gate)
    return System(letters, slots, output_slots(slots, gates, len(circuit.outputs)), name="circuit")


def _gate(left: bool, right: bool, not_left: int, not_right: int, is_and: int) -> bool:
    a, b = left != not_left, right != not_right
    return a and b if is_and else a or b


Letters = tuple[str, str]
i, j = indices("i j")


def uniform_system(family: str, letters: Letters) -> System | None:
    """Return the system of a family of circuits for all lengths except the shortest, or None if it has no system.

    | family       | system                                                          | steps    | slots          |
    |--------------|-----------------------------------------------------------------|----------|----------------|
    | parity       | entry 2j ≠ entry 2j + 1 of a queue: the letters, then the slots | ⌈log2 N⌉ | N - 1          |
    | formula      | node j joins 2j and 2j + 1 of a heap with the letters as leaves | ⌈log2 N⌉ | 2^⌈log2 N⌉ - 1 |
    | contains-aba | ∃ i < N - 2: the letters i, i + 1, i + 2 are a, b, a            | 1        | N - 1          |
    | equal-halves | ∀ i < N/2: the letters i and i + N/2 are equal, and N is even   | 1        | N/2 + 1, or 2  |

    A gate of parity and formula reads two bits, so that a slot can hold it without a row for each wire; their circuits,
    with a slot per wire, take more steps (XOR is two levels of gates) and about three slots for each. In the other two
    a row reads all letters of a window or a pair, while a circuit needs a gate with a slot for each of its wires.
    """
    return UNIFORM[family][1](letters) if family in UNIFORM else None


def least_length(family: str) -> int:
    return UNIFORM[family][0]


def _parity(letters: Letters) -> System:
    """Parity by a tree. Unless N is a power of two, the queue starts with the last letters, which keeps the order."""
    odd = Slots("odd", j.range(N - 1), BOOLEAN)
    early = 2 * (N - power_of_two_below(N))

    def entry(e: Expression) -> Read:
        return pick(e < N, letter((e - early + N) % N).map(lambda x: x == letters[1]), odd[e - N])

    odd.rule((entry(2 * j), entry(2 * j + 1)), lambda a, b: a != b)
    return System(letters, odd, answer=odd[N - 2], name="parity")


def _formula(letters: Letters) -> System:
    """Formula by NANDs: bits of odd levels are negated, so NAND is AND there and OR elsewhere. None: no letter."""
    leaves = choose(power_of_two_below(N) < N, 2 * power_of_two_below(N), power_of_two_below(N))
    node = Slots("node", j.range(2, leaves), (False, True, None))
    root = Slots("root", (), BOOLEAN)

    def entry(e: Expression) -> Read:
        leaf = letter(e - leaves).or_else(None).map(lambda x: None if x is None else x == letters[1])
        return pick(e < leaves, node[e], leaf)

    def joined(a: Any, b: Any) -> Any:
        return None if a is None else not (a and (b is None or b))

    node.rule((entry(2 * j), entry(2 * j + 1)), joined)
    odd = number(log2_above(N) % 2)
    root.rule((node[2], node[3], odd), lambda a, b, odd: bool(joined(a, b)) != bool(odd))
    return System(letters, (node, root), answer=root[()], name="formula")


def _contains_aba(letters: Letters) -> System:
    a, b = letters
    contains = Slots("found", (), BOOLEAN)
    window = (letter(i), letter(i + 1), letter(i + 2))
    contains.rule(some(i.range(N - 2), window, lambda *symbols: symbols == (a, b, a)), bool)
    return System(letters, contains, answer=contains[()], name="contains-aba")


def _equal_halves(letters: Letters) -> System:
    """Equal halves. In a word of odd length one pair is read and ignored."""
    equal = Slots("equal", (), BOOLEAN)
    half = choose((N % 2).equals(0), N // 2, 1)
    same = every(i.range(half), (letter(i), letter(i + half)), lambda left, right: left == right)
    equal.rule((same, number(N % 2)), lambda same, odd: same and not odd)
    return System(letters, equal, answer=equal[()], name="equal-halves")


UNIFORM: dict[str, tuple[int, Callable[[Letters], System]]] = {
    "parity": (2, _parity),
    "formula": (3, _formula),
    "contains-aba": (3, _contains_aba),
    "equal-halves": (2, _equal_halves),
}
"""Family → the least length of its system, and the system."""
