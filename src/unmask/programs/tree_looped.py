"""Regular languages by a looped transformer in ⌈log2 N⌉ loops (behind cor:mdms-can-simulate-regular-languages).

Statement:    a regular language is decided by a looped transformer with ⌈log2 N⌉ loops.
Construction: row i holds a product; each loop replaces it by the product of the rows 2i and 2i + 1. A row that
              does not exist is the pad row N, which always holds the identity. After ⌈log2 N⌉ loops row 0 holds the
              product of the word; a last LOOKUP brings its verdict to the last row.
Bounds:       T = ⌈log2 N⌉ (0 for N <= 1), P = 1; 2 looped layers (1 for `matrix_loop`) and 1 after; width O(log N).
Exactness:    for every N >= 0 and p >= 2.
Deviations:   one pad instead of none: it is the identity, and the empty word has a row to answer from.

`product_loop` holds one of the |M| elements of the monoid; `matrix_loop` holds where each state goes, for monoids
too large to list: all pairs (q, s) with s reachable from q.
"""

from collections.abc import Iterator

import numpy as np

from unmask.problems.automaton import Automaton
from unmask.programs.attention import clear, constant_code, eq, match
from unmask.programs.coefficients import ONE, B
from unmask.programs.composition import fetch_features, multiply_features, recognise
from unmask.programs.expressions import n
from unmask.programs.limits import check_units
from unmask.programs.products import Products
from unmask.programs.program import Columns, Flag, LayerBuilder, Program, SignedBits, bits_for
from unmask.programs.tree import loop_child
from unmask.programs.vocabulary import Vocabulary, symbols_with_elements


def product_loop(products: Products, vocabulary: Vocabulary, length: int) -> Program:
    """Loop the layers [0, 2)."""
    coding = products.coding
    program, one, here, address = _frame(vocabulary, length)
    product = program.register("product", products.element_names)
    left = program.register("left", coding.left_names)
    right = program.register("right", coding.right_names)
    missing = program.register("missing", coding.result_names)
    verdict = program.register("verdict", ("rejected", "accepted"))
    symbols, elements = symbols_with_elements(products, vocabulary)
    program.embed(symbols, product[elements])

    gather = program.layer()
    for side, target in (("left", left), ("right", right)):
        head = gather.head()
        eq(head, address[side], here, one)
        fetch_features(head, coding, side, product, target)
    own = gather.head()
    eq(own, here, here, one)
    clear(own, product, left, right, missing)
    multiply_features(gather.mlp, coding, left, right, missing)
    recognise(program.layer().mlp, coding, missing, one, [], product)

    deliver = program.layer()
    accepting = accepting_elements(products)
    _deliver(deliver, here, one, product, verdict[accepting.astype(np.int64)])
    _read_out(program, vocabulary, one, verdict)
    return program


def matrix_loop(automaton: Automaton, vocabulary: Vocabulary, length: int) -> Program:
    """Loop the layers [0, 1); refused where the paths are too many to list."""
    check_units(path_count(automaton), f"a loop over the maps of {automaton.states:,} states")
    pairs = reachable_pairs(automaton)
    number = {pair: i for i, pair in enumerate(pairs)}
    program, one, here, address = _frame(vocabulary, length)
    names = [f"q{q}→q{s}" for q, s in pairs]
    state, left, right = (program.register(name, names) for name in ("map", "left", "right"))
    verdict = program.register("verdict", ("rejected", "accepted"))
    for token in range(vocabulary.letters):
        images = automaton.delta[:, token]
        program.embed(token, state[[number[q, int(s)] for q, s in enumerate(images)]])
    program.embed(vocabulary["pad"], state[[number[q, q] for q in range(automaton.states)]])

    layer = program.layer()
    for side, target in (("left", left), ("right", right)):
        head = layer.head()
        eq(head, address[side], here, one)
        head.copy(state, target)
    own = layer.head()
    eq(own, here, here, one)
    clear(own, state, left, right)
    first, second, third = _paths(pairs, automaton.states)
    units = layer.mlp.units(first.size, bias=-ONE)
    layer.mlp.read(units, left[first])
    layer.mlp.read(units, right[second])
    layer.mlp.write(units, state[third])

    from_start = np.array([i for i, (q, _) in enumerate(pairs) if q == automaton.start])
    ends = np.array([int(automaton.accepting[pairs[i][1]]) for i in from_start])
    _deliver(program.layer(), here, one, state[from_start], verdict[ends])
    _read_out(program, vocabulary, one, verdict)
    return program


