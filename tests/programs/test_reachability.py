"""Reachability by squaring in place: the matrix after every step, the steps, and that slots are really edited."""

import random
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from engines.agreement import assert_same_run
from unmask.api import compare_frameworks, compile_problem, convert_model, run_word, verify_model
from unmask.engines.fast import FastEngine
from unmask.engines.reference import ReferenceEngine
from unmask.errors import EditsWrittenSlot, ProblemError
from unmask.programs import reachability as squaring_diffusion
from unmask.reasoners.run_words import answers, run_batch

PROBLEM = "family:reachability"
IN_PLACE = ("mdm", "plt")


def compiled(kind, v, precision=2):
    return compile_problem(PROBLEM, kind, length=v * v, precision=precision)


def warshall(word, v):
    """Which vertex is reached from which, itself included."""
    reach = np.array(word, dtype=bool).reshape(v, v) | np.eye(v, dtype=bool)
    for k in range(v):
        reach |= reach[:, k : k + 1] & reach[k : k + 1, :]
    return reach


def graphs(v, count, seed=0):
    """Graphs with about one edge per vertex, and paths through all vertices in a random order."""
    rng = random.Random(seed)
    words = [[int(rng.randrange(v) == 0) for _ in range(v * v)] for _ in range(count)]
    for _ in range(count // 2):
        inner = rng.sample(range(1, v - 1), max(0, v - 2))
        order = [0, *inner, v - 1]
        matrix = np.zeros((v, v), dtype=int)
        matrix[order[:-1], order[1:]] = 1
        words.append(matrix.ravel().tolist())
    return np.array(words)


def entries(model, slots, v):
    """Return the matrix in the last v² slots, which have its rows in descending order."""
    matrix = np.asarray(slots)[-v * v :]
    assert np.isin(matrix, [model.token[model.accept], model.token[model.reject]]).all()
    return (matrix == model.token[model.accept]).reshape(v, v)[::-1]


@pytest.mark.parametrize("precision", [1, 2, 3])
@pytest.mark.parametrize("kind", IN_PLACE)
@pytest.mark.parametrize("v", [1, 2, 3])
def test_every_small_graph(v, kind, precision):
    words = np.array(list(product((0, 1), repeat=v * v)))
    accepted = answers(compiled(kind, v, precision), words, engine=FastEngine()).accepted
    assert accepted.tolist() == [int(warshall(word, v)[0, -1]) for word in words]


def test_every_graph_of_four_vertices_without_loops():
    bits = np.array(list(product((0, 1), repeat=12)))
    words = np.zeros((len(bits), 16), dtype=int)
    words[:, ~np.eye(4, dtype=bool).ravel()] = bits
    accepted = answers(compiled("mdm", 4), words, engine=FastEngine()).accepted
    assert accepted.tolist() == [int(warshall(word, 4)[0, -1]) for word in words]


@pytest.mark.parametrize("kind", IN_PLACE)
@pytest.mark.parametrize("v", [5, 6, 8, 9])
def test_random_graphs(kind, v):
    words = graphs(v, 30, seed=v)
    model = compiled(kind, v)
    assert (model.steps, model.padding) == ((v - 1).bit_length(), v**2 + v**3)
    expected = [int(warshall(word, v)[0, -1]) for word in words]
    assert set(expected) == {0, 1}
    assert answers(model, words, engine=FastEngine()).accepted.tolist() == expected


@pytest.mark.parametrize("v", [4, 5, 7])
def test_every_step_squares_the_matrix_in_place(v):
    model = compiled("mdm", v)
    words = graphs(v, 6, seed=v)
    edited = 0
    for word, trace in zip(words, run_batch(model, words, engine=FastEngine()), strict=True):
        power = (word.reshape(v, v) | np.eye(v, dtype=int)) > 0
        for canvas, chosen in zip(trace.canvas, trace.chosen, strict=True):
            power = (power.astype(int) @ power.astype(int)) > 0
            assert np.array_equal(entries(model, canvas, v), power)
            assert (canvas[: v**3] == model.token[model.mask]).all()
            assert chosen.tolist() == [False] * v**3 + [True] * v**2
        assert np.array_equal(power, warshall(word, v))
        for before, after in zip(trace.canvas, trace.canvas[1:], strict=False):
            written = before != model.token[model.mask]
            edited += int((written & (before != after)).sum())
    assert edited > 0  # slots that held 0 hold 1 now


@pytest.mark.parametrize("v", [4, 6, 10])
def test_no_step_is_too_many(v):
    """A path through all vertices is found in the last step and not before."""
    model = compiled("mdm", v)
    line = "".join(str(int(j == i + 1)) for i in range(v) for j in range(v))
    trace = run_word(model, line)
    answer = [symbols[-1] for symbols in trace.canvas_symbols]
    assert answer == [model.reject] * (model.steps - 1) + [model.accept]


def test_without_editing_it_is_refused():
    model = replace(compiled("mdm", 3), kind="smdm")
    with pytest.raises(EditsWrittenSlot):
        run_word(model, "010001000")


@pytest.mark.parametrize("kind", IN_PLACE)
def test_both_engines_agree(kind):
    assert_same_run(compiled(kind, 3), graphs(3, 2), ReferenceEngine(), FastEngine())


def test_without_the_diagonal_a_path_is_lost(monkeypatch):
    registers = squaring_diffusion.squaring_registers

    def without_diagonal(program, vertices):
        return replace(registers(program, vertices), diagonal=program.register("never"))

    monkeypatch.setattr(squaring_diffusion, "squaring_registers", without_diagonal)
    assert verify_model(compiled("mdm", 2)).status == "refuted"


def test_those_that_cannot_edit_take_the_circuit():
    for v in (4, 8):
        assert compiled("smdm", v).steps == 2 * compiled("mdm", v).steps
    rows = {row.framework: row for row in compare_frameworks(PROBLEM, [16])}
    assert {kind: row.steps for kind, row in rows.items() if kind != "cot"} == {"mdm": 2, "smdm": 4, "plt": 2}
    assert rows["cot"].steps > 16
    assert all(row.correct is True and row.within_bound for row in rows.values())


def test_a_conversion_takes_the_editing_out():
    source = compiled("mdm", 3)
    *_, (_, conversion) = convert_model(source, "smdm")
    assert conversion.model.steps == source.steps
    for word in ("010001000", "010000001"):
        assert run_word(conversion.model, word).accepted == run_word(source, word).accepted


def test_other_lengths_are_refused():
    for kind in IN_PLACE:
        with pytest.raises(ProblemError, match="words of length 1, 4, 9"):
            compile_problem(PROBLEM, kind, length=8)
