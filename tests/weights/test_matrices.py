from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engines.agreement import assert_same_run
from unmask.api import compile_problem
from unmask.engines.fast import FastEngine
from unmask.engines.reference import ReferenceEngine
from unmask.errors import WeightsError
from unmask.testing import random_model
from unmask.testing.random_model import all_words
from unmask.weights import matrices as module
from unmask.weights.kinds import KINDS
from unmask.weights.matrices import Matrix, PositionTable
from unmask.weights.storage import content_hash, load, save

arrays = st.tuples(st.integers(0, 4), st.integers(0, 4)).flatmap(
    lambda shape: st.lists(
        st.sampled_from([0, 0, 1, -7, 65535]), min_size=shape[0] * shape[1], max_size=shape[0] * shape[1]
    ).map(lambda values: np.array(values, dtype=np.int64).reshape(shape))
)


@given(arrays)
def test_dense_and_sparse_round_trip(array):
    matrix = Matrix.of(array)
    assert np.array_equal(matrix.dense(), array)
    assert matrix.nonzeros == np.count_nonzero(array)
    assert matrix.largest() == np.abs(array).max(initial=0)
    assert np.array_equal(matrix.transposed().dense(), array.T)
    rebuilt = np.zeros_like(array)
    for k, columns, values in matrix.rows():
        rebuilt[k, columns] = values
    assert np.array_equal(rebuilt, array)


@given(arrays, st.randoms(use_true_random=False))
def test_entries_may_come_in_any_order(array, random):
    entries = [(r, c, array[r, c]) for r in range(array.shape[0]) for c in range(array.shape[1])]
    random.shuffle(entries)
    row, column, value = ([e[i] for e in entries] for i in range(3))
    assert Matrix.from_entries(array.shape, row, column, value) == Matrix.of(array)


@given(arrays.filter(lambda a: a.shape[0] > 0), st.data())
def test_take_is_a_lookup(array, data):
    rows = np.array(data.draw(st.lists(st.integers(0, array.shape[0] - 1), min_size=1, max_size=6)))
    assert np.array_equal(Matrix.of(array).take(rows), array[rows])
    assert np.array_equal(Matrix.of(array).take(rows[None, :]), array[rows[None, :]])


def test_equality_sees_shape_place_and_value():
    matrix = Matrix.of(np.array([[0, 3], [0, 0]]))
    assert matrix == Matrix.from_entries((2, 2), [0], [1], [3])
    for other in (
        Matrix.from_entries((2, 3), [0], [1], [3]),
        Matrix.from_entries((2, 2), [0], [0], [3]),
        Matrix.from_entries((2, 2), [1], [1], [3]),
        Matrix.from_entries((2, 2), [0], [1], [4]),
        Matrix.zeros((2, 2)),
    ):
        assert matrix != other
    assert matrix != "a matrix"


@pytest.mark.parametrize(
    ("row", "column", "value", "message"),
    [
        ([0, 0], [1, 1], [1, 2], "names row 0, column 1 twice"),
        ([0, 1, 0], [1, 1, 1], [0, 2, 0], "names row 0, column 1 twice"),
        ([0, -1], [0, 0], [1, 1], "entry 1 of a sparse tensor has row -1, outside 0 … 1"),
        ([2], [0], [1], "row 2"),
        ([0], [3], [1], "column 3, outside 0 … 2"),
        ([0], [-1], [1], "column -1"),
        ([0, 1], [0], [1], "lists of one length"),
        ([[0]], [[0]], [[1]], "lists of one length"),
    ],
)
def test_bad_entries_are_named(row, column, value, message):
    with pytest.raises(WeightsError, match=message):
        Matrix.from_entries((2, 3), row, column, value)


def test_a_matrix_has_two_axes_and_cannot_be_changed():
    with pytest.raises(WeightsError, match=r"two axes.*\[3\]"):
        Matrix.of(np.zeros(3, dtype=np.int64))
    with pytest.raises(ValueError, match="read-only"):
        Matrix.of(np.ones((1, 1), dtype=np.int64)).value[0] = 2


def test_a_huge_empty_matrix_is_small():
    assert Matrix.zeros((1 << 30, 1 << 30)).nonzeros == 0


# A table of positions without its empty columns answers as the whole table does, in engines and in folders.


def sparse(model):
    """The same model, its tables held without empty columns."""
    transformers = {
        name: replace(t, positions=PositionTable.of(np.asarray(t.positions))) for name, t in model.transformers.items()
    }
    return replace(model, transformers=transformers)


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
    assert isinstance(module.as_positions(table.width, table.columns, table.table), np.ndarray)
    monkeypatch.setattr(module, "MOST_DENSE_CELLS", 34)
    assert isinstance(module.as_positions(table.width, table.columns, table.table), PositionTable)


@pytest.mark.parametrize("kind", KINDS)
def test_engines_agree_on_either_form(kind):
    for model in (random_model(0, kind, 2), compile_problem("(ab)*", kind, length=3)):
        assert_same_run(sparse(model), all_words(model)[:3], FastEngine(), ReferenceEngine())


@pytest.mark.parametrize("problem", ["(ab)*", ".*(a|b).{0,9}c.*x.{4}"])
def test_a_folder_does_not_tell_the_form(problem, tmp_path, monkeypatch):
    model = compile_problem(problem, "mdm", length=6)
    assert content_hash(sparse(model)) == content_hash(model)
    folder = save(sparse(model), tmp_path / "model")
    monkeypatch.setattr(module, "MOST_DENSE_CELLS", 0)
    loaded = load(folder)
    assert all(isinstance(t.positions, PositionTable) for t in loaded.transformers.values())
    assert content_hash(loaded) == content_hash(model)
    again = compile_problem(problem, "mdm", length=6)
    assert all(isinstance(t.positions, PositionTable) for t in again.transformers.values())
    assert content_hash(again) == content_hash(model)
