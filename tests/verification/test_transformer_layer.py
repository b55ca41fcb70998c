"""The layer that all provers share: every domain against its definition in plain integers; a fault is caught by all."""

import random

import numpy as np
import pytest

from unmask.api import prove_conversion, prove_family
from unmask.numerics.arithmetic import Precision, add, multiply
from unmask.numerics.compact import Compact
from unmask.problems.circuits.circuit import CircuitBuilder
from unmask.testing import random_model
from unmask.testing.random_transformer import random_transformer
from unmask.verification.circuits.constant_depth import WiredTransformer, constant_depth_circuit
from unmask.verification.circuits.one_hot import constant_wires
from unmask.verification.conversions.unknown_source import MlpWires, UnknownSums
from unmask.verification.transformer_layer import CaseVectors, NumberDomain, SomeColumns
from unmask.weights.matrices import Matrix
from unmask.weights.transformer import Mlp
from verification.by_running import wrong_words
from verification.circuits.test_constant_depth import words_of, wrong_cases

WIDTH, HIDDEN, CASES = 4, 3, 5


def one_layer(seed):
    """(p, rows of H [cases, columns], what two or three heads write, an MLP); everything saturates now and then."""
    draw = random.Random(seed)
    precision = Precision(1 + seed % 3)
    bound = precision.bound

    def numbers(*shape):
        entries = [
            draw.choice([0, 0, 1, -1, precision.one, draw.randint(-bound, bound)]) for _ in range(np.prod(shape))
        ]
        return np.array(entries).reshape(shape)

    heads = [numbers(CASES, WIDTH) for _ in range(2 + seed % 2)]
    mlp = Mlp(Matrix.of(numbers(WIDTH, HIDDEN)), numbers(HIDDEN), Matrix.of(numbers(HIDDEN, WIDTH)), numbers(WIDTH))
    return precision, numbers(CASES, WIDTH), heads, mlp


def defined(precision, H, heads, mlp):
    """[cases, columns] after the layer, by the definition, number by number."""

    def total(numbers):
        result = 0
        for number in numbers:
            result = int(add(result, number, precision))
        return result

    def rectified(row, weights, biases):
        products = (
            total(int(multiply(x, w, precision)) for x, w in zip(row, column, strict=True)) for column in weights.T
        )
        return [max(0, total([product, bias])) for product, bias in zip(products, biases, strict=True)]

    result = []
    for case, row in enumerate(H):
        G = [total([total(head[case, c] for head in heads), x]) for c, x in enumerate(row)]
        change = rectified(rectified(G, mlp.w1.dense(), mlp.b1), mlp.w2.dense(), mlp.b2)
        result.append([total(pair) for pair in zip(G, change, strict=True)])
    return np.array(result)


def by_vectors(precision, H, heads, mlp):
    """All cases at once; what a head does not write is left out."""
    compact = Compact(precision)
    domain = CaseVectors(compact)
    written = [np.flatnonzero(head.any(axis=0)) for head in heads]
    parts = [SomeColumns(c, head[:, c].T.astype(compact.narrow)) for c, head in zip(written, heads, strict=True)]
    before = H.T.astype(compact.narrow)
    after = domain.mlp(domain.residual(before, parts), domain.prepared(mlp))
    assert (before == H.T).all()
    return after.T


def by_wires(precision, H, heads, mlp):
    """Numbers that are certain, as wires."""
    transformer = random_transformer(0, 1, precision=precision.p, width=WIDTH)
    domain = WiredTransformer(CircuitBuilder([]), transformer)
    result = []
    for case, row in enumerate(H):
        parts = [[constant_wires(int(x)) for x in head[case]] for head in heads]
        after = domain.mlp(domain.residual([constant_wires(int(x)) for x in row], parts), mlp)
        result.append([next(iter(wires)) for wires in after])
    return np.array(result)


def by_names(precision, H, heads, mlp):
    """All cases at once, as arrays in the place of names."""

    def terms(matrix):
        return {j: [(i, int(matrix[i, j])) for i in range(len(matrix))] for j in range(matrix.shape[1])}

    def values(columns):
        return dict(enumerate(columns))

    domain = UnknownSums(precision, {}, {})
    b1, b2 = (dict(enumerate(biases.tolist())) for biases in (mlp.b1, mlp.b2))
    wires = MlpWires(terms(mlp.w1.dense()), b1, terms(mlp.w2.dense()), b2).writing(range(WIDTH))
    after = domain.mlp(domain.residual(values(H.T), [values(head.T) for head in heads]), wires)
    return np.array([np.broadcast_to(after[c], CASES) for c in range(WIDTH)]).T


DOMAINS = [by_vectors, by_wires, by_names]


@pytest.mark.parametrize("domain", DOMAINS)
def test_a_layer_is_what_its_definition_says(domain):
    for seed in range(60):
        layer = one_layer(seed)
        assert (domain(*layer) == defined(*layer)).all(), seed


def heads_are_forgotten(self, row, heads):  # noqa: ARG001
    return row


def heads_come_after_the_row(self, row, heads):
    for head in heads:
        row = self.add(row, head)
    return row


def heads_in_reverse(self, row, heads):
    return self.add(self.total(heads[::-1]), row) if heads else row


def no_inner_rectifier(self, G, mlp):
    return self.times(G, mlp.w1)


def no_outer_rectifier(self, G, mlp):
    return self.add(G, self.times(self.hidden(G, mlp), mlp.w2))


FAULTS = [
    ("residual", heads_are_forgotten),
    ("residual", heads_come_after_the_row),
    ("residual", heads_in_reverse),
    ("hidden", no_inner_rectifier),
    ("mlp", no_outer_rectifier),
]


@pytest.mark.parametrize(("name", "fault"), FAULTS)
def test_a_fault_of_the_shared_layer_is_seen_in_every_domain(name, fault, monkeypatch):
    monkeypatch.setattr(NumberDomain, name, fault)
    layers = [one_layer(seed) for seed in range(60)]
    for domain in DOMAINS:
        assert any((domain(*layer) != defined(*layer)).any() for layer in layers), domain


def words_are_right():
    models = (random_model(seed, "mdm", 2, precision=1 + seed % 3, steps=2, layers=1) for seed in range(12))
    return all(wrong_words(model)[0] == 0 for model in models)


def circuits_are_right():
    transformers = (random_transformer(seed, 2, heads=2) for seed in range(12))
    return all(wrong_cases(constant_depth_circuit(t), t, words_of(3, 2))[0] == 0 for t in transformers)


def family_is_proved():
    return prove_family("(a|b)*abb", "mdm").verdict == "proved"


def conversion_is_proved():
    return prove_conversion("mdm_to_smdm").verdict == "proved"


PROVERS = [words_are_right, circuits_are_right, family_is_proved, conversion_is_proved]
COMPILED_AND_WRONG = [fault for fault in FAULTS if fault[1] not in (heads_come_after_the_row, heads_in_reverse)]
"""Sums of compiled heads do not saturate, so that their order does not matter to a family or a conversion."""


@pytest.mark.parametrize("holds", PROVERS)
def test_a_fault_of_the_shared_layer_is_seen_by_every_prover(holds, monkeypatch):
    assert holds()
    for name, fault in COMPILED_AND_WRONG:
        with monkeypatch.context() as wrong:
            wrong.setattr(NumberDomain, name, fault)
            assert not holds(), fault
