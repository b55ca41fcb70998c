"""Expressions as they are typed."""

import pytest

from unmask.errors import WordError
from unmask.pipeline import compile_problem
from unmask.reasoners.typed_expressions import reads_expressions, spelled
from unmask.reasoners.words import read_word, written

KNOWN = [str(i) for i in range(-12, 100)] + list("+-*()=")


@pytest.mark.parametrize(
    ("word", "symbols"),
    [
        ("(2+3)*(4+1)-6=", "( 2 + 3 ) * ( 4 + 1 ) - 6 ="),
        ("(2+3)×(4+1)−6", "( 2 + 3 ) * ( 4 + 1 ) - 6 ="),
        (" 12 -3 ", "12 - 3 ="),
        ("12--3", "12 - -3 ="),
        ("-12-3", "-12 - 3 ="),
        ("-12*(-3)", "-12 * ( -3 ) ="),
        ("- 12+3", "- 12 + 3 ="),
        ("(1)-2", "( 1 ) - 2 ="),
        ("1 2 3", "1 2 3 ="),
        ("7/2", "7 / 2 ="),
    ],
)
def test_spelling(word, symbols):
    assert spelled(word, KNOWN, length=0) == symbols.split()


def test_symbols_between_blanks_are_taken_as_they_are():
    assert spelled("1 -2 =", KNOWN, length=3) == ["1", "-2", "="]
    assert spelled("1 -2 =", KNOWN, length=4) == ["1", "-", "2", "="]


def test_which_models_read_expressions():
    assert reads_expressions(KNOWN)
    assert not reads_expressions(list("01"))
    assert not reads_expressions([*"+-*()=", "a"])


def test_words_of_a_model():
    model = compile_problem("expr:a*b in -2..12", "mdm")
    for word in ("-2×12", "-2 * 12 =", "-2*12="):
        assert model.symbols(read_word(model, word)) == ["-2", "*", "12", "="]
    assert written(model, ["-2", "*", "12", "=", "m", "m", "7", "8"]) == "-2*12=mm 7 8"
    with pytest.raises(WordError, match="expressions of 4 symbols, = among them, this one has 6"):
        read_word(model, "1*2*3")
    with pytest.raises(WordError, match="'13' at position 2 of the word is not an input symbol"):
        read_word(model, "1*13")
    with pytest.raises(WordError, match="'/' at position 1"):
        read_word(model, "1/2")
