"""Regular languages by a tree of states: |Q| rows per node, for automata whose transition monoid is too large to list.

Row q of a node holds f(q), for f the map of the node's factor of the word. Then (f·h)(q) = h(f(q)): row q looks up row
q of its left factor, finds r = f(q), and looks up row r of its right factor: the second address depends on what the
first lookup returned. A factor may also be an input letter a, with f = δ(·, a) read from the transition table, or
absent, the identity.

    layer 1   LOOKUP (left factor, q); MLP: r
    layer 2   LOOKUP (right factor, r); MLP: h(r), and in the last row accept or reject

Bounds, for a minimal automaton with |Q| states and any monoid: 2 layers, 3·|Q|·|Σ| + O(|Q|) hidden units, width
O(|Q| + |Σ| + log N); p >= 2.
    mdm    T = ⌈log2 N⌉, P = (N - 2)·|Q| + 1                  (1 and 1 for N <= 1)
    pcot   T = ⌈log2 N⌉, P' = ⌈N/2⌉·|Q|                       (1 and 1 for N <= 2)
The root needs only its row for the start state, which is the last slot and emits the answer.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from unmask.expressions import Expression, N, both, choose, constant, n
from unmask.problems.automata.automaton import Automaton
from unmask.programs.declarations import OneHot
from unmask.programs.gadgets.attention import encoded, lookup, match, scaled
from unmask.programs.gadgets.mlp import conjunction
from unmask.programs.planner_programs import readiness_planner
from unmask.programs.program import (
    ONE,
    B,
    Coefficient,
    Columns,
    HeadBuilder,
    LayerBuilder,
    MlpBuilder,
    Program,
    Vocabulary,
    bits_for,
)
from unmask.programs.regular.product_tree import queue_factor, tree_steps
from unmask.weights.transformer import Attention


@dataclass(frozen=True)
class StateLayout:
    """The positions of rows and factors, as expressions; an input row has the value of a letter at its position."""

    length: int
    rows: int
    nodes: int  # the number of possible node numbers
    states: int
    node: Expression  # the node of a row; letter i is node i
    state: Expression  # the state q of a row, 0 for a letter
    slot: Expression  # [the row is a slot]
    left: Expression  # node of the left factor; the row's own node if it has none
    left_state: Expression  # q, or 0 if the left factor is a letter
    left_absent: Expression
    right: Expression
    right_fixed: Expression  # [the right factor is a letter or absent]: its row does not depend on r
    right_absent: Expression
    waits: bool  # a row may be read before it is written
    attention: Attention


WeightedColumns = tuple[Columns, Coefficient]


def state_node(automaton: Automaton, vocabulary: Vocabulary, layout: StateLayout, *, own_slot: bool = False) -> Program:
    """Return the program of every row; symbols after the letters are states. `own_slot` as in `product_node`."""
    program = Program(vocabulary.symbols, len(vocabulary.symbols), layout.length, layout.rows, layout.attention)
    registers = _StateRegisters.of(program, automaton, vocabulary, layout)
    written = vocabulary.letters + np.arange(automaton.states)
    program.embed(np.arange(vocabulary.letters), registers.letter)
    program.embed(written, registers.arrived)
    program.embed(vocabulary["mask"], registers.masked)

    first, second = program.layer(), program.layer()
    _follow_left(first, automaton, registers)
    _follow_right(second, automaton, registers, waits=layout.waits, own_slot=own_slot)
    _set_ready(second.mlp, registers, waits=layout.waits)
    _read_out(program, vocabulary, written, registers, own_slot=own_slot)
    return program


class _Fetched:
    """The registers for the result of a lookup: a letter, a state, or a mask."""

    def __init__(self, program: Program, side: str, letters: Sequence[str], states: Sequence[str]) -> None:
        self.letter = program.register(f"{side} letter", letters)
        self.state = program.register(f"{side} holds", states)
        self.masked = program.register(f"{side} masked")


@dataclass(frozen=True, eq=False)
class _StateRegisters:
    """The registers of row q of a node: its value, the positions and values of its factors, the states r and h(r)."""

    masked: Columns
    letter: Columns
    arrived: Columns
    node: Columns
    state: Columns
    state_flags: Columns
    left: Columns
    left_state: Columns
    right: Columns
    right_state: Columns
    fixed: Columns
    absent: list[Columns]
    fetched: list[_Fetched]
    middle: Columns
    middle_address: Columns
    ready: Columns
    result: list[Columns]
    accepted: Columns
    rejected: Columns
    last: Columns
    inner: Columns

    @classmethod
    def of(
        cls, program: Program, automaton: Automaton, vocabulary: Vocabulary, layout: StateLayout
    ) -> "_StateRegisters":
        states, letters = [f"q{q}" for q in range(automaton.states)], vocabulary.input_symbols
        node_bits, state_bits = bits_for(layout.nodes), bits_for(automaton.states)
        fixed_right_state = choose(layout.right_absent, layout.state, 0)
        return cls(
            masked=program.register("masked"),
            letter=program.register("own letter", letters),
            arrived=program.register("own state", states),
            node=program.code("node", layout.node, node_bits),
            state=program.code("state", layout.state, state_bits),
            state_flags=program.register("q", states, OneHot(layout.state, only=layout.slot)),
            left=program.code("left node", layout.left, node_bits),
            left_state=program.code("left state", layout.left_state, state_bits),
            right=program.code("right node", layout.right, node_bits),
            right_state=program.code("right state", fixed_right_state, state_bits, only=layout.right_fixed),
            fixed=program.flag("right is fixed", layout.right_fixed),
            absent=[
                program.flag("left absent", layout.left_absent),
                program.flag("right absent", layout.right_absent),
            ],
            fetched=[_Fetched(program, side, letters, states) for side in ("left", "right")],
            middle=program.register("r", states),
            middle_address=program.register("r as address", states),
            ready=program.register("ready"),
            result=[program.register(f"result, copy {i}", states) for i in (1, 2)],
            accepted=program.register("accepted", 2),
            rejected=program.register("rejected", 2),
            # twice, and after the choice: B - B - B = -B suppresses symbols out of place
            last=program.flag("last row", n.equals(layout.rows - 1), 2),
            inner=program.flag("inner row", n < layout.rows - 1, 2),
        )

    @property
    def address(self) -> Columns:
        """The code (node, q) of a row."""
        return np.concatenate([self.node, self.state])

    def fetch(self, head: HeadBuilder, fetched: _Fetched) -> None:
        """The value of the row that a head attends to."""
        head.copy(self.letter, fetched.letter)
        head.copy(self.arrived, fetched.state)
        head.copy(self.masked, fetched.masked)

    def verdicts(self, automaton: Automaton, reached: np.ndarray) -> list[Columns]:
        """The columns for the state in which a path arrived, and whether that state accepts."""
        accepts = automaton.accepting[reached]
        states = [columns[reached] for columns in self.result]
        return states + [np.where(accepts, self.accepted[i], self.rejected[i]) for i in (0, 1)]


def _follow_left(layer: LayerBuilder, automaton: Automaton, registers: _StateRegisters) -> None:
    """Layer 1: LOOKUP (left factor, q); r, and r as an address unless the right factor's row is fixed."""
    fetched, absent = registers.fetched[0], registers.absent[0]
    registers.fetch(lookup(layer, np.concatenate([registers.left, registers.left_state]), registers.address), fetched)
    for blocks, target in (([], registers.middle), ([(registers.fixed, -ONE)], registers.middle_address)):
        arrive = _Arrival(layer.mlp, automaton, blocks, lambda reached, target=target: [target[reached]])
        arrive.arrived(fetched.state, [(absent, -ONE)])
        arrive.moved(registers.state_flags, fetched.letter)
        arrive.stayed(registers.state_flags, absent)
    # while the left factor is masked, r is unknown: look up state 0, so that some row is attended to
    nowhere = conjunction(layer.mlp, fetched.masked, [np.concatenate([registers.fixed, absent])])
    layer.mlp.write(nowhere, registers.middle_address[:1])


