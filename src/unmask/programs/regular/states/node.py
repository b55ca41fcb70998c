"""A row that holds where one state goes: the predictor of every tree whose monoid is too large to list.

A node of the tree is |Q| rows; row q holds f(q), for f the map of the node's factor of the word. Then
(f·h)(q) = h(f(q)): row q looks up row q of its left factor, finds r = f(q), and looks up row r of its right factor:
the second address depends on what the first lookup fetched. A factor may also be an input letter a, with
f = δ(·, a) read from the transition table, or absent, the identity.

    layer 1   LOOKUP (left factor, q); MLP: r
    layer 2   LOOKUP (right factor, r); MLP: h(r), and in the last row accept or reject

Bounds: 2 layers, 3·|Q|·|Σ| + O(|Q|) hidden units, width O(|Q| + |Σ| + log N); p >= 2.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from unmask.problems.automata.automaton import Automaton
from unmask.programs.gadgets.equal import encoded, match, scaled
from unmask.programs.gadgets.logic import conjunction
from unmask.programs.gadgets.lookup import lookup
from unmask.programs.language.builders import Columns, HeadBuilder, LayerBuilder, MlpBuilder
from unmask.programs.language.coefficients import ONE, B, Coefficient
from unmask.programs.language.declarations import OneHot
from unmask.programs.language.positions import choose, n
from unmask.programs.language.program import Program, bits_for
from unmask.programs.language.vocabulary import Vocabulary
from unmask.programs.regular.states.geometry import Geometry

Block = tuple[Columns, Coefficient]


def state_node(automaton: Automaton, vocabulary: Vocabulary, geometry: Geometry, *, own_slot: bool = False) -> Program:
    """The program; the symbols after the letters are the states. `own_slot` as for `product_node`."""
    program = Program(vocabulary.symbols, len(vocabulary.symbols), geometry.length, geometry.rows, geometry.attention)
    registers = _Registers.of(program, automaton, vocabulary, geometry)
    written = vocabulary.letters + np.arange(automaton.states)
    program.embed(np.arange(vocabulary.letters), registers.letter)
    program.embed(written, registers.held)
    program.embed(vocabulary["mask"], registers.masked)

    first, second = program.layer(), program.layer()
    _follow_left(first, automaton, registers)
    _follow_right(second, automaton, registers, waits=geometry.waits, own_slot=own_slot)
    _say_if_ready(second.mlp, registers, waits=geometry.waits)
    _read_out(program, vocabulary, written, registers, own_slot=own_slot)
    return program


class _Fetched:
    """What a lookup brought: a letter, a state, or a mask."""

    def __init__(self, program: Program, side: str, letters: Sequence[str], states: Sequence[str]) -> None:
        self.letter = program.register(f"{side} letter", letters)
        self.state = program.register(f"{side} holds", states)
        self.masked = program.register(f"{side} masked")


@dataclass(frozen=True, eq=False)
class _Registers:
    """Of row q of a node: what it holds, where its factors are, what they hold, and the states r and h(r)."""

    masked: Columns
    letter: Columns
    held: Columns
    node: Columns
    state: Columns
    own: Columns
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
    def of(cls, program: Program, automaton: Automaton, vocabulary: Vocabulary, geometry: Geometry) -> "_Registers":
        states, letters = [f"q{q}" for q in range(automaton.states)], vocabulary.input_symbols
        node_bits, state_bits = bits_for(geometry.nodes), bits_for(automaton.states)
        own_state = choose(geometry.right_absent, geometry.state, 0)
        return cls(
            masked=program.register("masked"),
            letter=program.register("own letter", letters),
            held=program.register("own state", states),
            node=program.code("node", geometry.node, node_bits),
            state=program.code("state", geometry.state, state_bits),
            own=program.register("q", states, OneHot(geometry.state, only=geometry.slot)),
            left=program.code("left node", geometry.left, node_bits),
            left_state=program.code("left state", geometry.left_state, state_bits),
            right=program.code("right node", geometry.right, node_bits),
            right_state=program.code("right state", own_state, state_bits, only=geometry.right_fixed),
            fixed=program.flag("right is fixed", geometry.right_fixed),
            absent=[
                program.flag("left absent", geometry.left_absent),
                program.flag("right absent", geometry.right_absent),
            ],
            fetched=[_Fetched(program, side, letters, states) for side in ("left", "right")],
            middle=program.register("r", states),
            middle_address=program.register("r as address", states),
            ready=program.register("ready"),
            result=[program.register(f"result, copy {i}", states) for i in (1, 2)],
            accepted=program.register("accepted", 2),
            rejected=program.register("rejected", 2),
            # twice, and after the choice: B - B - B = -B takes back what is out of place
            last=program.flag("last row", n.equals(geometry.rows - 1), 2),
            inner=program.flag("inner row", n < geometry.rows - 1, 2),
        )

    @property
    def address(self) -> Columns:
        """The code (node, q) of a row."""
        return np.concatenate([self.node, self.state])

    def fetch(self, head: HeadBuilder, fetched: _Fetched) -> None:
        """What the row that a head attends to holds."""
        head.copy(self.letter, fetched.letter)
        head.copy(self.held, fetched.state)
        head.copy(self.masked, fetched.masked)

    def verdicts(self, automaton: Automaton, reached: np.ndarray) -> list[Columns]:
        """The columns that say where a path has arrived, and whether that accepts."""
        accepts = automaton.accepting[reached]
        states = [columns[reached] for columns in self.result]
        return states + [np.where(accepts, self.accepted[i], self.rejected[i]) for i in (0, 1)]


def _follow_left(layer: LayerBuilder, automaton: Automaton, registers: _Registers) -> None:
    """Layer 1: LOOKUP (left factor, q); r, and r as an address unless the right factor's row is fixed."""
    fetched, absent = registers.fetched[0], registers.absent[0]
    registers.fetch(lookup(layer, np.concatenate([registers.left, registers.left_state]), registers.address), fetched)
    for blocks, target in (([], registers.middle), ([(registers.fixed, -ONE)], registers.middle_address)):
        arrive = _Arrival(layer.mlp, automaton, blocks, lambda reached, target=target: [target[reached]])
        arrive.held(fetched.state, [(absent, -ONE)])
        arrive.moved(registers.own, fetched.letter)
        arrive.stayed(registers.own, absent)
    # while the left factor is masked there is no r: look at state 0, so that some row is attended to
    nowhere = conjunction(layer.mlp, fetched.masked, [np.concatenate([registers.fixed, absent])])
    layer.mlp.write(nowhere, registers.middle_address[:1])


