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

from unmask.problems.automaton import Automaton
from unmask.programs.attention import eq
from unmask.programs.coefficients import ONE, B
from unmask.programs.expressions import N, choose, n
from unmask.programs.program import Flag, OneHot, Program, SignedBits, bits_for
from unmask.programs.vocabulary import Vocabulary


def state_chain(automaton: Automaton, vocabulary: Vocabulary, length: int) -> Program:
    """States are the symbols after the letters; a begin symbol, where there is one, is a letter that does nothing."""
    steps = max(1, length)
    begin = int("begin" in vocabulary.special)
    rows = begin + length + steps
    program = Program(vocabulary.symbols, len(vocabulary.symbols), length, rows)
    bits = bits_for(rows)
    letters = [*vocabulary.input_symbols, *(["begin"] if begin else [])]
    states = [f"q{q}" for q in range(automaton.states)]
    # symbol t is emitted by the row before the one it will stand in, and depends on letter t
    turn = n - (N + (begin - 1))
    one = program.register("one", declaration=Flag(n >= 0))
    here = program.register("here", bits, SignedBits(n))
    address = program.register("letter address", bits, SignedBits(choose(turn < steps, turn.positive_part(), 0)))
    state = program.register("state", states, OneHot(choose(turn.equals(0), automaton.start, -1)))
    own = program.register("own letter", letters)
    letter = program.register("letter", letters)
    following = [program.register(f"next state, copy {i}", states) for i in (1, 2)]
    accepted, rejected = program.register("accepted", 2), program.register("rejected", 2)
    # twice, and after the choice: B - B - B = -B takes back what is out of place
    last = program.register("last step", 2, Flag(turn >= steps - 1))
    inner = program.register("earlier step", 2, Flag(turn < steps - 1))

    program.embed(np.arange(vocabulary.letters), own[: vocabulary.letters])
    if begin:
        program.embed(vocabulary["begin"], own[-1:])
    written = vocabulary.letters + np.arange(automaton.states)
    program.embed(written, state)

    layer = program.layer()
    head = layer.head()
    eq(head, address, here, one)
    head.copy(own, letter)
    moves = automaton.delta if not begin else np.hstack([automaton.delta, np.arange(automaton.states)[:, None]])
    q, a = (axis.ravel() for axis in np.indices(moves.shape))
    units = layer.mlp.units(q.size, bias=-ONE)
    layer.mlp.read(units, state[q])
    layer.mlp.read(units, letter[a])
    for target in following:
        layer.mlp.write(units, target[moves.ravel()])
    for target, wanted in ((accepted, True), (rejected, False)):
        deciding = units[automaton.accepting[moves.ravel()] == wanted]
        for column in target:
            layer.mlp.write(deciding, column)

    program.read_out(vocabulary.everything, one, -B)
    for columns in following:
        program.read_out(written, columns, B)
    for symbol, columns in ((vocabulary["accept"], accepted), (vocabulary["reject"], rejected)):
        program.read_out(symbol, columns, B)
    for column in last:
        program.read_out(written, column, -B)
    for column in inner:
        program.read_out([vocabulary["accept"], vocabulary["reject"]], column, -B)
    return program
