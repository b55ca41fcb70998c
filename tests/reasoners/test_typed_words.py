from dataclasses import replace

import pytest

import by_hand
from unmask.api import compile_problem
from unmask.errors import WordError
from unmask.reasoners.typed_words import join_symbols, read_word, reads_expressions, spell, split_expression


@pytest.fixture(scope="module")
def letters():
    return by_hand.model("cot", {"model": by_hand.successor({}, 4, attention="causal")}, length=3)


@pytest.fixture(scope="module")
def names(letters):
    return replace(letters, vocabulary=("no", "yes", "m", "0", "1"), input_symbols=("no", "yes"))


def test_letters_and_names(letters, names):
    assert read_word(letters, "aba") == read_word(letters, ["a", "b", "a"]) == [0, 1, 0]
    assert read_word(names, "no yes  no") == read_word(names, ["no", "yes", "no"]) == [0, 1, 0]
    assert (join_symbols(letters, ["a", "b"]), join_symbols(names, ["no", "yes"])) == ("ab", "no yes")


def test_blanks_are_letters_where_all_symbols_are_letters(letters):
    with pytest.raises(WordError, match="' ' at position 1 of the word is not an input symbol; use a b"):
        read_word(letters, "a a")


@pytest.mark.parametrize("word", ["", "ab", "abab"])
def test_the_length_must_fit(letters, word):
    with pytest.raises(
        WordError, match=f"reads words of length 3, this one has length {len(word)}; .*--length {len(word)}"
    ):
        read_word(letters, word)


@pytest.mark.parametrize("symbol", ["c", "m", "1", "\0", "\ud800", "é", "\n"])
def test_unknown_symbols_are_named_with_their_place(letters, symbol):
    with pytest.raises(WordError, match="at position 2 of the word is not an input symbol"):
        read_word(letters, "ab" + symbol)


def test_a_long_unknown_symbol_is_shortened(names):
    with pytest.raises(WordError) as caught:
        read_word(names, "x" * 10**6)
    assert len(str(caught.value)) < 200


def test_characters_lead_to_tokens_by_range(letters):
    model = replace(letters, characters=((0, 96, "b"), (98, 98, "a"), (100, 0x10FFFF, "b")))
    assert spell(model, "Ab🙂") == ["b", "a", "b"]
    for word in ("aab", "cab"):
        with pytest.raises(WordError, match="at position 0 of the word has no token in this model"):
            spell(model, word)


# Expressions as they are typed.


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
    assert split_expression(word, KNOWN, length=0) == symbols.split()


def test_symbols_between_blanks_are_taken_as_they_are():
    assert split_expression("1 -2 =", KNOWN, length=3) == ["1", "-2", "="]
    assert split_expression("1 -2 =", KNOWN, length=4) == ["1", "-", "2", "="]


def test_which_models_read_expressions():
    assert reads_expressions(KNOWN)
    assert not reads_expressions(list("01"))
    assert not reads_expressions([*"+-*()=", "a"])


def test_words_of_a_model():
    model = compile_problem("expr:a*b in -2..12", "mdm")
    for word in ("-2×12", "-2 * 12 =", "-2*12="):
        assert model.symbols(read_word(model, word)) == ["-2", "*", "12", "="]
    assert join_symbols(model, ["-2", "*", "12", "=", "m", "m", "7", "8"]) == "-2*12=mm 7 8"
    with pytest.raises(WordError, match="expressions of 4 symbols, = among them, this one has 6"):
        read_word(model, "1*2*3")
    with pytest.raises(WordError, match="'13' at position 2 of the word is not an input symbol"):
        read_word(model, "1*13")
    with pytest.raises(WordError, match="'/' at position 1"):
        read_word(model, "1/2")