def _follow_right(
    layer: LayerBuilder, automaton: Automaton, registers: _StateRegisters, *, waits: bool, own_slot: bool
) -> None:
    """Layer 2: LOOKUP (right factor, r); h(r), and whether it accepts."""
    left, right = registers.fetched
    state_bits = zip(encoded(registers.middle_address, registers.state.size), registers.right_state, strict=True)
    head = layer.head()
    match(head, [*scaled(registers.right, B), *([*form, (bit, B)] for form, bit in state_bits)], registers.address)
    registers.fetch(head, right)
    gate: list[WeightedColumns] = [(head.one, -ONE), (registers.masked, ONE)] if own_slot else []
    arrive = _Arrival(layer.mlp, automaton, gate, lambda reached: registers.verdicts(automaton, reached))
    arrive.arrived(right.state, [(left.masked, -ONE)] if waits else [])
    arrive.moved(registers.middle, right.letter)
    arrive.stayed(registers.middle, registers.absent[1])


def _set_ready(mlp: MlpBuilder, registers: _StateRegisters, *, waits: bool) -> None:
    """ready = no factor is masked; always 1 if all factors are written."""
    unit = mlp.units(1, bias=ONE)
    for fetched in registers.fetched if waits else []:
        mlp.read(unit, fetched.masked, -ONE)
    mlp.write(unit, registers.ready)


