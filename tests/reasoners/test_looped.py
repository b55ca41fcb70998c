"""plt: how often which layers run, what the noise is added to, what is decoded."""

from dataclasses import replace

import numpy as np
import pytest

import by_hand
from unmask.api import run_word
from unmask.numerics.arithmetic import add
from unmask.reasoners.decoding import OTHER, PLANNER, Tape
from unmask.weights.transformer import Noise

VOCABULARY = ("a", "b", "□", "0", "1")


def counter(loop, *, layers=3, steps=2, padding=1, noise=None):
    """Layer i adds 1/4 to column i; the residual is what matters, read it with record=True."""
    width = 5
    transformer = by_hand.transformer(
        [[0] * width] * 5,
        [[0] * width] * (1 + padding),
        by_hand.one_hot(width),
        layers=[by_hand.increment(width, i) for i in range(layers)],
        loop=loop,
        noise=noise,
    )
    return by_hand.model(
        "plt", {"model": transformer}, vocabulary=VOCABULARY, pad="□" if padding else None, padding=padding, steps=steps
    )


def last_row(model, **options):
    trace = run_word(model, "a", record=True, **options)
    names = list(trace.activations)
    return trace.activations[names[-1]][-1].tolist(), trace


@pytest.mark.parametrize(
    ("loop", "steps", "counts"),
    [
        ((0, 3), 2, [2, 2, 2]),
        ((1, 2), 4, [1, 4, 1]),
        ((0, 1), 3, [3, 1, 1]),
        ((2, 3), 5, [1, 1, 5]),
        ((1, 1), 7, [1, 1, 1]),
        ((0, 0), 7, [1, 1, 1]),
        ((3, 3), 7, [1, 1, 1]),
        ((1, 3), 0, [1, 0, 0]),
        ((0, 3), 0, None),
        ((0, 3), 20, [15, 15, 15]),
    ],
)
def test_layers_before_within_and_after_the_loop(loop, steps, counts):
    row, trace = last_row(counter(loop, steps=steps))
    assert row[:3] == (counts or [0, 0, 0])
    assert trace.steps_taken == steps
    assert len(trace.canvas) == 1


def test_names_of_what_a_looped_model_does():
    _, trace = last_row(counter((1, 2), steps=2))
    assert list(trace.activations) == [
        "initial.model.embed",
        "initial.model.layers.0.residual",
        "steps.0.model.layers.1.residual",
        "steps.1.model.layers.1.residual",
        "final.model.layers.2.residual",
    ]


@pytest.mark.parametrize(("steps", "answer"), [(2, False), (3, False), (4, True)])
def test_the_last_row_decodes_to_the_answer(steps, answer):
    """Column 4 starts at 3/4, column 0 counts loops: 1 wins only if it is ahead, ties go to the lower index."""
    width = 5
    out = np.zeros((5, width), dtype=np.int64)
    out[3, 4] = out[4, 0] = 4
    positions = [[9, 0, 0, 0, 0], [0, 0, 0, 0, 3]]
    transformer = by_hand.transformer(
        [[0] * width] * 5, positions, out, layers=[by_hand.increment(width, 0)], loop=(0, 1)
    )
    model = by_hand.model("plt", {"model": transformer}, vocabulary=VOCABULARY, pad="□", steps=steps)
    trace = run_word(model, "b")
    assert trace.accepted is answer
    assert trace.canvas_symbols == [["1" if answer else "0"]]


def test_without_padding_the_last_row_is_the_last_letter():
    transformer = replace(by_hand.successor({0: 3, 1: 4}, 2), loop=(0, 0))
    model = by_hand.model("plt", {"model": transformer}, length=2, padding=0, vocabulary=VOCABULARY)
    assert [run_word(model, word).accepted for word in ("ab", "ba", "bb")] == [True, False, True]


def test_the_pad_may_be_the_answer_and_then_there_is_none():
    transformer = replace(by_hand.successor({2: 2}, 2), loop=(0, 0))
    model = by_hand.model("plt", {"model": transformer}, vocabulary=VOCABULARY, pad="□")
    trace = run_word(model, "a")
    assert (trace.output, trace.accepted) == (["□"], None)


def test_noise_is_added_before_each_loop_and_only_under_sampling():
    noise = Noise(planner=(4,), predictor=(3, 0))
    model = counter((0, 1), layers=1, steps=2, noise=noise)
    tape = Tape(11)
    expected = [0] * 5
    for step in range(2):
        for columns, stream, symbols in ((noise.planner, PLANNER, 2), (noise.predictor, OTHER, 5)):
            noise_values = tape.noise(step, stream, (1, 2), symbols, by_hand.P2)[0]
            for symbol, column in enumerate(columns):
                expected[column] = int(add(expected[column], int(noise_values[symbol]), by_hand.P2))
        expected[0] = int(add(expected[0], 1, by_hand.P2))
    row, _ = last_row(model, sample=True, seed=11)
    assert row == expected
    assert last_row(model)[0] == [2, 0, 0, 0, 0]
    assert last_row(model, sample=True, seed=12)[0] != row


def test_without_noise_columns_sampling_changes_nothing():
    model = counter((0, 3))
    assert last_row(model, sample=True, seed=3)[0] == last_row(model)[0]


def test_nothing_to_read_but_begin():
    vocabulary = (*VOCABULARY, "^")
    transformer = replace(by_hand.successor({5: 4}, 1, size=6), loop=(0, 0))
    model = by_hand.model("plt", {"model": transformer}, length=0, padding=0, vocabulary=vocabulary, begin="^")
    assert run_word(model, "").accepted is True
