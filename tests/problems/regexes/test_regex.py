"""Regular expressions against `re.fullmatch`."""

import random
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import work
from problems.agreement import STRANGE, all_words, disagreement, fullmatch, sampled_words
from unmask.errors import PatternError, TooLarge
from unmask.problems.automata.automaton import Automaton
from unmask.problems.regexes.determinisation import regex_automaton

TWO_LETTERS = [
    "(a|b)*abb", "a*b*", "(ab)*", "(aa|bb)*", "(a|b)(a|b)(a|b)", "a+b+", "(a*)*", "((a*)*)*", "(a*b*)*",
    "(a|ab)(b|)", "(a?){5}", "(ab?){2,4}", "b*ab*ab*", "((a|b)(a|b))*", "(a|b)*a(a|b){3}", "(a*)+b", "(|a)+",
    "(a|b|ab)*bab", "a{3}", "a{2,}", "a{,3}", "a{2,4}b{0,2}", "(a{2}){2}", "(?:a|(?:b))*", "a??b*?a+?",
    "(a+|b+)*ab", "[^a]*", "[ab]{2}", "[^ab]", "a.b", ".*", ".+b", "(?:.b)*", "a|b", "ba*b", "(b|ab*a)*",
    "(aab|ba)*", "(a(b(a)?)?)?", "a{0}b", "(a{1,2}b){1,3}", ".{0,3}a.{0,3}", "(a.{1,2}){0,2}b{2,}",
    "(a{2,}b?){1,2}", ".*a.{2,}b", "((a{0,2}b){0,2}a){1,2}", "(a|b{0,2}){2,3}", "(a?b?){3}",
]  # fmt: skip

ODD = [
    "", "|", "a|", "()", "(?:)", "(|)*", "(a*)*", "(a*)+", "(a?)*", "(a*|b)*", "(a*){2,3}", "(?:a?b??)*?",
    "[]a]", "[^]a]", r"[\]\-a]", "[a-]", "[-a]", "[a^]", r"[\^a]", "[[]", "[]]", "[a&&b]", "[a||b]", "[--a]",
    r"\x41", r"\u00e9", r"\U0001F600", r"\101", r"\07", r"[\b]", r"\a\f\v\t\r\n", r"\N{KELVIN SIGN}", r"\.",
    r"\\", r"\-", r"\d", r"\D", r"\w", r"\W", r"\s", r"\S", r"[\d_]", r"[^\W\d_]", r"[\s\S]", r"[^\s\S]",
    r"[^\w\W]*", r"[\D\d]{2}", "a{2}", "a{2,}", "a{,3}", "a{2,3}", "a{", "a{}", "a{1", "a{,", "a{x}",
    "x{1,2}y{0}", "a{,}", "a*?", "a+?", "a??", "a{1,3}?", "x*+", "x++y", "x?+x", "[ab]{1,2}+b", "(a)*+",
    "(?:[ab])*+a?", "x{2}+", "(?>x*)y?", "(?>xy)z", "(?>)", "(?>ab+)", "(?>a{2}b)", "x*+x", "(?:x?+y)*", "^a$",
    r"\Aa\Z", "^", "$", "^$", "^^a", "a$$", "a^b", "a$b", "$a", "(^a|b)*", "(a$|b)*", "(^|a)*b", "(a|$)+",
    "(?:^)*a", "a$\n", "a\n$", "a$\n$", "$\n", "a$\n\n", "a$.", "(?s)a$.", "(?s).$.?", "(a$\n?)+", "(?:$|\n)*",
    r"a\Z\n", "$\\W?", r"$\b\n", "(?m)^a$", "(?m)^a$\n^b$", "(?m)(^a$\n?)*", "(?m)(^.*$\n?)+", "(?m:^)a|b",
    "(?m)a$\n", "(?m)\n^", "(?m)$^\n", r"\b", r"\B", r"\ba\b", r"\Ba", r"a\B", r"a\b.", r"a\B.", r".\b.",
    r".\B.", r"\b.*\b", r"\B.*\B", r"(\ba\b|.)*", r"(?:\b\w+\b ?)+", r"(?:\b|a)+", r"(?:\B|a)+", r"(?:\b\B)?",
    r"\w+\b-\b\w+", r"(?u)\b.\b", r"(?u).\B.", r"(?u:\b)é(?a:\b)?", "(?i)k", "(?i)K", "(?i)s", "(?i)ß", "(?i:ß)",
    "(?iu:ß)", "(?iu)k", "(?iu)[a-z]", "(?iu)[^k]", "(?i)[^k]", "(?iu)σ", "(?iu)İ", "(?iu)i", "(?iu)ǆ",
    "(?iu)\u0345", "(?iu)𐐀", "(?i)[𐐀-𐐐]", "(?iu)[^𐐀-𐐐]", "(?i)é", "(?iu)é", "(?i)a(?-i:b)c", "a(?i:b)c",
    "(?i)[A-Z_]+", "(?iu)\\w(?a:\\w)", "(?i:[^\\W_k])", "(?iu)[\\Wk]", "(?s).", ".", "(?s:.).", "(?s)(?-s:.)",
    "(?x) a b # c\n d", "(?x)[ a]\\ ", "(?x: a )b ", "(?u)\\w", "(?u)\\d", "(?u)\\s", "(?u)[^\\w]", "(?a)\\w",
    "(?a:\\w)\\W", "(?u:\\w)\\W", "(?P<name>a)b", "(?#comment)a", "[α-ω]+", "[\u0000-\U0010ffff]",
    "[^\ud800-\udfff]", "日本?語*", "(?:(?:25[0-5]|2[0-4]\\d|1?\\d?\\d)\\.){3}(?:25[0-5]|2[0-4]\\d|1?\\d?\\d)",
    r"[\w.+-]+@[\w-]+(\.[\w-]+)+", r"#?([0-9a-fA-F]{6}|[0-9a-fA-F]{3})",
    r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])", r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?",
    r'"(?:[^"\\]|\\.)*"', r"/\*(?:[^*]|\*+[^*/])*\*+/", r"^\s*(?:def|class)\s+(\w+)\s*\(.*\)\s*:\s*$",
    r"(?i)^(mon|tues|wednes|thurs|fri|satur|sun)day$", r"(?:[01]?\d|2[0-3])(?::[0-5]\d){1,2}",
]  # fmt: skip