def _read_out(
    program: Program, vocabulary: Vocabulary, written: np.ndarray, registers: _StateRegisters, *, own_slot: bool
) -> None:
    """Set the logits: -B for all symbols, B twice for the choice, -B twice for symbols that the row cannot hold."""
    holdable = np.concatenate([written, vocabulary.verdicts])
    never = np.setdiff1d(vocabulary.all_tokens, holdable)
    program.read_out(vocabulary.all_tokens if own_slot else never, program.one, -B)
    if not own_slot:
        program.read_out(holdable, registers.ready, -B)
    for columns in registers.result:
        program.read_out(written, columns, B)
    program.read_out(vocabulary["accept"], registers.accepted, B)
    program.read_out(vocabulary["reject"], registers.rejected, B)
    for symbols, out_of_place in ((written, registers.last), (vocabulary.verdicts, registers.inner)):
        for column in out_of_place:
            program.read_out(symbols, column, -B)


@dataclass(frozen=True)
class _Arrival:
    """Hidden units that each mean "the path arrives in this state"; at most one of them is 1."""

    mlp: MlpBuilder
    automaton: Automaton
    blocks: list[WeightedColumns]
    targets: Callable[[np.ndarray], list[Columns]]

    def arrived(self, state: Columns, blocks: list[WeightedColumns]) -> None:
        """The row that was fetched holds s: arrive in s."""
        self._units(np.arange(state.size), [state], [*self.blocks, *blocks], bias=None)

    def moved(self, state: Columns, letter: Columns) -> None:
        """The row that was fetched is a letter a: from r arrive in δ(r, a)."""
        r, a = (axis.ravel() for axis in np.indices(self.automaton.delta.shape))
        self._units(self.automaton.delta.ravel(), [state[r], letter[a]], self.blocks, bias=-ONE)

    def stayed(self, state: Columns, absent: Columns) -> None:
        """Without a factor: the state stays the same."""
        self._units(np.arange(state.size), [state, absent], self.blocks, bias=-ONE)

    def _units(
        self, reached: np.ndarray, positive: list[Columns], blocks: list[WeightedColumns], bias: Coefficient | None
    ) -> None:
        units = self.mlp.units(reached.size, bias=bias)
        for columns in positive:
            self.mlp.read(units, columns)
        for columns, weight in blocks:
            self.mlp.read(units, columns, weight)
        for target in self.targets(reached):
            self.mlp.write(units, target)