def accepting_elements(products: Products) -> np.ndarray:
    """Which elements are accepted: those that satisfy one of the coding's disjuncts."""
    coding = products.coding
    has = np.zeros((coding.size, len(coding.result_names)), dtype=bool)
    has[coding.result.element, coding.result.feature] = True
    accepting = np.zeros(coding.size, dtype=bool)
    for disjunct in coding.accept:
        accepting |= has[:, list(disjunct.present)].all(axis=1)
    return accepting


def reachable_pairs(automaton: Automaton) -> list[tuple[int, int]]:
    """(q, s) with s reachable from q, q itself included, in order."""
    return [(q, int(s)) for q, reached in enumerate(_reachable(automaton)) for s in np.flatnonzero(reached)]


def path_count(automaton: Automaton) -> int:
    """How many hidden units `matrix_loop` takes: paths q → r → s among reachable pairs."""
    sizes = np.array([reached.sum() for reached in _reachable(automaton)])
    return int(sum(sizes[reached].sum() for reached in _reachable(automaton)))


def _reachable(automaton: Automaton) -> Iterator[np.ndarray]:
    """For each state which states can be reached from it; bit s of a mask is state s."""
    after = [np.unique(row).tolist() for row in automaton.delta]
    masks = [1 << q for q in range(automaton.states)]
    changed = True
    while changed:
        changed = False
        for q in reversed(range(automaton.states)):
            further = masks[q]
            for s in after[q]:
                further |= masks[s]
            changed |= further != masks[q]
            masks[q] = further
    size = (automaton.states + 7) // 8
    for mask in masks:
        octets = np.frombuffer(mask.to_bytes(size, "little"), dtype=np.uint8)
        yield np.unpackbits(octets, bitorder="little")[: automaton.states].astype(bool)


def _paths(pairs: list[tuple[int, int]], states: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """All (q→r, r→s, q→s), as numbers of pairs."""
    number = np.full((states, states), -1)
    source, target = np.array(pairs).T
    number[source, target] = np.arange(len(pairs))
    ends = [target[source == r] for r in range(states)]
    first = np.repeat(np.arange(len(pairs)), [ends[r].size for r in target])
    middle, last = target[first], np.concatenate([ends[r] for r in target])
    return first, number[middle, last], number[source[first], last]


def _frame(vocabulary: Vocabulary, length: int) -> tuple[Program, Columns, Columns, dict[str, Columns]]:
    rows = length + 1
    program = Program(vocabulary.symbols, len(vocabulary.symbols), length, rows)
    bits = bits_for(rows)
    one = program.register("one", declaration=Flag(n >= 0))
    here = program.register("here", bits, SignedBits(n))
    address = {
        side: program.register(f"{side} address", bits, SignedBits(loop_child(i)))
        for i, side in enumerate(("left", "right"))
    }
    return program, one, here, address


def _deliver(layer: LayerBuilder, here: Columns, one: Columns, held: Columns, verdict: Columns) -> None:
    """Every row looks up row 0 and sees whether its product accepts."""
    head = layer.head()
    match(head, constant_code(0, here.size, one), here, one)
    head.copy(held, verdict)


def _read_out(program: Program, vocabulary: Vocabulary, one: Columns, verdict: Columns) -> None:
    program.read_out(vocabulary.everything, one, -B)
    program.read_out([vocabulary["reject"], vocabulary["accept"]], verdict, B)
