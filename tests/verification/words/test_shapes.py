"""Shapes: the same function of other letters, and nothing else."""

import numpy as np

from unmask.verification.words.network import Network, Shapes


def table(network, parts, function):
    basis, chosen = network.join(parts)
    return network.cut(network.cases(basis, function(*chosen))[0])


def shapes_of(network, quantities):
    shapes = Shapes(network)
    return [shapes.representative(cases.variables[0]) for cases in quantities]


def test_moved_along_the_word():
    network = Network()
    x = [network.letter(2) for _ in range(8)]
    pairs = [table(network, [x[i], x[i + 1]], lambda a, b: a & b) for i in range(0, 8, 2)]
    fours = [table(network, pairs[i : i + 2], lambda a, b: a ^ b) for i in (0, 2)]
    assert len(set(shapes_of(network, pairs))) == len(set(shapes_of(network, fours))) == 1


def test_another_table_another_place_another_size_are_other_shapes():
    network = Network()
    x = [network.letter(2) for _ in range(6)] + [network.letter(3), network.letter(3)]
    tables = [
        table(network, [x[0], x[1]], lambda a, b: a & b),
        table(network, [x[2], x[3]], lambda a, b: a | b),
        table(network, [x[2], x[4]], lambda a, b: a & b),
        table(network, [x[6], x[7]], lambda a, b: (a > 1) & (b > 1)),
    ]
    assert len(set(shapes_of(network, tables))) == 4
    above = [table(network, [t, x[5]], lambda a, b: a ^ b) for t in tables[:3]]
    assert len(set(shapes_of(network, above))) == 3


def test_switches_are_distinguished_by_their_branches():
    network = Network()
    x = [network.letter(2) for _ in range(6)]
    chosen = [
        network.switch(x[0], [x[1], x[2]], 2),
        network.switch(x[3], [x[4], x[5]], 2),
        network.switch(x[3], [x[5], x[4]], 2),
    ]
    first, same, other = shapes_of(network, chosen)
    assert first == same != other
    words = np.array([[0, 1, 0, 1, 0, 1], [1, 1, 0, 1, 1, 0]])
    variable_values = network.evaluate(words, [cases.variables[0] for cases in chosen])
    assert [variable_values[cases.variables[0]].tolist() for cases in chosen] == [[1, 0], [1, 0], [0, 1]]
