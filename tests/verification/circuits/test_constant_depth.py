"""The circuit of constant depth, compared with the reference engine on every input or on a sample."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from unmask.engines.reference import ReferenceEngine
from unmask.errors import AttendsToNothing, TooLarge, UnmaskError
from unmask.problems.circuits.circuit_files import parse_aiger, write_aiger
from unmask.reasoners.decoding import decode
from unmask.testing.random_transformer import random_transformer
from unmask.verification.circuits import constant_depth
from unmask.verification.circuits.constant_depth import (
    WiredTransformer,
    constant_depth_circuit,
    pass_depth,
    token_bits,
)
from unmask.verification.circuits.one_hot import cascade_sum, chain_sum
from unmask.weights.matrices import Matrix


def words_of(symbols, rows, *, most=250):
    if symbols**rows <= most:
        return np.array(list(product(range(symbols), repeat=rows)))
    return np.random.default_rng(rows).integers(0, symbols, (40, rows))


def decoded(transformer, words):
    """The symbols of every row by the reference engine; None where it divides by zero."""
    session = ReferenceEngine().session(transformer)
    try:
        return decode(session.read(words, (0, words.shape[1])), transformer.precision).tolist()
    except AttendsToNothing as error:
        before, after = words[: error.word], words[error.word + 1 :]
        return [
            *(decoded(transformer, before) if error.word else []),
            None,
            *(decoded(transformer, after) if len(after) else []),
        ]


def wrong_cases(circuit, transformer, words):
    """How many words the circuit gets wrong, and how many of them are undefined."""
    actual = circuit.evaluate(token_bits(words, range(transformer.embed.shape[0])))
    wrong = undefined = 0
    for bits, expected in zip(actual, decoded(transformer, words), strict=True):
        if expected is None:
            undefined += 1
            wrong += not bits[0]
            continue
        hot = bits[1:].reshape(words.shape[1], -1)
        wrong += bits[0] or hot.sum(axis=1).tolist() != [1] * len(hot) or hot.argmax(axis=1).tolist() != expected
    return int(wrong), undefined


@pytest.mark.parametrize("seeds", [10, pytest.param(30, marks=pytest.mark.long)])
def test_every_input_of_random_layers(seeds):
    """D = 2, one head, an MLP, p = 1; some inputs divide by zero, others do not."""
    cases = undefined = 0
    for seed in range(seeds):
        for rows in (1, 2, 3, 4, 5):
            transformer = random_transformer(seed, rows)
            words = words_of(3, rows)
            wrong, without = wrong_cases(constant_depth_circuit(transformer), transformer, words)
            assert wrong == 0, (seed, rows)
            cases, undefined = cases + len(words), undefined + without
    assert undefined >= seeds / 3
    assert cases > 350 * seeds


@pytest.mark.parametrize("seed", [7, 11, 13])
@pytest.mark.parametrize("rows", [9, 13])
def test_sampled_inputs_of_longer_words(seed, rows):
    transformer = random_transformer(seed, rows)
    circuit = constant_depth_circuit(transformer)
    assert wrong_cases(circuit, transformer, words_of(3, rows)) == (0, 0)
    assert circuit.depth <= 2 + pass_depth(transformer.precision, 1)


@pytest.mark.parametrize(
    "sizes",
    [
        {"layers": 2},
        {"heads": 2},
        {"attention": "causal"},
        {"width": 5, "hidden": 4},
        {"precision": 2, "symbols": 2},
    ],
    ids=str,
)
def test_other_shapes(sizes):
    for seed in range(4):
        transformer = random_transformer(seed, 3, **sizes)
        circuit = constant_depth_circuit(transformer)
        assert wrong_cases(circuit, transformer, words_of(transformer.embed.shape[0], 3))[0] == 0


@pytest.mark.parametrize("total", [cascade_sum, chain_sum])
def test_other_sums(total):
    for seed in range(4):
        transformer = random_transformer(seed, 3)
        assert wrong_cases(constant_depth_circuit(transformer, total=total), transformer, words_of(3, 3))[0] == 0


def test_fewer_rows_than_positions():
    transformer = random_transformer(12, 6)
    assert wrong_cases(constant_depth_circuit(transformer, rows=3), transformer, words_of(3, 3))[0] == 0
    circuit = constant_depth_circuit(transformer, read=(5, 6))
    assert circuit.output_names == ("undefined", "row 5 is 0", "row 5 is 1", "row 5 is 2")
    with pytest.raises(UnmaskError, match="has 6 positions, not 7"):
        constant_depth_circuit(transformer, rows=7)


def flipped(transformer, draw):
    """The transformer with one entry of its head's values, or of its MLP, changed."""
    layer = transformer.layers[0]
    head = layer.heads[0]
    wv = head.wv.dense()
    wv[draw % 2, draw // 2 % 2] = -wv[draw % 2, draw // 2 % 2] or 1
    return replace(transformer, layers=(replace(layer, heads=(replace(head, wv=Matrix.of(wv)),)),))


def test_a_changed_weight_is_seen():
    """The circuit of one transformer, compared with another that differs in a single weight."""
    refuted = 0
    for seed in range(12):
        transformer = random_transformer(seed, 3)
        refuted += wrong_cases(constant_depth_circuit(flipped(transformer, seed)), transformer, words_of(3, 3))[0] > 0
    assert refuted >= 6


def test_a_forgotten_division_by_zero_is_seen(monkeypatch):
    monkeypatch.setattr(WiredTransformer, "undefined", property(lambda self: 0))  # noqa: ARG005
    wrong = [
        wrong_cases(constant_depth_circuit(t), t, words_of(3, 2))[0]
        for t in (random_transformer(seed, 2) for seed in range(12))
    ]
    assert sum(wrong) >= 5


def test_the_depth_stops_growing_with_the_rows():
    """The plateau; the chain of additions keeps growing. docs/how-to/extract-a-circuit.md has more of both."""
    depths = [constant_depth_circuit(random_transformer(13, rows)).depth for rows in (6, 14, 16, 18)]
    assert depths[0] < depths[1] == depths[2] == depths[3]
    chain = [constant_depth_circuit(random_transformer(13, rows), total=chain_sum).depth for rows in (6, 10, 14)]
    assert chain[1] - chain[0] == chain[2] - chain[1] >= 8


def test_the_depth_stops_growing_with_the_width():
    """Sums over columns and hidden units go through the cascade as well."""
    transformer = random_transformer(3, 1, width=26, hidden=26)
    bound = 2 + pass_depth(transformer.precision, 1)
    assert constant_depth_circuit(transformer).depth <= bound
    assert constant_depth_circuit(transformer, total=chain_sum).depth > bound


def test_export_to_aiger():
    transformer = random_transformer(7, 3)
    circuit = constant_depth_circuit(transformer)
    again = parse_aiger(write_aiger(circuit).encode())
    assert again.output_names == circuit.output_names
    assert wrong_cases(again, transformer, words_of(3, 3))[0] == 0


def test_too_many_gates_are_refused(monkeypatch):
    monkeypatch.setattr(constant_depth, "MOST_GATES", 1000)
    with pytest.raises(TooLarge, match="more than 1,000 gates"):
        constant_depth_circuit(random_transformer(7, 8))