def oracle(pattern: str):
    try:
        return fullmatch(pattern)
    except ValueError:  # (?u) and re.ASCII exclude each other
        return fullmatch(pattern, flags=0)


@pytest.mark.parametrize("pattern", TWO_LETTERS)
def test_every_word_over_two_letters(pattern: str):
    assert disagreement(regex_automaton(pattern), oracle(pattern), all_words("ab", 9)) is None


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("pattern", ODD)
def test_odd_patterns(pattern: str):
    automaton, expected, rng = regex_automaton(pattern), oracle(pattern), random.Random(7)
    assert disagreement(automaton, expected, all_words(STRANGE, 2)) is None
    letters = "ab\n" if {"a", "b"} & set(pattern) else "x1\n"
    assert disagreement(automaton, expected, all_words(letters, 5)) is None
    assert disagreement(automaton, expected, sampled_words(automaton, rng, count=25, longest=20)) is None


def test_every_code_point_goes_where_re_sends_it():
    text = "".join(map(chr, range(0x110000)))
    for pattern in (".", r"[^\W\d_]", "(?iu)[a-z]", r"(?u)\w", "(?i)[k-s]", "(?i)[𐐀-𐐐]"):
        automaton = regex_automaton(pattern)
        accepted = automaton.accepting[automaton.delta[automaton.start, automaton.token_ids(text)]]
        flags = 0 if "u" in pattern else re.ASCII
        assert np.flatnonzero(accepted).tolist() == list(map(ord, re.findall(pattern, text, flags)))


atoms = st.sampled_from(
    [
        "a",
        "b",
        r"\n",
        ".",
        "[ab]",
        "[^a]",
        r"\w",
        r"\W",
        r"\b",
        r"\B",
        "^",
        "$",
        r"\A",
        r"\Z",
        "(?i:k)",
        "(?iu:[a-z])",
        "(?m:^)",
        "(?m:$)",
        "(?s:.)",
        r"(?u:\b)",
        "a*+",
        "[ab]{1,2}+",
        "(?>a+)",
        "(?>ab)",
        "",
    ]
)
quantifiers = st.sampled_from(["*", "+", "?", "{2}", "{1,3}", "{,2}", "{2,}", "*?", "+?", "??", "{0,2}?"])
patterns = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda pair: f"(?:{pair[0]}|{pair[1]})"),
        st.tuples(inner, quantifiers).map(lambda pair: f"({pair[0]}){pair[1]}"),
    ),
    max_leaves=7,
)
SHORT = [*all_words("ab\n", 4), *all_words("ak\u212aé\n -", 2)]


@settings(max_examples=250, deadline=None)
@given(patterns)
def test_random_patterns(pattern: str):
    assert disagreement(regex_automaton(pattern), oracle(pattern), SHORT) is None


@settings(max_examples=60, deadline=None)
@given(st.text(st.sampled_from("ab()[]|*+?{}1,^$\\.-"), max_size=12))
def test_any_text_is_a_language_or_a_clear_error(text: str):
    try:
        automaton = regex_automaton(text)
    except PatternError:
        return
    assert disagreement(automaton, oracle(text), all_words("ab\\", 3)) is None


