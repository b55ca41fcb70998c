"""Damaged documents of every format that is read: anything but a success or an `UnmaskError` fails the test.

The random numbers are seeded, so failures can be repeated; documents that once failed are kept in `corpus/`. This file
runs a few of each format, and `make check-long` runs them for 5 minutes.
"""

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

import folder_by_hand
from hostile import targets
from hostile.mutations import ODD_TEXTS, json_of, lines_of, odd, text_of
from unmask.api import compile_problem, run_word

AIGER = (
    "aag 3 2 0 1 1\n2\n4\n6\n6 2 4\ni0 x\ni1 y\no0 z\nc\ncomment\n",
    "aag 1 1 0 2 0\n2\n2\n3\n",
    "aag 0 0 0 1 0\n1\n",
    "aag 7 2 0 2 3\n2\n4\n6\n12\n6 13 15\n12 2 4\n14 3 5\ni0 x\ni1 y\no0 s\no1 c\n",
)
BLIF = (
    ".model m\n.inputs a b\n.outputs f\n.names a b f\n11 1\n.end\n",
    ".model m\n.inputs a\n.outputs f g\n.names f\n1\n.names a \\\n g\n0 1\n",
    ".model m\n.inputs a b c\n.outputs f\n.names a b t\n1- 0\n-1 0\n.names t c f\n01 1\n10 1\n.end\n",
)
NUMBERS = ["0", "1", "2", "3", "4", "6", "7", "12", "99", "-1", "²", "1" * 13, "9" * 5000, "", "0x2", "1.0", "٣"]
AIGER_WORDS = [*NUMBERS, "aag", "aig", "i0", "i²", "o" + "1" * 5000, "i1", "o0", "l0", "c", "name", "\udcff", "\r"]
BLIF_WORDS = [*NUMBERS, ".model", ".inputs", ".outputs", ".names", ".end", ".latch", ".subckt", ".exdc"]
BLIF_WORDS += ["a", "b", "f", "t", "#", "\\", "1-", "--", "01", "2-"]
GRAMMARS = (
    "# brackets\nS -> S S | '(' S ')' | '[' S ']' | ε\n",
    "S ::= A B\n | B\nA → 'a' A | ''\nB -> \"b\" | b c\n",
    "E -> E '+' T | T\nT -> T '*' F | F\nF -> '(' E ')' | x\n",
    "A -> B | a\nB -> C | ε\nC -> A A A A | B B\n",
)
GRAMMAR_WORDS = [
    "->",
    "→",
    "::=",
    "|",
    "||",
    "'",
    "''",
    '"',
    "'a'",
    '"b"',
    "' '",
    "'a b'",
    "'\t'",
    "'|'",
    "'#'",
    "ε",
    "#",
]
GRAMMAR_WORDS += [
    "S",
    "A",
    "B",
    "E",
    "T",
    "a",
    "b",
    "'S'",
    "S->S",
    "-> a",
    "S -> S S",
    "\r",
    "\x1b",
    "\u2028",
    "\0",
    "\ud800",
]
GRAMMAR_WORDS += ["²", "x" * 300, "'" + "y" * 5000 + "'", "a " * 300, "S " * 90, "| A " * 60]
DFA = {
    "alphabet": ["a", "b"],
    "states": ["even", "odd"],
    "start": "even",
    "accepting": ["even"],
    "transitions": {"even": {"a": "odd", "b": "even"}, "odd": {"a": "even", "b": "odd"}},
}
LAWS = [
    {"kind": "ngram", "order": 1, "alphabet": ["a", "b"], "contexts": {"": {"a": 0.5, "b": 0.5}}},
    {
        "kind": "hmm",
        "alphabet": ["a", "b"],
        "states": ["p", "q"],
        "initial": {"p": 1},
        "transitions": {"p": {"p": 0.5, "q": 0.5}, "q": {"q": 1}},
        "emissions": {"p": {"a": 1}, "q": {"b": 1}},
    },
    {"kind": "automaton", **DFA},
]
REGEX = [
    "a",
    "b",
    "c",
    "|",
    "*",
    "+",
    "?",
    "(",
    ")",
    "[",
    "]",
    "^",
    "$",
    "-",
    ".",
    "{2}",
    "{,3}",
    "{1,2}",
    "\\d",
    "\\b",
]
REGEX += [
    "\\1",
    "(?:",
    "(?=",
    "(?!",
    "(?<=",
    "(?<!",
    "(?i)",
    "(?P<n>",
    "(?P=n)",
    "\\Z",
    "\\x1b",
    "\ud800",
    "\\N{DIGIT ONE}",
    "é",
]
EXPRESSION = [
    "a",
    "b",
    "1",
    "23",
    "+",
    "-",
    "*",
    "(",
    ")",
    " ",
    "=",
    "×",
    "−",
    " in 0..3",
    " in -2..2",
    " within 0..9",
    " compact",
]
EXPRESSION += ["²", "9" * 40, " in 5..1", "\ud800", "/", "^", "(" * 40, ")" * 40]
PREFIXED = [
    f"{prefix}:"
    for prefix in ("group", "family", "random", "regex", "expr", "dfa", "aiger", "blif", "law", "program", "cfg")
]
PROBLEM = [
    *PREFIXED,
    "A5",
    "S3",
    "Z2",
    "D4",
    "gens:",
    "(12)",
    "(123)",
    "parity",
    "addition",
    "majority",
    "7",
    "-1",
    "²",
    ",",
    "\0",
    "\ud800",
    " ",
]
QUESTION = {"problem": "(a|b)*abb", "word": "aabb", "kind": "mdm", "planner": "uniform", "k": 1, "seed": 0}
WORDS = ["", "a", "aabb", "01", "(12) (12)", "1+1", "(2+3)*4", "²", "\x1b", "1" * 9]

