"""Look-ahead and look-behind, against `re` itself."""

import random
import re
import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from problems.agreement import all_words, disagreement, fullmatch, sampled_words
from unmask.errors import PatternError, TooLarge
from unmask.problems.regexes import determinisation
from unmask.problems.regexes.determinisation import regex_automaton

PATTERNS = [
    r"(?=a)ab*",
    r"(?!ab)[ab]*",
    r"a(?=b).*",
    r"(?:(?!ab).)*",
    r".*(?<=ab)",
    r".*(?<!ab)",
    r"(?=.*\d)(?=.*[a-z]).{2,4}",
    r"(a(?=b)|b(?<=ab))*",
    r"(?<=a)b",
    r"((?<!a)b|a)*",
    r"(?=(?!a)b)b.*",
    r"x?(?<=(?=ab)ab)b*|.*(?<=(?=ab)a)b",
    r"(?:a(?!b(?<=ab)c)|b|c)*",
    r"(?=)a|(?!)b|(?<=)c|(?<!)a*",
    r"a(?=\b)b?|.*(?<=\bab)|(?<!\B)c*",
    r"(?<=^)a|b(?=$)\n",
    r"(?m)a(?=$)\n?b|(?<=^)b+",
    r"(?=a$).*|(?!$)b*\n?",
    r"(?i)(?=A)[a-c]*|(?<=B)c|.(?<=[A-B])",
    r"(?s)(?=.\n).*|(?!.\n)..",
    r"(?=a)*b|(?=a)+a|(?:(?=a)|b)*a",
    r"(?>(?=a)a)b|(?!c)a++b",
]
PUBLISHED = [
    r"^(?=.*[a-z])(?=.*[A-Z])(?=.*\d)(?=.*[@$!%*?&])[A-Za-z\d@$!%*?&]{8,}$",
    r"^(?=.{8,20}$)(?![_.])(?!.*[_.]{2})[a-zA-Z0-9._]+(?<![_.])$",
    r"^(?!000|666|9\d\d)\d{3}-(?!00)\d{2}-(?!0000)\d{4}$",
    r"(?!.*\.\.)[\w.+-]+@[\w-]+\.[\w.-]+",
    r"^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?!$)|$)){4}$",
    r"^\d{1,3}(?:,\d{3})*(?<!,000)$",
]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_every_short_word_is_decided_as_python_does(pattern: str):
    assert disagreement(regex_automaton(pattern), fullmatch(pattern), all_words("abc\n1", 4)) is None


@pytest.mark.parametrize("pattern", PUBLISHED)
def test_patterns_as_people_write_them(pattern: str):
    automaton = regex_automaton(pattern)
    words = sampled_words(automaton, random.Random(0), count=100, longest=22)
    assert disagreement(automaton, fullmatch(pattern), words) is None


def looking(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    widths = st.sampled_from(["a", "b", "ab", "[ab]c", r"\ba", "(?=b)b", "a(?!c)", ".", "(?<!c)a", "^a"])
    return st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map("(?:{0[0]}|{0[1]})".format),
        inner.map("(?:{})*".format),
        inner.map("(?={})".format),
        inner.map("(?!{})".format),
        widths.map("(?<={})".format),
        widths.map("(?<!{})".format),
    )


patterns = st.recursive(st.sampled_from(["a", "b", ".", "[^a]", "", r"\b", "$", "^"]), looking, max_leaves=8)


@given(patterns)
@settings(max_examples=150, deadline=None, derandomize=True)
def test_random_patterns(pattern: str):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            re.compile(pattern, re.ASCII)
        except re.error:
            return
    assert disagreement(regex_automaton(pattern), fullmatch(pattern), all_words("abc\n", 4)) is None


ATOMS = [
    "a",
    "b",
    ".",
    "[^a]",
    "",
    r"\b",
    r"\B",
    "$",
    "^",
    r"\w",
    r"\W",
    r"\A",
    r"\Z",
    r"[a\n]",
    "(?s:.)",
    "(?m:^)",
    "(?m:$)",
]


def random_pattern(rng: random.Random, depth: int) -> str:
    """Return a pattern with look-arounds anywhere: under quantifiers, within each other, around anchors."""
    share = rng.random()
    if depth == 0 or share < 0.2:
        return rng.choice(ATOMS)
    if share < 0.5:
        return random_pattern(rng, depth - 1) + random_pattern(rng, depth - 1)
    if share < 0.62:
        return f"(?:{random_pattern(rng, depth - 1)}|{random_pattern(rng, depth - 1)})"
    if share < 0.78:
        return f"(?:{random_pattern(rng, depth - 1)}){rng.choice(['*', '+', '?', '{2}', '{1,2}', '*?', '+?'])}"
    return drawn_look(rng, depth - 1)


def drawn_look(rng: random.Random, depth: int) -> str:
    if rng.random() < 0.6:
        return f"({rng.choice(['?=', '?!'])}{random_pattern(rng, depth)})"
    wide = [rng.choice(["a", "b", ".", "[ab]", r"\w", r"\W", "(?:a|b)"]) for _ in range(rng.randint(0, 2))]
    if depth and rng.random() < 0.5:
        wide.insert(rng.randint(0, len(wide)), drawn_look(rng, depth - 1))
    return f"({rng.choice(['?<=', '?<!'])}{''.join(wide)})"


@pytest.mark.parametrize(
    "seeds", [range(40), pytest.param(range(40, 1_500), marks=pytest.mark.long)], ids=["some", "many"]
)
def test_drawn_patterns(seeds: range):
    """The seeds end before one whose pattern `re` itself does not decide in time."""
    compared = 0
    for seed in seeds:
        rng = random.Random(seed)
        pattern = random_pattern(rng, rng.randint(3, 6))
        if "(?=" in pattern or "(?!" in pattern or "(?<" in pattern:
            compared += 1
            assert disagreement(regex_automaton(pattern), fullmatch(pattern), all_words("ab-\n", 4)) is None, pattern
    assert compared > len(seeds) // 2


def test_an_inverted_look_is_caught(monkeypatch):
    """The test above can fail: it fails if every look-ahead is negated."""
    monkeypatch.setattr(determinisation.LookGuard, "__init__", inverted(determinisation.LookGuard.__init__))
    pattern = "(?!ab)[ab]*"
    assert disagreement(regex_automaton(pattern), fullmatch(pattern), all_words("ab", 3)) == ""


def inverted(make):
    return lambda states, look, negated: make(states, look, not negated)


def test_what_grows_too_large_is_refused(monkeypatch):
    with pytest.raises(TooLarge, match="because of its look-around; shorten"):
        regex_automaton("(?=(a|b){12}a)(a|b)*", most_states=1000)
    monkeypatch.setattr(determinisation, "MOST_WORK", 1000)
    with pytest.raises(TooLarge, match="more than 1,000 operations"):
        regex_automaton("(?=.{9}a).*")
    with pytest.raises(TooLarge, match="9 look-behinds, and 8 are allowed"):
        regex_automaton("a(?<=a)" * 9)


def test_a_look_behind_needs_one_width():
    with pytest.raises(PatternError, match="must have a fixed width: give all its alternatives the same width"):
        regex_automaton("(?<=a|bc)d")
