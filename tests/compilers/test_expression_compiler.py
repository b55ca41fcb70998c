"""Expressions as models: every slot of every step, all words of small ranges, and words of another shape."""

import random
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engines.agreement import assert_same_run
from problems.python_arithmetic import expressions, python_value
from programs.test_arithmetic_expressions import texts_of
from unmask.api import compare_frameworks, compile_problem, convert_model, run_word, verify_model
from unmask.compilers.expression_compiler import EXPRESSION_KINDS, ExpressionCompiler
from unmask.engines.fast import FastEngine
from unmask.engines.reference import ReferenceEngine
from unmask.errors import ProblemError
from unmask.numerics.arithmetic import Precision
from unmask.problems.expression_problems import ExpressionProblem
from unmask.reasoners.run_words import answers, run_batch
from unmask.reasoners.typed_words import read_word
from unmask.weights.matrices import Matrix

FIGURE = "expr:(a+b)*(c+d)-e"
LAYOUTS = ("", " compact")
DIFFUSION = ("mdm", "smdm", "topk")


def compiled(spec, kind, precision=2):
    compiler = ExpressionCompiler(ExpressionProblem(spec))
    return compiler, compiler.compile(kind, compiler.length, Precision(precision))


def tokens_of(model, words):
    return np.array([read_word(model, word) for word in words], dtype=np.int64)


def right_symbol(model, problem, word):
    """By Python where the word has the shape."""
    return model.reject if problem.outcome(word).value is None else str(python_value(word.removesuffix("=")))


@pytest.mark.parametrize("kind", DIFFUSION)
def test_the_figure_in_three_steps(kind):
    model = compile_problem(FIGURE, kind)
    assert (model.length, model.padding, model.steps) == (14, 11, 3)
    trace = run_word(model, "(2+3)*(4+1)-6")
    assert ["".join(c).rstrip("m") for c in trace.canvas_symbols] == ["5*5-6=", "5*5-6=25-6=", "5*5-6=25-6=19"]
    assert [int(chosen.sum()) for chosen in trace.chosen] == [6, 4, 1]
    assert trace.accepted is None


def test_the_figure_in_eleven_steps():
    model = compile_problem(FIGURE, "cot")
    assert (model.length, model.padding, model.steps) == (14, 11, 11)
    trace = run_word(model, "(2+3)×(4+1)−6=")
    assert trace.steps_taken == 11
    assert "".join(trace.output) == "5*5-6=25-6=19"


def test_the_figure_in_three_parallel_steps():
    model = compile_problem(FIGURE, "pcot")
    assert (model.padding, model.steps, model.block) == (18, 3, 6)
    assert "".join(run_word(model, "(2+3)*(4+1)-6").output) == "5*5-6=□□25-6=□□□□□19"


@pytest.mark.parametrize("precision", [2, 3])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kind", EXPRESSION_KINDS)
def test_all_words_of_a_small_range(kind, layout, precision):
    """In every canvas, a slot has the symbol of the plan from its step on, and is masked before."""
    for spec in ("a*(b-c)+d in -1..1", "(a+b)*(c-d) in 0..2"):
        compiler, model = compiled(spec + layout, kind, precision)
        problem = compiler.expression
        words = [problem.word_of(x) for x in product(range(*_half_open(problem)), repeat=4)]
        canvases = answers(model, tokens_of(model, words), engine=FastEngine()).slots
        for word, slots in zip(words, canvases, strict=True):
            texts = texts_of(compiler.plan, _symbols(model, word))
            if kind not in ("plt", "pcot"):
                assert model.symbols(slots) == [symbol for text in texts for symbol in text]
            if kind == "pcot":
                assert [s for s in model.symbols(slots) if s != model.pad] == [s for text in texts for s in text]
            assert model.vocabulary[slots[-1]] == str(python_value(word.removesuffix("=")))


def _half_open(problem):
    return problem.operands[0], problem.operands[1] + 1


def _symbols(model, word):
    return model.symbols(read_word(model, word))


@settings(max_examples=25, deadline=None)
@given(expressions(operators=5), st.integers(0, 10**6), st.sampled_from(EXPRESSION_KINDS), st.sampled_from(LAYOUTS))
def test_random_shapes(text, seed, kind, layout):
    compiler, model = compiled(f"{text} in -2..1{layout}", kind, 2 + seed % 2)
    problem, rng = compiler.expression, random.Random(seed)
    words = [problem.random_word(rng) for _ in range(8)] + [problem.misshapen_word(rng) for _ in range(8)]
    traces = run_batch(model, tokens_of(model, words), engine=FastEngine())
    for word, trace in zip(words, traces, strict=True):
        assert trace.output[-1] == right_symbol(model, problem, word), word
    steps, padding = compiler.bound(kind, problem.length)
    assert (model.steps, model.padding) == (steps, padding)