tensor_shapes = st.lists(st.sampled_from([0, 1, 2, 3, 4, 5, 2**27, 2**40, 2**62, -1]), max_size=3)
entries = st.fixed_dictionaries(
    {
        "dtype": st.sampled_from(["I8", "U8", "I16", "I64", "U64", "F32", "BOOL", "\x1b"]),
        "shape": tensor_shapes,
        "data_offsets": st.tuples(*[st.sampled_from([0, 1, 4, 8, 20, 2**40])] * 2).map(list),
    }
)


@st.composite
def weights(draw):
    """Tensors of another shape, type or value, or a header that does not match the content."""
    stored = folder_by_hand.tensors()
    for name in draw(
        st.lists(st.sampled_from([*stored, "layers.1.mlp.b1", "bias", "pos.shape"]), max_size=3, unique=True)
    ):
        shape = tuple(draw(st.lists(st.integers(0, 5), max_size=3)))
        kind = draw(st.sampled_from([np.int8, np.uint8, np.int16, np.int64, np.uint64, np.float32, bool]))
        value = draw(st.sampled_from([0, 1, 4, 15, 16, 127]))
        stored[name] = np.full(stored.get(name, np.zeros(shape)).shape if draw(st.booleans()) else shape, value).astype(
            kind
        )
    changes = draw(st.dictionaries(st.sampled_from([*stored, "x", ""]), st.one_of(entries, st.none(), odd), max_size=1))
    content = targets.packed(stored, changes)
    return content[: draw(st.sampled_from([len(content)] * 9 + [0, 7, 8, 40, len(content) - 1]))]


