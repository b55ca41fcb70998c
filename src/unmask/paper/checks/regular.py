"""Checks of regular languages: compiled in each layout, as looped transformers, and converted."""

from itertools import product

import numpy as np

from unmask.engines.fast import FastEngine
from unmask.numerics.precision import Precision
from unmask.paper.checks.conversions import built
from unmask.paper.checks.evidence import Effort, Evidence, require
from unmask.pipeline import compile_problem, verify_model
from unmask.problems.automata.automaton import Automaton
from unmask.programs.compilers.regular import RegularCompiler
from unmask.programs.regular.tree import tree_steps
from unmask.reasoners.run import answers
from unmask.testing.draws import Draws
from unmask.testing.random_model import sample_words
from unmask.theorems.checking.conversions import check_source
from unmask.weights.price import Price

LANGUAGES = ("(a|b)*abb", "(ab|ba)*", "(a*ba*b)*a*", "group:S3")
ALL_MAPS = Automaton(
    ("a", "b", "c"),
    np.array([[1, 1, 0], [2, 0, 1], [3, 2, 2], [4, 3, 3], [0, 4, 0]]),
    0,
    np.array([1, 0, 0, 0, 0], dtype=bool),
)
"""A cycle, a transposition and a merger of five states: its transition monoid has all 3,125 maps."""


def one_slot_per_node(effort: Effort) -> Evidence:
    """Compiled mdm against the problem: max(1, ⌈log2 N⌉) steps and max(1, N - 1) slots, N = 0 … 9 and 33."""
    lengths = (*range(10), 33) if effort.percent >= 100 else (0, 1, 3, 5)
    cases = 0
    for problem, length in product(LANGUAGES, lengths):
        model = compile_problem(problem, "mdm", length=length)
        verdict = verify_model(model, cases=effort.of(200))
        require(verdict.status == "held", f"{problem} at N = {length}: {verdict.counterexample!r} is decided wrongly")
        require(model.steps == max(1, tree_steps(length)), f"{problem} takes {model.steps} steps at N = {length}")
        require(model.padding == max(1, length - 1), f"{problem} takes {model.padding} slots at N = {length}")
        cases += verdict.cases
    return Evidence(
        f"one slot per node: {len(LANGUAGES)} problems, words of N = {lengths[0]} … {lengths[-1]}, all where few, "
        "exactly max(1, ⌈log2 N⌉) steps and max(1, N - 1) slots",
        cases,
    )


def states_per_node(effort: Effort) -> Evidence:
    """Beyond 1,024 elements: ⌈log2 N⌉ steps still, but (N - 2)·|Q| + 1 slots; against the automaton."""
    compiler, cases = RegularCompiler.of(ALL_MAPS), 0
    lengths = (1, 2, 3, 5, 8, 16) if effort.percent >= 100 else (1, 3, 5)
    for length in lengths:
        model = compiler.compile("mdm", length, Precision(2))
        require(model.steps == max(1, tree_steps(length)), f"all maps take {model.steps} steps at N = {length}")
        slots = max(1, (length - 2) * ALL_MAPS.states + 1)
        require(model.padding == slots, f"all maps take {model.padding} slots at N = {length}, not {slots}")
        words = sample_words(model, Draws(length, 6), effort.of(60))
        states = np.full(len(words), ALL_MAPS.start)
        for letter in words.T:
            states = ALL_MAPS.delta[states, letter]
        right = answers(model, words, engine=FastEngine()).accepted == ALL_MAPS.accepting[states]
        require(right.all(), f"all maps of five states: a word of N = {length} is decided wrongly")
        cases += len(words)
    return Evidence(
        f"|Q| slots per node: all maps of five states (3,125 elements), words of N = {lengths[0]} … {lengths[-1]}, "
        "exactly max(1, ⌈log2 N⌉) steps and (N - 2)·|Q| + 1 slots",
        cases,
    )


def looped(effort: Effort) -> Evidence:
    """Compiled looped transformers: at most ⌈log2 N⌉ loops (item 1 of the remark; one pad row is used)."""
    cases = 0
    for problem, length in product(LANGUAGES, (1, 2, 5, 8)):
        model = compile_problem(problem, "plt", length=length)
        verdict = verify_model(model, cases=effort.of(100))
        require(verdict.status == "held", f"{problem} at N = {length}: {verdict.counterexample!r} is decided wrongly")
        require(model.steps <= max(1, tree_steps(length)), f"{problem} takes {model.steps} loops at N = {length}")
        cases += verdict.cases
    return Evidence(f"{len(LANGUAGES)} problems as looped transformers, N = 1, 2, 5, 8, against the problem", cases)


def looped_then_converted(effort: Effort) -> Evidence:
    """The looped transformer of a regular language through plt_to_mdm: the corollary's own route."""
    theorem, cases = built("plt_to_mdm"), 0
    for length in (1, 2, 3)[: effort.of(3)]:
        source = compile_problem("(ab)*", "plt", length=length)
        conversion = theorem.convert(source)
        require(Price.of(conversion.model).within(theorem.bound(source)), f"N = {length} costs more than its bound")
        verdict = verify_model(conversion.model, against="(ab)*", method="sample", cases=effort.of(6))
        require(verdict.status == "held", f"N = {length}: {verdict.counterexample!r} is decided wrongly")
        cases += verdict.cases
    return Evidence("(ab)* as a looped transformer, then as masked diffusion, N = 1 … 3, on words", cases)


def converted(effort: Effort) -> Evidence:
    """A compiled regular language survives the conversions between frameworks."""
    cases = 0
    for stem, length in (
        ("mdm_to_plt", 8),
        ("mdm_to_smdm", 8),
        ("planner_and_predictor_to_topk", 8),
        ("pcot_to_mdm", 4),
    ):
        theorem = built(stem)
        source = compile_problem("(ab)*", theorem.source, length=length)
        wrong = check_source(source, theorem.convert(source), seed=3, words=effort.of(4), engine=FastEngine())
        require(wrong is None, f"{stem} at N = {length}: {wrong}")
        cases += effort.of(4)
    return Evidence("(ab)* compiled and converted to plt, smdm, topk and from pcot: every aligned state", cases)
