"""Program × Precision → Transformer, against matrices written entry by entry."""

import numpy as np
import pytest

from unmask.engines.engine import forward
from unmask.engines.reference import ReferenceEngine
from unmask.errors import ProblemError, WeightsError
from unmask.numerics.precision import Precision
from unmask.programs.language.assemble import assemble
from unmask.programs.language.coefficients import HALF, ONE, TOP, ULP, B, whole
from unmask.programs.language.declarations import Flag, OneHot, SignedBits, TableRows
from unmask.programs.language.positions import N, n
from unmask.programs.language.program import Program, bits_for
from unmask.testing.gadget_runs import PRECISIONS, blank, vectors

each_precision = pytest.mark.parametrize("precision", PRECISIONS, ids=str)


@each_precision
def test_coefficients_are_the_numbers_they_name(precision):
    p = precision.p
    found = [precision.meaning(c.integer(precision)) for c in (ONE, B, HALF, ULP, TOP)]
    assert found[0] == 1
    assert found[1] == (4**p - 1) / 2**p
    assert found[2] == (2 ** (2 * p - 1) - 1) / 2**p
    assert found[3] == 1 / 2**p
    assert found[4] == 2 ** (p - 1)
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
        found = assemble(program, precision).positions
        for name, (_, _, expected) in blocks.items():
            assert np.array_equal(found[:, program.columns(name)], precision.one * np.array(expected)), name
        expected = np.array([np.zeros(3), np.zeros(3), *(table[max(i - 3, 0)] for i in range(2, 7))])
        assert np.array_equal(found[:, program.columns("rows")], expected)


@pytest.mark.parametrize("length", [1, 2, 5, 16, 31])
def test_table_entries_one_at_a_time(length):
    """Entry (row, column) of every declared register, computed alone, is the entry of the assembled table."""
    rows, precision = 2 * length, Precision(2)
    size = bits_for(rows)
    program = Program(("a",), outputs=1, length=length, rows=rows)
    codes = {"own": n, "parent": (n - N).positive_part() // 2, "child": (2 * n + 1) % (2 * N)}
    for name, expression in codes.items():
        program.register(name, size, SignedBits(expression))
    found = assemble(program, precision).positions
    for name, expression in codes.items():
        for row in range(rows):
            for k, column in enumerate(program.columns(name)):
                bit = int(expression.evaluate(length, [row])[0]) >> (size - 1 - k) & 1
                assert found[row, column] == (precision.one if bit else -precision.one)


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