@pytest.mark.parametrize("pattern", ["(a|b)*abb", r"\ba\b", "(?i)k", "a$\n?"])
def test_a_broken_automaton_is_caught(pattern: str):
    good = regex_automaton(pattern)
    for state in range(good.states):
        flags = good.accepting.copy()
        flags[state] ^= True
        broken = Automaton(good.tokens, good.delta, good.start, flags, good.characters)
        assert disagreement(broken, oracle(pattern), all_words("abkK\n", 5)) is not None
    delta = good.delta.copy()
    delta[0] = np.roll(delta[0], 1)
    broken = Automaton(good.tokens, delta, good.start, good.accepting, good.characters)
    assert disagreement(broken, oracle(pattern), all_words("abkK\n", 5)) is not None


def test_options_are_those_of_re():
    assert not regex_automaton(r"\w").accepts("é")
    assert regex_automaton(r"\w", ascii=False).accepts("é")
    assert regex_automaton(r"(?u)\w").accepts("é")
    assert regex_automaton("k", ignore_case=True).accepts("K")
    assert not regex_automaton("k", ignore_case=True).accepts("\u212a")
    assert regex_automaton("k", ignore_case=True, ascii=False).accepts("\u212a")


def test_unmentioned_characters_are_rejected_and_share_a_token():
    automaton = regex_automaton("(a|b)*abb")
    assert automaton.tokens == ("[^ab]", "a", "b")
    assert not automaton.accepts("abb\U0010ffff")
    assert len(regex_automaton(r"(?u)\w+@.*").tokens) == 4


@pytest.mark.parametrize(
    ("pattern", "message", "column"),
    [
        (r"(a)\1", "back-reference is not regular", 4),
        (r"(?P<x>a)(?P=x)", "back-reference", 9),
        ("(?<=a|bc)d", "look-behind must have a fixed width", 1),
        ("(?<=a)b(?<!a*)", "look-behind must have a fixed width", 8),
        (r"(?=(a)\1)a*", "back-reference", 7),
        ("(a)?(?(1)b|c)", "conditional group", 5),
        ("(?>a|ab)c", "atomic group with a choice", 1),
        ("(?>ab)(?>a?b)", "atomic group", 7),
        ("a++(?:ab)*+", "possessive quantifier of more than one character", 10),
        ("(?x) a #(?<=b?)\n (?<=c?)", "look-behind", 18),
        ("a(b", "missing", 2),
        ("a)", "unbalanced", 2),
        ("[b-a]", "bad character range", 2),
        ("*a", "nothing to repeat", 1),
        ("a**", "multiple repeat", 3),
        (r"\q", "bad escape", 1),
        ("(?z)", "unknown extension", 2),
        ("a(?i)b", "global flags not at the start", 2),
    ],
)
def test_what_is_refused_names_the_construct_and_its_column(pattern: str, message: str, column: int):
    with pytest.raises(PatternError, match=re.escape(message)) as caught:
        regex_automaton(pattern)
    assert caught.value.column == column
    assert f"at column {column} of the regex" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "pattern", ["a{99999999999999}", f"a{{{'9' * 5000}}}", "(" * 5000 + ")" * 5000, "(?:" * 90 + "ab" + "){2}" * 90]
)
def test_absurd_patterns_are_refused_at_once(pattern: str):
    _, calls = work.refused((PatternError, TooLarge), lambda: regex_automaton(pattern))
    assert calls < 100_000


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("(a{1000}){1000}", "1,000,000 states once its counted"),
        ("(((a{0,99}){0,99}){0,99}){0,99}", "lower the counts"),
        ("(a|b)*a(a|b){25}", "more than 20,000 states"),
        ("(a?b?c?){4000}", "operations; shorten"),
    ],
)
def test_explosions_are_stopped(pattern: str, message: str):
    with pytest.raises(TooLarge, match=message):
        regex_automaton(pattern)
    with pytest.raises(TooLarge, match="more than 10 states"):
        regex_automaton("(a|b)*a(a|b){4}", most_states=10)


def test_work():
    usual = [pattern for pattern in ODD if 10 < len(pattern) < 60]
    assert sum(work.calls(lambda p=pattern: regex_automaton(p)) for pattern in usual) / len(usual) < 20_000
    states = []
    for pattern in ("(a|b)*a(a|b){10}", "(ab?){1000}"):
        assert work.calls(lambda p=pattern: states.append(regex_automaton(p).states)) < 1_000_000
    assert states[0] == 2049
    assert states[1] > 2000
