"""A table of positions without its empty columns answers as the whole table does, in engines and in folders."""

from dataclasses import replace

import numpy as np
import pytest

from engines.agreement import assert_same_run
from unmask.engines.fast import FastEngine
from unmask.engines.reference import ReferenceEngine
from unmask.pipeline import compile_problem
from unmask.testing import random_model
from unmask.testing.random_model import all_words
from unmask.weights import positions as module
from unmask.weights.model import KINDS
from unmask.weights.positions import PositionTable
from unmask.weights.storage import content_hash, load, save


def sparse(model):
    """The same model, its tables held without empty columns."""
    made = {
        name: replace(t, positions=PositionTable.of(np.asarray(t.positions))) for name, t in model.transformers.items()
    }
    return replace(model, transformers=made)


def whole():
    table = np.random.default_rng(0).integers(-3, 4, (5, 7))
    table[:, [1, 4]] = 0
    return table


def test_a_table_is_what_it_was_made_of():
    array = whole()
    table = PositionTable.of(array)
    assert table.columns.tolist() == [0, 2, 3, 5, 6]
    assert (len(table), table.shape, table.size) == (5, (5, 7), 35)
    assert np.array_equal(np.asarray(table), array)
    assert np.array_equal(table[2], array[2])
    assert np.array_equal(table[[3, 0, 3]], array[[3, 0, 3]])
    assert np.array_equal(table.any(axis=0), array.any(axis=0))
    assert np.array_equal(table.any(axis=1), array.any(axis=1))
    assert table.tolist() == array.tolist()
    assert PositionTable.of(table) is table


def test_the_form_depends_on_the_size(monkeypatch):
    table = PositionTable.of(whole())
    assert isinstance(module.held(table.width, table.columns, table.table), np.ndarray)
    monkeypatch.setattr(module, "SMALL", 34)
    assert isinstance(module.held(table.width, table.columns, table.table), PositionTable)


@pytest.mark.parametrize("kind", KINDS)
def test_engines_agree_on_either_form(kind):
    for model in (random_model(0, kind, 2), compile_problem("(ab)*", kind, length=3)):
        assert_same_run(sparse(model), all_words(model)[:3], FastEngine(), ReferenceEngine())


@pytest.mark.parametrize("problem", ["(ab)*", ".*(a|b).{0,9}c.*x.{4}"])
def test_a_folder_does_not_tell_the_form(problem, tmp_path, monkeypatch):
    model = compile_problem(problem, "mdm", length=6)
    assert content_hash(sparse(model)) == content_hash(model)
    folder = save(sparse(model), tmp_path / "model")
    monkeypatch.setattr(module, "SMALL", 0)
    loaded = load(folder)
    assert all(isinstance(t.positions, PositionTable) for t in loaded.transformers.values())
    assert content_hash(loaded) == content_hash(model)
    again = compile_problem(problem, "mdm", length=6)
    assert all(isinstance(t.positions, PositionTable) for t in again.transformers.values())
    assert content_hash(again) == content_hash(model)
