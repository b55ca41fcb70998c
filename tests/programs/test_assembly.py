"""Program × Precision → Transformer, against matrices written entry by entry."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unmask.api import compile_problem
from unmask.engines.engine import forward
from unmask.engines.reference import ReferenceEngine
from unmask.errors import ProblemError, TooLarge, WeightsError
from unmask.expressions import N, n
from unmask.numerics.arithmetic import Precision
from unmask.programs.assembly import assemble, check_program_size
from unmask.programs.declarations import Flag, OneHot, SignedBits, TableRows
from unmask.programs.program import HALF, ONE, TOP, ULP, B, Program, bits_for, whole
from unmask.testing.gadget_runs import PRECISIONS, blank, vectors
from unmask.weights import size_limits
from unmask.weights.matrices import PositionTable
from unmask.weights.model import Model
from unmask.weights.storage import load, save

each_precision = pytest.mark.parametrize("precision", PRECISIONS, ids=str)


@each_precision
def test_coefficients_are_the_numbers_they_name(precision):
    p = precision.p
    values = [precision.meaning(c.integer(precision)) for c in (ONE, B, HALF, ULP, TOP)]
    assert values[0] == 1
    assert values[1] == (4**p - 1) / 2**p
    assert values[2] == (2 ** (2 * p - 1) - 1) / 2**p
    assert values[3] == 1 / 2**p
    assert values[4] == 2 ** (p - 1)
    assert (-B).integer(precision) == -precision.bound
    assert whole(2**p - 1).integer(precision) == precision.one * (2**p - 1)
    with pytest.raises(ProblemError, match=f"the coefficient {2**p}·1 does not fit F_{p}"):
        whole(2**p).integer(precision)


def test_coefficients_print_as_in_the_equations():
    assert [str(c) for c in (ONE, -B, HALF, TOP, whole(-3))] == ["1", "-B", "[B/2]", "2^(p-1)", "-3·1"]


def small_program(attention="unmasked"):
    program = Program(("a", "b", "m"), outputs=2, length=2, rows=3, attention=attention)
    one, code = program.one, program.code("code", n, 2)
    letter = program.register("letter", ("a", "b"))
    program.embed([0, 1], letter)
    layer = program.layer()
    head = layer.head()
    head.column([(code[0], B), (one, -ONE)], [(letter, ONE)])
    head.column([(one, HALF)], [(one, ULP)])
    head.copy(letter, letter[::-1], -ONE)
    units = layer.mlp.units(2, bias=-ONE)
    layer.mlp.units(1)
    layer.mlp.read(units, letter)
    layer.mlp.read(units[1:], one, TOP)
    layer.mlp.write(units, letter[::-1])
    layer.mlp.write(np.array([2]), one, -B)
    layer.mlp.offset(letter[:1], ULP)
    program.read_out([0, 1], letter, B)
    return program


@each_precision
def test_every_matrix_entry_by_entry(precision):
    one, B, half, top = precision.one, precision.bound, precision.half_bound, 2 ** (2 * precision.p - 1)
    transformer = assemble(small_program("causal"), precision)
    head, mlp = transformer.layers[0].heads[0], transformer.layers[0].mlp
    assert transformer.attention == "causal"
    assert transformer.embed.dense().tolist() == [[0, 0, 0, one, 0], [0, 0, 0, 0, one], [0] * 5]
    assert transformer.positions.tolist() == [
        [one, -one, -one, 0, 0],
        [one, -one, one, 0, 0],
        [one, one, -one, 0, 0],
    ]
    assert head.wq.dense().tolist() == [[-one, half], [B, 0], [0, 0], [0, 0], [0, 0]]
    assert head.wk.dense().tolist() == [[0, 1], [0, 0], [0, 0], [one, 0], [one, 0]]
    value = np.zeros((5, 5), dtype=int)
    value[3, 4] = value[4, 3] = -one
    assert np.array_equal(head.wv.dense(), value)
    assert mlp.w1.dense().tolist() == [[0, top, 0], [0, 0, 0], [0, 0, 0], [one, 0, 0], [0, one, 0]]
    assert mlp.b1.tolist() == [-one, -one, 0]
    assert mlp.w2.dense().tolist() == [[0, 0, 0, 0, one], [0, 0, 0, one, 0], [-B, 0, 0, 0, 0]]
    assert mlp.b2.tolist() == [0, 0, 0, 1, 0]
    assert transformer.out.dense().tolist() == [[0, 0, 0, B, 0], [0, 0, 0, 0, B]]
    assert transformer.column_name(3) == "letter:a"
    assert transformer.column_name(0) == "one"


@each_precision
def test_an_assembled_program_runs(precision):
    transformer = assemble(small_program(), precision)
    session = ReferenceEngine().session(transformer)
    assert forward(session, transformer, np.array([[0, 1, 2]])).shape == (1, 3, 5)


def test_declarations_say_what_the_table_holds():
    program = Program(("a",), outputs=1, length=3, rows=7)
    table = np.arange(12).reshape(4, 3)
    slot = (n - N).positive_part()
    blocks = {
        "bits": (3, SignedBits(n), [[1 if i >> k & 1 else -1 for k in (2, 1, 0)] for i in range(7)]),
        "some": (2, SignedBits(slot, only=n >= N), [[0, 0]] * 3 + [[-1, -1], [-1, 1], [1, -1], [1, 1]]),
        "hot": (3, OneHot(n), np.eye(7, 3)),
        "odd": (2, OneHot(n // 3, only=n % 2), [[i % 2 * (i // 3 == k) for k in (0, 1)] for i in range(7)]),
        "flag": (1, Flag(n >= N), [[int(i >= 3)] for i in range(7)]),
        "flags": (2, Flag(n % 3), [[int(i % 3 > 0)] * 2 for i in range(7)]),
    }
    for name, (size, declaration, _) in blocks.items():
        program.register(name, size, declaration)
    program.register("rows", 3, TableRows(table, slot, only=n >= 2))
    for precision in PRECISIONS[1:]:
        positions = assemble(program, precision).positions
        for name, (_, _, expected) in blocks.items():
            assert np.array_equal(positions[:, program.columns(name)], precision.one * np.array(expected)), name
        expected = np.array([np.zeros(3), np.zeros(3), *(table[max(i - 3, 0)] for i in range(2, 7))])
        assert np.array_equal(positions[:, program.columns("rows")], expected)


@pytest.mark.parametrize("length", [1, 2, 5, 16, 31])
def test_table_entries_one_at_a_time(length):
    """Entry (row, column) of every declared register, computed alone, is the entry of the assembled table."""
    rows, precision = 2 * length, Precision(2)
    size = bits_for(rows)
    program = Program(("a",), outputs=1, length=length, rows=rows)
    codes = {"own": n, "parent": (n - N).positive_part() // 2, "child": (2 * n + 1) % (2 * N)}
    for name, expression in codes.items():
        program.register(name, size, SignedBits(expression))
    positions = assemble(program, precision).positions
    for name, expression in codes.items():
        for row in range(rows):
            for k, column in enumerate(program.columns(name)):
                bit = int(expression.at_positions(length, [row])[0]) >> (size - 1 - k) & 1
                assert positions[row, column] == (precision.one if bit else -precision.one)


def test_codes_that_do_not_fit_are_refused():
    for expression in (n, n - 1):
        program = Program(("a",), outputs=1, length=5, rows=5)
        program.code("code", expression, 2)
        with pytest.raises(AssertionError, match="negative or needs more bits"):
            assemble(program, Precision(2))


def test_a_register_has_one_name():
    program = blank()
    program.register("x", 2)
    with pytest.raises(AssertionError, match="the register x exists already"):
        program.register("x")


def test_an_entry_written_twice_is_refused():
    program = blank()
    x = program.register("x", 2)
    mlp = program.layer().mlp
    unit = mlp.units(1)
    mlp.read(unit, x)
    mlp.read(unit, x[:1], -ONE)
    with pytest.raises(WeightsError, match="row 1, column 0 twice"):
        assemble(program, Precision(2))


@each_precision
def test_weights_of_another_model_are_taken_as_they_are(precision):
    program = blank()
    x, y = program.register("x", 4), program.register("y", 4)
    mlp = program.layer().mlp
    weights = vectors(precision, 4, most=10)[-1]
    mlp.read(mlp.units(4), x, weights)
    mlp.write(np.arange(4), y)
    assert np.array_equal(assemble(program, precision).layers[0].mlp.w1.dense()[x], np.diag(weights))


def test_bits_for():
    assert [bits_for(count) for count in (1, 2, 3, 4, 5, 8, 9, 1000)] == [1, 1, 2, 2, 3, 3, 4, 10]


# What `assemble` accepts can be saved and loaded again; what `load` would refuse is refused before memory is taken.


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
    tables_per_pass=st.integers(1, 4),
)
def test_what_assemble_accepts_load_accepts(tmp_path_factory, rows, width, head, units, most, tables_per_pass):
    """With limits so small that they are met, on either side."""
    with pytest.MonkeyPatch.context() as patch:
        set_limits(patch, most, tables_per_pass)
        program = program_of(rows, width, head=head, units=units)
        beyond = max(rows * width / tables_per_pass, rows * head, units, rows, width) > most
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
    tables_per_pass=st.integers(1, 4),
    file=st.integers(20_000, 40_000),
)
def test_full_matrices_and_tables_are_read_again(
    tmp_path_factory, rows, width, entries, placed, most, tables_per_pass, file
):
    """A matrix and a table of positions with many entries: stored dense where they are small, and loaded either way."""
    program = program_of(rows, width)
    columns = np.arange(min(entries, program.width**2))
    program.layers[0].heads[0].copy(columns // program.width, columns % program.width)
    if placed:
        program.code("here", n)
    with pytest.MonkeyPatch.context() as patch:
        set_limits(patch, most, tables_per_pass)
        patch.setattr(size_limits, "LARGEST_FILE", file)
        try:
            model = model_of(program)
        except TooLarge:
            return
        loaded = load(save(model, tmp_path_factory.mktemp("full") / "model")).transformers["model"]
        assert loaded.layers[0].heads[0].wv.nonzeros == columns.size
        assert (np.asarray(loaded.positions) == np.asarray(model.transformers["model"].positions)).all()


def test_a_wide_table_with_few_columns_in_use_is_read_again(tmp_path, monkeypatch):
    """The table has too many cells, but few columns are in use, as for `(a|b)*abb` at N = 1,500,000."""
    model = compile_problem("(a|b)*abb", "mdm", length=60)
    table = PositionTable.of(model.transformers["predictor"].positions)
    monkeypatch.setattr(size_limits, "LARGEST_TABLE", table.table.size)
    assert table.size > 2 * size_limits.LARGEST_TABLE
    again = load(save(compile_problem("(a|b)*abb", "mdm", length=60), tmp_path / "model"))
    assert (np.asarray(again.transformers["predictor"].positions) == np.asarray(table)).all()


def set_limits(patch, most, tables_per_pass):
    """A table of at most `most` cells; a pass holds `tables_per_pass` times as many."""
    patch.setattr(size_limits, "LARGEST_TABLE", most)
    patch.setattr("unmask.weights.storage.LARGEST_TABLE", most)
    patch.setattr(size_limits, "LARGEST_ACTIVATION", tables_per_pass * most)
    patch.setattr(size_limits, "MOST_UNITS", most)


@pytest.mark.parametrize(
    ("sizes", "message"),
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
def test_every_limit_is_checked_before_memory_is_taken(sizes, message):
    program = program_of(**sizes)
    tracemalloc.start()
    with pytest.raises(TooLarge, match=message):
        assemble(program, Precision(2))
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()


def test_a_file_of_too_many_bytes_or_tensors_is_refused(monkeypatch):
    program = program_of(4, 4, units=9)
    check_program_size(program)
    monkeypatch.setattr(size_limits, "MOST_TENSORS", 10)
    with pytest.raises(TooLarge, match="40 tensors and 0 MB, beyond the limits of 10 tensors"):
        check_program_size(program)
    monkeypatch.undo()
    monkeypatch.setattr(size_limits, "LARGEST_FILE", 1000)
    with pytest.raises(TooLarge, match="beyond the limits"):
        check_program_size(program)


def test_a_circuit_that_no_folder_may_hold_is_refused_before_memory_is_taken(monkeypatch):
    """`family:addition` at length 440 once wrote 300 MB that `load` refused; a shorter one under a lower limit."""
    monkeypatch.setattr(size_limits, "LARGEST_TABLE", 1 << 19)
    for function in ("_positions", "_matrix"):
        monkeypatch.setattr(f"unmask.programs.assembly.{function}", lambda *_: pytest.fail("memory is taken"))
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
