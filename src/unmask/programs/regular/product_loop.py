"""Regular languages by a looped transformer in ⌈log2 N⌉ loops (behind cor:mdms-can-simulate-regular-languages).

Statement:    a regular language is decided by a looped transformer with ⌈log2 N⌉ loops.
Construction: row i holds a product; each loop replaces it by the product of the rows 2i and 2i + 1. A row that
              does not exist is the pad row N, which always holds the identity. After ⌈log2 N⌉ loops row 0 holds the
              product of the word; a last LOOKUP copies its verdict to the last row.
Bounds:       T = ⌈log2 N⌉ (0 for N <= 1), P = 1; 2 looped layers (1 for `matrix_loop`) and 1 after; width O(log N).
Exactness:    for every N >= 0 and p >= 2.
Deviations:   one pad instead of none: it is the identity, and the empty word has a row to answer from.

A row of `product_loop` holds one of the |M| elements of the monoid. A row of `matrix_loop`, for monoids too large to
list, holds the image of each state, over all pairs (q, s) with s reachable from q.
"""

from collections.abc import Iterator

import numpy as np

from unmask.expressions import Expression, n
from unmask.problems.automata.automaton import Automaton
from unmask.programs.gadgets.attention import clear, itself, lookup, lookup_row
from unmask.programs.program import ONE, B, Columns, Program, Vocabulary, program_in_length
from unmask.programs.regular.monoid_codes import Products, symbols_with_elements
from unmask.programs.regular.product_tree import fetch_features, loop_child, multiply_features, recognise_elements
from unmask.weights.size_limits import check_units


def product_loop(products: Products, vocabulary: Vocabulary, length: Expression) -> Program:
    """Two looped layers: fetch both factors, then recognise their product."""
    coding = products.coding
    program, row_code, address = _rows_of_a_level(vocabulary, length)
    product = program.register("product", products.element_names)
    left = program.register("left", coding.left_names)
    right = program.register("right", coding.right_names)
    missing = program.register("missing", coding.result_names)
    verdict = program.register("verdict", ("rejected", "accepted"))
    symbols, elements = symbols_with_elements(products, vocabulary)
    program.embed(symbols, product[elements])

    gather = program.layer()
    for side, target in (("left", left), ("right", right)):
        fetch_features(lookup(gather, address[side], row_code), coding, side, product, target)
    clear(itself(gather, row_code), product, left, right, missing)
    multiply_features(gather.mlp, coding, left, right, missing)
    recognise_elements(program.layer().mlp, coding, missing, program.one, [], product)
    program.loop = 0, len(program.layers)

    _deliver(program, vocabulary, row_code, product, verdict[accepting_elements(products).astype(np.int64)])
    return program


def matrix_loop(automaton: Automaton, vocabulary: Vocabulary, length: Expression) -> Program:
    """One looped layer: fetch the maps of both factors, and compose them; raise if there are too many paths."""
    check_units(path_count(automaton), f"a loop over the maps of {automaton.states:,} states")
    pairs = reachable_pairs(automaton)
    number = {pair: i for i, pair in enumerate(pairs)}
    program, row_code, address = _rows_of_a_level(vocabulary, length)
    names = [f"q{q}→q{s}" for q, s in pairs]
    state, left, right = (program.register(name, names) for name in ("map", "left", "right"))
    verdict = program.register("verdict", ("rejected", "accepted"))
    for token in range(vocabulary.letters):
        images = automaton.delta[:, token]
        program.embed(token, state[[number[q, int(s)] for q, s in enumerate(images)]])
    program.embed(vocabulary["pad"], state[[number[q, q] for q in range(automaton.states)]])

    layer = program.layer()
    for side, target in (("left", left), ("right", right)):
        lookup(layer, address[side], row_code).copy(state, target)
    clear(itself(layer, row_code), state, left, right)
    first, second, third = _paths(pairs, automaton.states)
    units = layer.mlp.units(first.size, bias=-ONE)
    layer.mlp.read(units, left[first])
    layer.mlp.read(units, right[second])
    layer.mlp.write(units, state[third])
    program.loop = 0, len(program.layers)

    from_start = np.array([i for i, (q, _) in enumerate(pairs) if q == automaton.start])
    ends = np.array([int(automaton.accepting[pairs[i][1]]) for i in from_start])
    _deliver(program, vocabulary, row_code, state[from_start], verdict[ends])
    return program


def accepting_elements(products: Products) -> np.ndarray:
    """A flag per element: it is accepted if it satisfies one of the coding's disjuncts."""
    coding = products.coding
    has = np.zeros((coding.size, len(coding.result_names)), dtype=bool)
    has[coding.result.element, coding.result.feature] = True
    accepting = np.zeros(coding.size, dtype=bool)
    for disjunct in coding.accept:
        accepting |= has[:, list(disjunct.present)].all(axis=1)
    return accepting


def reachable_pairs(automaton: Automaton) -> list[tuple[int, int]]:
    """All (q, s) with s reachable from q, including s = q, in order."""
    return [(q, int(s)) for q, reached in enumerate(_reachable(automaton)) for s in np.flatnonzero(reached)]


def path_count(automaton: Automaton) -> int:
    """The number of hidden units of `matrix_loop`: paths q → r → s among reachable pairs."""
    sizes = np.array([reached.sum() for reached in _reachable(automaton)])
    return int(sum(sizes[reached].sum() for reached in _reachable(automaton)))


def _reachable(automaton: Automaton) -> Iterator[np.ndarray]:
    """For each state, the mask of the states that can be reached from it; bit s is state s."""
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


def _rows_of_a_level(vocabulary: Vocabulary, length: Expression) -> tuple[Program, Columns, dict[str, Columns]]:
    """A program over the N rows and the pad, the code of its rows, and the addresses of their two factors."""
    program = program_in_length(vocabulary.symbols, len(vocabulary.symbols), length + 1)
    row_code = program.code("here", n)
    address = {side: program.code(f"{side} address", loop_child(i)) for i, side in enumerate(("left", "right"))}
    return program, row_code, address


def _deliver(
    program: Program, vocabulary: Vocabulary, row_code: Columns, product_at: Columns, verdict: Columns
) -> None:
    """After the loop, let every row look up row 0; its logits say whether that product accepts."""
    lookup_row(program.layer(), 0, row_code).copy(product_at, verdict)
    program.read_out(vocabulary.all_tokens, program.one, -B)
    program.read_out(vocabulary.verdicts, program.columns("verdict"), B)
