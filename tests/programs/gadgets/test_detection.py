import numpy as np
import pytest

from unmask.programs.gadgets.detection import detect, everywhere
from unmask.programs.gadgets.equal import eq
from unmask.programs.gadgets.focus import focus, focus_copies
from unmask.programs.language.coefficients import ONE
from unmask.programs.language.positions import n
from unmask.programs.language.program import bits_for
from unmask.testing.gadget_runs import PRECISIONS, blank, run_words

SYMBOLS = ("a", "b", "c", "d", "e")
each_precision = pytest.mark.parametrize("precision", PRECISIONS, ids=str)


def detecting(rows, restrict, *, weight=ONE):
    """A program that detects symbols where the head of `restrict(program, layer)` looks."""
    program = blank(rows, SYMBOLS)
    codes, average, found = (program.register(name, SYMBOLS) for name in ("symbol", "average", "found"))
    program.embed(np.arange(len(SYMBOLS)), codes, weight)
    layer = program.layer()
    detect(restrict(program, layer), layer.mlp, codes, average, found)
    return program, found


def words(rows, count=20):
    """Random words, most of them over few of the symbols, the last with a symbol that occurs once, at the end."""
    rng = np.random.default_rng(rows)
    drawn = rng.integers(0, rng.integers(1, 6, (count, 1)), (count, rows))
    drawn[-1] = 0
    drawn[-1, -1] = 4
    return drawn


def occurs(word):
    return [symbol in word for symbol in range(len(SYMBOLS))]


@each_precision
@pytest.mark.parametrize("rows", [1, 2, 3, 4, 7, 15, 16, 17, 40, 200])
def test_detection_in_every_row_however_long_the_word(precision, rows):
    program, found = detecting(rows, lambda _, layer: everywhere(layer))
    drawn = words(rows)
    residual = run_words(program, precision, drawn)
    expected = precision.one * np.array([occurs(word) for word in drawn])
    assert np.array_equal(residual[..., found], np.repeat(expected[:, None], rows, axis=1))


@each_precision
def test_detection_in_the_prefix_when_attention_is_causal(precision):
    program, found = detecting(30, lambda _, layer: everywhere(layer))
    drawn = words(30)
    residual = run_words(program, precision, drawn, attention="causal")
    expected = [[occurs(word[: i + 1]) for i in range(30)] for word in drawn]
    assert np.array_equal(residual[..., found], precision.one * np.array(expected))


@each_precision
@pytest.mark.parametrize("gadget", ["eq", "focus"])
@pytest.mark.parametrize("block", [1, 3, 7])
def test_detection_within_a_block(precision, gadget, block):
    rows = 4 * block

    def restrict(program, layer):
        code = program.code("block", n // block, bits_for(4))
        head = layer.head()
        if gadget == "eq":
            eq(head, code, code)
        else:
            focus(head, code, code, copies=focus_copies(precision.p))
        return head

    program, found = detecting(rows, restrict)
    drawn = words(rows)
    residual = run_words(program, precision, drawn)
    expected = [[occurs(word[i // block * block :][:block]) for i in range(rows)] for word in drawn]
    assert np.array_equal(residual[..., found], precision.one * np.array(expected))


@each_precision
def test_codes_of_a_half_are_lost_in_a_long_word(precision):
    rows = 2 * precision.one
    halves = np.full(len(SYMBOLS), precision.one // 2)
    program, found = detecting(rows, lambda _, layer: everywhere(layer), weight=halves)
    residual = run_words(program, precision, words(rows)[-1:])
    assert not residual[..., found[4]].any()