def diffusion_slots(length: int, states: int) -> int:
    """P."""
    return max(0, length - 2) * states + 1


def diffusion_layout(length: int, states: int) -> StateLayout:
    """The queue of `product_tree`, with each node spread over |Q| slots."""
    slot = n >= N
    number = (n - N) // states
    node = choose(slot, N + number, n)
    state = choose(slot, (n - N) % states, 0)
    factors = [node if length == 0 else choose(slot, queue_factor(number, side), n) for side in (0, 1)]
    missing = [constant(int(length == 0)), constant(int(length <= 1))]
    return StateLayout(
        length=length,
        rows=length + diffusion_slots(length, states),
        nodes=max(2, 2 * length),
        states=states,
        node=node,
        state=state,
        slot=slot,
        **_factors(slot, state, factors, missing),
        waits=length > 1,
        attention="unmasked",
    )


def state_planner(vocabulary: Vocabulary, layout: StateLayout) -> Program:
    """Choose a masked slot once neither factor is masked; the rows of one node are all written in one step."""
    states = layout.states
    first_row = [choose(f < N, f, N + states * (f - N)) for f in (layout.left, layout.right)]
    children = (first_row[0] + layout.left_state, first_row[1]) if layout.waits else ()
    capacity = max(layout.rows, (states + 1) * layout.length)
    return readiness_planner(vocabulary, constant(layout.rows), children, capacity=constant(capacity))


def parallel_block(length: int, states: int) -> int:
    """P'; if one step is enough, only the root."""
    return 1 if tree_steps(length) <= 1 else _level_width(length) * states


def _level_width(length: int) -> int:
    """⌈N/2⌉, at least 1: the number of entries of a level."""
    return max(1, (length + 1) // 2)


def parallel_layout(length: int, states: int) -> StateLayout:
    """The levels of `product_tree`, with each entry spread over |Q| rows."""
    steps, block, width = max(1, tree_steps(length)), parallel_block(length, states), _level_width(length)
    rows = length + steps * block
    slot, root = n >= N, n.equals(rows - 1)
    level = (n - N) // block
    within = (n - N) % block
    entry = choose(root, 0, within // states)
    state = choose(both(slot, n < rows - 1), within % states, 0)
    # the root has a separate number: its row must not be confused with entry 0 of its level
    node = choose(slot, choose(root, N + steps * width, N + width * level + entry), n)
    factors, missing = [], []
    for side in (0, 1):
        child = 2 * entry + side
        inside = choose(level.equals(0), child < N, child < width)
        position = choose(level.equals(0), child, N + width * (level - 1) + child)
        factors.append(choose(slot, choose(inside, position, node), n))
        missing.append(choose(slot, 1 - inside, 0))
    return StateLayout(
        length=length,
        rows=rows,
        nodes=max(16 * length, length + steps * width + 1),
        states=states,
        node=node,
        state=state,
        slot=slot,
        **_factors(slot, state, factors, missing),
        waits=False,
        attention="causal",
    )


def _factors(
    slot: Expression, state: Expression, nodes: list[Expression], missing: list[Expression]
) -> dict[str, Expression]:
    """The positions of both factors, from their nodes and whether a slot lacks them; a letter has only one row."""
    absent = [choose(slot, lacks, 1) for lacks in missing]
    letter = [node < N for node in nodes]
    return {
        "left": nodes[0],
        "left_state": choose(letter[0], 0, state),
        "left_absent": both(slot, absent[0]),
        "right": nodes[1],
        "right_fixed": choose(letter[1], 1, absent[1]),
        "right_absent": absent[1],
    }