@pytest.mark.parametrize("kind", DIFFUSION)
def test_every_step_writes_what_the_plan_says(kind):
    for spec in ("a-b-c-d in 0..3", "a*(b+c*(d-e)) in 0..2 compact"):
        compiler, model = compiled(spec, kind)
        words = [compiler.expression.random_word(random.Random(i)) for i in range(5)]
        for trace in run_batch(model, tokens_of(model, words), engine=FastEngine()):
            assert tuple(int(chosen.sum()) for chosen in trace.chosen) == compiler.plan.writes


@pytest.mark.parametrize("kind", EXPRESSION_KINDS)
def test_one_symbol_out_of_place_is_rejected(kind):
    compiler, model = compiled("(a+b)-c in 0..1", kind)
    problem, least = compiler.expression, list("(0+0)-0=")
    for position, letter in product(range(len(least)), problem.letters):
        word = [*least[:position], letter, *least[position + 1 :]]
        trace = run_word(model, word)
        same_class = letter == least[position] or (letter in "01" and least[position] in "01")
        assert (trace.accepted is None) == same_class, word
        assert same_class or trace.accepted is False


@pytest.mark.parametrize("kind", EXPRESSION_KINDS)
def test_both_engines_agree(kind):
    for spec in ("(a+b)*c in -1..1", "a-(b*c-d) in 0..1 compact"):
        compiler, model = compiled(spec, kind)
        rng = random.Random(kind)
        words = [compiler.expression.random_word(rng), compiler.expression.misshapen_word(rng)]
        assert_same_run(model, tokens_of(model, words), ReferenceEngine(), FastEngine())


def test_verify_holds_and_refutes():
    model = compile_problem("expr:a*b-c in 0..3", "mdm")
    assert verify_model(model).status == "held"
    assert verify_model(model, method="sample", cases=40).status == "held"
    assert verify_model(model, against=model, method="sample", cases=40).status == "held"
    verdict = verify_model(model, against="expr:a*b+c in 0..3", method="exhaustive")
    assert (verdict.status, verdict.expected, verdict.got) == ("refuted", "gives 0", "rejected")
    predictor = model.transformers["predictor"]
    out = predictor.out.dense()
    out[[model.token["-1"], model.token["-2"]]] = out[[model.token["-2"], model.token["-1"]]]
    wrong = replace(predictor, out=Matrix.of(out))
    verdict = verify_model(replace(model, transformers={**model.transformers, "predictor": wrong}))
    assert verdict.status == "refuted"
    assert (verdict.counterexample, verdict.expected, verdict.got) == ("0*0-1=", "gives -1", "gives -2")


def test_a_model_that_overlooks_the_shape_is_refuted():
    model = compile_problem("expr:a+b in 0..1", "cot")
    program = model.transformers["model"]
    layers = (program.layers[0], replace(program.layers[1], heads=()))
    blind = replace(model, transformers={"model": replace(program, layers=layers)})
    verdict = verify_model(blind)
    assert (verdict.status, verdict.expected) == ("refuted", "rejected")


def test_comparison_shows_depth_against_symbols():
    rows = {row.framework: row for row in compare_frameworks(FIGURE)}
    assert {kind: (row.steps, row.padding) for kind, row in rows.items()} == {
        "mdm": (3, 11),
        "smdm": (3, 11),
        "topk": (3, 11),
        "plt": (3, 11),
        "pcot": (3, 18),
        "cot": (11, 11),
    }
    assert all(row.correct is True and row.within_bound for row in rows.values())


def test_conversions_keep_the_value():
    source = compile_problem("expr:a*b-c in 0..1 compact", "mdm")
    for kind in ("plt", "smdm"):
        *_, (_, conversion) = convert_model(source, kind)
        assert run_word(conversion.model, "1*1-1").output[-1] == "0"
        assert run_word(conversion.model, "0*1-1").output[-1] == "-1"


def test_bad_length_and_precision_are_refused():
    with pytest.raises(ProblemError, match="has 14 symbols, not 8; leave out --length"):
        compile_problem(FIGURE, "mdm", length=8)
    with pytest.raises(ProblemError, match="at least 2"):
        compile_problem(FIGURE, "mdm", precision=1)
