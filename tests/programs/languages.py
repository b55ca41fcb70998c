"""Languages to compile, and the expected answers for their words."""

from itertools import product

import numpy as np

from unmask.api import ENGINES
from unmask.compilers.regular_compiler import RegularCompiler, from_state_zero
from unmask.engines.reference import ReferenceEngine
from unmask.numerics.arithmetic import Precision
from unmask.problems.automata.automaton import Automaton
from unmask.reasoners.run_words import answers

KINDS = ("mdm", "smdm", "topk", "plt", "cot", "pcot")
LAYOUTS = ("one slot", "a slot per state")
ENGINE = ENGINES.get("fast", ReferenceEngine)()


def automaton(delta, start, accepting, tokens="abcd"):
    return Automaton(tuple(tokens[: len(delta[0])]), np.array(delta), start, np.array(accepting, dtype=bool))


# Automata on which a construction could trip: trivial monoids, no identity, dead starts, names that are taken.
STRANGE = {
    "one state, accepting": automaton([[0]], 0, [1]),
    "one state, rejecting": automaton([[0, 0]], 0, [0]),
    "letters that do nothing": automaton([[0, 0], [1, 1]], 1, [0, 1]),
    "accepts all, not minimal": automaton([[1, 0], [0, 1]], 0, [1, 1]),
    "accepts none, not minimal": automaton([[1, 0], [0, 1]], 0, [0, 0]),
    "one letter, nilpotent": automaton([[1], [2], [3], [3]], 0, [0, 0, 1, 0]),
    "dead start": automaton([[0, 0], [1, 0]], 0, [0, 1]),
    "parity": automaton([[1, 0], [0, 1]], 0, [0, 1]),
    "letters that reset": automaton([[0, 1], [0, 1]], 1, [1, 0]),
    "start in the middle": automaton([[1, 0], [2, 2], [0, 1]], 2, [0, 1, 0]),
    "all maps of three states": automaton([[1, 1, 0], [2, 0, 1], [0, 2, 0]], 1, [0, 1, 0]),
    "letters m 0 1 □": automaton([[1, 0, 2, 0], [0, 1, 1, 0], [2, 0, 0, 1]], 0, [0, 1, 0], "m01□"),
    "letters ^ ⊢": automaton([[1, 0], [0, 1]], 0, [0, 1], "^⊢"),
    "letters q0 q1 m ε": automaton([[1, 0, 2, 0], [0, 1, 1, 0], [2, 0, 0, 1]], 1, [0, 1, 0], ["q0", "q1", "m", "ε"]),
    "long names": automaton([[1, 0], [0, 1]], 0, [0, 1], ["x" * 500, "<mask>"]),
}


def compiler(language, layout="one slot"):
    if layout == "one slot":
        return RegularCompiler.of(language)
    return RegularCompiler(from_state_zero(language), None, {})


def some_words(language, length, *, most=32, seed=0):
    """All words of a length as token ids if there are at most `most`, else random ones."""
    letters = len(language.tokens)
    if letters**length <= most:
        return np.array(list(product(range(letters), repeat=length)), dtype=np.int64).reshape(letters**length, length)
    return np.random.default_rng([seed, length]).integers(0, letters, (most, length))


def right(language, words):
    """1 for each word that the automaton accepts, 0 for each that it does not."""
    states = np.full(len(words), language.start)
    for token in words.T:
        states = language.delta[states, token]
    return language.accepting[states].astype(int).tolist()


def answered(model, words):
    """1 accepted, 0 rejected, -1 neither."""
    return answers(model, words, engine=ENGINE).accepted.tolist()


def compiled(language, kind, length, *, layout="one slot", p=2):
    return compiler(language, layout).compile(kind, length, Precision(p))
