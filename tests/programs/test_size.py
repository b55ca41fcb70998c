"""What `assemble` accepts can be saved and loaded again; what `load` would refuse is refused before memory is taken."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unmask.errors import TooLarge
from unmask.numerics.precision import Precision
from unmask.pipeline import compile_problem
from unmask.programs.language.assemble import assemble
from unmask.programs.language.positions import n
from unmask.programs.language.program import Program
from unmask.programs.language.size import check_size
from unmask.weights import limits
from unmask.weights.model import Model
from unmask.weights.positions import PositionTable
from unmask.weights.storage import load, save


def program_of(rows, width, *, head=0, units=0):
    """A program of the given sizes: `width` columns, a head with `head` of them, `units` hidden units."""
    program = Program(("a", "0", "1"), 3, rows - 1, rows, "causal")
    if width > 1:
        program.register("rest", width - 1)
    layer = program.layer()
    scored = layer.head()
    for _ in range(head):
        scored.column([], [])
    layer.mlp.units(units)
    return program


def model_of(program):
    """A chain of thought of one step."""
    return Model(
        kind="cot",
        length=program.rows - 1,
        padding=1,
        steps=1,
        vocabulary=program.symbols,
        input_symbols=("a",),
        accept="1",
        reject="0",
        transformers={"model": assemble(program, Precision(2))},
    )


@settings(max_examples=60, deadline=None)
@given(
    rows=st.integers(2, 120),
    width=st.integers(1, 40),
    head=st.integers(0, 40),
    units=st.integers(0, 4000),
    most=st.integers(20, 4000),
    held=st.integers(1, 4),
)
def test_what_assemble_accepts_load_accepts(tmp_path_factory, rows, width, head, units, most, held):
    """With limits so small that they are met, on either side."""
    with pytest.MonkeyPatch.context() as patch:
        set_limits(patch, most, held)
        program = program_of(rows, width, head=head, units=units)
        beyond = max(rows * width / held, rows * head, units, rows, width) > most
        try:
            model = model_of(program)
        except TooLarge:
            assert beyond
            return
        assert not beyond
        loaded = load(save(model, tmp_path_factory.mktemp("sizes") / "model"))
        assert loaded.transformers["model"].positions.shape == (rows, width)


@settings(max_examples=60, deadline=None)
@given(
    rows=st.integers(2, 60),
    width=st.integers(1, 40),
    entries=st.integers(0, 1600),
    placed=st.booleans(),
    most=st.integers(20, 2000),
    held=st.integers(1, 4),
    file=st.integers(20_000, 40_000),
)
def test_full_matrices_and_tables_are_read_again(tmp_path_factory, rows, width, entries, placed, most, held, file):
    """A matrix and a table of positions with many entries: stored dense where they are small, and loaded either way."""
    program = program_of(rows, width)
    columns = np.arange(min(entries, program.width**2))
    program.layers[0].heads[0].copy(columns // program.width, columns % program.width)
    if placed:
        program.code("here", n)
    with pytest.MonkeyPatch.context() as patch:
        set_limits(patch, most, held)
        patch.setattr(limits, "LARGEST_FILE", file)
        try:
            model = model_of(program)
        except TooLarge:
            return
        loaded = load(save(model, tmp_path_factory.mktemp("full") / "model")).transformers["model"]
        assert loaded.layers[0].heads[0].wv.nonzeros == columns.size
        assert (np.asarray(loaded.positions) == np.asarray(model.transformers["model"].positions)).all()


def test_a_wide_table_with_few_columns_in_use_is_read_again(tmp_path, monkeypatch):
    """Its cells are more than a table may have, those in use are not: so it is with `(a|b)*abb` at N = 1,500,000."""
    model = compile_problem("(a|b)*abb", "mdm", length=60)
    table = PositionTable.of(model.transformers["predictor"].positions)
    monkeypatch.setattr(limits, "LARGEST_TABLE", table.table.size)
    assert table.size > 2 * limits.LARGEST_TABLE
    again = load(save(compile_problem("(a|b)*abb", "mdm", length=60), tmp_path / "model"))
    assert (np.asarray(again.transformers["predictor"].positions) == np.asarray(table)).all()


def set_limits(patch, most, held):
    """A table of at most `most` cells; a pass holds `held` times as many."""
    patch.setattr(limits, "LARGEST_TABLE", most)
    patch.setattr("unmask.weights.storage.LARGEST_TABLE", most)
    patch.setattr(limits, "LARGEST_ACTIVATION", held * most)
    patch.setattr(limits, "MOST_UNITS", most)


@pytest.mark.parametrize(
    ("sizes", "sentence"),
    [
        (
            {"rows": 1 << 20, "width": 1025},
            r"1,048,576 rows of width 1,025, that is 1,074,790,400 numbers, .* beyond the limits",
        ),
        ({"rows": 1 << 27, "width": 1, "head": 3}, r"head 0 of layer 0 .* would need 134217728 × 3 numbers"),
        ({"rows": 2, "width": 1, "units": 20_000_001}, r"layer 0 would need 20,000,001 hidden units"),
    ],
    ids=["positions", "scores", "hidden units"],
)
def test_every_limit_is_checked_before_memory_is_taken(sizes, sentence):
    program = program_of(**sizes)
    tracemalloc.start()
    with pytest.raises(TooLarge, match=sentence):
        assemble(program, Precision(2))
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()


def test_a_file_of_too_many_bytes_or_tensors_is_refused(monkeypatch):
    program = program_of(4, 4, units=9)
    check_size(program)
    monkeypatch.setattr(limits, "MOST_TENSORS", 10)
    with pytest.raises(TooLarge, match="40 tensors and 0 MB, beyond the limits of 10 tensors"):
        check_size(program)
    monkeypatch.undo()
    monkeypatch.setattr(limits, "LARGEST_FILE", 1000)
    with pytest.raises(TooLarge, match="beyond the limits"):
        check_size(program)


def test_a_circuit_that_no_folder_may_hold_is_refused_before_memory_is_taken(monkeypatch):
    """`family:addition` at length 440 once wrote 300 MB that `load` refused; a shorter one under a lower limit."""
    monkeypatch.setattr(limits, "LARGEST_TABLE", 1 << 19)
    for part in ("_positions", "_matrix"):
        monkeypatch.setattr(f"unmask.programs.language.assemble.{part}", lambda *_: pytest.fail("memory is taken"))
    with pytest.raises(
        TooLarge,
        match=r"\d+ rows of width \d+, that is [\d,]+ numbers, .* beyond the limits of 1,073,741,824 and 524,288",
    ):
        compile_problem("family:addition", "plt", length=80)


def test_a_chain_of_too_many_steps_is_refused():
    """Its table would fit, but `load` reads no model of more than 2^20 steps."""
    with pytest.raises(TooLarge, match=r"1,048,577 steps, beyond the limit of 1,048,576"):
        compile_problem("a*", "cot", length=(1 << 20) + 1)


def test_a_config_that_load_would_refuse_is_not_written(tmp_path, monkeypatch):
    model = model_of(program_of(2, 3))
    monkeypatch.setattr("unmask.weights.storage.LARGEST_CONFIG", 100)
    with pytest.raises(TooLarge, match=r"config.json would take 0 MB, beyond the limit"):
        save(model, tmp_path / "model")
    assert list(tmp_path.iterdir()) == []
