"""A topk model with a fixed k counts: majority in two steps, which no mdm of constantly many steps decides."""

from itertools import product

import numpy as np
import pytest

from unmask.engines.reference import ReferenceEngine
from unmask.numerics.precision import Precision
from unmask.programs.assemble import assemble
from unmask.programs.attention import eq
from unmask.programs.coefficients import ONE, ULP, B
from unmask.programs.detection import detect, everywhere
from unmask.programs.expressions import N, choose, n
from unmask.programs.program import Flag, Program, SignedBits, bits_for
from unmask.reasoners.run import answers
from unmask.weights.model import Model

A, LETTER_B, MASK, DONE, REJECT, ACCEPT = range(6)
SYMBOLS = ("a", "b", "m", "x", "0", "1")


def majority(length):
    """Accept iff more than half of the letters are b. Slot i < N copies letter i, slot N answers."""
    rows = 2 * length + 1
    program = Program(SYMBOLS, len(SYMBOLS), length, rows)
    one = program.register("one", declaration=Flag(n >= 0))
    here = program.register("here", bits_for(rows), SignedBits(n))
    source = choose((n >= N), choose(n < 2 * N, n - N, n), n)
    address = program.register("letter address", bits_for(rows), SignedBits(source))
    answer = program.register("answer slot", declaration=Flag(n.equals(rows - 1)))
    counter = program.register("counting slot", declaration=Flag(n < rows - 1))
    is_b = program.register("is b")
    done = program.register("done")
    written = program.register("own slot written")
    bit = program.register("bit")
    average, begun = program.register("average"), program.register("begun")
    closed = program.register("closed", 2)
    high, low = program.register("high"), program.register("low")
    program.embed(LETTER_B, is_b)
    program.embed(DONE, done)
    program.embed([DONE, REJECT, ACCEPT], written)

    layer = program.layer()
    fetch = layer.head()
    eq(fetch, address, here, one)
    fetch.copy(is_b, bit)
    detect(everywhere(layer), layer.mlp, done, average, begun)
    second = program.layer().mlp
    for target, positive, negative in ((high, bit, [answer]), (low, counter, [bit])):
        unit = second.units(1)
        second.read(unit, positive)
        for flag in negative:
            second.read(unit, flag, -ONE)
        second.write(unit, target)
    unit = second.units(1)
    second.read(unit, written)
    for column in closed:
        second.write(unit, column)

    # a written slot is closed: -B twice, after everything else; the order of the columns does that below
    program.read_out([A, LETTER_B], one, -B)
    program.read_out(DONE, answer, -B)
    program.read_out([REJECT, ACCEPT], counter, -B)
    program.read_out(DONE, high, B)
    program.read_out(DONE, low, -B)
    program.read_out(REJECT, begun, -ONE)
    program.read_out(ACCEPT, begun, ULP)
    transformer = assemble(_closing_last(program, closed), Precision(2))
    return Model(
        kind="topk",
        length=length,
        padding=length + 1,
        steps=2,
        k=length // 2 + 1,
        vocabulary=SYMBOLS,
        input_symbols=("a", "b"),
        accept="1",
        reject="0",
        mask="m",
        transformers={"model": transformer},
    )


def _closing_last(program, closed):
    for column in closed:
        program.read_out([DONE, REJECT, ACCEPT], column, -B)
    return program


@pytest.mark.parametrize("length", range(1, 10))
def test_a_fixed_k_decides_majority_in_two_steps(length):
    model = majority(length)
    words = np.array(list(product((A, LETTER_B), repeat=length)))
    got = answers(model, words, engine=ReferenceEngine()).accepted
    assert np.array_equal(got, (words.sum(axis=1) > length // 2).astype(int))
    assert model.steps == 2
