"""Compiled regexes against `re.fullmatch`: all short words, and samples of long ones."""

import random
import re

import numpy as np
import pytest

from problems.agreement import edited
from programs.languages import ENGINE, KINDS, answered, some_words
from unmask.api import compile_problem, compiler_of
from unmask.problems.catalogue import parse_problem
from unmask.reasoners.typed_words import read_word

# Over a and b, a few with other letters so that some words leave the alphabet's middle.
SHORT = """
(a|b)*abb | a*b* | (ab)* | (aa|bb)* | a? | b+a | [^a] | . | .* | a{3} | a{2,4} | a{3,} | (a|b){2,5} | (a|ab)(b|ba)
a.b | (a.)*b? | (?:ab|ba)+ | (a*b)*a | ((a|b)(a|b))* | (a(a|b)*a|b(a|b)*b) | ^a*$ | (?i)A[B]a* | a|b|ab|ba|aab
[ab]{0,3}b | (a+b+){2} | (b|ab*ab*a)* | (aab|bba)*a? | b*(ab+)*a? | .{4,}a. | (a{2}b{2})* | a(ba)*b | (|a)(|b)(|a)
(?:a|b(?:b)*a)* | \\w*ba | [^b]*b[^b]* | a*?b*? | (a|b)*(aa|bb)(a|b)* | (.b){3} | x|a*b | (a|b)*a(a|b){3} | a*\\Z
""".replace("\n", " | ").split(" | ")
REGEXES = [pattern.strip().replace("\\\\", "\\") for pattern in SHORT if pattern.strip()]


def test_there_are_forty_of_them():
    assert len(set(REGEXES)) >= 40


@pytest.mark.parametrize("pattern", REGEXES)
def test_every_word_up_to_length_ten(pattern):
    disagreements(pattern, "mdm", range(11))


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "mdm"])
def test_every_word_up_to_length_five_for_the_other_kinds(kind):
    for pattern in REGEXES[::3]:
        disagreements(pattern, kind, range(6))


def disagreements(pattern, kind, lengths):
    oracle = re.compile(pattern, re.ASCII)
    for length in lengths:
        model = compile_problem(f"regex:{pattern}", kind, length=length)
        letters = np.array([read_word(model, c * length)[0] if length else 0 for c in "ab"])
        choices = np.array(np.meshgrid(*[[0, 1]] * length, indexing="ij")).reshape(length, -1).T if length else None
        words = np.zeros((1, 0), dtype=np.int64) if choices is None else choices
        texts = ["".join("ab"[c] for c in word) for word in words]
        expected = [int(oracle.fullmatch(text) is not None) for text in texts]
        assert answered(model, letters[words] if length else words) == expected, (pattern, kind, length)


# As people write them; the first seven have monoids beyond 1,024 elements.
LARGE = {
    "log search": r".*(error|warning|fatal|panic).*(timeout|refused|reset).*",
    "secrets": r".*(password|passwd|pwd)\s*[=:]\s*\S{6,}.*",
    "crawlers": r".*(Googlebot|bingbot|Slurp|DuckDuckBot|Baiduspider|YandexBot).*",
    "long dates": r"(Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day, (January|February|March|April|May|June|July|August"
    r"|September|October|November|December) \d{1,2}",
    "access log": r'\d+\.\d+\.\d+\.\d+ - - \[[^\]]+\] "(GET|POST|PUT|HEAD|DELETE) \S+ HTTP/1\.[01]" \d{3} (\d+|-)',
    "image names": r"(?:[a-z0-9]+(?:[.-][a-z0-9]+)*)(?:/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*(:\w[\w.-]{0,12})?"
    r"(@sha256:[0-9a-f]{16})?",
    "sql": r".*\b(SELECT|INSERT|UPDATE|DELETE|DROP)\b.*\b(FROM|INTO|TABLE)\b.*",
}
SMALL = {
    "timestamp": r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,6})?Z",
    "version": r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?",
    "address": r"((25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(25[0-5]|2[0-4]\d|1?\d?\d)",
    "float": r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?",
    "roman": r"M{0,3}(CM|CD|D?C{0,3})(XC|XL|L?X{0,3})(IX|IV|V?I{0,3})",
    "mail": r"[\w.+-]+@[\w-]+\.[\w.-]+",
    "uuid": r"[0-9a-f]{8}-[0-9a-f]{4}-[1-5][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}",
}


def sample(problem, lengths, count, seed):
    """Words of the given lengths: members, their neighbours, non-members; by length."""
    language, rng = compiler_of(problem).automaton, random.Random(seed)
    letters = [language.representative(t, rng=rng) for t in range(len(language.tokens))]
    words = {}
    for length in lengths:
        for i in range(count):
            word = language.random_word(length, accepted=i % 4 < 2, rng=rng)
            word = word if word is not None else language.random_word(length, accepted=False, rng=rng)
            word = edited(word, letters, rng) if i % 4 == 1 else word
            words.setdefault(len(word), []).append(word)
    return words


@pytest.mark.parametrize("name", LARGE)
def test_monoids_beyond_a_thousand_take_a_slot_per_state(name):
    if ENGINE.name == "reference":
        pytest.skip("thousands of rows need the fast engine")
    problem = f"regex:{LARGE[name]}"
    compiler = compiler_of(problem)
    assert "the transition monoid has more than 1,024 elements" in compiler.layout
    shortest = next(n for n in range(100) if compiler.automaton.count(n))
    agree(problem, "mdm", sample(problem, [shortest, shortest + 3], 4, seed=1))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", SMALL)
def test_regexes_as_people_write_them(name, kind):
    problem = f"regex:{SMALL[name]}"
    lengths = [n for n in range(60) if compiler_of(problem).automaton.count(n)]
    chosen = random.Random(name).sample(lengths, min(2, len(lengths)))
    agree(problem, kind, sample(problem, chosen, 4, seed=2))


@pytest.mark.parametrize("name", ["mail", "float", "version"])
def test_words_of_two_hundred_letters(name):
    if ENGINE.name == "reference":
        pytest.skip("hundreds of rows need the fast engine")
    agree(f"regex:{SMALL[name]}", "mdm", sample(f"regex:{SMALL[name]}", [200], 4, seed=3))


def agree(problem, kind, words):
    right = parse_problem(problem)
    for length, texts in words.items():
        model = compile_problem(problem, kind, length=length)
        assert model.steps <= compiler_of(problem).bound(kind, length)[0]
        expected = [int(right.outcome(text).accepted) for text in texts]
        assert answered(model, np.array([read_word(model, t) for t in texts]).reshape(-1, length)) == expected, texts


@pytest.mark.parametrize("spec", ["A5", "S5", "S3", "Z7", "D4", "Z1", "D1", "gens:(1 2 3)(4 5),(1 2)", "S6"])
def test_word_problems_of_groups(spec):
    problem = f"group:{spec}"
    language = compiler_of(problem).automaton
    rng = random.Random(spec)
    for length in (1, 2, 3, 5, 8):
        words = [language.random_word(length, accepted=accepted, rng=rng) for accepted in (True, False, True)]
        for kind in KINDS if language.states <= 120 else ("mdm", "plt", "pcot"):
            agree(problem, kind, {length: [word for word in words if word is not None]})


def test_some_words_are_all_words_where_they_are_few():
    language = compiler_of("regex:a*b*").automaton
    assert len(some_words(language, 2)) == len(language.tokens) ** 2
