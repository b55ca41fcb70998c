"""A row that holds where one state goes: the predictor of every tree whose monoid is too large to list.

A node of the tree is |Q| rows; row q holds f(q), for f the map of the node's factor of the word. Then
(f·h)(q) = h(f(q)): row q looks up row q of its left factor, finds r = f(q), and looks up row r of its right factor:
the second address depends on what the first lookup found. A factor may also be an input letter a, with
f = δ(·, a) read from the transition table, or absent, the identity.

    layer 1   LOOKUP (left factor, q); MLP: r
    layer 2   LOOKUP (right factor, r); MLP: h(r), and in the last row accept or reject

Bounds: 2 layers, 3·|Q|·|Σ| + O(|Q|) hidden units, width O(|Q| + |Σ| + log N); p >= 2.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from unmask.problems.automaton import Automaton
from unmask.programs.attention import encoded, eq, match, scaled
from unmask.programs.coefficients import ONE, B, Coefficient
from unmask.programs.expressions import Expression, choose, n
from unmask.programs.program import Columns, Flag, HeadBuilder, MlpBuilder, OneHot, Program, SignedBits, bits_for
from unmask.programs.vocabulary import Vocabulary

Block = tuple[Columns, Coefficient]


@dataclass(frozen=True)
class Geometry:
    """Where things are, as expressions; the value at an input row is that of a letter at its own position."""

    rows: int
    nodes: int  # how many node numbers there is room for
    states: int
    node: Expression  # the node of a row; letter i is node i
    state: Expression  # the state q of a row, 0 for a letter
    slot: Expression  # [the row is a slot]
    left: Expression  # node of the left factor, the row's own where it has none
    left_state: Expression  # q, or 0 where the left factor is a letter
    left_absent: Expression
    right: Expression
    right_fixed: Expression  # [the right factor is a letter or absent]: its row does not depend on r
    right_absent: Expression


def state_node(
    automaton: Automaton,
    vocabulary: Vocabulary,
    length: int,
    geometry: Geometry,
    *,
    waits: bool,
    own_slot: bool = False,
) -> Program:
    """The program; the symbols after the letters are the states. `waits` and `own_slot` as for `product_node`."""
    program = Program(vocabulary.symbols, len(vocabulary.symbols), length, geometry.rows)
    states = [f"q{q}" for q in range(automaton.states)]
    node_bits, state_bits = bits_for(geometry.nodes), bits_for(automaton.states)

    def flag(name: str, expression: Expression, copies: int = 1) -> Columns:
        return program.register(name, [""] if copies == 1 else copies, Flag(expression))

    one = flag("one", n >= 0)
    masked = program.register("masked")
    letter = program.register("own letter", vocabulary.input_symbols)
    held = program.register("own state", states)
    node = program.register("node", node_bits, SignedBits(geometry.node))
    state = program.register("state", state_bits, SignedBits(geometry.state))
    own = program.register("q", states, OneHot(geometry.state, only=geometry.slot))
    left = program.register("left node", node_bits, SignedBits(geometry.left))
    left_state = program.register("left state", state_bits, SignedBits(geometry.left_state))
    right = program.register("right node", node_bits, SignedBits(geometry.right))
    right_state = program.register(
        "right state",
        state_bits,
        SignedBits(choose(geometry.right_absent, geometry.state, 0), only=geometry.right_fixed),
    )
    fixed = flag("right is fixed", geometry.right_fixed)
    absent = [flag("left absent", geometry.left_absent), flag("right absent", geometry.right_absent)]
    found = [_Found(program, side, vocabulary.input_symbols, states) for side in ("left", "right")]
    middle = program.register("r", states)
    middle_address = program.register("r as address", states)
    ready = program.register("ready")
    result = [program.register(f"result, copy {i}", states) for i in (1, 2)]
    accepted, rejected = program.register("accepted", 2), program.register("rejected", 2)
    # twice, and after the choice: B - B - B = -B takes back what is out of place
    last = flag("last row", n.equals(geometry.rows - 1), 2)
    inner = flag("inner row", n < geometry.rows - 1, 2)

    written = vocabulary.letters + np.arange(automaton.states)
    program.embed(np.arange(vocabulary.letters), letter)
    program.embed(written, held)
    program.embed(vocabulary["mask"], masked)

    first = program.layer()
    head = first.head()
    eq(head, np.concatenate([left, left_state]), np.concatenate([node, state]), one)
    found[0].fetch(head, letter, held, masked)
    for blocks, target in (([], middle), ([(fixed, -ONE)], middle_address)):
        arrive = _Arrival(first.mlp, automaton, blocks, lambda reached, target=target: [target[reached]])
        arrive.held(found[0].state, [(absent[0], -ONE)])
        arrive.moved(own, found[0].letter)
        arrive.stayed(own, absent[0])
    # while the left factor is masked there is no r: look at state 0, so that some row is attended to
    unit = first.mlp.units(1)
    first.mlp.read(unit, found[0].masked)
    for block in (fixed, absent[0]):
        first.mlp.read(unit, block, -ONE)
    first.mlp.write(unit, middle_address[:1])

    second = program.layer()
    head = second.head()
    address = [[*form, (bit, B)] for form, bit in zip(encoded(middle_address, state_bits), right_state, strict=True)]
    match(head, [*scaled(right, B), *address], np.concatenate([node, state]), one)
    found[1].fetch(head, letter, held, masked)

    def verdicts(reached: np.ndarray) -> list[Columns]:
        accepts = automaton.accepting[reached]
        return [columns[reached] for columns in result] + [np.where(accepts, accepted[i], rejected[i]) for i in (0, 1)]

    gate: list[Block] = [(one, -ONE), (masked, ONE)] if own_slot else []
    arrive = _Arrival(second.mlp, automaton, gate, verdicts)
    arrive.held(found[1].state, [(found[0].masked, -ONE)] if waits else [])
    arrive.moved(middle, found[1].letter)
    arrive.stayed(middle, absent[1])
    unit = second.mlp.units(1, bias=ONE)
    for side in found if waits else []:
        second.mlp.read(unit, side.masked, -ONE)
    second.mlp.write(unit, ready)

    verdict_symbols = np.array([vocabulary["accept"], vocabulary["reject"]])
    holdable = np.concatenate([written, verdict_symbols])
    undecided = vocabulary.everything if own_slot else np.setdiff1d(vocabulary.everything, holdable)
    program.read_out(undecided, one, -B)
    if not own_slot:
        program.read_out(holdable, ready, -B)
    for columns in result:
        program.read_out(written, columns, B)
    for symbol, columns in zip(verdict_symbols, (accepted, rejected), strict=True):
        program.read_out(symbol, columns, B)
    for symbols, out_of_place in ((written, last), (verdict_symbols, inner)):
        for column in out_of_place:
            program.read_out(symbols, column, -B)
    return program


class _Found:
    """What a lookup brought: a letter, a state, or a mask."""

    def __init__(self, program: Program, side: str, letters: Sequence[str], states: Sequence[str]) -> None:
        self.letter = program.register(f"{side} letter", letters)
        self.state = program.register(f"{side} holds", states)
        self.masked = program.register(f"{side} masked")

    def fetch(self, head: HeadBuilder, letter: Columns, state: Columns, masked: Columns) -> None:
        for source, target in ((letter, self.letter), (state, self.state), (masked, self.masked)):
            head.copy(source, target)


@dataclass(frozen=True)
class _Arrival:
    """Hidden units that each mean "the path arrives in this state"; at most one of them is 1."""

    mlp: MlpBuilder
    automaton: Automaton
    blocks: list[Block]
    targets: Callable[[np.ndarray], list[Columns]]

    def held(self, state: Columns, blocks: list[Block]) -> None:
        """The row that was found holds s: arrive in s."""
        self._units(np.arange(state.size), [state], [*self.blocks, *blocks], bias=None)

    def moved(self, state: Columns, letter: Columns) -> None:
        """The row that was found is a letter a: from r arrive in δ(r, a)."""
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
