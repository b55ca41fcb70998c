"""References: other alphabets, samples of few words, and Python functions."""

import json
import re
from itertools import cycle

import pytest

from unmask.api import compile_problem, compile_program, save_model, verify_model
from unmask.errors import ProblemError, UnmaskError
from unmask.recurrences import BOOLEAN, N, Slots, System, indices, letter

METHODS = ("exhaustive", "sample", "prove")
ODD = "0*1(0*10*1)*0*"
COIN = cycle([True, False])


def is_odd(word):
    return word.count("1") % 2 == 1


def parity_over(letters):
    (i,) = indices("i")
    odd = Slots("odd", i.range(N), BOOLEAN)
    odd.rule((odd[i - 1].or_else(False), letter(i)), lambda before, x: before != (x == "1"))
    return System(letters, odd, answer=odd[N - 1], name=f"parity over {letters}")


@pytest.fixture(scope="module")
def parity():
    return compile_problem("family:parity", "mdm", length=4)


@pytest.mark.parametrize("method", METHODS)
def test_a_regex_has_letters_that_a_program_does_not_have(parity, method):
    verdict = verify_model(parity, against=ODD, method=method)
    assert (verdict.status, verdict.comparable, verdict.exit_code) == ("unknown", False, 2)
    assert verdict.reason.startswith("not comparable: the alphabets differ")
    assert verdict.to_json()["comparable"] is False
    for letters in ("model", "common"):
        same = verify_model(parity, against=ODD, method=method, letters=letters)
        assert same.status == ("proved" if method == "prove" else "held")
        assert same.about == "every word over the letters 0 1"
        assert verify_model(parity, against="(0|1)*1", method=method, letters=letters).status == "refuted"
    assert verify_model(parity, against=ODD, method=method, letters="problem").status == "refuted"


@pytest.mark.parametrize("method", METHODS)
def test_programs_and_models_with_other_letters(method):
    small, large = parity_over("01"), parity_over("012")
    models = [compile_program(system, "mdm", length=3) for system in (small, large)]
    for other in (large, models[1]):
        assert not verify_model(models[0], against=other, method=method).comparable
        assert verify_model(models[0], against=other, method=method, letters="common").exit_code == 0
    for other in (small, models[0]):  # every word of what it is compared with is read
        verdict = verify_model(models[1], against=other, method=method)
        assert verdict.exit_code == 0
        assert "'2'" in verdict.about
        assert not verify_model(models[1], against=other, method=method, letters="model").comparable


def test_a_restricted_proof_has_a_certificate(parity):
    verdict = verify_model(parity, against=ODD, method="prove", letters="common", certified=True)
    assert verdict.certificate.files()


def test_an_unknown_choice_of_letters_is_refused(parity):
    with pytest.raises(UnmaskError, match="common"):
        verify_model(parity, letters="some")


def test_a_sample_counts_distinct_words(parity):
    verdict = verify_model(parity, method="sample")
    assert (verdict.cases, verdict.complete) == (16, True)
    verdict = verify_model(parity, method="sample", cases=15)
    assert (verdict.cases, verdict.complete) == (15, False)
    assert verify_model(compile_problem("expr:a+b in 0..1", "mdm"), method="sample").cases < 1000


def test_what_is_printed(unmask, tmp_path, parity):
    folder = save_model(parity, tmp_path / "parity")
    assert unmask("verify", str(folder), "--method", "sample")[1] == "no counterexample found (all 16 words)\n"
    _, out, _ = unmask("verify", str(folder), "--cases", "10", "--method", "sample")
    assert out == "no counterexample found (10 words)\n"
    code, out, _ = unmask("verify", str(folder), "--against", ODD)
    assert code == 2
    assert out.startswith("not comparable: the alphabets differ")


@pytest.mark.parametrize("method", METHODS)
def test_a_predicate(parity, method):
    good, bad = "proved" if method == "prove" else "held", "refuted"
    assert verify_model(parity, against=is_odd, method=method).status == good
    verdict = verify_model(parity, against=lambda word: is_odd(word) and word != "0111", method=method)
    assert (verdict.status, verdict.counterexample) == (bad, "0111")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", ["mdm", "plt"])
