"""Weights → tables by the checker: on random weights that saturate, it agrees with the reference engine."""

from dataclasses import replace

import numpy as np
import pytest

from unmask.api import compile_problem
from unmask.checker.certificate import Refused
from unmask.checker.check_induction import answer
from unmask.checker.checked_tables import LabelTable, VariableNetwork, labels_by_value
from unmask.testing.random_model import all_words
from unmask.verification.words.extraction import extract, input_numbers
from unmask.weights.kinds import KINDS
from verification.by_running import runs
from verification.mutation import with_tensor

SIGNS = (("wq", 1), ("wk", -1))


def claimed(extraction):
    """Return (network, steps, cuts) of an extraction, as the checker represents them."""
    variables = [v.size if v.table is None else (v.parents, v.table) for v in extraction.network.variables]
    model = extraction.model
    new = -(model.block or 1) if model.kind in ("cot", "pcot") else 0
    slots = [] if model.kind == "plt" else extraction.steps
    steps = [[only(token.cases) for token in step[new:]] for step in slots]
    return VariableNetwork(variables), steps, {key: only(cases) for key, cases in extraction.cut_rows.items()}


def only(cases):
    return cases.variables[0] if cases.variables else None


def last_symbols(model, extraction, words):
    """Return the last slot of every word, computed by the checker."""
    labels_table, symbols = answer(model, *claimed(extraction))
    values = extraction.network.evaluate(input_numbers(model, words), list(labels_table.variables))
    labels = labels_table.table[tuple(values[v] for v in labels_table.variables)]
    return np.broadcast_to(symbols[labels], (len(words),)).tolist()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("precision", [2, 3])
def test_random_models_word_by_word(kind, precision):
    """Where it accepts the tables, every word has the reference engine's symbol; a run that fails is refused."""
    accepted = 0
    for seed in range(8):
        model = compile_problem(f"random:{seed}", kind, length=2, precision=precision)
        extraction, words = extract(model), all_words(model)
        truth = runs(model, words)
        try:
            computed = last_symbols(model, extraction, words)
        except Refused:
            continue
        assert None not in truth, seed
        assert computed == [row[-1] for row in truth], seed
        accepted += 1
    assert accepted >= 1


@pytest.mark.parametrize("kind", KINDS)
def test_tables_of_other_weights_are_refused_or_give_other_words(kind):
    """The tables of one random model are compared with the weights of another."""
    refused_count = 0
    for seed in range(6):
        model, other = (compile_problem(f"random:{s}", kind, length=2) for s in (seed, seed + 50))
        if model.vocabulary != other.vocabulary or (model.k, model.block) != (other.k, other.block):
            continue
        extraction = extract(model)
        try:
            labels, symbols = answer(other, *claimed(extraction))
        except (Refused, KeyError, IndexError, ValueError):
            refused_count += 1
            continue
        values = extraction.network.evaluate(input_numbers(other, all_words(other)), list(labels.variables))
        computed = np.broadcast_to(
            symbols[labels.table[tuple(values[v] for v in labels.variables)]], (len(all_words(other)),)
        )
        assert computed.tolist() == [row[-1] for row in runs(other, all_words(other)) if row is not None]
    assert refused_count >= 1


@pytest.mark.parametrize("kind", ["mdm", "plt", "cot"])
def test_a_row_that_attends_to_nothing_is_refused(kind):
    """The first column holds 1 everywhere, queries are B times it and keys are -B times it: exp(-B) is 0."""
    model = compile_problem("(a|b)*abb", kind, length=2)
    name, transformer = next(iter(model.transformers.items()))
    one, bound = transformer.precision.one, transformer.precision.bound
    for tensor, value in (("embed", one), ("pos", 0), *((f"layers.0.heads.0.{w}", x) for w, x in SIGNS)):
        whole = dict(transformer.tensors(positions=True))[tensor]
        dense = np.array(whole if isinstance(whole, np.ndarray) else whole.dense(), dtype=np.int64)
        if tensor.startswith("layers"):
            dense[:] = 0
            dense[0, 0] = value * bound
        else:
            dense[:, 0] = value
        transformer = with_tensor(transformer, tensor, dense)
    other = replace(model, transformers={**model.transformers, name: transformer})
    assert None in runs(other, all_words(other))
    with pytest.raises(Refused, match="attends to nothing"):
        answer(other, *claimed(extract(model)))


def test_a_claim_that_does_not_follow_is_refused():
    network = VariableNetwork([2, 2, ((0, 1), np.array([[0, 1], [1, 0]]))])
    _, (left, right, odd) = network.joint([network.single(v) for v in range(3)])
    assert labels_by_value(odd, left ^ right, network, 2).tolist() == [0, 1]
    for label in (left, right, left & right):
        with pytest.raises(Refused, match="the value of variable 2 does not determine"):
            labels_by_value(odd, label, network, 2)
    with pytest.raises(Refused):
        labels_by_value(np.zeros(4, dtype=int), left, network, None)


def test_a_variable_that_follows_from_others_is_not_in_the_basis():
    network = VariableNetwork([2, 2, ((0, 1), np.array([[0, 1], [1, 0]])), ((2,), np.array([1, 0]))])
    basis, labels = network.joint([network.single(3), network.single(0), network.single(1)])
    assert basis == (0, 1)
    assert labels[0].tolist() == [1, 0, 0, 1]
    assert network.joint([network.single(3), network.single(2)])[0] == (2,)


def test_variables_that_change_nothing_are_left_out():
    table = LabelTable((4, 7), np.array([[1, 1], [2, 2]])).reduced()
    assert table.variables == (4,)
    assert table.table.tolist() == [1, 2]
    assert LabelTable((4, 7), np.ones((2, 2), dtype=int)).reduced().variables == ()