def _follow_right(
    layer: LayerBuilder, automaton: Automaton, registers: _Registers, *, waits: bool, own_slot: bool
) -> None:
    """Layer 2: LOOKUP (right factor, r); h(r), and whether it accepts."""
    left, right = registers.fetched
    state_bits = zip(encoded(registers.middle_address, registers.state.size), registers.right_state, strict=True)
    head = layer.head()
    match(head, [*scaled(registers.right, B), *([*form, (bit, B)] for form, bit in state_bits)], registers.address)
    registers.fetch(head, right)
    gate: list[Block] = [(head.one, -ONE), (registers.masked, ONE)] if own_slot else []
    arrive = _Arrival(layer.mlp, automaton, gate, lambda reached: registers.verdicts(automaton, reached))
    arrive.held(right.state, [(left.masked, -ONE)] if waits else [])
    arrive.moved(registers.middle, right.letter)
    arrive.stayed(registers.middle, registers.absent[1])


def _say_if_ready(mlp: MlpBuilder, registers: _Registers, *, waits: bool) -> None:
    """ready = no factor is masked, where a row may find one masked."""
    unit = mlp.units(1, bias=ONE)
    for fetched in registers.fetched if waits else []:
        mlp.read(unit, fetched.masked, -ONE)
    mlp.write(unit, registers.ready)


def _read_out(
    program: Program, vocabulary: Vocabulary, written: np.ndarray, registers: _Registers, *, own_slot: bool
) -> None:
    """-B for all, B twice for the choice, and -B twice for what is out of place."""
    holdable = np.concatenate([written, vocabulary.verdicts])
    never = np.setdiff1d(vocabulary.everything, holdable)
    program.read_out(vocabulary.everything if own_slot else never, program.one, -B)
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
    blocks: list[Block]
    targets: Callable[[np.ndarray], list[Columns]]

    def held(self, state: Columns, blocks: list[Block]) -> None:
        """The row that was fetched holds s: arrive in s."""
        self._units(np.arange(state.size), [state], [*self.blocks, *blocks], bias=None)

    def moved(self, state: Columns, letter: Columns) -> None:
        """The row that was fetched is a letter a: from r arrive in δ(r, a)."""
        r, a = (axis.ravel() for axis in np.indices(self.automaton.delta.shape))
        self._units(self.automaton.delta.ravel(), [state[r], letter[a]], self.blocks, bias=-ONE)

    def stayed(self, state: Columns, absent: Columns) -> None:
        """There is no factor: arrive where one was."""
        self._units(np.arange(state.size), [state, absent], self.blocks, bias=-ONE)

    def _units(
        self, reached: np.ndarray, positive: list[Columns], blocks: list[Block], bias: Coefficient | None
    ) -> None:
        units = self.mlp.units(reached.size, bias=bias)
        for columns in positive:
            self.mlp.read(units, columns)
        for columns, weight in blocks:
            self.mlp.read(units, columns, weight)
        for target in self.targets(reached):
            self.mlp.write(units, target)
