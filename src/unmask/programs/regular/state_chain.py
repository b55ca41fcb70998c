"""Regular languages by chain of thought in N steps: one state per letter.

Statement:    a regular language is decided by a chain of thought with N steps.
Construction: the t-th symbol is the state after t letters. The last row holds the state so far (the start state in
              the row before the first), looks up letter t and applies the transition table; the last step emits
              accept or reject instead of a state.
Bounds:       T = N (1 for N = 0, from a begin symbol), one symbol per step; 1 layer, |Q|·|Σ| hidden units;
              width O(log N).
Exactness:    for every N >= 0 and p >= 2.
"""

import numpy as np

from unmask.expressions import Expression, N, choose, constant, n
from unmask.problems.automata.automaton import Automaton
from unmask.programs.declarations import OneHot
from unmask.programs.gadgets.attention import lookup
from unmask.programs.program import ONE, B, Columns, LayerBuilder, Program, Vocabulary, program_in_length


def state_chain(automaton: Automaton, vocabulary: Vocabulary, length: Expression) -> Program:
    """Return the chain of thought for words of `length` letters: N for every N from 1 on, or the constant 0.

    States are the symbols after the letters. A begin symbol, which the empty word has, is a letter that does nothing.
    """
    steps = constant(1) if length.is_constant(0) else length
    begin = int("begin" in vocabulary.special)
    program = program_in_length(vocabulary.symbols, len(vocabulary.symbols), begin + length + steps, "causal")
    letters = [*vocabulary.input_symbols, *(["begin"] if begin else [])]
    states = [f"q{q}" for q in range(automaton.states)]
    # symbol t is emitted by the row before its own row, and depends on letter t
    letter_index = n - (N + (begin - 1))
    row_code = program.code("here", n)
    address = program.code("letter address", choose(letter_index < steps, letter_index.positive_part(), 0))
    state = program.register("state", states, OneHot(choose(letter_index.equals(0), automaton.start, -1)))
    own_letter = program.register("own letter", letters)
    letter = program.register("letter", letters)
    following = [program.register(f"next state, copy {i}", states) for i in (1, 2)]
    accepted, rejected = program.register("accepted", 2), program.register("rejected", 2)
    # twice, and after the choice: B - B - B = -B suppresses symbols out of place
    last = program.flag("last step", letter_index >= steps - 1, 2)
    inner = program.flag("earlier step", letter_index < steps - 1, 2)

    program.embed(np.arange(vocabulary.letters), own_letter[: vocabulary.letters])
    if begin:
        program.embed(vocabulary["begin"], own_letter[-1:])
    written = vocabulary.letters + np.arange(automaton.states)
    program.embed(written, state)

    layer = program.layer()
    lookup(layer, address, row_code).copy(own_letter, letter)
    moves = automaton.delta if not begin else np.hstack([automaton.delta, np.arange(automaton.states)[:, None]])
    _move(layer, moves, automaton.accepting, state, letter, following, (rejected, accepted))

    program.read_out(vocabulary.all_tokens, program.one, -B)
    for columns in following:
        program.read_out(written, columns, B)
    program.read_out(vocabulary["accept"], accepted, B)
    program.read_out(vocabulary["reject"], rejected, B)
    for column in last:
        program.read_out(written, column, -B)
    for column in inner:
        program.read_out(vocabulary.verdicts, column, -B)
    return program


def _move(
    layer: LayerBuilder,
    moves: np.ndarray,
    accepting: np.ndarray,
    state: Columns,
    letter: Columns,
    following: list[Columns],
    verdicts: tuple[Columns, Columns],
) -> None:
    """A unit per (q, a) writes δ(q, a), and whether that state rejects or accepts."""
    mlp, reached = layer.mlp, moves.ravel()
    q, a = (axis.ravel() for axis in np.indices(moves.shape))
    units = mlp.units(q.size, bias=-ONE)
    mlp.read(units, state[q])
    mlp.read(units, letter[a])
    for target in following:
        mlp.write(units, target[reached])
    for target, accepts in zip(verdicts, (False, True), strict=True):
        deciding = units[accepting[reached] == accepts]
        for column in target:
            mlp.write(deciding, column)