def test_a_function_that_returns_all_outputs(method, kind):
    model = compile_problem("family:addition", kind, length=4)

    def add(word):
        total = int(word[:2][::-1], 2) + int(word[2:][::-1], 2)
        return [total >> i & 1 for i in range(3)]

    def wrong(word):
        first, *rest = add(word)
        return [1 - first if word == "0110" else first, *rest]

    verdict = verify_model(model, against=add, method=method)
    assert (verdict.status, verdict.compared) == ("proved" if method == "prove" else "held", "all 3 answers")
    verdict = verify_model(model, against=wrong, method=method)
    assert (verdict.status, verdict.counterexample) == ("refuted", "0110")


@pytest.mark.parametrize("method", METHODS)
def test_a_function_of_text_and_one_of_symbols(method):
    text = compile_problem("(a|b)*abb", "mdm", length=3)
    verdict = verify_model(text, against=lambda word: re.fullmatch("(a|b)*abb", word) is not None, method=method)
    assert verdict.exit_code == 0
    assert "one character for each class" in verdict.about
    sums = compile_problem("expr:a+b in 0..2", "mdm")

    def value(symbols):
        fits = symbols[1] == "+" and symbols[3] == "=" and symbols[0].isdigit() and symbols[2].isdigit()
        return int(symbols[0]) + int(symbols[2]) if fits else False

    assert verify_model(sums, against=value, method=method).exit_code == 0
    if method != "sample":
        wrong = verify_model(sums, against=lambda s: 3 if s == ["1", "+", "1", "="] else value(s), method=method)
        assert (wrong.counterexample, wrong.expected, wrong.got) == ("1 + 1 =", "gives 3", "gives 2")


def test_a_proof_with_a_function_ends_where_there_are_too_many_words():
    verdict = verify_model(compile_problem("family:parity", "mdm", length=20), against=is_odd, method="prove")
    assert verdict.status == "unknown"
    assert "1,048,576 words" in verdict.reason


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda _: 1 // 0, "raises ZeroDivisionError"),
        (lambda _: None, "returns None"),
        (lambda _: "maybe", "returns 'maybe'"),
        (lambda _: [], "returns 0 outputs"),
        (lambda word: [True] * (1 + int(word[0])), "same number for every word"),
        (lambda _: next(COIN), "pure function"),
        (lambda: True, "raises TypeError"),
        (lambda _: exit(3), "raises SystemExit"),
    ],
)
def test_what_is_wrong_with_a_function_is_one_message(parity, function, said):
    with pytest.raises(ProblemError, match=said):
        verify_model(parity, against=function, method="exhaustive")


def test_what_is_not_a_function_is_refused(parity):
    with pytest.raises(UnmaskError, match="cannot be compared with 5"):
        verify_model(parity, against=5)


def test_a_function_in_a_file(unmask, tmp_path, parity):
    folder = save_model(parity, tmp_path / "parity")
    file = tmp_path / "oracle.py"
    file.write_text(
        "def odd(word):\n    print(word)\n    return word.count('1') % 2 == 1\n\n\ndef bad(word):\n    return 1 / 0\n"
    )
    code, out, _ = unmask("verify", str(folder), "--against", f"{file}:odd", "--method", "prove", "--json")
    assert (code, json.loads(out)["verdict"]) == (0, "proved")
    for name, said in (("bad", "raises ZeroDivisionError at line 7"), ("none", "it has odd, bad")):
        code, _, err = unmask("verify", str(folder), "--against", f"{file}:{name}")
        assert code == 2
        assert said in " ".join(err.split())
    code, _, err = unmask("verify", str(folder), "--against", f"{tmp_path}/absent.py:odd")
    assert code == 2


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("letters", [("0", "1"), ("0", "1", "ten")])
def test_words_are_written_as_each_side_reads_them(method, letters):
    """With a letter of several characters, letters are separated by blanks."""
    other_letters = ("0", "1", "ten") if len(letters) == 2 else ("0", "1")
    model = compile_program(parity_over(letters), "mdm", length=3)
    for same in (parity_over(other_letters), compile_program(parity_over(other_letters), "plt", length=3)):
        assert verify_model(model, against=same, method=method, letters="common").exit_code == 0