@st.composite
def transformers(draw):
    """Small transformers that load: any width, any number of layers and heads, extreme weights."""
    width, layers = draw(st.integers(0, 3)), draw(st.integers(0, 2))
    rng = np.random.default_rng(draw(st.integers(0, 99)))

    def tensor(*shape):
        values = rng.integers(-15, 16, shape)
        return np.sign(values) * 15 if rng.integers(2) else np.where(np.abs(values) > 4, 0, values)

    stored = {"embed": tensor(5, width), "pos": tensor(3, width), "out": tensor(5, width)}
    for i in range(layers):
        for j in range(int(rng.integers(0, 3))):
            inner = int(rng.integers(0, 3))
            stored |= {f"layers.{i}.heads.{j}.{matrix}": tensor(width, inner) for matrix in ("wq", "wk")}
            stored[f"layers.{i}.heads.{j}.wv"] = tensor(width, width)
        hidden = int(rng.integers(0, 4))
        stored |= {f"layers.{i}.mlp.w1": tensor(width, hidden), f"layers.{i}.mlp.b1": tensor(hidden)}
        stored |= {f"layers.{i}.mlp.w2": tensor(hidden, width), f"layers.{i}.mlp.b2": tensor(width)}
    loop = sorted(int(x) for x in rng.integers(0, layers + 1, 2))
    entry = {"file": "model.safetensors", "attention": "unmasked", "loop": loop, "noise": None}
    characters = draw(st.sampled_from([None, None, [], [[97, 97, "a"]], [[97, 97, 0], [98, 98, "b"]]]))
    config = folder_by_hand.config() | {"transformers": {"model": entry}, "characters": characters}
    config |= draw(st.sampled_from([{}, {"problem": {"kind": "regex", "pattern": "a"}}, {"length": 0, "padding": 3}]))
    config |= draw(st.sampled_from([{}, {}, {"input_symbols": []}, {"aliases": {"a": "1"}}, {"steps": 0}]))
    other_kinds = st.sampled_from(["mdm", "topk", "cot", "pcot"])
    if draw(st.booleans()):
        kind = draw(other_kinds)
        entry |= {"loop": None, "attention": "causal"}
        config |= {
            "reasoner": kind,
            "mask": "□",
            "pad": None,
            "padding": 1,
            "steps": 1,
            "block": 1 if kind == "pcot" else None,
        }
        if kind == "mdm":
            config["transformers"] = {"planner": entry, "predictor": entry}
    return config, targets.packed({name: array.astype(np.int8) for name, array in stored.items()}, {})


def traced():
    model = compile_problem("(a|b)*abb", "mdm", length=2)
    return run_word(model, "ab").to_json()


good_config = st.just(folder_by_hand.config())
FUZZED = {
    "config": (
        st.tuples(json_of(folder_by_hand.config()), st.just(targets.packed(folder_by_hand.tensors(), {}))),
        targets.folder,
    ),
    "weights": (st.tuples(good_config, weights()), targets.folder),
    "transformers": (transformers(), targets.folder),
    "aiger": (lines_of(AIGER, AIGER_WORDS), targets.circuit),
    "blif": (lines_of(BLIF, BLIF_WORDS), targets.blif),
    "grammar": (lines_of(GRAMMARS, GRAMMAR_WORDS), targets.grammar),
    "automaton": (json_of(DFA), targets.automaton),
    "regex": (text_of(REGEX, most=9), targets.problem),
    "expression": (text_of(EXPRESSION, most=12).map("expr:{}".format), targets.problem),
    "problem": (text_of(PROBLEM, most=4), targets.problem),
    "law": (st.one_of(*map(json_of, LAWS)), targets.law),
    "trace": (st.deferred(lambda: json_of(traced(), most=2)), targets.trace),
    "planner": (
        text_of(["uniform", "threshold", "blockwise", ":", "1", "-1", "²", "9" * 5000, "1/2", "0", "."], most=5),
        targets.planner,
    ),
    "question": (
        st.one_of(
            json_of(QUESTION),
            st.fixed_dictionaries(
                {
                    "problem": st.one_of(
                        text_of(REGEX, most=5),
                        text_of(EXPRESSION, most=7).map("expr:{}".format),
                        lines_of(AIGER, AIGER_WORDS).map(lambda text: text.replace("\udcff", "")),
                        text_of(PROBLEM, most=3),
                    ),
                    "word": st.sampled_from(WORDS + ODD_TEXTS[:8]),
                }
            ),
        ),
        targets.question,
    ),
}
SHORT = {"grammar": 25, "config": 25, "weights": 25, "transformers": 6, "question": 5, "regex": 30, "problem": 30}
LONG = {
    "grammar": 600,
    "config": 1200,
    "weights": 1500,
    "transformers": 200,
    "question": 150,
    "regex": 500,
    "problem": 500,
}
"""Examples of each; the others are many, for they are quick."""


def attack(name, examples, number):
    """Return `count` documents of a format, always the same for a seed."""
    strategy, target = FUZZED[name]

    @seed(number)
    @settings(max_examples=examples, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(strategy)
    def attacked(document):
        with tempfile.TemporaryDirectory() as scratch:
            target(document, Path(scratch))

    attacked()


@pytest.mark.parametrize("name", FUZZED)
def test_a_few_hostile_documents(name):
    attack(name, SHORT.get(name, 60), 0)


@pytest.mark.long
@pytest.mark.parametrize("name", FUZZED)
def test_many_hostile_documents(name):
    attack(name, LONG.get(name, 4000), 1)
